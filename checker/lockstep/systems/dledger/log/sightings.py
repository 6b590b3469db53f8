"""What later lines show of a node: where the search is to lead to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from lockstep.systems.dledger.log.lines import LogLine

_LATER = 4  # committed indexes
_COMPARED = 3  # indexes of a COMPARE
_TELL_TERM = frozenset({"candidate", "next_term", "leader", "follower", "status"})


@dataclass(frozen=True, slots=True)
class Goal:
    """What a node will show next: the end of its log, its committed index; None where no line tells.

    `number` is the line that shows the end, `reach` that end itself, where it is beyond what is to be reached now.
    `..._sure` says that nothing can change it in between: the node follows or leads no one else before; `at_least`,
    that the committed index may be higher by then: it is that of a checkpoint. `then` are the committed indexes that it
    will show after that, under the same leader, and where its log ends at most by then.
    """

    end: int | None = None
    committed: int | None = None
    end_sure: bool = False
    committed_sure: bool = False
    at_least: bool = False
    number: int = 0
    reach: int = -1
    then: tuple[tuple[int, int], ...] = ()

    def only_sure(self) -> Goal:
        """Return what must be reached under the present leader."""
        end = self.end if self.end_sure else None
        return replace(self, end=end, committed=self.committed if self.committed_sure else None)

    @property
    def most_committed(self) -> int | None:
        """The highest committed index that the node may be told of."""
        return None if self.at_least else self.committed

    def within(self, limit: int, leader_end: int | None) -> Goal:
        """Return what of it is to be reached while the logs end at `limit` or before.

        `leader_end`: the end that the leader will show, if a line tells.
        """
        committed = None if self.committed is None or self.committed > limit else self.committed
        if self.end is None:
            return replace(self, committed=committed)
        reach = self.end if leader_end is None else min(self.end, leader_end)
        return replace(self, end=min(self.end, limit), committed=committed, reach=reach)

    def or_end(self, end: int) -> Goal:
        """Return the goal with this end, if no line shows one."""
        return replace(self, end=end) if self.end is None else self


class Sightings:
    """Looks ahead in the lines of a log."""

    def __init__(self, lines: Iterable[LogLine]) -> None:
        """Sort the lines that tell of a node by that node."""
        self._lines = list(lines)
        self._by_node: dict[str, list[LogLine]] = {}
        for line in self._lines:
            self._by_node.setdefault(line.node, []).append(line)
            if line.kind == "change_state":
                self._by_node.setdefault(line.words["peer"], []).append(line)

    def goal(self, node: str, number: int) -> Goal:
        """Return what the next line from `number` on shows of the node, and what later ones add to that."""
        goal, sure, may_cut, whole = Goal(), True, False, False
        then: dict[int, int] = {}
        for line in _from(self._by_node.get(node, []), number):
            sure = sure and not (line.node == node and line.kind in ("follower", "leader"))
            may_cut = may_cut or line.kind == "handle_truncate"
            end, committed = self._shown(line, node)
            end = None if may_cut else end
            differs = goal.end is not None and end not in (None, goal.end)
            whole = whole or goal.committed is not None or (differs and not _inherited(line))
            if not whole:
                goal = _added(goal, line, end, committed, sure)
            elif not sure or line.kind.startswith("recovered") or len(then) > _LATER:
                break
            elif committed is not None and committed != goal.committed:
                then[committed] = max(then.get(committed, committed), -1 if end is None else end)
        return replace(goal, then=tuple(then.items()))

    def marks(self, leader: str, term: int, number: int, goals: Mapping[str, Goal]) -> dict[str, int]:
        """Return the next watermarks that the leader's lines show of a term: those of a status line, or of a retry.

        None is beyond the end that a node shows before, which is its goal.
        """
        found: dict[str, int] = {}

        def add(line: LogLine, peer: str, mark: int) -> None:
            goal = goals.get(peer, Goal())
            least = mark if goal.end is None or not goal.end_sure or line.number < goal.number else min(mark, goal.end)
            found.setdefault(peer, least)

        for line in _from(self._by_node.get(leader, []), number):
            if line.node != leader:
                continue
            if line.kind == "status":
                for peer, mark in line.marks.get(term, {}).items():
                    add(line, peer, mark)
                break
            if line.kind == "retry":
                add(line, line.words["peer"], line.numbers["index"] - 1)
            if line.kind == "leader" and line.number > number:
                break
        return found

    def compared(self, leader: str, peer: str, number: int) -> list[int]:
        """Return the indexes that the leader compares with the peer, the first ones said of this leadership."""
        found: list[int] = []
        for line in _from(self._lines, number):
            if line.kind == "leader" or (line.node in (leader, peer) and line.kind == "recovered_end"):
                break
            of_pair = line.node == leader and line.words.get("peer") == peer
            if line.node == peer and line.kind == "handle_compare":
                found.append(line.numbers["index"])
            elif of_pair and line.kind == "dispatcher_error" and line.numbers["compare"] >= 0:
                found.append(line.numbers["compare"])
            elif of_pair and line.kind == "change_state" and line.numbers["index"] >= 0:
                found.append(line.numbers["index"])
                break
        return found[:_COMPARED]

    def recovered(self, node: str, incarnation: int, number: int) -> tuple[int | None, int | None]:
        """Return the end of the log that a restart from `number` on found, and the committed index; None: unsaid."""
        end, committed = None, None
        for line in _from(self._by_node.get(node, []), number):
            if line.node == node and line.incarnation != incarnation:
                break
            if line.kind == "recovered_end":
                end = line.numbers["end"]
            elif line.kind == "recovered_committed":
                committed = line.numbers["committed"]
        return end, committed

    def term(self, node: str, incarnation: int, number: int) -> int | None:
        """Return the term in which a process begins that starts at `number`, or after; None where no line tells."""
        for line in _from(self._by_node.get(node, []), number):
            if line.node == node and line.incarnation != incarnation:
                break
            if line.node == node and line.kind in _TELL_TERM:
                return line.numbers["old" if line.kind == "next_term" else "term"]
        return None

    def _shown(self, line: LogLine, node: str) -> tuple[int | None, int | None]:
        """Return the end of the node's log and its committed index, where the line shows them."""
        numbers = line.numbers
        if line.node != node:
            return _end_of_peer(line), None
        if line.kind == "do_compare":  # from the end of the leader's log
            return next(iter(self.compared(node, line.words["peer"], line.number)), None), None
        if line.kind in ("status", "recovered_end", "recovered_committed", "skip_commit", "handle_compare"):
            return numbers.get("end"), numbers.get("committed")
        return None, None


