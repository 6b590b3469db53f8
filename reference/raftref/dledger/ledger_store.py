"""The store of one node: its log, what is committed of it, and what survives a restart."""

from __future__ import annotations

from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, Term
from raftref.dledger.switches import Variant


class LedgerStore:
    """The log in its file, the committed index, and the checkpoint.

    `log` is what the node holds, first entry at index 0. `tail` is what TRUNCATE cut off: it stays in the
    file behind the log. `check_point` is the durable copy of `committed_index`; log and tail are durable.

    Source: DLedgerMmapFileStore, without positions in the file and without expiry.
    """

    def __init__(self, truncated_tail: Variant = Variant.PUBLISHED) -> None:
        """Make an empty store; `truncated_tail` tells whether cut entries stay in the file."""
        self.truncated_tail = truncated_tail
        self.log: tuple[Entry, ...] = ()
        self.tail: tuple[Entry, ...] = ()
        self.committed_index = NONE
        self.check_point = NONE

    @property
    def begin_index(self) -> Index:
        """The index of the first entry, -1 in an empty log."""
        return Index(0) if self.log else NONE

    @property
    def end_index(self) -> Index:
        """The index of the last entry, -1 in an empty log."""
        return Index(len(self.log) - 1)

    @property
    def end_term(self) -> Term:
        """The term of the last entry, -1 in an empty log."""
        return self.log[-1].term if self.log else NO_TERM

    def has_entry(self, index: Index) -> bool:
        """Tell whether the log holds an entry at `index`."""
        return 0 <= index < len(self.log)

    def entry(self, index: Index) -> Entry:
        """Return the entry at `index`; raises IndexError where the log holds none, also below 0."""
        if not self.has_entry(index):
            raise IndexError(f"no entry at {index}: the log ends at {self.end_index}")
        return self.log[index]

    def holds(self, index: Index, entry: Entry) -> bool:
        """Tell whether the log holds exactly this entry at `index`."""
        return self.has_entry(index) and self.log[index] == entry

    def term_at(self, index: Index) -> Term:
        """Return the term of the entry at `index`, -1 where there is none."""
        return self.log[index].term if self.has_entry(index) else NO_TERM

    def append(self, entry: Entry) -> Index:
        """Store the next entry; it is written over the first entry of the tail, if there is one.

        Args:
            entry: The entry that the log is to end with.

        Returns:
            Its index.

        Source: DLedgerMmapFileStore.appendAsLeader, appendAsFollower.
        """
        self.log = (*self.log, entry)
        self.tail = self.tail[1:]
        return self.end_index

    def truncate(self, index: Index, entry: Entry) -> None:
        """Make the log end with this entry at `index`: an equal one is kept, any other is written.

        Only the write position moves (as published), so what lay behind the new end stays in the file. The
        committed index stays too, and may then lie past the end.

        Args:
            index: Where the log is to end; at most one past its end.
            entry: What it is to end with.

        Raises:
            IndexError: `index` is negative or would leave a gap.

        Source: DLedgerMmapFileStore.truncate.
        """
        if not 0 <= index <= len(self.log):
            raise IndexError(f"cannot truncate to {index}: the log ends at {self.end_index}")
        behind = (self.log + self.tail)[index + 1 :]
        self.log = (*self.log[:index], entry)
        self.tail = behind if self.truncated_tail is Variant.PUBLISHED else ()

    def update_committed_index(self, term: Term, new_index: Index, *, curr_term: Term) -> None:
        """Take over a committed index that was heard of, after these tests in this order.

        A term higher than the node's own passes. The old index is a floor. The clamp to the end of the log
        comes last, and so may lower an index that lay past the end.

        Args:
            term: The term in which it was told.
            new_index: The index that is committed, -1 for none.
            curr_term: The term the node is in.

        Source: DLedgerMmapFileStore.updateCommittedIndex.
        """
        if new_index == NONE or not self.log or term < curr_term or new_index == self.committed_index:
            return
        if new_index < self.committed_index or new_index < self.begin_index:
            return
        self.committed_index = min(new_index, self.end_index)

    def persist_check_point(self) -> None:
        """Write the committed index to the checkpoint file.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        self.check_point = self.committed_index

    def resurrectable_count(self) -> int:
        """Return how many entries of the tail a recovery can take for entries of the log.

        The scan of the file goes on behind the old end while terms do not fall.

        Source: DLedgerMmapFileStore.recover.
        """
        term, count = self.end_term, 0
        for entry in self.tail:
            if entry.term < term:
                break
            term, count = entry.term, count + 1
        return count

    def recover(self, resurrected: int, *, curr_term: Term) -> None:
        """Read the log from its file, and the committed index from the checkpoint.

        Args:
            resurrected: How many entries of the tail the scan takes for entries of the log.
            curr_term: The term the node is in, from its own file.

        Raises:
            ValueError: The scan cannot go that far.

        Source: DLedgerMmapFileStore.recover.
        """
        if not 0 <= resurrected <= self.resurrectable_count():
            raise ValueError(f"a scan of the file cannot find {resurrected} entries behind the end")
        self.log += self.tail[:resurrected]
        self.tail = self.tail[resurrected:]
        self.committed_index = NONE
        self.update_committed_index(curr_term, self.check_point, curr_term=curr_term)
