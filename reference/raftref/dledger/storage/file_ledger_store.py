"""The store of one node on files, byte for byte as DLedger writes them."""

from __future__ import annotations

from raftref.disks.disk import Disk, DiskError
from raftref.dledger.choices import PUBLISHED, Config, Flaw
from raftref.dledger.messages import NONE, Entry, Index, Term
from raftref.dledger.storage.entry_coder import as_read
from raftref.dledger.storage.entry_files import EntryFiles
from raftref.dledger.storage.property_files import CheckPointFile
from raftref.dledger.storage.shared_log import SharedLog
from raftref.dledger.store import LedgerStore, Log


class FileLedgerStore(LedgerStore):
    """The store whose content is bytes: data file, index file and checkpoint on a disk.

    `log` is what a reading of all `files` would find, though not all is read after each change: an append takes
    constant time (see `SharedLog`), and a TRUNCATE reads all only where positions of entries do not rise. `tail` is
    what can be read behind the log. What was appended is on the disk once `flush` forced it, and not before.

    Simplified: one data file, which never fills and begins at index 0, where the code takes any first index; the
    positions that a leader sends are optional; the reserved channel is not compared; `committedPos` is left out.
    A body of invalid bytes is a value all the same. A checkpoint that is no number, which keeps DLedger from
    starting, is none.

    Source: DLedgerMmapFileStore.
    """

    def __init__(self, disk: Disk, config: Config = PUBLISHED, *, checks_body_crc: bool = False) -> None:
        """Take the files on a disk. Until `startup` or `recover` the log is empty, whatever they hold.

        Args:
            disk: The disk that has the files, or will have.
            config: The flaws: whether cut entries stay in the file, when it is forced.
            checks_body_crc: Whether a torn body is noticed, as it is not in DLedger.
        """
        super().__init__(config)
        self.log: SharedLog = SharedLog()
        #: The first position behind the write position at which an entry ends that the index names: it may be found
        #: once that is passed.
        self._unreached: int | None = None
        #: Whether every entry can be read, and lies behind the one before it.
        self._is_regular = True
        self._tail: Log | None = ()
        self.files = EntryFiles(disk, checks_body_crc=checks_body_crc)
        self._check_point_file = CheckPointFile(disk)

    def startup(self, *, curr_term: Term) -> None:
        """Recover from the files, as a process does that starts.

        Args:
            curr_term: The term the node is in, from its own file.

        Source: DLedgerMmapFileStore.startup.
        """
        self.recover(self.resurrectable_count(), curr_term=curr_term)

    def append(self, entry: Entry, pos: int | None = None, *, curr_term: Term | None = None) -> Index:
        """Write the next entry and its index unit at the write positions, over what was cut there.

        Args:
            entry: The entry that the log is to end with.
            pos: Its position in the leader's file, in bytes; None: its position in this one.
            curr_term: The term the node is in, if it is not the entry's own.

        Returns:
            Its index.

        Raises:
            DiskError: It does not lie there in this file, and by now it is written.

        Source: DLedgerMmapFileStore.appendAsLeader, appendAsFollower.
        """
        index = Index(self.end_index + 1)
        header = self.files.header(entry, index, self.files.data.write_position if pos is None else pos)
        written = self.files.append_data(header, entry)
        if written != header.pos:
            self._moved()
            raise DiskError(f"entry {index} is at {written} and not at {header.pos}")
        self.files.append_index(header.unit())
        self._appended(entry)
        self._written(entry, curr_term)
        return index

    def _appended(self, entry: Entry) -> None:
        """Let the log have the entry that was written behind it."""
        self.log = self.log.appended(as_read(entry))
        self._moved()

    def _moved(self) -> None:
        """Read again what may be read otherwise since the write position moved forward."""
        self._tail = None
        if self._unreached is not None and self._unreached <= self.files.data.write_position:
            self._read_files(len(self.log))

    def truncate(self, index: Index, entry: Entry, pos: int | None = None, *, curr_term: Term | None = None) -> None:
        """Make the log end with this entry at `index`: an equal one is kept, any other is written.

        Only the write positions move, back or forward, and what they pass over stays in the files (as published).

        Args:
            index: The index at which the log is to end.
            entry: The entry that it is to end with.
            pos: Its position in the leader's file, in bytes; None: the position it would have in this one, if
                all that is missing before it has its size.
            curr_term: The term the node is in, if it is not the entry's own.

        Raises:
            IndexError: `index` is negative.
            DiskError: The position lies outside the file.

        Source: DLedgerMmapFileStore.truncate.
        """
        if index < 0:
            raise IndexError(f"cannot truncate to {index}")
        own_pos = self._position_of(index, entry)
        header = self.files.header(entry, index, own_pos if pos is None else pos)
        is_regular = self._is_regular and header.pos == own_pos and index <= self.end_index + 1
        if self.holds(index, entry) and header.pos == own_pos:
            self.files.data.truncate_offset(header.pos + header.size)
        else:
            self.files.data.truncate_offset(header.pos)
            self.files.append_data(header, entry)
        self.files.truncate_index(index)
        self.files.append_index(header.unit())
        self._drop_tail_if_repaired()
        if is_regular:
            self.log, self._tail = self.log.prefix(index).appended(as_read(entry)), None
        else:
            self._read_files(index + 1)
        self._written(entry, curr_term)

    def _position_of(self, index: Index, entry: Entry) -> int:
        """Return the position of the entry at `index`, or of `entry` there, each missing one being as long as it."""
        size = self.files.header(entry, index, 0).size
        nearest = min(index, self.end_index)
        while nearest >= 0 and not self.has_entry(nearest):
            nearest = Index(nearest - 1)
        if nearest < 0:
            return index * size
        found = self.files.header_at(nearest)
        return found.pos if nearest == index else found.pos + found.size + (index - nearest - 1) * size

    @property
    def is_forced(self) -> bool:
        """Whether all that was written counts as forced."""
        return self.files.is_flushed

    def force(self) -> None:
        """Bring all that was written to the disk, as `flush` does."""
        self.flush()

    def lose_power(self, kept: int) -> None:
        """Refuse: on files it is the disk that loses power, and `recover` that finds what is left.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"the disk loses power, not the store: {kept} entries kept")

    def flush(self) -> None:
        """Force data and index file, where they were written to since they last counted as forced.

        Neither the checkpoint nor the term file is ever forced.

        Source: DLedgerMmapFileStore.flush, FlushDataService.
        """
        self.files.flush()

    def persist_check_point(self) -> None:
        """Replace the checkpoint file.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        self._check_point_file.persist(self.end_index, self.committed_index)
        self.check_point = self._check_point_file.load()

    def lose_check_point(self) -> None:
        """Replace the checkpoint file up to where there is none, as by a process that dies there.

        Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
        """
        self._check_point_file.persist_in_part(self.end_index, self.committed_index)
        self.check_point = self._check_point_file.load()

    def scanned_count(self) -> int:
        """Return the number of entries that the scan of the data file finds, those behind the end of the log included.

        Source: DLedgerMmapFileStore.recover.
        """
        return len(self.files.scan())

    def can_recover(self, resurrected: int) -> bool:
        """Return whether the scan finds exactly `resurrected` entries behind the end."""
        return resurrected == self.resurrectable_count()

    def recover(self, resurrected: int, *, curr_term: Term) -> None:
        """Read the log from its files, and the committed index from the checkpoint. The process knows nothing else.

        Args:
            resurrected: The number of entries behind the end that the scan finds: `resurrectable_count`.
            curr_term: The term the node is in, from its own file.

        Raises:
            ValueError: The scan finds more, or fewer.

        Source: DLedgerMmapFileStore.recover.
        """
        if not self.can_recover(resurrected):
            raise ValueError(f"the scan finds {self.resurrectable_count()} entries behind the end, not {resurrected}")
        headers = self.files.recover()
        self._drop_tail_if_repaired()
        self._read_files(len(headers))
        self.end_term = self.term_at(self.end_index)
        self._force_if_at_once()
        self.check_point = self._check_point_file.load()
        self.committed_index = NONE
        self.update_committed_index(curr_term, self.check_point, curr_term=curr_term)

    def _drop_tail_if_repaired(self) -> None:
        if not self.config.has(Flaw.TRUNCATED_TAIL):
            self.files.drop_tail()

    @property
    def tail(self) -> Log:
        """Entries that can be read behind the log; they are read when they are asked for."""
        if self._tail is None:
            behind = self.files.entries_from(self.files.data.write_position, Index(len(self.log)))
            self._tail = tuple(self.files.entry(header) for header in behind)
        return self._tail

    @tail.setter
    def tail(self, tail: Log) -> None:
        self._tail = tail

    def _read_files(self, count: int) -> None:
        """Read a log of `count` entries."""
        entries: list[Entry | None] = []
        ends: list[int] = []
        self._is_regular, written = True, self.files.data.write_position
        end = 0
        for index in map(Index, range(count)):
            try:
                header = self.files.header_at(index)
            except DiskError:
                entries.append(None)
                ends += self.files.end_in_index(index)
                self._is_regular = False
                continue
            entries.append(self.files.entry(header))
            self._is_regular = self._is_regular and header.pos >= end
            end = header.pos + header.size
        self.log, self._tail = SharedLog(entries), None
        self._unreached = min((each for each in ends if each > written), default=None)
