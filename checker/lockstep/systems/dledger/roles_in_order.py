"""The order of elections by the roles of the nodes alone: vote requests and heartbeats have no lines.

A vote is for a candidate, a leader has the votes of a quorum, a follower follows a leader, and a term after the next
one was heard of. Where clocks differ, a line that says so waits for the line of the other node.
"""

from __future__ import annotations

from collections import defaultdict

from lockstep.systems.merged_order import TimedLine


class RolesInOrder:
    """The roles of a group's nodes by the lines so far, and the votes for each since it became a candidate."""

    def __init__(self, members: int) -> None:
        """Begin with a group of this size, before its first start."""
        self._quorum = members // 2 + 1
        #: Role and term of each node, and the terms that each has led.
        self._now: dict[str, tuple[str, int]] = {}
        self._led: defaultdict[str, set[int]] = defaultdict(set)
        self._terms: set[int] = set()
        self._votes: defaultdict[str, set[str]] = defaultdict(set)

    def is_early(self, line: TimedLine) -> bool:
        """Return whether a line of a role says what cannot have come about by the lines so far."""
        fields, node = line.fields, line.node
        term = fields.get("term")
        match fields.get("op"):
            case "setCurrVoteFor":
                candidate = fields["votedFor"]
                return candidate != node and self._now.get(candidate) != ("CANDIDATE", term)
            case "changeToLeader":
                return len(self._votes[node]) < self._quorum
            case "changeToFollower":
                return fields["leaderId"] != node and term not in self._led[fields["leaderId"]]
            case "nextTerm":
                _, before = self._now.get(node, ("", term))
                return term not in self._terms and before is not None and term != before + 1
        return False

    def note(self, line: TimedLine) -> None:
        """Take a line for the next one."""
        fields, node = line.fields, line.node
        if fields["kind"] == "recovered":
            self._change(node, fields["st"]["role"], fields["st"]["term"])
        elif fields["kind"] == "role":
            self._change(node, fields["role"], fields["term"])
            if fields["op"] == "setCurrVoteFor":
                self._votes[fields["votedFor"]].add(node)

    def _change(self, node: str, role: str, term: int) -> None:
        if role == "CANDIDATE" and self._now.get(node) != (role, term):
            self._votes[node].clear()
        self._now[node] = role, term
        self._terms.add(term)
        if role == "LEADER":
            self._led[node].add(term)
