"""Role and term of each node, by its own lines alone.

Every step that changes them is logged, but for the last one before a crash, and a crash shows in the next line; so a
line that contradicts the lines of its node before it is refuted, whatever the search finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.logs.log_lines import Thread
from lockstep.systems.dledger.log_lines import RESTART, LogLine, in_time
from lockstep.trace.trace_format import OBSERVE

#: The role after a line of this kind.
ROLES = {"candidate": "CANDIDATE", "next_term": "CANDIDATE", "leader": "LEADER", "follower": "FOLLOWER"}


@dataclass(frozen=True, slots=True)
class _Known:
    """A role and a term; of a node that was `restarted` and has told nothing since, the least term but for 0."""

    role: str = "CANDIDATE"
    term: int = 0
    restarted: bool = False

    def may_be(self, role: str | None, term: int | None) -> bool:
        if role not in (None, self.role):
            return False
        return term in (None, self.term) or (self.restarted and (term == 0 or (term or 0) > self.term))

    def after_restart(self) -> _Known:
        least = 0 if self.restarted else self.term  # from 0 on it may have gone on, and died again
        return _Known("CANDIDATE", least, restarted=True)


@dataclass(frozen=True, slots=True)
class Refuted:
    """A line that no behaviour explains, as a step or an observation of its node: what it claims."""

    line: LogLine
    action: str
    args: Mapping[str, str]
    shows: Mapping[str, Any]


def first_refuted(threads: Sequence[Thread], tells_processes: bool) -> tuple[list[Thread], Refuted | None]:
    """Return the first line that is refuted, if any is, and of each log what stands before it.

    Arguments: `tells_processes`, whether it shows in the lines whenever a process starts again.
    """
    lines = in_time(threads)
    elected = [line for *_, line in lines if line.kind == "leader"] if len(threads) > 1 else []
    roles, read = Roles(elected, tells_processes), [0] * len(threads)
    for _, thread, place, line in lines:
        if line.kind == RESTART:
            roles.restart(line.node)
        claim = roles.claim(line)
        if claim is not None:
            cut = [Thread(each.source, each.lines[:count]) for each, count in zip(threads, read, strict=True)]
            return cut, claim
        roles.learn(line)
        read[thread] = place + 1
    return list(threads), None


class Roles:
    """What role and term each node may have, and who was elected."""

    def __init__(self, elected: Iterable[LogLine] = (), tells_processes: bool = True) -> None:
        """Begin where the group does.

        Arguments: `elected`, the lines of leaders that may stand before any other line, as those of other logs may;
        `tells_processes`, whether it shows in the lines whenever a process starts again.
        """
        self._known: dict[str, _Known] = {}
        self._elected = {(line.node, line.numbers["term"]) for line in elected}
        self._first: dict[str, int] = {}
        self._tells_processes = tells_processes

    def restart(self, node: str) -> None:
        """Learn that the process is another one: its term is that of the file, or 0 if it died while it wrote that.

        In the file may be a higher term than it told of: a term is logged after it was written.
        """
        self._known[node] = self._known.get(node, _Known()).after_restart()

    def learn(self, line: LogLine) -> None:
        """Learn from a line that contradicts nothing."""
        role = ROLES.get(line.kind)
        if role is None:
            return
        self._known[line.node] = _Known(role, line.numbers["term"])
        self._first.setdefault(line.node, line.numbers.get("old", line.numbers["term"]))
        if role == "LEADER":
            self._elected.add((line.node, line.numbers["term"]))

    def claim(self, line: LogLine) -> Refuted | None:
        """Return what a line claims, if role, term or leader of its node exclude that."""
        shows = self.contradicted(line)
        if shows is not None:
            return Refuted(line, OBSERVE, {}, shows)
        if self.follows_nobody(line):
            return Refuted(line, "ChangeToFollower", {"leader": line.words["leader"]}, {})
        return None

    def contradicted(self, line: LogLine) -> dict[str, Any] | None:
        """Return what a line says of the role and the term before it, if that cannot be."""
        match line.kind:
            case "candidate":
                shows: dict[str, Any] = {"currTerm": line.numbers["term"]}
            case "next_term":
                shows = {"role": "CANDIDATE", "currTerm": line.numbers["old"]}
            case "leader" | "follower":
                shows = {"role": "CANDIDATE", "currTerm": line.numbers["term"]}
            case "heartbeat_timeout":
                shows = {"role": "FOLLOWER"}
            case _:
                return None
        return None if self.may_be(line.node, shows.get("role"), shows.get("currTerm")) else shows

    def follows_nobody(self, line: LogLine) -> bool:
        """Tell whether a line names a leader that was not elected in its term.

        Its election may stand above the first line of a log, unless that leader tells of an earlier term.
        """
        if line.kind != "follower":
            return False
        leader, term = line.words["leader"], line.numbers["term"]
        return (leader, term) not in self._elected and self._first.get(leader, term) < term

    def may_be(self, node: str, role: str | None, term: int | None) -> bool:
        """Tell whether a node may have this role and this term; None: whatever they are."""
        known = self._known.get(node, _Known())
        return known.may_be(role, term) or (not self._tells_processes and known.after_restart().may_be(role, term))
