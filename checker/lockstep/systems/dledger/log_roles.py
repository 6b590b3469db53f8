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
class _KnownRole:
    """A role and a term; the least term but for 0 of a node that was `restarted` and has no line since."""

    role: str = "CANDIDATE"
    term: int = 0
    restarted: bool = False

    def may_be(self, role: str | None, term: int | None) -> bool:
        if role not in (None, self.role):
            return False
        return term in (None, self.term) or (self.restarted and (term == 0 or (term or 0) > self.term))

    def after_restart(self) -> _KnownRole:
        least = 0 if self.restarted else self.term  # from 0 on it may have gone on, and died again
        return _KnownRole("CANDIDATE", least, restarted=True)


@dataclass(frozen=True, slots=True)
class RefutedLine:
    """A line that no behaviour explains, and the step or observation of its node that it claims."""

    line: LogLine
    action: str
    args: Mapping[str, str]
    shows: Mapping[str, Any]


def first_refuted(threads: Sequence[Thread], names_processes: bool) -> tuple[list[Thread], RefutedLine | None]:
    """Return the first line that is refuted, if any is, and of each log what stands before it.

    Arguments: `names_processes`, whether the lines show each start of a process.
    """
    lines = in_time(threads)
    elected = [line for *_, line in lines if line.kind == "leader"] if len(threads) > 1 else []
    roles, read = NodeRoles(elected, names_processes), [0] * len(threads)
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


class NodeRoles:
    """The role and term that each node may have, and the leaders that were elected."""

    def __init__(self, elected: Iterable[LogLine] = (), names_processes: bool = True) -> None:
        """Begin where the group does.

        Arguments: `elected`, the lines of leaders that may stand before any other line, as those of other logs may;
        `names_processes`, whether the lines show each start of a process.
        """
        self._known: dict[str, _KnownRole] = {}
        self._elected = {(line.node, line.numbers["term"]) for line in elected}
        self._first: dict[str, int] = {}
        self._names_processes = names_processes

    def restart(self, node: str) -> None:
        """Learn that the process is another one: its term is that of the file, or 0 if it died while it wrote that.

        In the file may be a higher term than in its lines: a term is logged after it was written.
        """
        self._known[node] = self._known.get(node, _KnownRole()).after_restart()

    def learn(self, line: LogLine) -> None:
        """Learn from a line that contradicts nothing."""
        role = ROLES.get(line.kind)
        if role is None:
            return
        self._known[line.node] = _KnownRole(role, line.numbers["term"])
        self._first.setdefault(line.node, line.numbers.get("old", line.numbers["term"]))
        if role == "LEADER":
            self._elected.add((line.node, line.numbers["term"]))

    def claim(self, line: LogLine) -> RefutedLine | None:
        """Return the claim of a line, if role, term or leader of its node exclude it."""
        shows = self.contradicted(line)
        if shows is not None:
            return RefutedLine(line, OBSERVE, {}, shows)
        if self.follows_nobody(line):
            return RefutedLine(line, "ChangeToFollower", {"leader": line.words["leader"]}, {})
        return None

    def contradicted(self, line: LogLine) -> dict[str, Any] | None:
        """Return the role and the term that a line has before it, if they cannot be."""
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
        """Return whether a line names a leader that was not elected in its term.

        Its election may stand above the first line of a log, unless that leader has a line of an earlier term.
        """
        if line.kind != "follower":
            return False
        leader, term = line.words["leader"], line.numbers["term"]
        return (leader, term) not in self._elected and self._first.get(leader, term) < term

    def may_be(self, node: str, role: str | None, term: int | None) -> bool:
        """Return whether a node may have this role and this term; None stands for any."""
        known = self._known.get(node, _KnownRole())
        return known.may_be(role, term) or (not self._names_processes and known.after_restart().may_be(role, term))
