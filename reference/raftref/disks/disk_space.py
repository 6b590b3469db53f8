"""The space of the disk that a node's files lie on, and the time of day at which old files may go."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class DiskSpace(Protocol):
    """The space of a disk, as a node asks for it now and then."""

    def used_ratio(self) -> float:
        """Return how much of the disk is in use, from 0 to 1."""

    def time_of_day(self) -> datetime:
        """Return the time, with the hour of the day."""
