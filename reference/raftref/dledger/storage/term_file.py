"""The term file: the term a node is in and whom it voted for in it."""

from __future__ import annotations

from raftref.disks.disk import Disk
from raftref.dledger.messages import NodeId, Term
from raftref.dledger.storage.string_file import (
    file_to_string,
    properties_to_string,
    string_to_file,
    string_to_properties,
    to_long,
)

#: The names in the code. Source: MemberState.TERM_PERSIST_FILE, TERM_PERSIST_KEY_TERM, TERM_PERSIST_KEY_VOTE_FOR.
TERM_FILE = "currterm"
TERM_KEY, VOTE_KEY = "currTerm", "voteLeader"


class TermFile:
    """Where term and vote outlast the process, unless it dies while they are replaced (D8)."""

    def __init__(self, disk: Disk) -> None:
        """Take the disk that the file is on, or will be."""
        self._disk = disk

    def persist(self, curr_term: Term, curr_vote_for: NodeId | None) -> None:
        """Replace the file, step by step and without forcing it.

        Args:
            curr_term: The term.
            curr_vote_for: The vote in it, None for none.

        Source: MemberState.persistTerm.
        """
        properties = {VOTE_KEY: curr_vote_for or "", TERM_KEY: curr_term}
        string_to_file(self._disk, TERM_FILE, properties_to_string(properties))

    def load(self) -> tuple[Term, NodeId | None]:
        """Return term and vote; without a file that can be read these are term 0 and no vote.

        A file without a term still tells the vote.

        Source: MemberState.loadTerm.
        """
        properties = string_to_properties(file_to_string(self._disk, TERM_FILE) or "")
        term = to_long(properties.get(TERM_KEY, "0"))
        if term is None:
            return Term(0), None
        return Term(term), properties.get(VOTE_KEY) or None
