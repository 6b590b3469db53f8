"""Until when work may go on."""

from __future__ import annotations

import time


class Deadline:
    """The end of the time that work may take; with None for the seconds it may take any."""

    def __init__(self, seconds: float | None = None) -> None:
        """Let the time begin."""
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def is_over(self) -> bool:
        """Tell whether the time is spent."""
        return self._end is not None and time.monotonic() >= self._end

    def spent(self) -> str:
        """Say that it is."""
        return f"the {self.seconds:g} s of --timeout are spent"


#: Work may take any time.
NEVER = Deadline()
