"""Values as a state has them: with nothing in them that is computed on demand."""

from __future__ import annotations

from operator import is_

from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.remembered_values import MIN_REMEMBERED, Latest, made_of


class Unlisted:
    """A value that is computed as far as it is asked for."""

    __slots__ = ()

    def force(self) -> Value:
        """Return the plain value, with its elements listed: every subclass says how.

        Raises:
            TlaError: if something in it cannot be listed, or has no value.
        """
        # No ABCMeta here: it would slow every isinstance, and an evaluation makes millions.
        raise NotImplementedError

    def frozen(self) -> Value:
        """Return the value as a state has it."""
        return self.force()


def frozen(value: Value) -> Value:
    """Return a value with nothing unlisted in it, as a state has it: the value itself, if that is so.

    Raises:
        TlaError: if something in it cannot be listed, or has no value.
    """
    kind = type(value)
    if kind is Fcn:
        return value if value.listed else _frozen_table(value)
    if kind is tuple:
        return _frozen_sequence(value)
    # Not isinstance: what stands for a part of a state that a search has not read is copied unread.
    return value.frozen() if issubclass(kind, Unlisted) else value


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


#: Long sequences that are known to have nothing unlisted in them: a state's logs go from state to state unchanged.
_long = Latest(64)


def _frozen_sequence(value: tuple[Value, ...]) -> tuple[Value, ...]:
    is_long = len(value) >= MIN_REMEMBERED
    if is_long and id(value) in _long:
        return value
    known = made_of(value) if is_long else None
    if known is not None and frozen(known[0]) is known[0] and all(frozen(each) is each for each in known[1]):
        result = value
    else:
        elements = [frozen(element) for element in value]
        result = value if all(map(is_, elements, value)) else tuple(elements)
    if is_long:
        _long.remember(result)
    return result
