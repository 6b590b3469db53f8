"""States: immutable tuples of values, in the order of VARIABLES, with access by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from lockstep.tla.compile.python_text import python_name
from lockstep.tla.values.equality import same_kind
from lockstep.tla.values.html_table import table
from lockstep.tla.values.kinds import Value, format_value
from lockstep.tla.values.value_bytes import encoded


class State(tuple[Value, ...]):
    """A state: hashable, picklable, comparable; ``state.x`` and ``state["x"]`` are the variable x.

    Each list of variables has its own subclass, from :func:`state_class`.
    """

    __slots__ = ()
    variables: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        """Return a variable by name, or by its position."""
        if isinstance(key, str):
            try:
                key = self.variables.index(key)
            except ValueError:
                raise KeyError(key) from None
        return tuple.__getitem__(self, key)

    def as_dict(self) -> dict[str, Value]:
        """Return the variables and their values."""
        return dict(zip(self.variables, self, strict=True))

    def replace(self, **changes: Value) -> State:
        """Return this state with some variables changed; raises KeyError if there is no such variable."""
        table = self.as_dict()
        for name in changes:
            if name not in table:
                raise KeyError(name)
        return type(self)(tuple({**table, **changes}.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.variables, tuple(self)))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        """Write the state as TLC does."""
        return "\n".join(f"/\\ {name} = {format_value(value)}" for name, value in self.as_dict().items())

    def _repr_html_(self) -> str:
        """Show the variables and their values in a notebook."""
        rows = [(name, format_value(value)) for name, value in self.as_dict().items()]
        return table("state", ["variable", "value"], rows)


_CLASSES: dict[tuple[str, ...], type[State]] = {}


def state_class(variables: Sequence[str]) -> type[State]:
    """Return the class of states with these variables, the same class each time."""
    names = tuple(variables)
    known = _CLASSES.get(names)
    if known is None:
        body: dict[str, Any] = {"__slots__": (), "variables": names, "__doc__": f"A state of {', '.join(names)}."}
        for index, name in enumerate(names):
            body[python_name(name)] = _field(index)
        known = _CLASSES[names] = type("State", (State,), body)
    return known


def _field(index: int) -> Any:
    try:
        from collections import _tuplegetter  # type: ignore[attr-defined]  # what namedtuple uses: C speed
    except ImportError:
        return property(itemgetter(index))
    return _tuplegetter(index, "A variable of the specification.")


def _rebuild(variables: tuple[str, ...], values: tuple[Value, ...]) -> State:
    return state_class(variables)(values)


def state_of(variables: Sequence[str], values: Mapping[str, Value]) -> State:
    """Make a state of values by name; raises KeyError if a variable has no value, or a value no variable."""
    for name in values:
        if name not in variables:
            raise KeyError(name)
    return state_class(variables)(tuple(values[name] for name in variables))


def same_in_kind(left: State, right: State) -> bool:
    """Return whether two states that Python holds equal are equal in TLA+ too: 1 and TRUE are not."""
    return all(map(same_kind, left, right))


def bytes_of(state: State) -> bytes:
    """Return bytes that are the same for equal states alone, not for others that Python holds equal.

    Raises:
        TlaError: if a value in it cannot be listed.
    """
    return encoded(tuple(state))


class DistinctKeys:
    """Keys of states, or of some of their values, that are equal where these are equal in TLA+.

    Python holds 1 and TRUE equal. Among tuples that it holds equal, the first and those of the same kinds are their own
    keys; the keys of the others are their bytes. So a key can be compared only with keys of the same object since it
    was cleared.
    """

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[tuple[Value, ...], tuple[Value, ...]] = {}

    def key(self, values: tuple[Value, ...]) -> Hashable:
        """Return the key of a state, or of a tuple of values.

        Raises:
            TlaError: if a value that differs in kind from what Python holds equal cannot be listed.
        """
        first = self._first.setdefault(values, values)
        if first is values or all(map(same_kind, first, values)):
            return first
        return encoded(tuple(values))

    def clear(self) -> None:
        """Forget all keys: those returned from now on cannot be compared with those before."""
        self._first.clear()