def _end_of_peer(line: LogLine) -> int | None:
    """Where the log of the peer ended that a dispatcher compared with: there, if it took up APPEND; else further up."""
    index = line.numbers["index"]
    match line.words["was"], line.words["is"]:
        case "COMPARE", "APPEND":
            return index
        case "COMPARE", "TRUNCATE" if index > 0:  # to 0 for an empty log as well
            return index + 1
        case _:
            return None


def _inherited(line: LogLine) -> bool:
    """Tell whether a leader shows a committed index that no quorum has acknowledged in its term: it had it before."""
    marks = sorted(line.marks.get(line.numbers["term"], {}).values(), reverse=True) if line.kind == "status" else []
    return bool(marks) and marks[len(marks) // 2] < line.numbers["committed"]


def _from(lines: list[LogLine], number: int) -> Iterator[LogLine]:
    return islice(lines, bisect_left(lines, number, key=lambda line: line.number), None)


def _added(goal: Goal, line: LogLine, end: int | None, committed: int | None, sure: bool) -> Goal:
    if goal.end is None and end is not None and goal.committed is None:
        goal = replace(goal, end=end, end_sure=sure, number=line.number)
    if committed is not None:
        at_least = line.kind == "recovered_committed"
        goal = replace(goal, committed=committed, committed_sure=sure, at_least=at_least)
    return goal
