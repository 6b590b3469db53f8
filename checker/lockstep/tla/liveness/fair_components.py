"""Components of a product that a behaviour may stay in for ever: those that meet every condition.

As tlc2.tool.liveness.LiveWorker: ``[]<>P`` (AE) asks for a step that is P, ``<>[]P`` (EA) leaves only the steps that
are, and strong fairness, ``<>[]P \\/ []<>Q``, does the latter where the component has no step that is Q. The rest
of a component divides into components again, which are checked in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from lockstep.tla.liveness.behaviour_graph import Valuation
from lockstep.tla.liveness.tableau_product import Product
from lockstep.tla.liveness.temporal_formulas import Formula, Or, persisting, recurring

#: The steps within a component: for each number the next ones, each with the promises that it postpones.
Steps: TypeAlias = dict[int, list[tuple[int, int]]]
#: Whether a step (from, to, postponed promises) is of a kind that a cycle needs.
Wanted: TypeAlias = Callable[[int, int, int], bool]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions on a behaviour's end, whatever its beginning.

    Attributes:
        recurring: P of each ``[]<>P``.
        persisting: P of each ``<>[]P``.
        choices: the P's, and Q if there is one, of each ``<>[]P1 \\/ <>[]P2 ... \\/ []<>Q``.
    """

    recurring: tuple[Formula, ...] = ()
    persisting: tuple[Formula, ...] = ()
    choices: tuple[tuple[tuple[Formula, ...], Formula | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Component:
    """A component that meets every condition, and the kinds of steps that a cycle in it must have."""

    steps: Steps
    wanted: tuple[Wanted, ...]


@dataclass
class _Sorted:
    recurring: list[Formula] = field(default_factory=list)
    persisting: list[Formula] = field(default_factory=list)
    choices: list[tuple[tuple[Formula, ...], Formula | None]] = field(default_factory=list)
    others: list[Formula] = field(default_factory=list)


def sorted_conditions(formulas: Iterable[Formula]) -> tuple[Conditions, list[Formula]]:
    """Divide formulas in normal form into conditions on a behaviour's end, and others, which need a tableau."""
    found = _Sorted()
    for formula in formulas:
        again, finally_ = recurring(formula), persisting(formula)
        if again is not None:
            found.recurring.append(again)
        elif finally_ is not None:
            found.persisting.append(finally_)
        elif isinstance(formula, Or) and formula.parts and all(map(_is_of_the_end, formula.parts)):
            lasting = tuple([each for part in formula.parts if (each := persisting(part)) is not None])
            often = [each for part in formula.parts if (each := recurring(part)) is not None]
            found.choices.append((lasting, often[0] if often else None))  # the normal form merges several
        else:
            found.others.append(formula)
    return Conditions(tuple(found.recurring), tuple(found.persisting), tuple(found.choices)), found.others


def _is_of_the_end(formula: Formula) -> bool:
    return recurring(formula) is not None or persisting(formula) is not None


def components(steps: Steps) -> Iterator[Steps]:
    """List the strongly connected components that have a step, the first found first, each with its steps."""
    import networkx as nx  # here, since loading it takes a while

    graph = nx.DiGraph()
    graph.add_nodes_from(steps)
    graph.add_edges_from((number, target) for number, each in steps.items() for target, _ in each if target in steps)
    for nodes in sorted(nx.strongly_connected_components(graph), key=min):
        inner = {number: [step for step in steps[number] if step[0] in nodes] for number in sorted(nodes)}
        if len(nodes) > 1 or any(inner.values()):
            yield inner


def fair_part(product: Product, valuation: Valuation, steps: Steps, conditions: Conditions) -> Component | None:
    """Find a component within a component that meets every condition.

    Args:
        product: what the component is of.

    Returns:
        The component found, None if there is none.

    Raises:
        TlaError: if a condition cannot be evaluated.
    """

    def is_(formula: Formula, source: int, target: int, _postponed: int = 0) -> bool:
        return valuation.holds(formula, product.states[source], product.states[target])

    kept = {
        number: [step for step in each if all(is_(formula, number, step[0]) for formula in conditions.persisting)]
        for number, each in steps.items()
    }
    if any(len(kept[number]) < len(each) for number, each in steps.items()):
        return _first(fair_part(product, valuation, inner, conditions) for inner in components(kept))
    wanted: list[Wanted] = [partial(_keeps, 1 << bit) for bit in range(product.promises.bit_length())]
    wanted += [partial(is_, formula) for formula in conditions.recurring]
    if not all(_has(steps, each) for each in wanted):
        return None
    for index, (lasting, often) in enumerate(conditions.choices):
        if often is not None and _has(steps, partial(is_, often)):
            wanted.append(partial(is_, often))
            continue
        others = conditions.choices[:index] + conditions.choices[index + 1 :]
        chosen = [Conditions(conditions.recurring, (*conditions.persisting, each), others) for each in lasting]
        return _first(fair_part(product, valuation, steps, each) for each in chosen)
    return Component(steps, tuple(wanted))


def _keeps(bit: int, _source: int, _target: int, postponed: int) -> bool:
    """Return whether a step does not put off a promise."""
    return not postponed & bit


def _has(steps: Steps, wanted: Wanted) -> bool:
    return any(wanted(number, *step) for number, each in steps.items() for step in each)


def _first(found: Iterable[Component | None]) -> Component | None:
    return next((each for each in found if each is not None), None)


def all_steps(product: Product) -> Steps:
    """Return the steps of a whole product."""
    return dict(enumerate(product.steps))
