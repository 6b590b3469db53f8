"""How far long work has come. Who does the work tells it; who called decides whether it is shown."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]

#: After so many lines or events it is told again.
EVERY = 500


def silent(_text: str) -> None:
    """Show nothing."""
