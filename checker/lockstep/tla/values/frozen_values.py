"""What a state keeps of a value: with nothing unlisted in it."""

from __future__ import annotations

from operator import is_

from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.remembered_values import LONG, made_of

__all__ = ["Unlisted", "frozen"]


class Unlisted:
    """A value that is computed as far as it is asked for."""

    __slots__ = ()

    def force(self) -> Value:
        """Answer the plain value, with its elements listed: every subclass says how.

        Raises:
            TlaError: if something in it cannot be listed, or has no value.
        """
        # No ABCMeta here: it would slow every isinstance, of which an evaluation makes millions.
        raise NotImplementedError

    def kept(self) -> Value:
        """Answer what a state keeps of it."""
        return self.force()


def frozen(value: Value) -> Value:
    """Answer a value with nothing unlisted in it, for keeping in a state: the value itself, if that has nothing such.

    Raises:
        TlaError: if something in it cannot be listed, or has no value.
    """
    kind = type(value)
    if kind is Fcn:
        return value if value.listed else _frozen_table(value)
    if kind is tuple:
        return _frozen_sequence(value)
    # Not isinstance: what stands for a part that a search has not read is copied, and not asked what it is.
    return value.kept() if issubclass(kind, Unlisted) else value


def _frozen_table(value: Fcn) -> Fcn:
    table = value.d
    for argument, element in value.d.items():
        listed = frozen(element)
        if listed is not element:
            if table is value.d:
                table = dict(table)
            table[argument] = listed
    result = value if table is value.d else Fcn(table)
    result.listed = True
    return result


_KNOWN_LONG = 64
_long: dict[int, tuple[Value, ...]] = {}
"""Long sequences that were frozen of late, by their ids: a state's logs go from state to state unchanged."""


def _frozen_sequence(value: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(value) < LONG:
        elements = [frozen(element) for element in value]
        return value if all(map(is_, elements, value)) else tuple(elements)
    if _long.get(id(value)) is value:
        return value
    known = made_of(value)
    if known is not None and frozen(known[0]) is known[0] and all(frozen(each) is each for each in known[1]):
        result = value
    else:
        elements = [frozen(element) for element in value]
        result = value if all(map(is_, elements, value)) else tuple(elements)
    if len(_long) >= _KNOWN_LONG:
        del _long[next(iter(_long))]
    _long[id(result)] = result
    return result
