"""How much memory a search may take where nobody says so: three quarters of what is free."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["most_of_the_memory"]

#: Where Linux tells what a container may use.
_GROUP = Path("/sys/fs/cgroup")


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
