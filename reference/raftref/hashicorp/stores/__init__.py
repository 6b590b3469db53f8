"""What a server needs of durable storage, in memory and on files: a log, three keys, snapshots.

A write is durable when its call returns. One that raises StoreError has changed nothing.
"""

from raftref.hashicorp.stores.files import FileLogStore, FileSnapshotStore, FileStableStore
from raftref.hashicorp.stores.inmem import InmemLogStore, InmemSnapshotStore, InmemStableStore
from raftref.hashicorp.stores.stores import (
    CURRENT_TERM,
    LAST_VOTE_CAND,
    LAST_VOTE_TERM,
    LogNotFoundError,
    LogStore,
    SnapshotStore,
    StableStore,
    StoreError,
    Stores,
)

__all__ = [
    "CURRENT_TERM",
    "LAST_VOTE_CAND",
    "LAST_VOTE_TERM",
    "FileLogStore",
    "FileSnapshotStore",
    "FileStableStore",
    "InmemLogStore",
    "InmemSnapshotStore",
    "InmemStableStore",
    "LogNotFoundError",
    "LogStore",
    "SnapshotStore",
    "StableStore",
    "StoreError",
    "Stores",
]
