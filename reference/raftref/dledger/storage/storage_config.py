"""The configuration of the store on files: how long files are, and when old ones are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.dledger.storage.entry_coder import INDEX_UNIT_SIZE

#: The most bytes of an entry with its header. Source: DLedgerMmapFileStore.localEntryBuffer.
MAX_ENTRY_SIZE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Sizes in bytes, times in hours, and ratios of a disk that is in use, by the code's names.

    A node that finds a file of another length does not start in DLedger; all nodes of a group have the same sizes,
    since a leader's positions count.

    Raises:
        ValueError: A size is not positive, or that of index files no multiple of INDEX_UNIT_SIZE: no file of them could
            ever be filled.

    Source: DLedgerConfig.
    """

    mapped_file_size_for_entry_data: int = 1024 * 1024 * 1024
    mapped_file_size_for_entry_index: int = INDEX_UNIT_SIZE * 5 * 1024 * 1024
    #: How long a data file is kept after it was last written to; less than 1 counts as 1.
    file_reserved_hours: int = 72
    #: The hours of the day at which files that are older are deleted, divided by ";".
    delete_when: str = "04"
    #: Above it they are deleted at any hour.
    disk_space_ratio_to_check_expired: float = 0.70
    #: Above it the oldest files are deleted however old they are, if `enable_disk_force_clean`.
    disk_space_ratio_to_force_clean: float = 0.85
    enable_disk_force_clean: bool = True

    def __post_init__(self) -> None:
        data, index = self.mapped_file_size_for_entry_data, self.mapped_file_size_for_entry_index
        if data <= 0 or index <= 0 or index % INDEX_UNIT_SIZE:
            raise ValueError(f"files of {data} and {index} bytes cannot hold entries and units of {INDEX_UNIT_SIZE}")

    @property
    def disk_full_ratio(self) -> float:
        """The ratio above which nothing is appended. Source: DLedgerConfig.getDiskFullRatio."""
        return min(self.disk_space_ratio_to_force_clean + 0.05, 0.95)


DEFAULT_STORAGE = StorageConfig()
