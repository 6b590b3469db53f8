"""Long sets and sequences that grow share what they have in common; nothing else changes."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from collections.abc import Iterable, Iterator

import msgspec
import pytest

from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation, LiteralEvaluation
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.registry import manifest
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.symmetry import Images
from lockstep.tla.values import constructed_sets, equality, frozen_values, growing_values, remembered_values
from lockstep.tla.values.constructed_sets import NAT, FcnSet, SeqSet
from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.function_operators import apply, except_, merge
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.integer_intervals import domain_of
from lockstep.tla.values.itf_values import to_itf
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, TlaTypeError, Value, format_value
from lockstep.tla.values.lazy_sets import member
from lockstep.tla.values.name_order import NameOrder
from lockstep.tla.values.remembered_values import added_to, made_of
from lockstep.tla.values.sequence_operators import (
    append,
    concatenate,
    head,
    length,
    select_seq,
    sort_seq,
    sub_seq,
    tail,
)
from lockstep.tla.values.set_operators import big_union, cup, minus, union_over
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.simulation import simulate
from tests.support.sampling import sampled
from tests.support.systems.dledger import check_dledger
from tests.support.systems.simulated_traces import as_event, header


def entry(index: int, value: object = "v") -> Fcn:
    return Fcn({"index": index, "value": value})


LONG = frozenset(entry(index) for index in range(2000))


@pytest.fixture
def all_are_long(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(growing_values, "MIN_SHARED", 1)
    made: set[type] = set()
    for kind in (GrowingSet, GrowingSeq):
        plus = kind.plus
        monkeypatch.setattr(kind, "plus", lambda self, more, plus=plus: made.add(type(self)) or plus(self, more))
    for module in (remembered_values, frozen_values, constructed_sets):
        monkeypatch.setattr(module, "MIN_REMEMBERED", 1)
    yield
    assert made == {GrowingSet, GrowingSeq}
    for known in (remembered_values._grown, equality._shapes, frozen_values._long):
        known.clear()


def grown(index: int) -> GrowingSet:
    """Return the long set with one more element."""
    member(entry(-1), LONG)  # so it is known that all are of one make
    found = cup(LONG, frozenset({entry(index)}))
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
    assert eq(right, LONG | {entry(5000), entry(7000)})


def test_a_growing_set_is_listed_in_the_order_of_names_as_a_plain_one_is() -> None:
    """The spec names `value` before `index`, and the alphabet does not; the last element has a name it never says."""
    names = NameOrder({"value": 1, "index": 2, "v": 3, "u": 4})
    first = cup(grown(5000), frozenset({entry(-2, "u")}))
    second = cup(first, frozenset({entry(-3), entry(9000)}))
    third = cup(second, frozenset({entry(-4, "unheard")}))
    for found in (first, second, first, third, second, third):
        assert isinstance(found, GrowingSet)
        assert list(names.elements(found)) == list(names.elements(frozenset(found.items())))
    assert list(names.elements(second))[-1] == entry(-2, "u")
    assert list(second)[-1] == entry(9000)


def test_a_growing_set_is_equal_to_the_plain_one_and_has_its_hash() -> None:
    plain = LONG | {entry(5000)}
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


def test_sets_that_share_elements_are_each_listed_in_the_order_of_any_set() -> None:
    """The order of one set is kept for the next, which has a few elements more or many, and for an older one."""
    sets = [grown(5000)]
    for more in (frozenset({entry(-7), entry(2500)}), frozenset(map(entry, range(-900, -400))), frozenset({entry(-8)})):
        sets.append(cup(sets[-1], more))
    for each in (*sets, *reversed(sets), sets[1], sets[3]):
        assert list(each) == list(equality.ordered(frozenset(each.items())))
    assert [element.d["index"] for element in itertools.islice(sets[3], 3)] == [-900, -899, -898]


def test_listing_a_set_is_not_disturbed_by_listing_one_made_of_it() -> None:
    first = grown(5000)
    listed = iter(first)
    begin = [next(listed) for _ in range(10)]
    assert len(list(cup(first, frozenset({entry(-1)})))) == 2002
    assert [*begin, *listed] == list(equality.ordered(first.force()))


def test_elements_added_since_an_older_set_are_known_where_one_was_made_of_the_other() -> None:
    first = grown(5000)
    second = cup(cup(first, frozenset({entry(6000)})), frozenset({entry(7000), entry(8000)}))
    third = cup(second, frozenset({entry(9000)}))
    assert set(second.since(first)) == {entry(6000), entry(7000), entry(8000)}
    assert list(third.since(third)) == []
    assert first.since(second) is None
    assert grown(5000).since(first) is None


def test_an_element_of_another_kind_is_refused_as_in_any_set() -> None:
    with pytest.raises(TlaTypeError):
        member(3, grown(5000))
    with pytest.raises(TlaTypeError):
        member(entry(5000, True), cup(grown(5000), frozenset({entry(1, 1)})))


def test_the_other_operators_take_a_growing_set_as_a_plain_one() -> None:
    found = grown(5000)
    assert eq(minus(found, LONG), frozenset({entry(5000)}))
    assert eq(cup(frozenset({entry(9000)}), found), LONG | {entry(5000), entry(9000)})


LOG = tuple(entry(index) for index in range(2000))


def test_a_long_sequence_with_one_more_has_it_and_the_one_before_has_not() -> None:
    first = append(LOG, entry(5000))
    second = append(first, entry(6000))
    assert isinstance(second, GrowingSeq)
    assert (length(LOG), length(first), length(second)) == (2000, 2001, 2002)
    assert apply(second, 2002) == entry(6000)
    assert apply(second, 1) is LOG[0]
    assert not eq(first, second)
    with pytest.raises(TlaError, match="not in its domain"):
        apply(first, 2002)


def test_two_sequences_made_of_the_same_one_do_not_see_each_other_s_elements() -> None:
    first = append(LOG, entry(5000))
    left, right = append(first, entry(6000)), append(first, entry(7000))
    assert eq(left, (*LOG, entry(5000), entry(6000)))
    assert eq(right, (*LOG, entry(5000), entry(7000)))
    assert not eq(left, right)
    assert eq(left, append(first, entry(6000)))
    assert eq(append(left, 1), (*LOG, entry(5000), entry(6000), 1))
    assert not eq(append(first, 1), append(append(first, 1), 2))


def test_a_number_is_not_taken_for_the_boolean_that_another_sequence_went_on_with() -> None:
    first = append(LOG, entry(5000))
    append(first, True)
    assert type(apply(append(first, 1), 2002)) is int


def test_a_growing_sequence_of_numbers_is_not_taken_for_one_of_booleans() -> None:
    """Python holds 1 and True equal, and so the sequences."""
    numbers, booleans = append((1,) * 2000, 1), (True,) * 2001
    assert isinstance(numbers, GrowingSeq)
    assert numbers == booleans
    for one, other in ((numbers, booleans), (booleans, numbers), (numbers, append((True,) * 2000, True))):
        with pytest.raises(TlaTypeError):
            member(one, frozenset({other}))


def test_a_growing_sequence_is_equal_to_the_plain_one_and_has_its_hash() -> None:
    plain, found = (*LOG, entry(5000)), append(LOG, entry(5000))
    assert eq(found, plain)
    assert eq(plain, found)
    assert not eq(found, LOG)
    assert not eq(found, ())
    assert hash(found) == hash(plain)
    assert Fcn({"log": found}) == Fcn({"log": plain})
    assert pickle.loads(pickle.dumps(found)) == plain
    assert frozen(found) is found
    assert domain_of(found) == frozenset(range(1, 2002))
    assert format_value(found) == format_value(plain)
    assert to_itf(found) == to_itf(plain)


def test_the_begin_of_a_growing_sequence_shares_its_elements_and_grows_on_its_own() -> None:
    longer = concatenate(LOG, (entry(5000), entry(6000)))
    cut = sub_seq(longer, 1, 1500)
    assert isinstance(cut, GrowingSeq)
    assert eq(cut, LOG[:1500])
    assert eq(append(cut, entry(7000)), (*LOG[:1500], entry(7000)))
    assert eq(longer, (*LOG, entry(5000), entry(6000)))
    assert eq(append(cut, LOG[1500]), LOG[:1501])
    assert sub_seq(longer, 1, 3) == LOG[:3]
    assert sub_seq(longer, 3, 2) == ()
    assert sub_seq(longer, 2000, 2002) == (LOG[-1], entry(5000), entry(6000))
    with pytest.raises(TlaError, match="SubSeq"):
        sub_seq(cut, 1, 1501)


def test_the_other_operators_take_a_growing_sequence_as_a_plain_one() -> None:
    found, plain = append(LOG, entry(5000)), (*LOG, entry(5000))
    assert head(found) is LOG[0]
    assert tail(found) == plain[1:]
    assert concatenate((entry(1),), found) == (entry(1), *plain)
    assert eq(concatenate(found, found), plain + plain)
    assert select_seq(found, lambda each: each.d["index"] > 1998) == (LOG[-1], entry(5000))
    assert sort_seq(found, lambda one, other: one.d["index"] < other.d["index"]) == plain
    assert except_(found, (2,), lambda _old: entry(7)) == (LOG[0], entry(7), *plain[2:])
    assert except_(found, (2, "value"), lambda _old: "w") == (LOG[0], entry(1, "w"), *plain[2:])
    assert merge(found, plain) == plain
    assert member(found, SeqSet(LONG | {entry(5000)}))
    assert not member(append(found, entry(6000)), SeqSet(LONG | {entry(5000)}))
    assert member(found, FcnSet(frozenset(range(1, 2002)), LONG | {entry(5000)}))
    one, other = ModelValue("a"), ModelValue("b")
    assert Images({one: other}).image(append((one,) * 2000, one)) == (other,) * 2001


def test_a_set_without_a_listing_makes_no_sequence_grow() -> None:
    """Append(log, Nat) is a sequence as long as no state has it."""
    odd = append(LOG, NAT)
    assert apply(odd, 2001) is NAT
    assert length(append(odd, entry(1))) == 2002
    with pytest.raises(TlaError, match="infinite"):
        frozen(odd)


def test_the_sequence_that_a_long_one_was_made_of_is_known_and_cut_back_to_as_it_was() -> None:
    log = tuple(entry(index) for index in range(100))
    longer = append(log, entry(100))
    assert added_to(log, longer) == (entry(100),)
    assert added_to(log[:50], longer) is None
    assert sub_seq(longer, 1, 100) is log
    assert sub_seq(longer, 1, 99) == log[:99]
    assert sub_seq(longer, 2, 101) == longer[1:]
    assert concatenate(longer, ()) is longer


def test_nothing_is_known_of_values_that_are_gone() -> None:
    log = tuple(range(100))
    found = append(log, 100)
    for number in range(100):
        append(log, number)
    assert made_of(found) is None
    assert added_to(log, found) is None
    assert added_to(found, found) == ()


@pytest.mark.usefixtures("all_are_long")
@pytest.mark.parametrize("plan", sampled(["published", "batches_published", "applied"], ["published"]))
def test_a_trace_gets_the_same_verdict_where_every_set_and_sequence_is_long(plan: str) -> None:
    chosen = fault_plan(plan, 400)
    events = [as_event(event) for event in simulate(11, chosen)]
    head = header(chosen)
    literal, quick = (
        verdict_lines(head, events, evaluation) for evaluation in (LiteralEvaluation, IncrementalEvaluation)
    )
    assert literal == quick


def verdict_lines(head: Header, events: list[Event], evaluation: type[Evaluation]) -> list[tuple[str, int]]:
    found = check_dledger(Trace(trace_lines(head, events), "t"), trace_spec(head, "t"), evaluation=evaluation)
    assert found.deviation is None
    return [(each.name, each.line) for each in found.findings]


@pytest.mark.nightly
@pytest.mark.usefixtures("all_are_long")
@pytest.mark.parametrize("model", sampled(["ordered", "late_truncate", "batches"], ["ordered"]))
def test_a_model_has_the_pinned_counts_where_every_set_and_sequence_is_long(model: str) -> None:
    pinned = manifest().model(model)
    found = explore(load_spec(*manifest().files(pinned)), SearchOptions(check_deadlock=False))
    assert found.violation is None
    assert (found.distinct, found.generated) == (pinned.distinct, pinned.generated)


@pytest.mark.usefixtures("all_are_long")
def test_a_step_that_appends_to_a_log_copies_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = fault_plan("ordered", 600)
    events = [msgspec.structs.replace(as_event(event), shows={}) for event in simulate(11, chosen)]
    copies = []
    force, plus = GrowingSeq.force, GrowingSeq.plus

    def counted(log: GrowingSeq, more: Iterable[Value]) -> GrowingSeq:
        longer = plus(log, more)
        copies.extend([longer] if longer._elements is not log._elements else [])
        return longer

    monkeypatch.setattr(GrowingSeq, "force", lambda log: copies.append(log) or force(log))
    monkeypatch.setattr(GrowingSeq, "plus", counted)
    assert verdict_lines(header(chosen), events, IncrementalEvaluation) == []
    assert copies == []


def test_memory_is_that_of_the_state_and_not_of_the_trace() -> None:
    head = header(fault_plan("ordered", 1))
    spec = trace_spec(head, "t")
    few, many = (peak_of(head, spec, count) for count in (1_000, 10_000))
    assert many < 1.2 * few + 100_000


def peak_of(head: Header, spec: Spec, count: int) -> int:
    """Return the peak of memory, in bytes, while a trace of checkpoints is checked; these change nothing."""
    events = (Event(seq, "n1", "PersistCheckPoint", {}, {"checkPoint": -1}) for seq in range(count))
    tracemalloc.start()
    try:
        found = check_dledger(Trace(trace_lines(head, events), "t"), spec)
        assert (found.steps, found.deviation) == (count, None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_growing_set_is_listed_in_unions_as_a_plain_one() -> None:
    found, one = grown(5000), frozenset({entry(1)})
    other = frozenset({entry(1), Fcn({"index": 2, "other": "v"})})
    unions = [
        cup(found, one),
        cup(one, found),
        cup(found, found),
        union_over([found, one]),
        big_union(frozenset({found, one})),
    ]
    assert [len(list(union)) for union in unions] == [2001] * 5
    assert {len(list(union)) for union in (cup(found, other), cup(other, found), union_over([found, other]))} == {2002}
