"""Formulas of every odd form, on walks through states: a formula that a change does not affect has not changed.

The modules of specs/footprints have a property for each form that a formula may take; none of their actions matters. A
walk changes a variable or two at random, and both ways of evaluation judge each step. A step that a property forbids is
not taken, as a check stops evaluating a property that has failed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.conformance.property_evaluation import IncrementalEvaluation, LiteralEvaluation
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values import growing_functions, growing_values, integer_intervals, keyed_elements
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.function_operators import merge, part_of, single, table_of
from lockstep.tla.values.integer_intervals import domain_of
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn
from lockstep.tla.values.set_operators import minus
from tests.support.places import SPECS
from tests.support.sampling import sampled

MODULES = SPECS / "footprints"
NODES = tuple(ModelValue(name) for name in ("n1", "n2", "n3"))
NONE, BIG = ModelValue("NoNode"), ModelValue("Big")

Make = Callable[[random.Random], Value]


def record(**fields: Value) -> Value:
    return frozen(Fcn(dict(fields)))


def message(rng: random.Random) -> Value:
    return record(k=rng.randint(0, 6), i=rng.randint(1, 3))


def random_value(rng: random.Random) -> Value:
    return record(kind="a", k=rng.randint(0, 6)) if rng.random() < 0.5 else record(kind="b", i=rng.randint(0, 2))


#: Elements of the sets, and values of variables of several kinds.
ELEMENTS: dict[str, Make] = {
    "net": message,
    "D": lambda rng: rng.randint(0, 6),
    "T": lambda rng: (rng.choice((*NODES, BIG)),),
    "rs": random_value,
    "set2": lambda rng: record(w=rng.choice((NONE, rng.randint(0, 6)))),
}
SINGLE: dict[str, Make] = {
    "cur": lambda rng: rng.choice(NODES),
    "K": lambda rng: rng.choice((*NODES, NONE)),
    "lim": lambda rng: rng.randint(2, 6),
    "lo": lambda rng: rng.randint(-1, 3),
    "pos": lambda rng: rng.randint(1, 3),
    "q": lambda rng: rng.randint(0, 3),
}
#: Sequences that keep their length, or have a minimal length.
LEAST = {"s": 3, "m": 9, "tup": 9, "lg": 1, "c": 2, "items": 1}


def changed(name: str, value: Value, rng: random.Random) -> Value:
    """A value like this one, with one thing in it different."""
    if name in SINGLE:
        return SINGLE[name](rng)
    if name == "h":
        return changed_domain(value, rng)
    if isinstance(value, frozenset):
        return value ^ {ELEMENTS[name](rng)}
    if isinstance(value, Fcn):
        key = rng.choice(list(value.d))
        within = key if isinstance(key, str) else name
        return frozen(Fcn({**value.d, key: changed(within, value.d[key], rng)}))
    if isinstance(value, tuple):
        return changed_sequence(name, value, rng)
    if value in ("a", "b"):
        return rng.choice("ab")
    return rng.randint(1, 3) if name in ("s", "m", "c") else rng.randint(0, 3)


def changed_domain(function: Value, rng: random.Random) -> Value:
    """A function with an argument more, or less, or another value at one; a log is changed so at its ends."""
    table = table_of(function)
    argument, ends = rng.randint(0, 6), (min(table, default=0), max(table, default=0))
    if argument in table and rng.random() < 0.6:
        if argument in ends:
            return frozen(part_of(function, minus(domain_of(function), frozenset({argument}))))
        return as_fcn({each: value for each, value in table.items() if each != argument})
    value = rng.randint(0, 3)
    if argument == ends[1] + 1:
        return frozen(merge(single(argument, value), function))
    return as_fcn({**table, argument: value})


def changed_sequence(name: str, value: tuple[Value, ...], rng: random.Random) -> Value:
    least, dice = LEAST.get(name, 0), rng.random()
    if dice < 0.4 and least < 9 and len(value) < 5:
        return (*value, changed(name, value[-1], rng) if value else rng.randint(0, 3))
    if dice < 0.6 and len(value) > least and least < 9:
        return value[:-1]
    if not value:
        return value
    at = rng.randrange(len(value))
    return (*value[:at], changed(name, value[at], rng), *value[at + 1 :])


def stepped(state: State, read: list[str], rng: random.Random) -> State:
    """A state after this one; what the property reads changes more often than the rest."""
    values = state.as_dict()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(rng.choice((read, state.variables)))
        values[name] = changed(name, values[name], rng)
    return type(state)(tuple(values.values()))


def alone(spec: Spec, name: str) -> Any:
    """The spec with one property only."""
    return SimpleNamespace(
        invariants={key: value for key, value in spec.invariants.items() if key == name},
        action_properties={key: value for key, value in spec.action_properties.items() if key == name},
        parts={name: spec.parts[name]},
        variables=spec.variables,
    )


def literally(spec: Any, state: State, after: State) -> bool | None:
    """Whether a step breaks the property; None where it has no value."""
    try:
        return not all(
            [
                *(holds(after) for holds in spec.invariants.values()),
                *(holds(state, after) for holds in spec.action_properties.values()),
            ]
        )
    except TlaError:
        return None


def walk(spec: Spec, name: str, steps: int, rng: random.Random) -> int:
    """Judge steps both ways; return how many the property forbids."""
    only = alone(spec, name)
    state = next(spec.initial_states())
    assert literally(only, state, state) is False or name.startswith("A")
    quick = IncrementalEvaluation(only)
    quick.begin(state)
    read = sorted({str(path[0]) for part in spec.parts[name] for path in part.footprint})
    forbidden = 0
    for _ in range(steps):
        after = stepped(state, read, rng)
        breaks = literally(only, state, after)
        try:
            found = bool(quick.violated(state, after))
        except TlaError:
            found = None  # type: ignore[assignment]  # as literally says it
        # A formula that has no value where nothing changes is not evaluated there.
        assert found == breaks or (breaks is None and state == after), (name, state, after)
        if breaks is False:
            state = after
        else:
            forbidden += 1
            quick.begin(state)
        if rng.random() < 0.01:
            state = next(spec.initial_states())
            quick.begin(state)
    return forbidden


@pytest.fixture(scope="module", params=sampled(["One", "Two", "Three", "Four"], ["One", "Three", "Four"]))
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Spec:
    cache = tmp_path_factory.mktemp("cache")
    return load_spec(MODULES / f"{request.param}.tla", MODULES / f"{request.param}.cfg", cache_dir=cache)


def walks(spec: Spec, steps: int, seed: int) -> None:
    forbidding = [name for name in spec.parts if walk(spec, name, steps, random.Random(seed))]
    assert len(forbidding) > len(spec.parts) * 0.6


def test_a_formula_that_no_change_affects_has_not_changed(spec: Spec) -> None:
    walks(spec, 200, seed=1)


@pytest.fixture
def all_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat all sets and functions as long ones: they have an index, share values, and intervals are not listed."""
    monkeypatch.setattr(integer_intervals, "MIN_UNLISTED", 1)
    monkeypatch.setattr(keyed_elements, "MIN_REMEMBERED", 1)
    for module in (growing_values, growing_functions):
        monkeypatch.setattr(module, "MIN_SHARED", 1)


