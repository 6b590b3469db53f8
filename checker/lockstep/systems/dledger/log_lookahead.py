"""Lookahead: the indexes that later lines show of a node, to which the search is to lead."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile

from lockstep.logs.line_order import Positions
from lockstep.logs.log_lines import Thread
from lockstep.systems.dledger.log_lines import RECOVERY, RESTART, LogLine, in_time

#: The time of a line, the number of its log, its place in that, and itself.
_Row = tuple[int, int, int, LogLine]

_MAX_LATER = 4  # committed indexes
_MAX_COMPARED = 3  # indexes of a COMPARE
_WITH_TERM = frozenset({"candidate", "next_term", "leader", "follower", "status"})


@dataclass(frozen=True, slots=True)
class Goal:
    """The next end of the log and committed index that a node shows; None where no line has them.

    `rank` is that of the line that shows the end, `reach` that end itself, where it lies after the end to
    reach now. `..._sure`: nothing can change it in between, as the node follows or leads no one else before.
    `at_least`: the committed index may be higher by then, as it is that of a checkpoint. `then` are the committed
    indexes that it will show after that, under the same leader, each with the highest end of its log by then.
    """

    end: int | None = None
    committed: int | None = None
    end_sure: bool = False
    committed_sure: bool = False
    at_least: bool = False
    rank: int = 0
    reach: int = -1
    then: tuple[tuple[int, int], ...] = ()

    def certain_part(self) -> Goal:
        """Return the goal under the present leader."""
        end = self.end if self.end_sure else None
        return replace(self, end=end, committed=self.committed if self.committed_sure else None)

    @property
    def most_committed(self) -> int | None:
        """The highest committed index that the node may learn."""
        return None if self.at_least else self.committed

    def within(self, limit: int, leader_end: int | None) -> Goal:
        """Return the goal while the logs end at `limit` or before.

        `leader_end`: the end that the leader will show, if a line has it.
        """
        committed = None if self.committed is None or self.committed > limit else self.committed
        if self.end is None:
            return replace(self, committed=committed)
        reach = self.end if leader_end is None else min(self.end, leader_end)
        return replace(self, end=min(self.end, limit), committed=committed, reach=reach)

    def capped(self, most: int | None) -> Goal:
        """Return the goal without a committed index above `most`, the highest that its leader will have."""
        is_later = most is not None and self.committed is not None and self.committed > most
        return replace(self, committed=None) if is_later else self

    def with_default_end(self, end: int) -> Goal:
        """Return the goal with this end, if no line shows one."""
        return replace(self, end=end) if self.end is None else self


class OrderedLines:
    """The lines of a group by the node that they are about, in an order in which they may have been written."""

    def __init__(self, threads: Sequence[Thread], slack: int = 0) -> None:
        """Sort the lines of some logs, whose stamps may be out of order by `slack` nanoseconds."""
        rows = list(_in_likely_order(threads, slack))
        self.threads = threads
        self.lines = [line for _, _, line in rows]
        self.place = {line: (thread, place) for thread, place, line in rows}
        self.rank = {line: rank for rank, line in enumerate(self.lines)}
        self.by_node: dict[str, list[LogLine]] = {}
        for line in self.lines:
            self.by_node.setdefault(line.node, []).append(line)
            if line.kind == "change_state":
                self.by_node.setdefault(line.words["peer"], []).append(line)
        self.restarts = {
            node: [line for line in lines if line.node == node and line.kind == RESTART]
            for node, lines in self.by_node.items()
        }
        self.elections = [line for line in self.lines if line.kind == "leader"]
        self.recovered = {
            (line.node, line.incarnation, line.kind): next(iter(line.numbers.values()))
            for line in self.lines
            if line.kind in RECOVERY
        }
        self.followed = {line: leader for lines in self.by_node.values() for line, leader in _followed(lines)}


class LogLookahead:
    """The lookahead from some lines on."""

    def __init__(self, sightings: OrderedLines, positions: Positions) -> None:
        """Look from the positions up to which each log is read."""
        self._all, self._positions = sightings, positions
        nexts = zip(sightings.threads, positions, strict=True)
        ranks = (sightings.rank[each.lines[place]] for each, place in nexts if place < len(each.lines))  # type: ignore[index]  # they are LogLines
        self._first = min(ranks, default=len(sightings.lines))
        self.saves = dict(self._saves())

    def _is_unread(self, line: LogLine) -> bool:
        thread, place = self._all.place[line]
        return place >= self._positions[thread]

    def _from(self, lines: list[LogLine], at_least: LogLine | None = None) -> Iterator[LogLine]:
        rank = self._all.rank
        first = self._first if at_least is None else rank[at_least]
        return filter(self._is_unread, islice(lines, bisect_left(lines, first, key=rank.__getitem__), None))

    def _lines_about(self, node: str) -> Iterator[LogLine]:
        return self._from(self._all.by_node.get(node, []))

    def goal(self, node: str) -> Goal:
        """Return the goal of a node by the next line, and by what later ones add to that."""
        goal, sure, may_cut, whole, at_least = Goal(), True, False, False, False
        then: dict[int, int] = {}
        for line in self._lines_about(node):
            sure = sure and not (line.node == node and line.kind in ("follower", "leader"))
            may_cut = may_cut or line.kind == "handle_truncate"
            end, committed = self._shown(line, node)
            end = None if may_cut else end
            if at_least and line.node == node and end is not None:
                goal, at_least = replace(goal, end=None), False
            differs = goal.end is not None and end not in (None, goal.end)
            whole = whole or goal.committed is not None or (differs and not _inherited(line))
            if not whole:
                at_least = at_least or (goal.end is None and line.node != node and line.words["is"] == "TRUNCATE")
                goal = self._added(goal, line, end, committed, sure)
            elif not sure or line.kind.startswith("recovered") or len(then) > _MAX_LATER:
                break
            elif committed is not None and committed != goal.committed:
                then[committed] = max(then.get(committed, committed), -1 if end is None else end)
        return replace(goal, then=tuple(then.items()))

    def _added(self, goal: Goal, line: LogLine, end: int | None, committed: int | None, sure: bool) -> Goal:
        if goal.end is None and end is not None and goal.committed is None:
            goal = replace(goal, end=end, end_sure=sure, rank=self._all.rank[line])
        if committed is not None:
            at_least = line.kind == "recovered_committed"
            goal = replace(goal, committed=committed, committed_sure=sure, at_least=at_least)
        return goal

    def marks(self, leader: str, term: int, now: LogLine, goals: Mapping[str, Goal]) -> dict[str, int]:
        """Return the next watermarks of a term in the leader's lines: those of a status line, or of a retry.

        None is above the end that a node shows before, which is its goal. `now` is the line that is to be explained.
        """
        found: dict[str, int] = {}

        def add(line: LogLine, peer: str, mark: int) -> None:
            goal = goals.get(peer, Goal())
            is_after = goal.end_sure and self._all.rank[line] >= goal.rank
            found.setdefault(peer, mark if goal.end is None or not is_after else min(mark, goal.end))

        for line in self._lines_about(leader):
            if line.node != leader:
                continue
            if line.kind == "status":
                for peer, mark in line.marks.get(term, {}).items():
                    add(line, peer, mark)
                break
            if line.kind == "retry":
                add(line, line.words["peer"], line.numbers["index"] - 1)
            if line.kind == "leader" and line is not now:
                break
        return found

    def committed(self, leader: str) -> int | None:
        """Return the committed index that a leader shows next, before which it commits no more; None: unknown."""
        for line in self._lines_about(leader):
            if line.node != leader:
                continue
            if line.kind in ("candidate", "follower", "leader", RESTART):
                return None
            if "committed" in line.numbers:
                return line.numbers["committed"]
        return None

    def compared(self, leader: str, peer: str, at_least: LogLine) -> list[int]:
        """Return the indexes that the leader compares with the peer, which follows it, until it starts anew."""
        said = self._comparisons(leader, peer, at_least)
        return [index for line, index in said if self._is_of(line, leader)][:_MAX_COMPARED]

    def may_compare(self, leader: str, peer: str, at_least: LogLine) -> list[int]:
        """Return these indexes first, and then those that the peer compares while it follows another leader.

        A COMPARE may come late, and is obeyed whatever its term.
        """
        said = sorted(self._comparisons(leader, peer, at_least), key=lambda row: not self._is_of(row[0], leader))
        return [index for _, index in said][:_MAX_COMPARED]

    def _is_of(self, line: LogLine, leader: str) -> bool:
        return leader in (line.node, self._all.followed.get(line))

    def _comparisons(self, leader: str, peer: str, at_least: LogLine) -> Iterator[tuple[LogLine, int]]:
        """Yield the comparisons of the peer, and of the leader's lines, until the leader starts anew."""
        for line in self._from(self._all.lines, at_least):
            of_pair = line.node == leader and line.words.get("peer") == peer
            is_new = of_pair and line.kind == "do_compare" and line is not at_least
            if is_new or (line.node == leader and line.kind == RESTART):
                break
            if line.node == peer and line.kind == "handle_compare":
                yield line, line.numbers["index"]
            elif of_pair and line.kind == "dispatcher_error" and line.numbers["compare"] >= 0:
                yield line, line.numbers["compare"]
            elif of_pair and line.kind == "change_state" and line.numbers["index"] >= 0:
                yield line, line.numbers["index"]
                break

    def ends_compare(self, leader: str, peer: str) -> bool:
        """Return whether the next line about the two shows that a COMPARE, which has no line, was sent before."""
        for line in self._lines_about(peer):
            if line.node == peer and line.kind == "handle_compare":
                return True
            if line.node == leader and line.words.get("peer") == peer:
                return line.words.get("was") == "COMPARE"
        return False

    def leaders(self, term: int) -> list[str]:
        """Return the later leaders of a term, by the lines of elections."""
        leading = (line for line in self._all.elections if line.numbers["term"] == term)
        return list(dict.fromkeys(line.node for line in leading if self._is_unread(line)))

    def write_index(self, leader: str, peer: str) -> int | None:
        """Return the write index to which the pushing under way, or the last one, comes; None where no line has it."""
        for line in self._lines_about(leader):
            if line.node != leader or line.words.get("peer", peer) != peer:
                continue
            if line.kind == "dispatcher_error":
                return line.numbers["write"]
            if line.kind == RESTART or line.words.get("is") == "APPEND":
                return None
        return None

    def recovered(self, node: str, incarnation: int) -> tuple[int | None, int | None]:
        """Return the end of the log that a restart found, and the committed index; None: unknown."""
        end, committed = (self._all.recovered.get((node, incarnation, kind)) for kind in RECOVERY)
        return end, committed

    def _saves(self) -> Iterator[tuple[str, int]]:
        """Yield, by node, the committed index that its next restart finds in its checkpoint, where a line has it."""
        for node, restarts in self._all.restarts.items():
            restart = next(self._from(restarts), None)
            committed = None if restart is None else self.recovered(node, restart.incarnation)[1]
            if committed is not None:
                yield node, committed

    def term(self, node: str, incarnation: int) -> int | None:
        """Return the term in which a process begins; None where no line has it."""
        for line in self._lines_about(node):
            if line.node == node and line.incarnation > incarnation:
                break
            if line.node == node and line.kind in _WITH_TERM:
                return line.numbers["old" if line.kind == "next_term" else "term"]
        return None

    def _shown(self, line: LogLine, node: str) -> tuple[int | None, int | None]:
        """Return the end of the node's log and its committed index, where the line shows them."""
        numbers = line.numbers
        if line.node != node:
            return _end_of_peer(line), None
        if line.kind == "do_compare":  # from the end of the leader's log
            return next(iter(self.compared(node, line.words["peer"], line)), None), None
        if line.kind in ("status", "recovered_end", "recovered_committed", "skip_commit", "handle_compare"):
            return numbers.get("end"), numbers.get("committed")
        return None, None


