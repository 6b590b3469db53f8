"""The durable part of a server that runs, as its driver needs it."""

from __future__ import annotations

from typing import Protocol

from raftref.disks.disk import Disk
from raftref.hashicorp.storage.file_stores import FileStores
from raftref.hashicorp.stores import Stores


class DurableStores(Protocol):
    """Stores on a disk, or in their place."""

    def load(self) -> Stores | None:
        """Return what is durable, None where nothing ever was."""

    def persist(self, before: Stores, after: Stores) -> None:
        """Let the change from one state of the stores to the next, a write, be durable."""


class MemoryStores:
    """Stores that outlast the driver of a server, but not the program."""

    def __init__(self) -> None:
        """Begin as on a new disk."""
        self.stores: Stores | None = None

    def load(self) -> Stores | None:
        """Return what was persisted last."""
        return self.stores

    def persist(self, before: Stores, after: Stores) -> None:
        """Keep the stores as they are now."""
        self.stores = after


class DiskStores:
    """Stores on a disk, where each write of the server is durable whole or not at all."""

    def __init__(self, disk: Disk) -> None:
        """Read the stores of a disk, which must force names together with contents; raises DiskError."""
        self._files = FileStores(disk)

    def load(self) -> Stores | None:
        """Return what is on the disk."""
        stores = self._files.stores
        return None if stores == Stores() else stores

    def persist(self, before: Stores, after: Stores) -> None:
        """Let the stores be durable as they are now; raises StoreError."""
        self._files.persist(after)
