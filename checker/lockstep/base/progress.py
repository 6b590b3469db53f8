"""Progress of long work: the work reports it, and the caller decides whether it is shown."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]

#: Progress is reported after this many lines or events.
REPORT_INTERVAL = 500


def silent(_text: str) -> None:
    """Show nothing."""
