"""What a module printed while TLC ran it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lockstep.tla.values.printed_values import parse_value


def printed_values(lines: tuple[str, ...], start: str) -> Iterator[Any]:
    """Yield the values that TLC printed; it breaks long ones into lines."""
    pending: list[str] = []
    for line in lines:
        if line.startswith(start):
            pending = []
        pending.append(line)
        if not line.endswith(">>"):
            continue
        try:
            yield parse_value("\n".join(pending))
        except ValueError:
            continue
        pending = []
