"""The store of one node on files, byte for byte as DLedger writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from raftref.disks.disk import Disk, DiskError
from raftref.dledger.choices import PUBLISHED, Config, Flaw
from raftref.dledger.messages import NONE, Entry, Index, Term
from raftref.dledger.storage.entry_coder import as_read
from raftref.dledger.storage.entry_files import EntryFiles
from raftref.dledger.storage.property_files import CheckPointFile
from raftref.dledger.storage.shared_log import SharedLog
from raftref.dledger.storage.storage_config import DEFAULT_STORAGE, StorageConfig
from raftref.dledger.store import EntryRefusedError, LedgerStore, Log


class MispositionedEntryError(DiskError, EntryRefusedError):
    """An entry, or the unit of its index, cannot lie where it should. Source: DLedgerException with DISK_ERROR."""


class FileLedgerStore(LedgerStore):
    """The store whose content is bytes: data files, index files and checkpoint on a disk.

    `log` is what a reading of all `files` would find, though not all is read after each change: an append takes
    constant time (see `SharedLog`), and a TRUNCATE reads all only where positions of entries do not rise. `tail` is
    what can be read behind the log. What was appended is on the disk once `flush` forced it, and not before.

    The log may begin later than at index 0: `begin_index` is the first index of the first file, and entries below it
    are None in `log`. The TLA+ spec has no counterpart of that: there a log that is not empty begins at 0.

    Simplified: the positions that a leader sends are optional; the reserved channel is not compared. A body of invalid
    bytes is a value all the same. A checkpoint that is no number, which keeps DLedger from starting, is none.

    As published, a log that begins within a file, since no file had the position of a TRUNCATE, is lost with the
    process: the scan begins at the begin of the file.

    Source: DLedgerMmapFileStore.
    """

    def __init__(
        self,
        disk: Disk,
        config: Config = PUBLISHED,
        *,
        storage: StorageConfig = DEFAULT_STORAGE,
        leader_position: Callable[[Index, Entry], int | None] = lambda _index, _entry: None,
        checks_body_crc: bool = False,
    ) -> None:
        """Take the files on a disk. Until `startup` or `recover` the log is empty, whatever they hold.

        Args:
            disk: The disk that has the files, or will have.
            config: The flaws: whether cut entries stay in the file, when it is forced.
            storage: The sizes of the files. Each has its whole length from the begin, as DLedger demands: a disk in
                memory should be given small ones.
            leader_position: Returns the position in bytes that a leader's message gave an entry at an index, None for
                none: it is asked where `append` and `truncate` are given no position, as by the actions of a node.
            checks_body_crc: Whether a torn body is noticed, as it is not in DLedger.
        """
        super().__init__(config)
        self.storage = storage
        self.log: SharedLog = SharedLog()
        self._begin_index = NONE
        #: The position behind the entry that was committed last, in bytes; -1 as long as nothing is. A TRUNCATE leaves
        #: it. Source: DLedgerMmapFileStore.committedPos.
        self.committed_pos = -1
        #: The first position behind the write position at which an entry ends that the index names: it may be found
        #: once that is passed.
        self._unreached: int | None = None
        #: Whether every entry can be read, and lies behind the one before it.
        self._is_regular = True
        self._tail: Log | None = ()
        self.files = EntryFiles(disk, checks_body_crc=checks_body_crc, storage=storage)
        self._check_point_file = CheckPointFile(disk, config)
        self._leader_position = leader_position

    def startup(self, *, curr_term: Term) -> None:
        """Recover from the files, as a process does that starts.

        Args:
            curr_term: The term the node is in, from its own file.

        Raises:
            DiskError: These files cannot be the log of a node: see `EntryFiles.recover`.

        Source: DLedgerMmapFileStore.startup.
        """
        self._recover(curr_term)

    @property
    def begin_index(self) -> Index:
        """The index of the first entry, -1 in an empty log."""
        return self._begin_index if self.log else NONE

    # ---- Writing -------------------------------------------------------------------------------------

    def append(self, entry: Entry, pos: int | None = None, *, curr_term: Term | None = None) -> Index:
        """Write the next entry and its index unit at the write positions, over what was cut there.

        An entry that does not fit into the last file goes to the next one.

        Args:
            entry: The entry that the log is to end with.
            pos: Its position in the leader's files, in bytes; None: its position in these.
            curr_term: The term the node is in, if it is not the entry's own.

        Returns:
            Its index.

        Raises:
            MispositionedEntryError: It does not lie there in these files, and by now it is written; or it fits into
                no file.

        Source: DLedgerMmapFileStore.appendAsLeader, appendAsFollower.
        """
        index = Index(self.end_index + 1)
        pos = self._leader_position(index, entry) if pos is None else pos
        try:
            if pos is None:
                pos = self.files.next_pos(self.files.header(entry, index, 0).size)
            header = self.files.header(entry, index, pos)
            self.files.append_data(header, entry)
            self.files.append_index(header.unit())
        except DiskError as error:
            self._moved()
            raise MispositionedEntryError(error) from error
        if not self.log:
            self._begin_index = index
        is_read = index >= self._begin_index  # which it is not where the begin of the first file was written over
        self.log = self.log.appended(as_read(entry)) if is_read else SharedLog((), index + 1)
        self._moved()
        self._written(entry, curr_term)
        return index

    def _moved(self) -> None:
        """Read again what may be read otherwise since the write position moved forward."""
        self._tail = None
        if self._unreached is not None and self._unreached <= self.files.data.max_write_position:
            self._read_files(len(self.log))

    def truncate(self, index: Index, entry: Entry, pos: int | None = None, *, curr_term: Term | None = None) -> None:
        """Make the log end with this entry at `index`: an equal one is kept, any other is written.

        Only the write positions move, back or forward, and what they pass over stays in its file (as published); files
        behind are deleted. Where no file has the leader's position, all files are deleted, and the log begins with
        this entry.

        Args:
            index: The index at which the log is to end.
            entry: The entry that it is to end with.
            pos: Its position in the leader's files, in bytes; None: the position it would have in these, if all that is
                missing before it has its size and it fits there.
            curr_term: The term the node is in, if it is not the entry's own.

        Raises:
            IndexError: `index` is negative.
            MispositionedEntryError: The entry does not lie at that position in these files, and by now it is written;
                or no file can have it; or, since an earlier one did not fit, the log begins too near the end of a file
                for an index.

        Source: DLedgerMmapFileStore.truncate.
        """
        if index < 0:
            raise IndexError(f"cannot truncate to {index}")
        pos = self._leader_position(index, entry) if pos is None else pos
        own_pos = self._position_of(index, entry)
        follows = self.begin_index < index <= self.end_index + 1 and pos in (None, own_pos)
        is_held = self.holds(index, entry) and pos in (None, own_pos)
        try:
            self._write_end(index, entry, own_pos if pos is None else pos, is_held=is_held, rolls=pos is None)
        except DiskError as error:
            self._read_files(len(self.log))
            raise MispositionedEntryError(error) from error
        if not self.config.has(Flaw.TRUNCATED_TAIL):
            self.files.drop_tail()
        if not self.config.has(Flaw.ASYNC_FLUSH):
            self.files.force_end()
        if follows and self._is_regular and self.files.begin_index() == self._begin_index:
            self.log, self._tail = self.log.prefix(index).appended(as_read(entry)), None
        else:
            self._begin_index = self.files.begin_index()
            self._read_files(index + 1)
        self._written(entry, curr_term)

    def _write_end(self, index: Index, entry: Entry, pos: int, *, is_held: bool, rolls: bool) -> None:
        """Let the files end with an entry; with `rolls` one that does not fit there goes to the next file."""
        header = self.files.header(entry, index, pos)
        if rolls and not self.log:
            self.files.begin_without_file(pos, index)
        if is_held:
            self.files.data.move_to(pos + header.size)
        else:
            self.files.data.move_to(pos)
            if rolls:
                header = self.files.header(entry, index, self.files.next_pos(header.size))
            self.files.append_data(header, entry)
        self.files.move_index_to(index)
        self.files.append_index(header.unit())
        self.files.revise_begin()

    def _position_of(self, index: Index, entry: Entry) -> int:
        """Return the position of the entry at `index`, or of `entry` there, each missing one being as long as it."""
        size = self.files.header(entry, index, 0).size
        nearest = min(index, self.end_index)
        while nearest >= max(self.begin_index, 0) and not self.has_entry(nearest):
            nearest = Index(nearest - 1)
        if not self.has_entry(nearest):
            return index * size
        found = self.files.header_at(nearest)
        return found.pos if nearest == index else found.pos + found.size + (index - nearest - 1) * size

    # ---- Forcing -------------------------------------------------------------------------------------

    @property
    def is_forced(self) -> bool:
        """Whether all that was written counts as forced."""
        return self.files.is_flushed

    def force(self) -> None:
        """Bring all that was written to the disk: flush as often as there are files to be forced."""
        while not self.is_forced:
            self.flush()

    def flush(self) -> None:
        """Force the first data file and the first index file that were written to since they last counted as forced.

        Neither the checkpoint nor the term file is ever forced.

        Source: DLedgerMmapFileStore.flush, FlushDataService.
        """
        self.files.flush()

    def lose_power(self, kept: int) -> None:
        """Refuse: on files it is the disk that loses power, and `recover` that finds what is left.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"the disk loses power, not the store: {kept} entries kept")

    # ---- The committed index ------------------------------------------------------------------------------

    def update_committed_index(self, term: Term, new_index: Index, *, curr_term: Term) -> None:
        """Take over a committed index that was learnt, as the store in memory does, if a unit was written for it.

        Args:
            term: The term in which it was learnt.
            new_index: The index that is committed, -1 for none.
            curr_term: The term the node is in.

        Raises:
            MispositionedEntryError: No index file has its unit, since a TRUNCATE let them begin behind it. What was
                committed stays.

        Source: DLedgerMmapFileStore.updateCommittedIndex, its getEntryPosAndSize.
        """
        before = self.committed_index
        super().update_committed_index(term, new_index, curr_term=curr_term)
        if self.committed_index != before:
            try:
                unit = self.files.written_unit(self.committed_index)
            except DiskError as error:
                self.committed_index = before
                raise MispositionedEntryError(error) from error
            self.committed_pos = unit.pos + unit.size

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

    # ---- Expiry --------------------------------------------------------------------------------------

    def clean_space(self, now: datetime, ratio: float) -> int:
        """Delete the first data files where they are old, or space is short, and learn whether the disk is full.

        Files are deleted at the hours of `delete_when`, and at any hour above `disk_space_ratio_to_check_expired`:
        those that were written to no later than `file_reserved_hours` ago, or, above
        `disk_space_ratio_to_force_clean`, the oldest ones. The last file stays, and no more than MAX_DELETED_FILES go
        at once. The log begins with the first file that is left, whether or not what went was committed. Until the
        next call `is_disk_full` says whether `ratio` is above `disk_full_ratio`.

        The TLA+ spec has no counterpart of a log that begins later than at index 0.

        Args:
            now: The time, with the hour of the day that `delete_when` means.
            ratio: How much of the disk is in use, from 0 to 1: the higher one where folders lie on different disks.

        Returns:
            How many files were deleted.

        Raises:
            DiskError: The first file that is left begins with no whole header.

        Source: DLedgerMmapFileStore.CleanSpaceService.doWork, without its pauses.
        """
        storage = self.storage
        self.is_disk_full = ratio > storage.disk_full_ratio
        is_time = now.hour in map(int, storage.delete_when.split(";"))
        if not is_time and ratio <= storage.disk_space_ratio_to_check_expired:
            return 0
        forced = storage.enable_disk_force_clean and ratio > storage.disk_space_ratio_to_force_clean
        modified_before = now.timestamp() - max(1, storage.file_reserved_hours) * 3600
        count = self.files.data.delete_expired_by_time(modified_before, immediately=forced)
        if count:
            self.files.revise_begin()
            self._begin_index = self.files.begin_index()
            if self.log.first <= self._begin_index <= self.end_index:
                self.log = self.log.without_first(self._begin_index)
            else:
                self._read_files(len(self.log))
        return count

    # ---- Recovery ------------------------------------------------------------------------------------

    def scanned_count(self) -> int:
        """Return the index behind the last entry that the scan of the data files finds, 0 where it finds none.

        Source: DLedgerMmapFileStore.recover.
        """
        headers = self.files.scan().headers
        return headers[-1].index + 1 if headers else 0

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
            DiskError: These files cannot be the log of a node: see `EntryFiles.recover`.

        Source: DLedgerMmapFileStore.recover.
        """
        if not self.can_recover(resurrected):
            raise ValueError(f"the scan finds {self.resurrectable_count()} entries behind the end, not {resurrected}")
        self._recover(curr_term)

    def _recover(self, curr_term: Term) -> None:
        headers = self.files.recover().headers
        if not self.config.has(Flaw.TRUNCATED_TAIL):
            self.files.drop_tail()
        self._begin_index = self.files.begin_index() if headers else NONE
        self._read_files(headers[-1].index + 1 if headers else 0)
        self.end_term = self.term_at(self.end_index)
        if not self.config.has(Flaw.ASYNC_FLUSH):
            self.files.force_found()
        self.check_point = self._check_point_file.load()
        self.committed_index, self.committed_pos = NONE, -1
        self.update_committed_index(curr_term, self.check_point, curr_term=curr_term)

    # ---- Reading -------------------------------------------------------------------------------------

    @property
    def tail(self) -> Log:
        """Entries that can be read behind the log; they are read when they are asked for."""
        if self._tail is None:
            self._tail = tuple(self.files.entry(header) for header in self.files.tail(Index(len(self.log))))
        return self._tail

    @tail.setter
    def tail(self, tail: Log) -> None:
        self._tail = tail

    def _read_files(self, count: int) -> None:
        """Read the log up to the index `count`, that one left out."""
        first = Index(min(max(self._begin_index, 0), count))
        data, units = self.files.readers()
        written, end = self.files.data.max_write_position, 0
        entries: list[Entry | None] = []
        unreached: list[int] = []
        self._is_regular = True
        for index in map(Index, range(first, count)):
            try:
                unit = self.files.unit_at(index, units)
                unreached += [unit.pos + unit.size] if unit.pos + unit.size > written else []
                header = self.files.header_at(index, data, units)
            except DiskError:  # a hole
                entries.append(None)
                self._is_regular = False
                continue
            entries.append(self.files.entry(header, data))
            self._is_regular = self._is_regular and header.pos >= end
            end = header.pos + header.size
        self.log, self._tail = SharedLog(entries, first), None
        self._unreached = min(unreached, default=None)