@pytest.mark.nightly
@pytest.mark.usefixtures("all_are_long")
def test_a_formula_about_long_sets_that_no_change_affects_has_not_changed(tmp_path: Path) -> None:
    walks(load_spec(MODULES / "Four.tla", MODULES / "Four.cfg", cache_dir=tmp_path), 300, seed=9)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 8))
def test_a_formula_that_no_change_affects_has_not_changed_on_long_walks(spec: Spec, seed: int) -> None:
    walks(spec, 1500, seed)


def test_the_index_of_a_record_is_in_the_footprint_of_its_fields(tmp_path: Path) -> None:
    """I4 == node[cur] \\in Rec"""
    spec = load_spec(MODULES / "One.tla", MODULES / "One.cfg", cache_dir=tmp_path)
    assert len(spec.parts["I4"]) == 4
    assert all(("cur",) in part.footprint for part in spec.parts["I4"])


def spec_of(folder: Path, module: str, properties: str) -> Spec:
    (folder / "Small.tla").write_text(f"---- MODULE Small ----\n{module}\n====\n")
    (folder / "Small.cfg").write_text(f"INIT Init\nNEXT Next\n{properties}\n")
    return load_spec(folder / "Small.tla", folder / "Small.cfg", cache_dir=folder)


def test_a_conjunct_over_too_many_elements_is_one_part(tmp_path: Path) -> None:
    module = (
        "EXTENDS Integers, FiniteSets\nVARIABLE r\n"
        "Init == r = 0\nNext == r' = r + 1\nInv == \\A S \\in SUBSET (1..14) : Cardinality(S) > r - 3"
    )
    spec = spec_of(tmp_path, module, "INVARIANT Inv")
    (part,) = spec.parts["Inv"]
    assert (part.elements, part.footprint) == (((),), (("r",),))
    quick = IncrementalEvaluation(spec)
    states = [spec.state({"r": number}) for number in range(4)]
    assert [quick.violated(now, then) for now, then in itertools.pairwise(states)] == [[], [], ["Inv"]]


