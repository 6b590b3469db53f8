"""The time that work may take."""

from __future__ import annotations

import time


class Deadline:
    """The end of the time that work may take; there is none where `seconds` is None."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def is_over(self) -> bool:
        """Return whether the time is spent."""
        return self._end is not None and time.monotonic() >= self._end

    def spent(self) -> str:
        """Return the sentence for messages that it is spent."""
        return f"the {self.seconds:g} s of --timeout are spent"


#: Work may take any time.
NEVER = Deadline()
