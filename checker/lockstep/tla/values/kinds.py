"""The values of TLA+ as Python values, such that TLA+ equality is Python equality.

=====================  =====================================================================
TLA+                   Python
=====================  =====================================================================
integer                ``int`` (never ``bool``)
boolean                ``bool``
string                 ``str``
model value            :class:`ModelValue`, interned, equal to itself alone
set                    ``frozenset``, or a :class:`lockstep.tla.values.lazy_sets.LazySet`
function on ``1..n``   ``tuple`` (sequences and tuples, and the function on the empty set)
any other function     :class:`Fcn` (a record is a function on strings)
=====================  =====================================================================

Here is what values are, in which order they come, and how they print; how they compare is in
:mod:`lockstep.tla.values.equality`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from lockstep.base.characters import beginning
from lockstep.base.errors import BadInputError
from lockstep.tla.values.remembered_values import by_id, remember_shape_of

Value: TypeAlias = Any


class TlaError(BadInputError):
    """An evaluation that has no value, such as ``Head(<<>>)``."""


class TlaTypeError(TlaError):
    """An operation on values of the wrong kind, such as ``1 = TRUE``."""


class ArgumentError(TlaTypeError):
    """An argument of a step that cannot even be compared with the elements of its quantifier's set."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class ForeignWordError(ArgumentError):
    """An argument that is a string where the quantifier's set has model values alone, and none of that name."""


class TlaAssertionError(TlaError):
    """A false ``Assert`` of the TLC module."""


class ModelValue:
    """A model value: interned by name, equal to itself alone.

    As in TLC, a name such as ``A_n1`` (one letter, then an underscore) makes a *typed* model value, which compares
    only with model values of the same letter; an untyped one differs from every other value.
    """

    __slots__ = ("kind", "name")
    _interned: dict[str, ModelValue] = {}  # noqa: RUF012 - the class's own table
    name: str
    kind: str

    def __new__(cls, name: str) -> ModelValue:
        """Return the model value of this name, the same object each time."""
        found = cls._interned.get(name)
        if found is None:
            found = object.__new__(cls)
            found.name = name
            found.kind = name[0] if len(name) > 2 and name[1] == "_" else ""
            cls._interned[name] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return (ModelValue, (self.name,))

    def __repr__(self) -> str:
        return f"ModelValue({self.name!r})"


