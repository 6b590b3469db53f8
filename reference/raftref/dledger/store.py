"""The store of one node: its log, the committed index, and the files that a crash leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from raftref.dledger.choices import PUBLISHED, Config, Flaw
from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, Term

#: The reasons for which an entry cannot be read. Source: DLedgerResponseCode.
INDEX_OUT_OF_RANGE, INDEX_LESS_THAN_LOCAL_BEGIN = "INDEX_OUT_OF_RANGE", "INDEX_LESS_THAN_LOCAL_BEGIN"


class EntryRefusedError(Exception):
    """A store cannot take an entry, or cannot commit up to an index: its files do not agree with that.

    In memory there is no such reason.

    Source: DLedgerException with DISK_ERROR.
    """


#: Entries in their order in the file. None is a hole: TRUNCATE jumped over it, and it cannot be read.
Log: TypeAlias = Sequence[Entry | None]


class LedgerStore:
    """The log in its file, the committed index, and the checkpoint.

    `log` has the entries of the node, the first one at index 0; once it has changed it is another object. `tail` has
    those that TRUNCATE cut off: it stays in the file behind the log. Both are written; `disk` is the file as it was
    last forced to the disk.
    `end_term` is the copy of the last entry's term that votes look at. `check_point` is the durable copy of
    `committed_index`.

    Source: DLedgerMmapFileStore, without positions in the file and without expiry.
    """

    def __init__(self, config: Config = PUBLISHED) -> None:
        """Make an empty store."""
        self.config = config
        self.log: Log = ()
        self.tail: Log = ()
        self.disk: Log = ()
        self.end_term = NO_TERM
        self.committed_index = NONE
        self.check_point = NONE
        #: Whether nothing is to be appended, since the disk is full; in memory it never is.
        self.is_disk_full = False

    @property
    def begin_index(self) -> Index:
        """The index of the first entry, -1 in an empty log."""
        return Index(0) if self.log else NONE

    @property
    def end_index(self) -> Index:
        """The index of the last entry, -1 in an empty log."""
        return Index(len(self.log) - 1)

    @property
    def file(self) -> tuple[Entry | None, ...]:
        """The content of the data file: the log, and behind it what was cut."""
        return (*self.log, *self.tail)

    @property
    def is_forced(self) -> bool:
        """Whether all that was written is on the disk."""
        return self.disk == self.file

    def has_entry(self, index: Index) -> bool:
        """Return whether the log holds an entry at `index` that can be read."""
        return 0 <= index < len(self.log) and self.log[index] is not None

    def index_check(self, index: Index) -> str | None:
        """Return the reason for which no entry can be at an index, if there is one: the code that a client gets.

        Source: DLedgerMmapFileStore.indexCheck.
        """
        if index < 0:
            return INDEX_OUT_OF_RANGE
        if index < self.begin_index:
            return INDEX_LESS_THAN_LOCAL_BEGIN
        return INDEX_OUT_OF_RANGE if index > self.end_index else None

    def entry(self, index: Index) -> Entry:
        """Return the entry at `index`; raises IndexError where the log holds none, also below 0 or below its begin."""
        found = self.log[index] if 0 <= index < len(self.log) else None
        if found is None:
            reason = self.index_check(index) or "a hole"
            raise IndexError(f"no entry at {index}: {reason}; the log is from {self.begin_index} to {self.end_index}")
        return found

    def holds(self, index: Index, entry: Entry) -> bool:
        """Return whether the log holds exactly this entry at `index`."""
        return self.has_entry(index) and self.log[index] == entry

    def term_at(self, index: Index) -> Term:
        """Return the term of the entry at `index`, -1 where there is none."""
        return self.entry(index).term if self.has_entry(index) else NO_TERM

    def append(self, entry: Entry, *, curr_term: Term | None = None) -> Index:
        """Store the next entry; it is written over the first entry of the tail, if there is one.

        Args:
            entry: The entry that the log is to end with.
            curr_term: The term the node is in, if it is not the entry's own.

        Returns:
            Its index.

        Source: DLedgerMmapFileStore.appendAsLeader, appendAsFollower.
        """
        self.log = (*self.log, entry)
        self.tail = self.tail[1:]
        self._written(entry, curr_term)
        return self.end_index

    def _written(self, entry: Entry, curr_term: Term | None) -> None:
        """Keep the term of the last entry, or as in 0.1 the one it is stored in (LedgerEndTerm)."""
        flawed = self.config.has(Flaw.LEDGER_END_TERM)
        self.end_term = entry.term if curr_term is None or not flawed else curr_term
        self._force_if_at_once()

    def _force_if_at_once(self) -> None:
        """Force the file, unless as published writes reach the disk later (AsyncFlush)."""
        if not self.config.has(Flaw.ASYNC_FLUSH):
            self.force()

    def force(self) -> None:
        """Bring all that was written to the disk. Source: DLedgerMmapFileStore.FlushDataService.doWork."""
        self.disk = self.file

    def truncate(self, index: Index, entry: Entry, *, curr_term: Term | None = None) -> None:
        """Make the log end with this entry at `index`: an equal one is kept, any other is written.

        Only the write position moves, back or forward, so what lay behind the new end stays in the file (as
        published). An index after the end is not refused: what is jumped over is what the file has there,
        entries that were cut before or holes. The committed index stays, and may then lie past the end.

        Args:
            index: Where the log is to end.
            entry: What it is to end with.
            curr_term: The term the node is in, if it is not the entry's own.

        Raises:
            IndexError: `index` is negative.

        Source: DLedgerMmapFileStore.truncate, MmapFileList.truncateOffset.
        """
        if index < 0:
            raise IndexError(f"cannot truncate to {index}")
        file = self.file
        holes = (None,) * (index - len(file))
        self.log = (*file[:index], *holes, entry)
        self.tail = self._behind(file[index + 1 :])
        self._written(entry, curr_term)

    def _behind(self, entries: Log) -> Log:
        """Return what a cut leaves behind the end: as published, the entries (TruncatedTail); repaired, nothing."""
        return entries if self.config.has(Flaw.TRUNCATED_TAIL) else ()

    def update_committed_index(self, term: Term, new_index: Index, *, curr_term: Term) -> None:
        """Take over a committed index that was learnt, after these tests in this order.

        A term higher than the node's own passes. The old index is a floor. The clamp to the end of the log
        comes last, and so may lower an index that lay past the end.

        Args:
            term: The term in which it was learnt.
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

    def lose_check_point(self) -> None:
        """Be left without a checkpoint file, as by a process that dies while it replaces the file.

        Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
        """
        self.check_point = NONE

    def can_lose_power(self, kept: int) -> bool:
        """Return whether the file has `kept` entries that may have reached the disk."""
        return 0 <= kept <= len(self.file)

    def lose_power(self, kept: int) -> None:
        """Lose what was not forced.

        Args:
            kept: The number of entries, the first ones of the file, that had reached the disk; behind them it is as
                it was last forced.

        Raises:
            ValueError: The file has fewer entries.
        """
        if not self.can_lose_power(kept):
            raise ValueError(f"there are not {kept} entries in the file, but {len(self.file)}")
        left = (*self.file[:kept], *self.disk[kept:])
        end = min(len(self.log), len(left))
        self.log, self.tail, self.disk = left[:end], left[end:], left
        self.committed_index = min(self.committed_index, self.end_index)

    def scanned_count(self) -> int:
        """Return the number of entries that the scan of the data file finds, those behind the end of the log included.

        It stops at what cannot be read, and at an entry of a lower term than the one before.

        Source: DLedgerMmapFileStore.recover.
        """
        file = self.file
        if not file or file[0] is None:
            return 0
        for count, (before, entry) in enumerate(pairwise(file), start=1):
            if before is None or entry is None or entry.term < before.term:
                return count
        return len(file)

    def resurrectable_count(self) -> int:
        """Return the number of entries of the tail that a recovery can take for entries of the log.

        Source: DLedgerMmapFileStore.recover.
        """
        return max(0, self.scanned_count() - len(self.log))

    def can_recover(self, resurrected: int) -> bool:
        """Return whether a recovery can take `resurrected` entries of the tail for entries of the log."""
        return 0 <= resurrected <= self.resurrectable_count()

    def recover(self, resurrected: int, *, curr_term: Term) -> None:
        """Read the log from its file, and the committed index from the checkpoint.

        The log may come back shorter: behind a hole, or where terms fall, the scan finds nothing.

        Args:
            resurrected: The number of entries of the tail that the scan takes for entries of the log.
            curr_term: The term the node is in, from its own file.

        Raises:
            ValueError: The scan cannot go that far.

        Source: DLedgerMmapFileStore.recover.
        """
        if not self.can_recover(resurrected):
            raise ValueError(f"a scan of the file cannot find {resurrected} entries behind the end")
        file, end = self.file, min(len(self.log), self.scanned_count()) + resurrected
        self.log, self.tail = file[:end], self._behind(file[end:])
        self.end_term = self.term_at(self.end_index)
        self._force_if_at_once()
        self.committed_index = NONE
        self.update_committed_index(curr_term, self.check_point, curr_term=curr_term)
