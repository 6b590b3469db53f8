"""The number of each call in the lines of its caller and of its callee, found as the lines come in their order.

TCP numbers no calls. A request belongs to the call that says the same and is under way; of several to the one that was
made first, as a connection keeps their order. One that comes when none is under way belongs to a call that has failed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from lockstep.systems.merged_order import TimedLine

Fields = dict[str, Any]

#: What handles a request: the main loop, with no leader and 0, or beside it the routine of a connection of a leader,
#: with the number that the recorder gave the heartbeat. Files of an older recorder have 0 there, too.
Routine = tuple[str | None, int]


def _content(src: str, dst: str, fields: Fields) -> str:
    """Return what a request says; the size of a snapshot is not recorded of a server of the reference."""
    body = {name: value for name, value in fields["body"].items() if name != "size"}
    return json.dumps([src, dst, fields["msg"], body], sort_keys=True)


def _routine(fields: Fields) -> Routine:
    """Return what handles the request of a line; the recorder numbers the heartbeats beside the main loop."""
    return (fields.get("from") or fields.get("to")) if fields.get("beside") else None, fields["rpc"]


class CallNumbers:
    """Numbers calls; knows which are under way, which have failed, and which were answered."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._under_way: defaultdict[str, list[int]] = defaultdict(list)
        self._failed: defaultdict[str, list[int]] = defaultdict(list)
        #: Number and content of each call of a server's life that has not ended, by the number that the server gave it.
        self._own: defaultdict[str, dict[int, tuple[int, str]]] = defaultdict(dict)
        #: The calls whose requests a server handles.
        self._handled: defaultdict[str, dict[Routine, int]] = defaultdict(dict)
        self._answered: set[int] = set()

    def lacks(self, line: TimedLine) -> str | None:
        """Return what a line receives that nobody has sent yet; None where there is no such thing."""
        fields, node = line.fields, line.node
        if fields["kind"] == "recv":
            content = _content(fields["from"], node, fields)
            if not self._under_way.get(content) and not self._failed.get(content):
                return f"{node} receives this {fields['msg']}, and {fields['from']} has not sent it"
        if fields["kind"] == "reply_recv" and self._own_call(line)[0] not in self._answered:
            return f"{node} receives this answer to its {fields['msg']}, and {fields['from']} has not given it"
        return None

    def note(self, line: TimedLine) -> None:
        """Put the number into a line that is the next one; raises TraceError where it ends no call of its server."""
        fields, node = line.fields, line.node
        match fields["kind"]:
            case "start":
                for number, content in self._own.pop(node, {}).values():
                    self._fail(number, content)
                self._handled.pop(node, None)
            case "send":
                self._count += 1
                content = _content(node, fields["to"], fields)
                self._own[node][fields["rpc"]] = self._count, content
                self._under_way[content].append(self._count)
                fields["rpc"] = self._count
            case "recv":
                routine = _routine(fields)
                fields["rpc"] = self._arrives(_content(fields["from"], node, fields))
                self._handled[node][routine] = fields["rpc"]
            case "respond":
                routine = _routine(fields)
                if routine not in self._handled[node]:
                    raise line.record.error(f"field `kind`: {node} answers, and handles no request")
                fields["rpc"] = self._handled[node].pop(routine)
                self._answered.add(fields["rpc"])
            case "reply_recv" | "rpc_error":
                self._ends(line)

    def _own_call(self, line: TimedLine) -> tuple[int, str]:
        number = line.fields["rpc"]
        if number not in self._own[line.node]:
            raise line.record.error(f"field `rpc`: {line.node} has no call {number} under way")
        return self._own[line.node][number]

    def _arrives(self, content: str) -> int:
        waiting = self._under_way if self._under_way.get(content) else self._failed
        number = waiting[content].pop(0)
        if not waiting[content]:
            del waiting[content]
        return number

    def _ends(self, line: TimedLine) -> None:
        number, content = self._own_call(line)
        del self._own[line.node][line.fields["rpc"]]
        line.fields["rpc"] = number
        self._answered.discard(number)
        self._fail(number, content)

    def _fail(self, number: int, content: str) -> None:
        """Expect less that the request of a call that has ended arrives, if it has not."""
        waiting = self._under_way.get(content, [])
        if number in waiting:
            waiting.remove(number)
            self._failed[content].append(number)
            if not waiting:
                del self._under_way[content]
