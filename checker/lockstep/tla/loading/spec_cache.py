"""The cache of parsed and compiled specs: each file begins with the checksum of the rest; a damaged one is ignored."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

_MAX_WRITE_SECONDS = 3600


def cache_folder() -> Path:
    """Return the folder where the user's system keeps caches: `$XDG_CACHE_HOME/lockstep`, where that is set."""
    from platformdirs import user_cache_path  # only a search for the folder needs it

    return user_cache_path("lockstep", appauthor=False)


def read_cached(path: Path) -> bytes | None:
    """Return the content of a file that write_cached wrote; None where it is not there, or not whole."""
    try:
        first, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if first == _checksum(content) else None


def write_cached(path: Path, content: bytes) -> None:
    """Write a file so that no reader sees a part of it; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_parts(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    except OSError:
        return
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_checksum(content) + b"\n" + content)
        part.replace(path)
    except OSError:
        pass
    finally:
        part.unlink(missing_ok=True)


def _checksum(content: bytes) -> bytes:
    return b"# sha256 " + hashlib.sha256(content).hexdigest().encode()


def _remove_parts(folder: Path) -> None:
    """Remove the files of processes that were killed while they wrote."""
    for part in folder.glob("*.tmp"):
        if time.time() - part.stat().st_mtime > _MAX_WRITE_SECONDS:
            part.unlink(missing_ok=True)