class Fcn:
    """A function whose domain is not ``1..n``; immutable, hashed once.

    Build it with :func:`as_fcn`, which returns a ``tuple`` for a domain ``1..n``.
    """

    __slots__ = ("_hash", "_shape", "d", "listed")
    d: dict[Value, Value]
    listed: bool
    _hash: int | None
    _shape: Any

    def __init__(self, table: dict[Value, Value]) -> None:
        """Take the table, which nothing may change afterwards."""
        self.d = table
        self.listed = False  # whether it is known that nothing in it is computed on demand
        self._hash = None
        self._shape = None

    def shape(self) -> Any:
        """Return the kinds of the parts; two functions of the same shape (``is``) can be compared.

        False means that the shape alone does not decide it.
        """
        known = self._shape
        if known is None:
            shape = self._shape_of_record() if type(next(iter(self.d))) is str else self._shape_of_table()
            known = self._shape = _SHAPES.setdefault(shape, shape)
        return known

    def _shape_of_record(self) -> Any:
        parts = [(argument, shape_of(part)) for argument, part in self.d.items()]
        return (tuple, frozenset(parts)) if all(type(argument) is str and part for argument, part in parts) else False

    def _shape_of_table(self) -> Any:
        arguments, parts = (common_shape(set(map(shape_of, each))) for each in (self.d, self.d.values()))
        return (tuple, (arguments, parts)) if arguments and parts else False

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            known = self._hash = hash(frozenset(self.d.items()))
        return known

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.equality.eq`."""
        if self is other:
            return True
        if type(other) is Fcn:
            return self.d == other.d
        return NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return (Fcn, (self.d,))

    def __repr__(self) -> str:
        return f"<{format_value(self)}>"


#: Every shape of a function, once.
_SHAPES: dict[Any, Any] = {}
_MIN_REMEMBERED = 16
_NO_ARGUMENT = (tuple,)
_NO_ELEMENT = (frozenset,)
#: The shapes of sequences and sets of what has no parts.
_FLAT_SEQUENCES, _FLAT_SETS = ({each: (kind, each) for each in (int, str, bool)} for kind in (tuple, frozenset))


def shape_of(value: Value) -> Any:
    """Return the shape of a value; False where only comparing decides what it can be compared with.

    The shape of an integer, a string, a boolean or a model value is its type. That of a function or set is a tuple:
    its type, and the one shape of its parts, if it has any.
    """
    kind = type(value)
    if kind is tuple:
        return _shape_of_few(value, _NO_ARGUMENT, _FLAT_SEQUENCES)
    if kind is int or kind is str or kind is bool:
        return kind
    if kind is frozenset:
        if (known := by_id.get(id(value))) is not None:
            return known.shape
        shape = _shape_of_few(value, _NO_ELEMENT, _FLAT_SETS)
        if shape and value:
            remember_shape_of(value, shape)
        return shape
    if kind is Fcn:
        return value.shape()
    return kind if kind is ModelValue and not value.kind else False


def _shape_of_few(value: Any, empty: Any, flat: dict[Any, Any]) -> Any:
    """Return the shape of a sequence or set."""
    if len(value) >= _MIN_REMEMBERED:
        return False
    if not value:
        return empty
    kinds = set(map(type, value))
    if len(kinds) == 1 and (known := flat.get(kinds.pop())) is not None:
        return known
    shape = common_shape(set(map(shape_of, value)))
    return (*empty, shape) if shape else False


def common_shape(shapes: set[Any]) -> Any:
    """Return the shape of all, if values of these shapes can be compared with each other; False otherwise.

    An empty function or set can be compared with whatever function, or set, there is.
    """
    if len(shapes) == 1:
        (only,) = shapes
        return only
    if not all(type(shape) is tuple for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        return False
    filled = [shape for shape in shapes if len(shape) > 1]
    return filled[0] if len(filled) == 1 else False


def same_shape(left: Value, right: Value) -> bool:
    """Return whether shapes show that two values can be compared; if not, only comparing decides."""
    if type(left) is not Fcn or type(right) is not Fcn:
        return False
    shape = left.shape()
    return shape is not False and shape is right.shape()


def as_fcn(table: dict[Value, Value]) -> Value:
    """Make a function of a table: a tuple if its domain is ``1..n``, a :class:`Fcn` otherwise."""
    if not table:
        return ()
    size = len(table)
    for key in table:
        if type(key) is not int or not 0 < key <= size:
            return Fcn(table)
    return tuple([table[i] for i in range(1, size + 1)])


def kind_of(value: Value) -> str:
    """Name the kind of a value: two values of different kinds cannot be compared (model values aside)."""
    kind = type(value)
    if kind is int:
        return "integer"
    if kind is bool:
        return "boolean"
    if kind is str:
        return "string"
    if kind is tuple or kind is Fcn:
        return "function"
    if kind is frozenset:
        return "set"
    if kind is ModelValue:
        return "model value"
    label = getattr(value, "tla_kind", None)
    if label is None:
        raise TlaTypeError(f"{value!r} is not a TLA+ value")
    return str(label)


def forced(value: Value) -> Value:
    """Return a value in which nothing is left to be computed on demand."""
    force: Callable[[], Value] | None = getattr(value, "force", None)
    return value if force is None else force()


_RANK = {ModelValue: 0, bool: 1, int: 2, str: 3, frozenset: 4, tuple: 5, Fcn: 5}


def _by_alphabet(name: str) -> Any:
    return name


def sort_key(value: Value, number: Callable[[str], Any] = _by_alphabet) -> tuple[Any, ...]:
    """Return a key that sorts values as TLC 2.15 does: by size, then element by element.

    `number` orders names, which are strings and model values; the alphabet does by default.
    """
    kind = type(value)
    rank = _RANK.get(kind)
    if rank is None:
        return sort_key(forced(value), number)
    if kind is ModelValue:
        return (rank, number(value.name))
    if kind is str:
        return (rank, number(value))
    if rank < 4:
        return (rank, value)
    if kind is frozenset:
        known = by_id.get(id(value)) if shape_of(value) else None
        found = None if known is None else known.keys.get(number)
        if found is None:
            found = (rank, len(value), *sorted([sort_key(each, number) for each in value]))
            if known is not None:
                known.keys[number] = found
        return found
    key: list[Any] = [rank, len(value) if kind is tuple else len(value.d)]
    if kind is tuple:
        for index, element in enumerate(value, 1):
            key += ((2, index), sort_key(element, number))
        return tuple(key)
    for argument, argument_key in sorted([(k, sort_key(k, number)) for k in value.d], key=itemgetter(1)):
        key += (argument_key, sort_key(value.d[argument], number))
    return tuple(key)


_IDENTIFIER = re.compile(r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\f": "\\f", "\r": "\\r"}


def format_value(value: Value) -> str:
    """Print a value as TLC does, with the elements of sets in a deterministic order.

    The text is such as ``<<1, 2>>``, ``[a |-> 1]``, ``{1, 2}`` or ``(n1 :> 1 @@ n2 :> 2)``.
    """
    return _printed(value, math.inf)


def format_call(name: str, args: Mapping[str, Value]) -> str:
    """Return an action with its arguments, such as ``Lock(c = a)``; without any it is the name alone."""
    given = ", ".join(f"{each} = {format_value(value)}" for each, value in args.items())
    return f"{name}({given})" if given else name


def format_beginning(value: Value, most: int) -> str:
    """Print a value as format_value does; of a text longer than `most`, its beginning, which ends in an ellipsis.

    It takes no longer than the beginning is long, and as the collections are that it begins with.
    """
    return beginning(_printed(value, most), most)


def _printed(value: Value, limit: float) -> str:
    """Print a value up to its end, or until the text is longer than a limit."""
    kind = type(value)
    if kind is bool:
        return "TRUE" if value else "FALSE"
    if kind is int:
        return str(value)
    if kind is str:
        return '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'
    if kind is ModelValue:
        return str(value.name)
    if kind is tuple:
        return _joined("<<", value, ", ", ">>", limit)
    if kind is frozenset:
        return _joined("{", sorted(value, key=sort_key), ", ", "}", limit)
    if kind is Fcn:
        table, keys = value.d, sorted(value.d, key=sort_key)
        if all(type(key) is str and _IDENTIFIER.match(key) for key in keys):
            return _joined("[", keys, ", ", "]", limit, lambda key, left: f"{key} |-> {_printed(table[key], left)}")
        return _joined(
            "(", keys, " @@ ", ")", limit, lambda key, left: f"{_printed(key, left)} :> {_printed(table[key], left)}"
        )
    return _printed_lazily(value, limit)


def _printed_lazily(value: Value, limit: float) -> str:
    if not hasattr(value, "force"):
        return f"<not a TLA+ value: {value!r}>"
    try:
        if hasattr(value, "sequence") and value.sequence() is value:  # not forced, for what is forced is remembered
            return _joined("<<", value, ", ", ">>", limit)
        return _printed(value.force(), limit)
    except TlaError:
        return str(getattr(value, "name", "a function on an infinite set"))


def _joined(
    opening: str,
    parts: Iterable[Value],
    separator: str,
    closing: str,
    limit: float,
    text_of: Callable[[Value, float], str] = _printed,
) -> str:
    found: list[str] = []
    left = limit - len(opening)
    for part in parts:
        text = text_of(part, left)
        found.append(text)
        left -= len(text) + len(separator)
        if left < -len(separator):
            return opening + separator.join(found)
    return opening + separator.join(found) + closing


def outside(function: Value, argument: Value) -> TlaError:
    """Make the error of an application outside the domain."""
    text = format_value(function)
    if len(text) > 400:
        text = text[:400] + " ..."
    return TlaError(f"the function {text} is applied to {format_value(argument)}, which is not in its domain")


def wrong(what: str, wanted: str, got: Value) -> TlaTypeError:
    """Make the error of an operand of the wrong kind."""
    return TlaTypeError(f"{what} needs {wanted}, but was given {format_value(got)}")


def incomparable(left: Value, right: Value) -> TlaTypeError:
    """Make the error of two values that cannot be compared."""
    return TlaTypeError(f"{format_value(left)} and {format_value(right)} cannot be compared")
