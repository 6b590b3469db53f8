"""Checking the temporal properties of a specification on the graph of its search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from lockstep.base.errors import WRONG_CFG, BadInputError
from lockstep.tla.exploration import SearchStep, Violation
from lockstep.tla.liveness.behaviour_graph import Graph, Valuation
from lockstep.tla.liveness.lasso_replay import Word, fairness_evidence
from lockstep.tla.liveness.lasso_search import Lasso, find_violation
from lockstep.tla.liveness.temporal_formulas import Formula
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError
from lockstep.tla.values.next_state import UnassignedError


class LivenessRefusedError(BadInputError):
    """Temporal properties with a SYMMETRY or a VIEW, under which the graph has not all behaviours; names the entry."""


class LassoContradictedError(Exception):
    """A behaviour that the search found is not what it was found to be: an error of lockstep, not of the spec."""


def refuse_symmetry_and_view(spec: Spec) -> None:
    """Raise LivenessRefusedError where a cfg has temporal properties, and SYMMETRY or VIEW besides."""
    found = liveness_obstacle(spec)
    if found is not None:
        place, problem = found
        raise LivenessRefusedError(f"{place}: {WRONG_CFG} {problem}")


def liveness_obstacle(spec: Spec) -> tuple[str, str] | None:
    """Return the place of SYMMETRY or VIEW in a cfg with temporal properties, and what to remove; None without."""
    entries = [(kind, name) for kind, name in (("SYMMETRY", spec.symmetry), ("VIEW", spec.view)) if name is not None]
    if not entries or not spec.temporal:
        return None
    named = " and ".join(f"the {kind} {name}" for kind, name in entries)
    leaves, them = ("leaves", "it") if len(entries) == 1 else ("leave", "them")
    place = ":".join([spec.cfg_file, *([spec.cfg_places[name]] if (name := entries[0][1]) in spec.cfg_places else [])])
    listed = ", ".join(spec.temporal)
    return place, f"{named} {leaves} too few behaviours to check {listed}; remove {them}"


def check_temporal(spec: Spec, graph: Graph, begin: Callable[[str], None]) -> tuple[Violation | None, tuple[str, ...]]:
    """Check a specification's temporal properties, in the order of the configuration.

    As in TLC, the behaviours are those of the states and steps that the constraints leave, and each may stutter.

    Args:
        graph: all states and steps of a search.
        begin: called with the name of each property before it is checked.

    Returns:
        The first violation; and the properties that were not checked, since they ask whether an action is enabled
        that does not say what each of its variables becomes.

    Raises:
        TlaError: if evaluation fails.
        LassoContradictedError: if a behaviour that is found does not stand when it is replayed.
    """
    valuation = Valuation(graph)
    assumed, properties = spec.temporal_formulas
    unchecked: list[str] = []
    for name, parts in properties.items():
        begin(name)
        for promised in parts:
            try:
                lasso = find_violation(graph, valuation, assumed, promised)
            except UnassignedError as error:
                if not valuation.raised_by(error, promised):
                    raise
                unchecked.append(name)
                break
            if lasso is not None:
                return _replayed(spec, graph, name, lasso, assumed, promised), tuple(unchecked)
    return None, tuple(unchecked)


def _replayed(
    spec: Spec, graph: Graph, name: str, lasso: Lasso, assumed: Sequence[Formula], promised: Formula
) -> Violation:
    """Take the steps of a behaviour again, and evaluate the formulas on it by their definitions."""
    states = [graph.states[number] for number in lasso.states]
    word = Word(states, lasso.back_to)
    try:
        if not all(word.holds(formula) for formula in assumed):
            raise LassoContradictedError(f"{name}: the behaviour found is not as the SPECIFICATION assumes")
        if word.holds(promised):
            raise LassoContradictedError(f"{name}: the behaviour found has the property after all")
        fairness = fairness_evidence(word, assumed)
    except TlaError as error:
        raise LassoContradictedError(f"{name}: the behaviour found cannot be evaluated: {error}") from error
    if states[0] not in set(spec.initial_states()):
        raise LassoContradictedError(f"{name}: the behaviour found begins in no initial state")
    steps = [SearchStep(None, {}, states[0])]
    steps += [_step(spec, name, before, after) for before, after in pairwise(states)]
    last, back = states[-1], states[lasso.back_to]
    if last != back:
        _step(spec, name, last, back)
    return Violation("temporal property", name, tuple(steps), lasso.back_to, fairness)


def _step(spec: Spec, name: str, before: State, after: State) -> SearchStep:
    """Return the step of the specification between two states."""
    for action, args, reached in spec.successors(before):
        if reached == after and spec.constraint(after) and spec.action_constraint(before, after):
            return SearchStep(action, args, after)
    raise LassoContradictedError(f"{name}: the behaviour found has a step that the spec does not allow")
