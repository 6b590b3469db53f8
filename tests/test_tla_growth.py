"""Long sets and sequences that grow share what they have in common; nothing else changes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from lockstep.conformance import check_trace
from lockstep.paths import spec_dir
from lockstep.specs import trace_spec
from lockstep.tla import growth, runtime, sets, values
from lockstep.tla.explore import explore
from lockstep.tla.growth import added_to, made_of
from lockstep.tla.incremental import Evaluation
from lockstep.tla.runtime import append, concatenate, cup, minus, sub_seq
from lockstep.tla.sets import GrowingSet, frozen, member
from lockstep.tla.spec import Spec, load_spec
from lockstep.tla.values import Fcn, TlaTypeError, eq
from lockstep.trace.format import Event, Header, Trace, trace_lines
from lockstep.trace_files import fault_plan
from raftref.simulation import simulate
from simulated_traces import as_event, header


def entry(index: int, value: object = "v") -> Fcn:
    return Fcn({"index": index, "value": value})


MANY = frozenset(entry(index) for index in range(2000))


@pytest.fixture
def every_set_is_long(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(runtime, "MANY", 1)
    made: list[int] = []
    of = GrowingSet.of
    monkeypatch.setattr(GrowingSet, "of", lambda *args: made.append(1) or of(*args))
    for module in (growth, values):
        monkeypatch.setattr(module, "LONG", 1)
    monkeypatch.setattr(sets, "_LONG", 1)
    yield
    assert made
    for known in (growth._grown, values._uniform, sets._long):
        known.clear()


def grown(index: int) -> GrowingSet:
    """Return the long set with one more element."""
    member(entry(-1), MANY)  # so it is known that all are of one make
    found = cup(MANY, frozenset({entry(index)}))
    assert isinstance(found, GrowingSet)
    return found


def test_a_long_set_with_one_more_has_it_and_the_one_before_has_not() -> None:
    first = grown(5000)
    second = cup(first, frozenset({entry(6000)}))
    assert (len(first), len(second)) == (2001, 2002)
    assert member(entry(6000), second)
    assert not member(entry(6000), first)
    assert member(entry(5000), first)


def test_two_sets_made_of_the_same_one_do_not_see_each_other_s_elements() -> None:
    first = grown(5000)
    left, right = cup(first, frozenset({entry(6000)})), cup(first, frozenset({entry(7000)}))
    assert not member(entry(7000), left)
    assert not member(entry(6000), right)
    assert not eq(left, right)
    assert eq(right, MANY | {entry(5000), entry(7000)})


def test_a_growing_set_is_equal_to_the_plain_one_and_has_its_hash() -> None:
    plain = MANY | {entry(5000)}
    found = grown(5000)
    assert eq(found, plain)
    assert eq(plain, found)
    assert hash(found) == hash(plain)
    assert found == plain
    assert list(found) == list(grown(5000))
    assert frozen(found) is found


def test_adding_what_is_there_is_the_same_set() -> None:
    found = grown(5000)
    assert cup(found, frozenset({entry(3)})) is found
    assert cup(found, frozenset()) is found


def test_an_element_of_another_kind_is_refused_as_in_any_set() -> None:
    with pytest.raises(TlaTypeError):
        member(3, grown(5000))
    with pytest.raises(TlaTypeError):
        member(entry(5000, True), cup(grown(5000), frozenset({entry(1, 1)})))


def test_the_other_operators_take_a_growing_set_for_the_set_it_is() -> None:
    found = grown(5000)
    assert eq(minus(found, MANY), frozenset({entry(5000)}))
    assert eq(cup(frozenset({entry(9000)}), found), MANY | {entry(5000), entry(9000)})


def test_what_a_long_sequence_was_made_of_is_known_and_cut_back_to_as_it_was() -> None:
    log = tuple(entry(index) for index in range(100))
    longer = append(log, entry(100))
    assert added_to(log, longer) == (entry(100),)
    assert sub_seq(longer, 1, 100) is log
    assert sub_seq(longer, 1, 99) == log[:99]
    assert sub_seq(longer, 2, 101) == longer[1:]
    assert concatenate(longer, ()) is longer


def test_of_values_that_are_gone_nothing_is_told() -> None:
    log = tuple(range(100))
    found = append(log, 100)
    for number in range(100):
        append(log, number)
    assert made_of(found) is None
    assert added_to(log, found) is None
    assert added_to(found, found) == ()


@pytest.mark.usefixtures("every_set_is_long")
@pytest.mark.parametrize("plan", ["published", "batches_published", "applied"])
def test_a_trace_gets_the_same_verdict_where_every_set_is_long(plan: str) -> None:
    chosen = fault_plan(plan, 400)
    events = [as_event(event) for event in simulate(11, chosen)]
    head = header(chosen)
    literal, quick = (told(head, events, evaluation) for evaluation in Evaluation)
    assert literal == quick


def told(head: Header, events: list[Event], evaluation: Evaluation) -> list[tuple[str, int]]:
    found = check_trace(Trace(trace_lines(head, events), "t"), trace_spec(head, "t"), evaluation=evaluation)
    assert found.deviation is None
    return [(each.name, each.line) for each in found.findings]


@pytest.mark.usefixtures("every_set_is_long")
def test_a_model_has_the_same_states_where_every_set_is_long() -> None:
    """The pinned counts of `batches`."""
    folder = spec_dir() / "models"
    found = explore(load_spec(folder / "MCDLedger.tla", folder / "batches.cfg"), check_deadlock=False)
    assert found.violation is None
    assert (found.distinct, found.generated) == (9759, 60979)


def test_memory_is_that_of_the_state_and_not_of_the_trace() -> None:
    head = header(fault_plan("ordered", 1))
    spec = trace_spec(head, "t")
    few, many = (peak_of(head, spec, count) for count in (1_000, 10_000))
    assert many < 1.2 * few + 100_000


def peak_of(head: Header, spec: Spec, count: int) -> int:
    """Return the bytes in use at most while a trace of checkpoints is checked, which change nothing."""
    events = (Event(seq, "n1", "PersistCheckPoint", {}, {"checkPoint": -1}) for seq in range(count))
    tracemalloc.start()
    try:
        found = check_trace(Trace(trace_lines(head, events), "t"), spec)
        assert (found.steps, found.deviation) == (count, None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
