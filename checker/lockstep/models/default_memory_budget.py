"""The memory budget of a search that has no other: three quarters of the free memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: The files in which Linux keeps the limits of a container.
_GROUP = Path("/sys/fs/cgroup")


def default_memory_budget() -> int | None:
    """Return three quarters of the free bytes, here or in the container; None where the system does not report it."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        available = re.search(
            r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE
        )
    except (OSError, ValueError, AttributeError):
        return None
    machine = max(free, int(available[1]) * 1024 if available else 0)
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
