"""Temporal formulas over steps: their tree, as the specification has them, and the normal form that is searched for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lockstep.tla.compile.spec_meta import Temporal
from lockstep.tla.values.kinds import Value, format_value


@dataclass(frozen=True, eq=False, slots=True)
class Leaf:
    """A formula without temporal operators.

    Attributes:
        test: its value, of a state and the next one.
        of_step: whether the next state matters.
    """

    test: Callable[[Any, Any], bool]
    of_step: bool = False
    place: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Not:
    """``~F``."""

    part: Formula


@dataclass(frozen=True, eq=False, slots=True)
class And:
    """``F /\\ G`` of any number of parts; without any it is TRUE. Also the bounded ``\\A``."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Or:
    """``F \\/ G`` of any number of parts; without any it is FALSE. Also the bounded ``\\E``."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Implies:
    """``F => G``."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Equivalent:
    """``F <=> G``."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Always:
    """``[]F``."""

    part: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Eventually:
    """``<>F``."""

    part: Formula


@dataclass(frozen=True, eq=False, slots=True)
class LeadsTo:
    """``F ~> G``."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, slots=True)
class Fair:
    """``WF_v(A)`` or ``SF_v(A)``.

    Attributes:
        enabled: ENABLED <<A>>_v.
        taken: <<A>>_v.
        text: how it is written, with what its parameters stand for.
    """

    strong: bool
    enabled: Leaf
    taken: Leaf
    text: str = ""


Formula: TypeAlias = Leaf | Not | And | Or | Implies | Equivalent | Always | Eventually | LeadsTo | Fair

_CONSTRUCTORS: Mapping[str, Callable[..., Formula]] = {
    "not": Not,
    "implies": Implies,
    "equivalent": Equivalent,
    "always": Always,
    "eventually": Eventually,
    "leads to": LeadsTo,
}


def formula_of(module: Mapping[str, Any], record: Temporal, given: tuple[Value, ...] = ()) -> Formula:
    """Make a formula of its record in the compiled source.

    Args:
        module: the names of the compiled source.
        record: the formula, as META has it.
        given: what the quantifiers around it bind.

    Returns:
        The formula; quantifiers are carried out.

    Raises:
        TlaError: if the set of a quantifier cannot be evaluated.
    """
    kind, *rest = record
    if kind == "leaf":
        return _leaf(module, record, given)
    if kind == "fair":
        return _fairness(module, record, given)
    if kind in ("all", "some"):
        rows: Iterable[tuple[Value, ...]] = module[rest[0]](*given)
        made = tuple([formula_of(module, rest[1], given + row) for row in rows])
        return And(made) if kind == "all" else Or(made)
    parts = tuple([formula_of(module, each, given) for each in rest])
    if kind in ("and", "or"):
        return And(parts) if kind == "and" else Or(parts)
    return _CONSTRUCTORS[kind](*parts)


def _leaf(module: Mapping[str, Any], record: Temporal, given: tuple[Value, ...]) -> Leaf:
    _, name, of_step, place = record
    function = module[name]
    test = (lambda state, after: function(state, after, *given)) if given else function
    return Leaf(test, of_step, place)