def test_steps_for_more_elements_than_are_worth_it_are_judged_where_nothing_changes_too(tmp_path: Path) -> None:
    """A step of q alone violates [][A]_v, since A is false where r does not change."""
    module = (
        "EXTENDS Integers\nVARIABLES r, q\nvars == <<r, q>>\nInit == r = 0 /\\ q = 0\n"
        "Next == r' = r + 1 /\\ q' = q + 1\nRises == [][\\A S \\in SUBSET (1..13) : r' > r \\/ S = {}]_vars"
    )
    spec = spec_of(tmp_path, module, "PROPERTY Rises")
    (part,) = spec.parts["Rises"]
    assert part.elements == ((),)
    state, after = spec.state({"r": 0, "q": 0}), spec.state({"r": 0, "q": 1})
    quick = IncrementalEvaluation(spec)
    quick.begin(state)
    assert quick.violated(state, after) == ["Rises"]


@pytest.mark.parametrize("property_", ["\\A x \\in D : x.k = 1", "\\A x \\in D : x.k \\in Nat"])
def test_a_number_that_becomes_a_boolean_is_a_change(tmp_path: Path, property_: str) -> None:
    """Python holds 1 and TRUE equal, and so the sets."""
    module = (
        "EXTENDS Naturals\nVARIABLE D\nInit == D = {[k |-> 1, v |-> 5]}\n"
        f"Next == D' = {{[k |-> TRUE, v |-> 5]}}\nInv == {property_}"
    )
    spec = spec_of(tmp_path, module, "INVARIANT Inv")
    (state,) = spec.initial_states()
    after = spec.state({"D": frozenset({record(k=True, v=5)})})
    with pytest.raises(TlaError):
        LiteralEvaluation(spec).violated(state, after)
    with pytest.raises(TlaError):
        IncrementalEvaluation(spec).violated(state, after)


@pytest.mark.parametrize("odd", [True, False])
def test_an_element_with_1_is_affected_where_another_has_true_there(tmp_path: Path, odd: bool) -> None:
    """Python has one key for both: whichever comes first, the limit falls below 1."""
    module = (
        "EXTENDS Naturals\nVARIABLES D, lim\n"
        'Init == D = {[kind |-> "b", i |-> 1]} /\\ lim = 9\nNext == lim\' = 0 /\\ UNCHANGED D\n'
        'Inv == \\A x \\in D : x.kind = "b" => x.i <= lim'
    )
    spec = spec_of(tmp_path, module, "INVARIANT Inv")
    first, second = record(kind="a", i=True), record(kind="b", i=1)
    one, other = (first, second) if odd else (second, first)
    begin = frozenset({one})
    states = [spec.state({"D": elements, "lim": lim}) for elements, lim in ((begin, 9), (begin, 8))]
    states += [spec.state({"D": begin | {other}, "lim": lim}) for lim in (8, 0)]
    quick = IncrementalEvaluation(spec)
    assert [quick.violated(now, then) for now, then in itertools.pairwise(states)] == [[], [], ["Inv"]]
