"""How much memory and disk a search may take where nobody says so: three quarters of what is free."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

__all__ = ["most_of_the_disk", "most_of_the_memory"]

#: Where Linux tells what a container may use.
_GROUP = Path("/sys/fs/cgroup")
_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = ("tmpfs", "ramfs")


def most_of_the_memory() -> int | None:
    """Return three quarters of the memory that is free, here or in the container; None where the system does not tell.

    Returns:
        The number of bytes.
    """
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        told = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, ValueError, AttributeError):
        return None
    machine = max(free, int(told[1]) * 1024 if told else 0)
    container = _free_in_the_container()
    return 3 * (machine if container is None else min(machine, container)) // 4


def _free_in_the_container() -> int | None:
    """Return what a container may still take, with what it would get back of files; None where nothing limits it."""
    try:
        most, used = (int((_GROUP / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        cached = re.search(r"^inactive_file (\d+)$", (_GROUP / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, ValueError):  # there is no such group, or it may take "max"
        return None
    return max(0, most - used + (int(cached[1]) if cached else 0))


def most_of_the_disk(checkpoint: Path | None) -> int:
    """Return three quarters of what is free on the disk that mapped files are on; 0 where these would be in memory.

    Args:
        checkpoint: the file that keeps a search, beside which its other files are.

    Returns:
        The number of bytes.
    """
    folder = Path(tempfile.gettempdir()) if checkpoint is None else checkpoint.absolute().parent
    folder = folder if folder.is_dir() else Path("/")
    return 0 if _is_in_memory(folder) else 3 * shutil.disk_usage(folder).free // 4


def _is_in_memory(folder: Path) -> bool:
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    split = [(left.split(), right.split()) for left, _, right in (each.partition(" - ") for each in mounts)]
    return any(left[2] == number and right[0] in _IN_MEMORY for left, right in split if len(left) > 2 and right)
