"""The number of each push in the lines of its leader and of its follower, found as the lines come in their order.

A node of Java names a push by its sender and the number of its frame. A step of a node of the reference has no such
name: a push that it sent or received is the first one under way with the same content, of those that were not given up
if it can be. Two with the same content are one to the spec.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lockstep.systems.merged_order import TimedLine
from lockstep.trace.json_lines import TraceError

#: All that makes a push, or an answer, but whether its caller waits.
Content: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PushRef:
    """A push in a line of a node of the reference.

    `how` the node has it: as one that it `sent`, that is `received` now, the first of those `queued`, one that stays in
    the queue (`kept`), or the one that an `answer` is for. `content` is that of the push, or of the answer.
    """

    how: Literal["sent", "received", "queued", "kept", "answer"]
    content: Content


def content_of_line(fields: Mapping[str, Any]) -> Content:
    """Return the content of the push that a line sends or receives."""
    entries = fields.get("entries")
    if entries is None:
        entries = [[fields["index"], fields["entryTerm"], fields["val"]]] if "entryTerm" in fields else []
    ends = fields["type"], fields["leaderId"], fields["remoteId"], fields["term"]
    return *ends, tuple(tuple(each) for each in entries), fields["commitIndex"]


def content_of_answer(fields: Mapping[str, Any], follower: str, leader: str) -> Content:
    """Return the content of the answer that a line gives or receives."""
    ends = fields["type"], follower, leader, fields["term"], fields["index"]
    return *ends, fields["code"], fields["beginIndex"], fields["endIndex"]


class PushNumbers:
    """Numbers pushes; knows which are under way, which a follower has, and which were answered."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        #: The numbers of named pushes that a process has sent, by node and name.
        self._names: defaultdict[str, dict[str, int]] = defaultdict(dict)
        #: The same of those that it has received: the sender may have died since, and give its names again.
        self._received: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._under_way: defaultdict[Content, list[int]] = defaultdict(list)
        #: Those whose answer has not arrived, and that were not given up, by type, sender and receiver.
        self._open: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
        self._given_up: set[int] = set()
        self._at_follower: defaultdict[str, defaultdict[Content, deque[int]]] = defaultdict(lambda: defaultdict(deque))
        self._answers: defaultdict[Content, list[int]] = defaultdict(list)
        self._answered: set[int] = set()

    # ---- What a line must follow ----

    def lacks(self, line: TimedLine) -> str | None:
        """Return what a line receives that nobody has sent yet; None where there is no such thing."""
        fields = line.fields
        if fields["kind"] == "recv_push" and not self._under_way.get(content_of_line(fields)):
            leader = fields["leaderId"]
            return f"{line.node} receives this {fields['type']}, and {leader} has not sent it"
        if fields["kind"] == "recv_resp_push" and not self._is_answered(line):
            follower = fields["from"]
            return f"{line.node} receives this answer to its {fields['type']}, and {follower} has not given it"
        return None

    def is_early(self, line: TimedLine) -> bool:
        """Return whether a line receives a named push that is not under way under that name.

        A node of the reference does not write the names of what it sends.
        """
        fields = line.fields
        return (
            fields["kind"] == "recv_push" and isinstance(fields["mid"], str) and not self._named_number(fields["mid"])
        )

    def _named_number(self, name: str) -> int | None:
        return self._names[name.partition("/")[0]].get(name)

    def _is_answered(self, line: TimedLine) -> bool:
        if isinstance(mid := line.fields["mid"], PushRef):
            return bool(self._answers.get(mid.content))
        return self._known(line, mid) in self._answered

    def _known(self, line: TimedLine, name: str) -> int:
        number = self._received[line.node].get(name, self._named_number(name))
        if number is None:
            raise _error(line, f"no line above sends or receives the push {name!r}")
        return number

    # ---- What a line does ----

    def note(self, line: TimedLine) -> None:
        """Put numbers into a line that is the next one; raises TraceError where it names a push that is not there."""
        fields = line.fields
        kind, node = fields["kind"], line.node
        if kind == "start":
            self._at_follower.pop(node, None)
            self._names.pop(node, None)
            self._received.pop(node, None)
            self._give_up(lambda _type, _src, dst: dst == node)
        elif kind == "net_error":
            self._give_up(lambda *ends: ends == (fields["type"], node, fields["dst"]))
        elif kind == "dispatcher" and fields["to"] == "COMPARE":
            self._give_up(lambda *ends: ends == (fields["from"], node, fields["peer"]))
        if "lost" in fields:
            fields["lost"] = [[index, self._number(line, mid)] for index, mid in fields["lost"]]
        if "mid" in fields:
            fields["mid"] = self._number(line, fields["mid"])

    def _give_up(self, ends: Callable[[str, str, str], bool]) -> None:
        """Expect less that pushes, or their answers, arrive: those to a node that starts, or of a call that timed out.

        Arguments: `ends`, whether this is so of pushes of a type, from a sender, to a receiver.
        """
        for between, numbers in self._open.items():
            if ends(*between):
                self._given_up |= numbers
                numbers.clear()

    def _most_likely(self, numbers: Sequence[int], otherwise: int) -> int:
        """Return the first number that was not given up, of all that were the one at a place."""
        return next((each for each in numbers if each not in self._given_up), numbers[otherwise])

    def _close(self, number: int, type_: str, src: str, dst: str) -> None:
        """Forget whether a push is awaited: its answer has arrived, or nobody waits for it."""
        self._given_up.discard(number)
        self._open[type_, src, dst].discard(number)

    def _number(self, line: TimedLine, mid: str | PushRef) -> int:
        if isinstance(mid, str):
            return self._named(line, mid)
        if mid.how == "sent":
            return self._sends(mid.content)
        if mid.how == "answer":
            return self._takes_answer(mid.content)
        if line.fields["kind"] == "recv_push":
            number = self._arrives(mid.content)
            self._at_follower[line.node][mid.content].append(number)
            return number
        return self._handled(line, mid)

    def _named(self, line: TimedLine, name: str) -> int:
        """Return the number of a push in a line of a node of Java."""
        kind = line.fields["kind"]
        if kind == "send_push":
            self._names[line.node][name] = self._sends(content_of_line(line.fields))
        elif kind == "recv_push":
            number = self._arrives(content_of_line(line.fields), self._named_number(name))
            self._received[line.node][name] = number
        number = self._known(line, name)
        if kind == "resp_push":
            self._answer(line, number)
        elif kind == "recv_resp_push":
            waiting = self._answers[content_of_answer(line.fields, line.fields["from"], line.node)]
            self._answered.discard(number)
            self._close(number, line.fields["type"], line.node, line.fields["from"])
            if number in waiting:
                waiting.remove(number)
        return number

    def _handled(self, line: TimedLine, mid: PushRef) -> int:
        """Return the number of a push that a follower of the reference has; it leaves the queue at some lines."""
        queue, fields = self._at_follower[line.node][mid.content], line.fields
        if not queue:
            raise _error(line, f"{line.node} has not received this push: {mid.content}")
        answers = fields["kind"] == "resp_push"
        is_newest = mid.how == "received"
        number = queue[-1] if is_newest else queue[0]
        if answers and mid.how != "kept":
            queue.remove(number)
        elif not is_newest and (fields.get("op") == "clear" or (fields.get("op") == "take" and fields.get("done"))):
            queue.popleft()
        if answers:
            self._answer(line, number)
        return number

    def _sends(self, content: Content) -> int:
        self._count += 1
        self._under_way[content].append(self._count)
        type_, src, dst = content[:3]
        if type_ != "COMMIT":
            self._open[type_, src, dst].add(self._count)
        return self._count

    def _arrives(self, content: Content, known: int | None = None) -> int:
        """Take a push of this content from those under way, the known one if it is among them."""
        waiting = self._under_way[content]
        number = known if known is not None and known in waiting else self._most_likely(waiting, -1)
        waiting.remove(number)
        if not waiting:
            del self._under_way[content]
        return number

    def _answer(self, line: TimedLine, number: int) -> None:
        self._answers[content_of_answer(line.fields, line.node, line.fields["to"])].append(number)
        self._answered.add(number)

    def _takes_answer(self, content: Content) -> int:
        waiting = self._answers[content]
        number = self._most_likely(waiting, 0)
        waiting.remove(number)
        self._answered.discard(number)
        type_, follower, leader = content[:3]
        self._close(number, type_, leader, follower)
        return number


def _error(line: TimedLine, problem: str) -> TraceError:
    return line.record.error(f"field `mid`: {problem}")
