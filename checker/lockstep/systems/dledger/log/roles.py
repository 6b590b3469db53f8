"""Role and term of each node, by its own lines alone.

Every step that changes them is logged, but for the last one before a crash, and a crash shows in the next line; so a
line that contradicts the lines of its node before it is refuted, whatever the search finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lockstep.systems.dledger.log.lines import LogLine

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


class Roles:
    """What role and term each node may have, and who was elected."""

    def __init__(self) -> None:
        """Begin where the group does."""
        self._known: dict[str, _Known] = {}
        self._elected: set[tuple[str, int]] = set()
        self._first: dict[str, int] = {}

    def restart(self, node: str) -> None:
        """Learn that the process is another one: its term is that of the file, or 0 if it died while it wrote that.

        In the file may be a higher term than it told of: a term is logged after it was written.
        """
        known = self._known.get(node, _Known())
        least = 0 if known.restarted else known.term  # from 0 on it may have gone on, and died again
        self._known[node] = _Known("CANDIDATE", least, restarted=True)

    def learn(self, line: LogLine) -> None:
        """Learn from a line that contradicts nothing."""
        role = ROLES.get(line.kind)
        if role is None:
            return
        self._known[line.node] = _Known(role, line.numbers["term"])
        self._first.setdefault(line.node, line.numbers.get("old", line.numbers["term"]))
        if role == "LEADER":
            self._elected.add((line.node, line.numbers["term"]))

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
        return self._known.get(node, _Known()).may_be(role, term)
