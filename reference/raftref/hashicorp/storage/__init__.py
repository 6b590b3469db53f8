"""The stores of `raftref.hashicorp` on files, safe against crashes. They stand beside the core, which has no files.

The files lie on a `Disk` of `raftref.disks`: a folder, or one in memory that can be stopped and can lose power.
"""

from raftref.hashicorp.storage.file_stores import DurableServer, FileStores

__all__ = ["DurableServer", "FileStores"]
