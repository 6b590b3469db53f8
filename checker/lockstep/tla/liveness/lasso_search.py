"""The search for a behaviour that makes formulas hold: a path to a fair component, and a cycle in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lockstep.tla.liveness.behaviour_graph import EvaluationFailure, Graph, Valuation
from lockstep.tla.liveness.fair_components import (
    Component,
    Steps,
    Wanted,
    all_steps,
    components,
    fair_part,
    sorted_conditions,
)
from lockstep.tla.liveness.tableau_product import Product
from lockstep.tla.liveness.temporal_formulas import And, Formula, Or, normal


@dataclass(frozen=True, slots=True)
class Lasso:
    """A behaviour without end.

    Attributes:
        states: the numbers of its states; the first is initial.
        back_to: the index of the state that comes after the last; the last itself where it stays there.
    """

    states: tuple[int, ...]
    back_to: int

    @property
    def cycle(self) -> tuple[int, ...]:
        """The states that come again and again."""
        return self.states[self.back_to :]


def find_violation(graph: Graph, valuation: Valuation, assumed: Sequence[Formula], promised: Formula) -> Lasso | None:
    """Find a behaviour of a graph that fulfils the assumptions, but not the property.

    Args:
        assumed: the formulas that a behaviour makes true, such as fairness.

    Returns:
        A behaviour, None if there is none.

    Raises:
        TlaError: if there is none, but a formula cannot be evaluated where its value is needed.
    """
    given = [part for formula in assumed for part in _conjuncts(normal(formula))]
    broken: EvaluationFailure | None = None
    for against in _alternatives(normal(promised, False)):
        found = find_lasso(graph, valuation, [*given, *_conjuncts(against)])
        if isinstance(found, Lasso):
            return found
        broken = broken or found
    if broken is not None:
        raise broken.error
    return None


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, And):
        for part in formula.parts:
            yield from _conjuncts(part)
    else:
        yield formula


def _alternatives(formula: Formula) -> Iterator[Formula]:
    """Yield the alternatives of a formula, at least one of them true where it is; each is searched for alone."""
    if isinstance(formula, Or):
        for part in formula.parts:
            yield from _alternatives(part)
    else:
        yield formula


def find_lasso(graph: Graph, valuation: Valuation, formulas: Sequence[Formula]) -> Lasso | EvaluationFailure | None:
    """Find a behaviour of a graph that makes formulas hold.

    Returns:
        A behaviour; an error where there is only one on which something cannot be evaluated; None if there is none.

    Raises:
        TlaError: if a condition on the end of behaviours cannot be evaluated.
    """
    conditions, others = sorted_conditions(formulas)
    product = Product(graph, valuation, others)
    broken: EvaluationFailure | None = None
    for steps in components(all_steps(product)):
        error = product.error(next(iter(steps)))
        if error is not None and broken is not None:
            continue
        component = fair_part(product, valuation, steps, conditions)
        if component is None:
            continue
        if error is None:
            return _lasso(product, component)
        broken = error
    return broken


def _lasso(product: Product, component: Component) -> Lasso:
    """Make a behaviour of a component: a short one, though not always a shortest."""
    start, cycle = _cycle(component)
    path = [product.states[number] for number in product.path_to(start)]
    return _shortened(path[:-1], [product.states[number] for number in cycle])


def _cycle(component: Component) -> tuple[int, list[int]]:
    """Return where to enter a component, and a cycle from there with a step of each kind that is wanted."""
    steps = component.steps
    for number, each in steps.items():
        for target, postponed in each:
            if target == number and all(wanted(number, target, postponed) for wanted in component.wanted):
                return number, [number]
    start = at = next(iter(steps))
    cycle, missing = [start], list(component.wanted)
    while missing:
        taken = _shortest(steps, at, missing[0])
        cycle += [step[1] for step in taken]
        missing = [wanted for wanted in missing if not any(wanted(*step) for step in taken)]
        at = cycle[-1]
    if at != start or len(cycle) == 1:
        back = _shortest(steps, at, lambda _source, target, _postponed: target == start)
        cycle += [step[1] for step in back]
    return start, cycle[:-1]


def _shortest(steps: Steps, start: int, wanted: Wanted) -> list[tuple[int, int, int]]:
    """Return the steps of a shortest path that ends in a step of some kind, which the component has."""
    came: dict[int, tuple[int, int, int]] = {}
    waiting = deque([start])
    while waiting:
        number = waiting.popleft()
        for target, postponed in steps[number]:
            step = (number, target, postponed)
            if wanted(*step):
                return [*_path(came, start, number), step]
            if target != start and target not in came:
                came[target] = step
                waiting.append(target)
    raise LookupError("a component has no step of a kind that it was found to have")


def _path(came: dict[int, tuple[int, int, int]], start: int, end: int) -> list[tuple[int, int, int]]:
    found = []
    while end != start:
        found.append(came[end])
        end = came[end][0]
    found.reverse()
    return found


def _shortened(path: list[int], cycle: list[int]) -> Lasso:
    """Leave out stuttering steps, which no formula of TLA+ notices, and the part of the path that the cycle repeats."""
    cycle = [cycle[0], *(after for state, after in pairwise(cycle) if state != after)]
    while len(cycle) > 1 and cycle[-1] == cycle[0]:  # the first stays, since the path, or the behaviour, begins there
        cycle.pop()
    path = [state for state, after in pairwise([*path, cycle[0]]) if state != after]
    while path and path[-1] == cycle[-1]:
        path.pop()
        cycle = [cycle[-1], *cycle[:-1]]
    return Lasso((*path, *cycle), len(path))
