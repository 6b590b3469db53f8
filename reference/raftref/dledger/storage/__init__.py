"""The store of `raftref.dledger` on files, byte for byte as DLedger 0.2.7 lays them out.

It stands beside the core and not in it: the core does no input or output, and here a store is given a `Disk`
to do it on. `SimulatedDisk` is one in memory, which can be stopped between two steps and can lose power;
`DirectoryDisk` is a folder.
"""

from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.disk import Disk, DiskError, FileName
from raftref.disks.simulated_disk import SimulatedDisk, Stopped
from raftref.dledger.storage.file_ledger_store import FileLedgerStore
from raftref.dledger.storage.property_files import CheckPointFile, TermFile
from raftref.dledger.storage.storage_config import StorageConfig

__all__ = [
    "CheckPointFile",
    "DirectoryDisk",
    "Disk",
    "DiskError",
    "FileLedgerStore",
    "FileName",
    "SimulatedDisk",
    "Stopped",
    "StorageConfig",
    "TermFile",
]
