"""Placeholders for the parts of a state that an evaluation has not read, which notice when it reads them.

A search by tables evaluates a formula in a state that is made of :class:`Unread`, one for each slot. The generated
code's own functions ask for the slots that they need, in the order in which they need them; these slots are the
footprint of this evaluation. So nothing has to be known of a formula beforehand. Whatever touches an Unread without
asking raises :class:`NeedRead`, which no handler of evaluation errors catches, and the evaluation begins anew with that
slot read. Python's ``type`` alone touches nothing: an operator that asks for the type of a part is given the part (see
``_WITHIN``). An Unread that is copied to its own place means that the slot is unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from lockstep.tla.spec import Spec
from lockstep.tla.tables.tracked_evaluation import CurrentEvaluation
from lockstep.tla.values.constructed_sets import FcnSet, RcdSet
from lockstep.tla.values.equality import eq, ordered
from lockstep.tla.values.function_operators import apply
from lockstep.tla.values.integer_intervals import domain_of
from lockstep.tla.values.kinds import Fcn, ModelValue, Value
from lockstep.tla.values.lazy_sets import member


class NeedRead(BaseException):
    """An operation on an Unread that needs its value."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


class Unread:
    """A part of a state that was not read yet; see the text of this module.

    Attributes:
        current: the evaluation under way, which it reports to.
    """

    __slots__ = ("column", "current")

    def __init__(self, column: int, current: CurrentEvaluation) -> None:
        self.column, self.current = column, current

    @property  # type: ignore[misc]  # object's can be assigned
    def __class__(self) -> type:
        """Refuse: isinstance asks here whether an Unread is a set, say, and would take it for none."""
        raise NeedRead(self.column)

    def value(self) -> Value:
        """Read the value."""
        return self.current.now.read(self.column)

    def __eq__(self, other: object) -> bool:
        """Be equal to itself, whatever the value is."""
        if other is self:
            return True
        raise NeedRead(self.column)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise NeedRead(self.column)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse: Python asks here for what an Unread does not have."""
        raise NeedRead(self.column)


def _refused(self: Unread, *args: Any) -> NoReturn:
    raise NeedRead(self.column)


for _name in (
    *("bool", "len", "iter", "contains", "getitem", "call", "index", "int", "str", "repr", "format", "reversed"),
    *("lt", "le", "gt", "ge", "neg", "add", "radd", "sub", "rsub", "mul", "rmul", "and", "rand", "or", "ror", "xor"),
    *("rxor", "mod", "rmod", "floordiv", "rfloordiv", "pow", "rpow", "reduce", "reduce_ex", "next", "copy", "deepcopy"),
):
    setattr(Unread, f"__{_name}__", _refused)


def tracked(spec: Spec) -> dict[str, Any]:
    """Make the names of a spec's generated code once more, so that its evaluations ask before they read.

    Returns:
        The names, those of the stages among them; nothing is shared with the spec's own but model values and classes.
    """
    module = spec.names_before()
    exec(spec.code, module)
    exec(spec.stages, module)
    for name, each in list(module.items()):
        place = getattr(each, "__module__", "")
        is_operator = place.startswith(_OPERATORS) and place not in _NO_OPERATORS
        if name.startswith("_") and is_operator and callable(each):
            made = (
                _read_if_needed
                if each.__name__ in _COPYING
                else _read_parts
                if each.__name__ in _WITHIN
                else _read_operands
            )
            module[name] = made(each)
    module["_apply"], module["_member"] = _apply, _member
    for name in ("_elements", "_choose"):
        module[name] = _read_first(module[name])
    return module


def _apply(function: Value, argument: Value) -> Value:
    """Compute ``function[argument]``, current what it is where that was not read."""
    if type(function) is Fcn and type(argument) in _ATOMS:
        value = function.d.get(argument, _MISSING)
        if value is not _MISSING:
            if type(value) is not Unread:
                return value
            known = value.current.now.known.get(value.column, _MISSING)
            return value.value() if known is _MISSING else known
    if type(function) is Unread:
        function = function.value()
    if type(argument) is Unread:
        argument = argument.value()
    value = apply(function, argument)
    return value.value() if type(value) is Unread else value


def _member(value: Value, container: Value) -> bool:
    """Decide ``value \\in container``; of a record or function with parts that were not read, part by part."""
    if type(container) is Unread:
        container = container.value()
    kind = type(value)
    if kind is Unread:
        unread: Unread = value
        return unread.current.now.is_member(unread.column, container)
    if type(container) is FcnSet and (kind is Fcn or kind is tuple) and _has_unread(value):
        parts = value if kind is tuple else [value.d[key] for key in ordered(value.d)]
        has_domain = eq(domain_of(value), container.domain_set)
        return has_domain and all(_member(each, container.codomain) for each in parts)
    if type(container) is RcdSet and kind is Fcn and value.d.keys() == container.fields.keys() and _has_unread(value):
        return all(_member(value.d[name], container.fields[name]) for name in sorted(container.fields))
    return member(value, container)


def _has_unread(value: Value) -> bool:
    parts = value.d.values() if type(value) is Fcn else value if type(value) is tuple else ()
    return any(type(each) is Unread or _has_unread(each) for each in parts)


_ATOMS = {str, ModelValue}
_MISSING = object()


#: The flags of a function of any number of operands, or of named ones.
_VARYING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

#: The modules of the language's operators, and of sets that are not listed.
_OPERATORS = "lockstep.tla.values."
_NO_OPERATORS = ("lockstep.tla.values.kinds", "lockstep.tla.values.name_order")
#: Operators that may put an operand into their result as it is.
_COPYING = {"frozen", "put", "single", "assign", "except_"}
#: Operators that ask ``type`` of the parts of their operands, or keep parts that come in a table.
_WITHIN = {"RcdSet", "function_of"}


def _read_operands(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that reads its operands."""

    def read(*operands: Any, **named: Any) -> Any:
        return operator(*[each.value() if type(each) is Unread else each for each in operands], **named)

    def read_one(one: Any) -> Any:
        return operator(one.value() if type(one) is Unread else one)

    def read_two(one: Any, other: Any) -> Any:
        if type(one) is Unread:
            one = one.value()
        return operator(one, other.value() if type(other) is Unread else other)

    made: dict[int, Callable[..., Any]] = {} if inspect.ismethod(operator) else {1: read_one, 2: read_two}
    code = getattr(operator, "__code__", None)
    varies = code is None or code.co_flags & _VARYING or code.co_kwonlyargcount or operator.__defaults__
    return read if varies or code is None else made.get(code.co_argcount, read)


def _read_parts(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that reads its operands, and the parts of those that are functions, records or lists."""

    def read(*operands: Any) -> Any:
        return operator(*map(_read_within, operands))

    return read


def _read_within(value: Any) -> Any:
    if type(value) is Unread:
        return value.value()
    if type(value) is Fcn:
        return Fcn(_read_within(value.d)) if _has_unread(value) else value
    if type(value) is dict:
        return {key: _read_within(each) for key, each in value.items()}
    if type(value) is tuple or type(value) is list:
        return type(value)(map(_read_within, value))
    return value


def _read_first(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that reads its first operand."""

    def read(first: Any, *more: Any) -> Any:
        return operator(first.value() if type(first) is Unread else first, *more)

    return read


def _read_if_needed(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator that reads those of its operands that it turns out to need."""

    def asked(*operands: Any) -> Any:
        try:
            return operator(*operands)
        except NeedRead:
            if not any(type(each) is Unread for each in operands):
                raise
        return operator(*[each.value() if type(each) is Unread else each for each in operands])

    return asked