def _in_likely_order(threads: Sequence[Thread], slack: int) -> Iterator[tuple[int, int, LogLine]]:
    """Yield the lines, with log and place, by their stamps, and where these leave it open, causes first.

    The search tries each order that the lines may have, whichever of them this is.
    """
    left: dict[int, deque[_Row]] = {}
    for row in in_time(threads):
        left.setdefault(row[1], deque()).append(row)
    while left:
        heads = sorted(rows[0] for rows in left.values())
        open_ = [head for head in heads if head[0] <= heads[0][0] + slack]
        chosen = next((head for head in open_ if not _waits(head, left, slack)), heads[0])
        yield chosen[1:]
        left[chosen[1]].popleft()
        left = {thread: rows for thread, rows in left.items() if rows}


def _waits(head: _Row, left: Mapping[int, Iterable[_Row]], slack: int) -> bool:
    """Return whether a line of another log that may have been written before is a cause of this one."""
    time, thread, _, line = head
    others = chain.from_iterable(
        takewhile(lambda row: row[0] <= time + slack, rows) for other, rows in left.items() if other != thread
    )
    return any(_leads_to(before, line) for _, _, _, before in others)


def _leads_to(before: LogLine, line: LogLine) -> bool:
    """Return whether a line is about a message, and the other one about its effect."""
    words = line.words
    match line.kind:
        case "handle_compare":
            return before.kind == "do_compare" and before.words["peer"] == line.node
        case "handle_truncate":
            return before.kind == "do_truncate" and before.words["peer"] == line.node
        case "change_state" if words["was"] != words["is"]:
            kind = {"COMPARE": "handle_compare", "TRUNCATE": "handle_truncate"}.get(words["was"])
            return before.kind == kind and before.node == words["peer"]
        case "follower":
            return before.kind == "leader" and before.node == words["leader"]
    return False


def _followed(lines: Sequence[LogLine]) -> Iterator[tuple[LogLine, str]]:
    """Yield the comparisons of a node, each with the leader that it followed by its line before that."""
    leader = ""
    for line in lines:
        if line.kind == "follower":
            leader = line.words["leader"]
        elif line.kind == "handle_compare":
            yield line, leader


def _end_of_peer(line: LogLine) -> int | None:
    """Return the end of the log that a dispatcher compared with: the index, if it took up APPEND; else further up."""
    index = line.numbers["index"]
    match line.words["was"], line.words["is"]:
        case "COMPARE", "APPEND":
            return index
        case "COMPARE", "TRUNCATE" if index > 0:  # to 0 for an empty log as well
            return index + 1
        case _:
            return None


def _inherited(line: LogLine) -> bool:
    """Return whether a leader shows a committed index from before its term: no quorum has acknowledged it."""
    marks = sorted(line.marks.get(line.numbers["term"], {}).values(), reverse=True) if line.kind == "status" else []
    return bool(marks) and marks[len(marks) // 2] < line.numbers["committed"]
