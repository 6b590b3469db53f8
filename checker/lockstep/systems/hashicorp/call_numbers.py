"""The number of each call in the lines of its caller and of its callee, found as the lines come in their order.

TCP numbers no calls. A request belongs to the call that says the same and is under way. Of several that say the same
any may come first, as each may have a connection of its own. So the lines that follow decide: a request whose handler
gives an answer is that of the first of these calls to get the same answer. One that comes when none is under way
belongs to a call that has failed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from lockstep.systems.merged_order import TimedLine, Upcoming

Fields = dict[str, Any]

#: The lines with which a call ends at its caller.
ENDS = ("reply_recv", "rpc_error")

#: What handles a request: the main loop, with no leader and 0, or beside it the routine of a connection of a leader,
#: with the number that the recorder gave the heartbeat. Files of an older recorder have 0 there, too.
Routine = tuple[str | None, int]


#: What a request says, as a hash: the calls that failed are kept, since their requests may arrive all the same.
Content = bytes


def _content(src: str, dst: str, fields: Fields) -> Content:
    """Return what a request says; the size of a snapshot is not recorded of a server of the reference."""
    body = {name: value for name, value in fields["body"].items() if name != "size"}
    return blake2b(json.dumps([src, dst, fields["msg"], body], sort_keys=True).encode(), digest_size=16).digest()


def _routine(fields: Fields) -> Routine:
    """Return what handles the request of a line; the recorder numbers the heartbeats beside the main loop."""
    return (fields.get("from") or fields.get("to")) if fields.get("beside") else None, fields["rpc"]


def _answer(line: TimedLine, following: Iterable[TimedLine]) -> Fields | None:
    """Return what a server answers to the request that a line receives; None where it does not, as far as is known."""
    routine = _routine(line.fields)
    for each in following:
        if each.fields["kind"] == "start":
            return None
        if each.fields["kind"] in ("recv", "respond") and _routine(each.fields) == routine:
            return _said(each.fields, line) if each.fields["kind"] == "respond" else None
    return None


def _said(answer: Fields, request: TimedLine) -> Fields:
    """Return what an answer to a request says; that to a heartbeat has no end of the log with the reference."""
    asked = request.fields["body"]
    left_out = "last_log" if not asked.get("prev_index") and not asked.get("entries") else None
    return {name: value for name, value in answer["body"].items() if name != left_out}


class CallNumbers:
    """Numbers calls; knows which are under way, which have failed, and which were answered."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._under_way: defaultdict[Content, list[int]] = defaultdict(list)
        self._failed: defaultdict[Content, list[int]] = defaultdict(list)
        #: Number and content of each call of a server's life that has not ended, by the number that the server gave it.
        self._own: defaultdict[str, dict[int, tuple[int, Content]]] = defaultdict(dict)
        #: The calls whose requests a server handles.
        self._handled: defaultdict[str, dict[Routine, int]] = defaultdict(dict)
        self._answered: set[int] = set()
        #: What requests say for which a call was chosen before the lines were written that decide.
        self._guessed: set[Content] = set()

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

    def was_guessed(self, line: TimedLine) -> bool:
        """Return whether a line receives an answer that may have been given to another call that says the same."""
        return line.fields["kind"] == "reply_recv" and self._own_call(line)[1] in self._guessed

    def note(self, line: TimedLine, upcoming: Upcoming) -> None:
        """Put the number into a line that is the next one.

        Args:
            line: The line.
            upcoming: The lines of each server that follow, as far as they are written.

        Raises:
            TraceError: It ends no call of its server.
        """
        fields, node = line.fields, line.node
        match fields["kind"]:
            case "start":
                for number, content in self._own.pop(node, {}).values():
                    self._answered.discard(number)
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
                fields["rpc"] = self._arrives(line, upcoming)
                self._handled[node][routine] = fields["rpc"]
            case "respond":
                routine = _routine(fields)
                if routine not in self._handled[node]:
                    raise line.record.error(f"field `kind`: {node} answers, and handles no request")
                fields["rpc"] = self._handled[node].pop(routine)
                self._answered.add(fields["rpc"])
            case kind if kind in ENDS:
                self._ends(line)

    def _own_call(self, line: TimedLine) -> tuple[int, Content]:
        number = line.fields["rpc"]
        if number not in self._own[line.node]:
            raise line.record.error(f"field `rpc`: {line.node} has no call {number} under way")
        return self._own[line.node][number]

    def _arrives(self, line: TimedLine, upcoming: Upcoming) -> int:
        """Return the number of the call whose request has come, which is under way no more."""
        content = _content(line.fields["from"], line.node, line.fields)
        number = self._most_likely(line, content, upcoming)
        waiting = self._under_way if number in self._under_way.get(content, ()) else self._failed
        waiting[content].remove(number)
        if not waiting[content]:
            del waiting[content]
        return number

    def _most_likely(self, line: TimedLine, content: Content, upcoming: Upcoming) -> int:
        """Return the number of the call that a request belongs to, among those that say the same.

        Of those whose caller gets the answer that is given here, it is the one that gets it first. Else it is one whose
        caller gets none.
        """
        under_way, failed = self._under_way.get(content, []), self._failed.get(content, [])
        if not under_way or len(under_way) + len(failed) == 1:
            return (under_way or failed)[0]
        answer = _answer(line, upcoming(line.node))
        replies, is_known = self._replies(line, under_way, upcoming)
        if not is_known:
            self._guessed.add(content)
        if answer is not None:
            for number, reply in replies.items():
                if reply == answer:
                    return number
        unanswered = [each for each in [*under_way, *failed] if each not in replies]
        return (unanswered or under_way)[0]

    def _replies(
        self, request: TimedLine, numbers: Sequence[int], upcoming: Upcoming
    ) -> tuple[dict[int, Fields], bool]:
        """Return the answers that the sender of a request gets to calls that say the same, in their order.

        Also return whether all ends of these calls are known. Whoever starts again gets none to what it sent before.
        """
        src = request.fields["from"]
        own = {mine: number for mine, (number, _) in self._own[src].items() if number in numbers}
        found: dict[int, Fields] = {}
        for line in upcoming(src):
            if not own or line.fields["kind"] == "start":
                return found, True
            if line.fields["kind"] in ENDS and line.fields["rpc"] in own:
                number = own.pop(line.fields["rpc"])
                if line.fields["kind"] == "reply_recv":
                    found[number] = _said(line.fields, request)
        return found, not own

    def _ends(self, line: TimedLine) -> None:
        number, content = self._own_call(line)
        del self._own[line.node][line.fields["rpc"]]
        line.fields["rpc"] = number
        self._answered.discard(number)
        self._fail(number, content)

    def _fail(self, number: int, content: Content) -> None:
        """Expect less that the request of a call that has ended arrives, if it has not."""
        waiting = self._under_way.get(content, [])
        if number in waiting:
            waiting.remove(number)
            self._failed[content].append(number)
            if not waiting:
                del self._under_way[content]
