"""Role and term of each node, by its own lines alone.

Every step that changes them is logged, and a crash shows in the next line; so a line that contradicts them is refuted,
whatever the search finds.
"""

from __future__ import annotations

from typing import Any

from lockstep.trace.dledger_log.lines import LogLine

#: The role after a line of this kind.
_ROLES = {"candidate": "CANDIDATE", "next_term": "CANDIDATE", "leader": "LEADER", "follower": "FOLLOWER"}

_Roles = set[tuple[str, int]]


class Roles:
    """What role and term each node may have, and who was elected."""

    def __init__(self) -> None:
        """Begin where the group does."""
        self._possible: dict[str, _Roles] = {}
        self._elected: set[tuple[str, int]] = set()

    def restart(self, node: str) -> None:
        """Learn that the process is another one: its term is that of the file, or 0 if it died while it wrote that."""
        terms = {term for _role, term in self.possible(node)}
        self._possible[node] = {("CANDIDATE", term) for term in terms | {0}}

    def learn(self, line: LogLine) -> None:
        """Learn from a line that contradicts nothing."""
        role = _ROLES.get(line.kind)
        if role is None:
            return
        self._possible[line.node] = {(role, line.numbers["term"])}
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
        each = ({"role": role, "currTerm": term} for role, term in self.possible(line.node))
        return None if any(shows.items() <= one.items() for one in each) else shows

    def follows_nobody(self, line: LogLine) -> bool:
        """Tell whether a line names a leader that was not elected in its term."""
        return line.kind == "follower" and (line.words["leader"], line.numbers["term"]) not in self._elected

    def possible(self, node: str) -> _Roles:
        """Return the roles and terms that the node may have."""
        return self._possible.get(node, {("CANDIDATE", 0)})
