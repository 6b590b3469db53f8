"""The stamps of lines in nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lockstep.logs.mapping import UNITS, Stamp

_FRACTION = re.compile(r"([.,])(\d+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_NANOSECONDS = 2**63

#: A year with a 29th of February, and how long it is.
_LEAP, _YEAR = 2000, 366 * 86_400 * 10**9


class Timestamps:
    """Reads the stamps of some logs, line by line.

    Where they have no year, it is that in which a stamp is nearest to the one above it, or for the first of a log to
    the first of all logs: so stamps go on over the end of a year. Each such year has a 29th of February.
    """

    def __init__(self, stamps: Iterable[Stamp]) -> None:
        self._without_year = {stamp for stamp in stamps if stamp.format is not None and not _has_year(stamp.format)}
        self._first: int | None = None
        self._above: int | None = None

    def begin_log(self) -> None:
        """Begin with the next log."""
        self._above = self._first

    def read(self, value: Any, stamp: Stamp) -> int:
        """Return a stamp in nanoseconds; raises ValueError where it is none."""
        if stamp not in self._without_year:
            return nanoseconds(value, stamp)
        found = nanoseconds(f"{_LEAP} {value}", Stamp(field=stamp.field, format=f"%Y {stamp.format}"))
        if self._above is not None:
            found += round((self._above - found) / _YEAR) * _YEAR
        self._above = found
        self._first = found if self._first is None else self._first
        return found


def _has_year(form: str) -> bool:
    return any(word in "YyGcx" for word in re.findall(r"%([%A-Za-z])", form))


def nanoseconds(value: Any, stamp: Stamp) -> int:
    """Return a stamp in nanoseconds since 1970.

    Arguments: `value`, of the line's field: a number in the stamp's unit, or a text in its form, ISO 8601 if none is
    given; a text without a zone is of UTC, as only differences matter.
    Raises ValueError where it is none.
    """
    if stamp.unit is not None:
        return _number(value, stamp.unit)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is a number: give its `unit`")
    return _text(value, stamp.format)


def _number(value: Any, unit: str) -> int:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found = int(value) * UNITS[unit] if isinstance(value, int) else round(float(value) * UNITS[unit])
    except (ValueError, OverflowError):
        raise ValueError(f"{str(value)[:40]!r} is no time in {unit}") from None
    if not -MAX_NANOSECONDS <= found < MAX_NANOSECONDS:
        raise ValueError(f"{str(value)[:40]!r} is no time in {unit}")
    return found


def _text(value: str, form: str | None) -> int:
    """Read a text; digits below the microsecond count, too."""
    try:
        if form is not None:
            moment, nanos = datetime.strptime(value, form), 0
        else:
            plain, nanos = _without_fraction(value)
            moment = datetime.fromisoformat(plain)
    except ValueError:
        raise ValueError(f"{value[:60]!r} is no time" + (f" of the form {form!r}" if form else "")) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    whole = aware - _EPOCH
    return ((whole.days * 86_400 + whole.seconds) * 10**6 + whole.microseconds) * 1000 + nanos


def _without_fraction(value: str) -> tuple[str, int]:
    found = _FRACTION.search(value)
    if found is None:
        return value, 0
    digits = found[2][:9].ljust(9, "0")
    return value[: found.start()] + value[found.end() :], int(digits)