def _fairness(module: Mapping[str, Any], record: Temporal, given: tuple[Value, ...]) -> Fair:
    _, kind, enabled, taken, text, names = record
    values = [f"{name} = {format_value(value)}" for name, value in zip(names, given, strict=True)]
    shown = f"{text} with {', '.join(values)}" if values else text
    return Fair(kind == "SF", _leaf(module, enabled, given), _leaf(module, taken, given), shown)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas directly within one."""
    if isinstance(formula, (And, Or)):
        return formula.parts
    if isinstance(formula, (Not, Always, Eventually)):
        return (formula.part,)
    if isinstance(formula, (Implies, Equivalent, LeadsTo)):
        return (formula.left, formula.right)
    return (formula.enabled, formula.taken) if isinstance(formula, Fair) else ()


def leaves_of(formula: Formula) -> Iterator[Leaf]:
    """List the leaves of a formula."""
    if isinstance(formula, Leaf):
        yield formula
    for part in parts_of(formula):
        yield from leaves_of(part)


def is_pure(formula: Formula) -> bool:
    """Return whether a formula in normal form has no temporal operator, so that one step decides it."""
    if isinstance(formula, (And, Or)):
        return all(map(is_pure, formula.parts))
    return isinstance(formula, (Leaf, Not))


def normal(formula: Formula, holds: bool = True) -> Formula:
    """Bring a formula, or its negation, into normal form: leaves and their negations, ``/\\``, ``\\/``, [] and <>.

    The parts keep their order, so that one that guards another is evaluated before it. ``<>[]<>F`` is ``[]<>F``, and so
    on, and ``[]<>F \\/ []<>G`` is one formula where F and G are pure.

    Args:
        holds: False for its negation.

    Returns:
        An equivalent formula in normal form.
    """
    if isinstance(formula, Leaf):
        return formula if holds else Not(formula)
    if isinstance(formula, Not):
        return normal(formula.part, not holds)
    if isinstance(formula, (And, Or)):
        parts = [normal(part, holds) for part in formula.parts]
        return _all(parts) if isinstance(formula, And) == holds else _some(parts)
    if isinstance(formula, (Always, Eventually)):
        part = normal(formula.part, holds)
        return _always(part) if isinstance(formula, Always) == holds else _eventually(part)
    return _normal_of_two(formula, holds)


def _normal_of_two(formula: Implies | Equivalent | LeadsTo | Fair, holds: bool) -> Formula:
    if isinstance(formula, LeadsTo):
        return normal(Always(Implies(formula.left, Eventually(formula.right))), holds)
    if isinstance(formula, Fair):
        return normal(_meaning(formula), holds)
    left, right = formula.left, formula.right
    if isinstance(formula, Implies):
        parts = [normal(left, not holds), normal(right, holds)]
        return _some(parts) if holds else _all(parts)
    return _some(
        [_all([normal(left, yes), normal(right, yes == holds)]) for yes in (True, False)],
    )


def _meaning(fair: Fair) -> Formula:
    if fair.strong:
        return Or((Eventually(Always(Not(fair.enabled))), Always(Eventually(fair.taken))))
    return Always(Eventually(Or((Not(fair.enabled), fair.taken))))


def _flat(parts: list[Formula], kind: type[And] | type[Or]) -> list[Formula]:
    return list(itertools.chain.from_iterable(part.parts if isinstance(part, kind) else (part,) for part in parts))


def _all(parts: list[Formula]) -> Formula:
    flat = _flat(parts, And)
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def _some(parts: list[Formula]) -> Formula:
    flat = _flat(parts, Or)
    again = [part for part in flat if recurring(part) is not None]
    if len(again) > 1:
        merged = Always(Eventually(_some([each for part in again if (each := recurring(part)) is not None])))
        flat = [merged if part is again[0] else part for part in flat if part is again[0] or part not in again]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def _always(part: Formula) -> Formula:
    if isinstance(part, Always) or (isinstance(part, Eventually) and isinstance(part.part, Always)):
        return part
    return Always(part)


def _eventually(part: Formula) -> Formula:
    if isinstance(part, Eventually) or (isinstance(part, Always) and isinstance(part.part, Eventually)):
        return part
    return Eventually(part)


def recurring(formula: Formula) -> Formula | None:
    """Return P of ``[]<>P`` where P is pure; TLC's AE."""
    inner = formula.part if isinstance(formula, Always) else None
    return inner.part if isinstance(inner, Eventually) and is_pure(inner.part) else None


def persisting(formula: Formula) -> Formula | None:
    """Return P of ``<>[]P`` where P is pure; TLC's EA."""
    inner = formula.part if isinstance(formula, Eventually) else None
    return inner.part if isinstance(inner, Always) and is_pure(inner.part) else None
