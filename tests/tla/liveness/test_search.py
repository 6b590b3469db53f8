"""The tableau, the components and the cycles, compared with all behaviours of small graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.tla.liveness.behaviour_graph import Graph, Valuation, graph_of
from lockstep.tla.liveness.fair_components import sorted_conditions
from lockstep.tla.liveness.lasso_replay import Word, fairness_evidence
from lockstep.tla.liveness.lasso_search import find_violation
from lockstep.tla.liveness.tableau_product import Product
from lockstep.tla.liveness.temporal_formulas import (
    Always,
    And,
    Equivalent,
    Eventually,
    Fair,
    Formula,
    Implies,
    LeadsTo,
    Leaf,
    Not,
    Or,
    normal,
)
from lockstep.tla.values.kinds import TlaError

#: Maximal length, before it repeats, of the behaviours that are all tried.
LONGEST = 5


def is_in(numbers: frozenset[int]) -> Leaf:
    return Leaf(lambda state, _after: state in numbers)


class Action:
    """Some steps between different states: <<A>>_v and [A]_v are true of them, and where v stays of the latter."""

    def __init__(self, steps: frozenset[tuple[int, int]], graph_steps: Sequence[Sequence[int]]) -> None:
        real = {(source, target) for source, target in steps if source != target}
        # An action may be enabled although no step of the graph is one.
        self.angle = Leaf(lambda state, after: (state, after) in real, of_step=True)
        self.square = Leaf(lambda state, after: state == after or (state, after) in real, of_step=True)
        self.enabled = Leaf(lambda state, _after: any(source == state for source, _ in real))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Graph, list[Formula], Formula]:
    """A graph, what is assumed of its behaviours, and what is promised."""
    size = draw(st.integers(1, 3))
    numbers = st.integers(0, size - 1)
    steps = [draw(st.lists(numbers, max_size=size)) for _ in range(size)]
    graph = graph_of(range(size), steps, draw(st.lists(numbers, min_size=1, max_size=2)))
    pairs = st.frozensets(st.tuples(numbers, numbers), max_size=4)
    actions = [Action(draw(pairs), steps) for _ in range(2)]
    sets = st.frozensets(numbers, max_size=size)
    fair = st.builds(
        lambda strong, action: Fair(strong, action.enabled, action.angle), st.booleans(), st.sampled_from(actions)
    )
    # The formulas on steps that TLA+ has: stuttering does not change their value.
    of_steps = st.sampled_from(actions).flatmap(
        lambda action: st.sampled_from([Eventually(action.angle), Always(action.square)])
    )
    formulas: st.SearchStrategy[Formula] = st.recursive(
        st.one_of(sets.map(is_in), of_steps, fair),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts))),
            st.builds(Implies, inner, inner),
            st.builds(Equivalent, inner, inner),
            st.builds(LeadsTo, inner, inner),
            inner.map(Always),
            inner.map(Eventually),
        ),
        max_leaves=5,
    )
    assumed: list[Formula] = draw(st.lists(st.one_of(fair, formulas), max_size=2))
    return graph, assumed, draw(formulas)


def behaviours(graph: Graph) -> Iterator[Word]:
    """Yield every behaviour that repeats itself after at most as many states as the graph has."""
    waiting: list[tuple[int, ...]] = [(number,) for number in graph.initial]
    while waiting:
        states = waiting.pop()
        for index, state in enumerate(states):
            if state in graph.steps[states[-1]]:
                yield Word(states, index)
        if len(states) < LONGEST:
            waiting += [(*states, after) for after in graph.steps[states[-1]]]


def violates(word: Word, assumed: Sequence[Formula], promised: Formula) -> bool:
    return all(word.holds(formula) for formula in assumed) and not word.holds(promised)


def check(problem: tuple[Graph, list[Formula], Formula]) -> None:
    graph, assumed, promised = problem
    found = find_violation(graph, Valuation(graph), assumed, promised)
    if found is None:
        assert not any(violates(word, assumed, promised) for word in behaviours(graph))
        return
    assert found.states[0] in graph.initial
    states = [graph.states[number] for number in found.states]
    word = Word(states, found.back_to)
    for index, state in enumerate(found.states):
        assert found.states[word.after(index)] in graph.steps[state]
    assert violates(word, assumed, promised)
    assert all(met.how in ("taken", "not enabled", "never enabled") for met in fairness_evidence(word, assumed))


@given(problems())
@settings(max_examples=75, deadline=None, derandomize=True)
def test_a_violation_is_found_just_where_a_behaviour_of_a_small_graph_violates_the_formula(
    problem: tuple[Graph, list[Formula], Formula],
) -> None:
    check(problem)


@pytest.mark.nightly
@given(problems())
@settings(max_examples=5_000, deadline=None)
def test_a_violation_is_found_just_where_a_behaviour_of_any_small_graph_violates_the_formula(
    problem: tuple[Graph, list[Formula], Formula],
) -> None:
    check(problem)


@given(problems())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_the_normal_form_means_the_same_and_that_of_the_negation_the_contrary(
    problem: tuple[Graph, list[Formula], Formula],
) -> None:
    graph, _, formula = problem
    yes, no = normal(formula), normal(formula, False)
    for word, _ in zip(behaviours(graph), range(100), strict=False):
        assert word.holds(yes) is word.holds(formula) is not word.holds(no)


# ---- Single cases ----

#: 0 -> 1 -> 2 -> 1; every state may stutter.
RING = graph_of(range(3), [[1], [2], [1]], [0])


def moves(source: int, target: int) -> Fair:
    angle = Leaf(lambda state, after: (state, after) == (source, target), of_step=True)
    return Fair(False, Leaf(lambda state, _after: state == source), angle, f"WF({source} -> {target})")


def found_in(graph: Graph, assumed: Sequence[Formula], promised: Formula) -> tuple[tuple[int, ...], int] | None:
    lasso = find_violation(graph, Valuation(graph), assumed, promised)
    return None if lasso is None else (lasso.states, lasso.back_to)


def test_without_fairness_a_behaviour_stops_as_soon_as_that_violates_the_property() -> None:
    assert found_in(RING, [], Eventually(is_in(frozenset({2})))) == ((0,), 0)
    assert found_in(RING, [], Always(Not(is_in(frozenset({1}))))) == ((0, 1), 1)


def test_a_cycle_has_a_step_of_each_fair_action_that_stays_enabled() -> None:
    fair = [moves(0, 1), moves(1, 2), moves(2, 1)]
    assert found_in(RING, fair, Eventually(Always(is_in(frozenset({2}))))) == ((0, 1, 2), 1)
    assert found_in(RING, fair, Always(Eventually(is_in(frozenset({2}))))) is None
    word = Word((0, 1, 2), 1)
    conditions = [(met.condition, met.how, met.index) for met in fairness_evidence(word, [And(tuple(fair))])]
    assert conditions == [("WF(0 -> 1)", "never enabled", None), ("WF(1 -> 2)", "taken", 1), ("WF(2 -> 1)", "taken", 2)]


def test_many_conditions_of_fairness_make_no_larger_product() -> None:
    """Each is checked on components; none of them is part of the tableau."""
    size = 40
    graph = graph_of(range(size), [[(number + 1) % size] for number in range(size)], [0])
    fair = [moves(number, (number + 1) % size) for number in range(size)]
    assert found_in(graph, fair, LeadsTo(is_in(frozenset({1})), is_in(frozenset({0})))) is None
    assert found_in(graph, fair[1:], LeadsTo(is_in(frozenset({1})), is_in(frozenset({1, 5})))) is None
    assert found_in(graph, fair[1:], LeadsTo(is_in(frozenset({0})), is_in(frozenset({5})))) == ((0,), 0)
    never = normal(LeadsTo(is_in(frozenset({1})), is_in(frozenset({0}))), False)
    conditions, others = sorted_conditions([*map(normal, fair), never])
    assert (len(conditions.recurring), others) == (size, [never])
    assert len(Product(graph, Valuation(graph), others).states) <= 2 * size


def test_the_check_of_an_answer_evaluates_each_leaf_once_an_index() -> None:
    """A long cycle is no reason to ask the same again for each suffix."""
    size, asked = 500, 0

    def test(state: int, _after: int) -> bool:
        nonlocal asked
        asked += 1
        return state == size - 1

    word, leaf = Word(range(size), 10), Leaf(test)
    for formula in (Always(Eventually(leaf)), LeadsTo(Not(leaf), leaf), Always(Implies(Not(leaf), Eventually(leaf)))):
        assert word.holds(formula)
    assert not word.holds(Eventually(Always(leaf)))
    assert asked == size


def fails_at(*numbers: int) -> Leaf:
    def test(state: int, _after: int) -> bool:
        if state in numbers:
            raise TlaError(f"no value in {state}")
        return False

    return Leaf(test)


def test_a_formula_that_a_guard_excludes_is_not_evaluated() -> None:
    at_zero = is_in(frozenset({0}))
    assert found_in(RING, [], Always(Or((at_zero, Not(fails_at(0)))))) is None
    assert found_in(RING, [], Implies(Not(at_zero), Eventually(fails_at(0, 1, 2)))) is None
    assert found_in(RING, [], Or((at_zero, Eventually(fails_at(0, 1, 2))))) is None


def test_a_formula_without_value_is_an_error_where_no_behaviour_violates_the_property_without_it() -> None:
    with pytest.raises(TlaError, match="no value in 1"):
        found_in(RING, [], Always(Not(fails_at(1))))
    assert found_in(RING, [], And((Always(Not(fails_at(1))), Eventually(is_in(frozenset({2})))))) == ((0,), 0)
    assert found_in(RING, [], Always(Or((Eventually(Always(is_in(frozenset({0, 1, 2})))), fails_at(1))))) is None


def test_an_error_off_every_fair_behaviour_does_no_harm() -> None:
    """The assumption excludes the behaviours that come to state 1."""
    split = graph_of(range(3), [[1, 2], [1], [2]], [0])
    to_two = Always(Eventually(is_in(frozenset({2}))))
    assert found_in(split, [to_two], Always(Not(fails_at(1)))) is None


def test_a_leaf_is_evaluated_once_for_each_state() -> None:
    asked: list[int] = []

    def test(state: int, _after: int) -> bool:
        asked.append(state)
        return False

    leaf = Leaf(test)
    assert found_in(RING, [moves(0, 1)], Always(And((Not(leaf), Or((Not(leaf), leaf)))))) is None
    assert sorted(asked) == [0, 1, 2]
