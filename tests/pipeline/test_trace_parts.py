"""The verdicts on the parts of a trace, each checked alone, make the verdict on the whole trace."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.pipeline.part_check import PartVerdict, check_part
from lockstep.pipeline.part_verdicts import combined
from lockstep.pipeline.state_bytes import FORMAT, StateBytesError, packed, state_bytes, state_of_bytes, unpacked
from lockstep.pipeline.trace_cutting import cutting_pays
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.dledger.recording_import import import_recording
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.trace.trace_reader import TracePart
from raftref.dledger.simulation import simulate
from tests.support.pipeline import cut_traces
from tests.support.pipeline.cut_traces import Cut, changed, of_events, of_file, without_time
from tests.support.sampling import sampled
from tests.support.systems.simulated_traces import as_event, header, simulated
from tests.support.tla.broken_spec import broken_spec

COUNTEREXAMPLES = sorted((traces_dir() / "counterexamples").rglob("*.trace.ndjson"))

#: Events of the trace that is cut everywhere.
EVENTS = 32

#: A property of states, one of steps, one that looks at what was committed long before; both systems.
SAMPLE = {"vote_file"}


@functools.cache
def holding() -> Cut:
    """A trace that holds."""
    return of_events(simulated()[0], simulated()[1][:EVENTS])


def named(names: set[str]) -> list[Path]:
    return [path for path in COUNTEREXAMPLES if path.name.partition(".")[0] in names]


def equal_at_every_cut(cut: Cut) -> None:
    """Cut once, at every place; and everywhere at once."""
    assert len(cut.places) >= 3
    for place in cut.places:
        assert cut.together([place]) == cut.whole, place
    assert cut.together(cut.places) == cut.whole


# ---- Equal to one check ----


def test_a_trace_that_holds_holds_wherever_it_is_cut() -> None:
    assert holding().whole["verdict"] is Verdict.HOLDS
    assert holding().places == list(range(2, EVENTS + 2))
    equal_at_every_cut(holding())


@pytest.mark.parametrize("path", sampled(COUNTEREXAMPLES, named(SAMPLE)), ids=lambda path: path.name.partition(".")[0])
def test_a_counterexample_is_one_wherever_it_is_cut(path: Path) -> None:
    """Those of the last step are violated in the last part, whatever that is; many properties look at history."""
    cut = of_file(path)
    equal_at_every_cut(cut)
    if cut.whole["verdict"] is Verdict.VIOLATED:
        last = cut.whole["findings"][-1]["line"]
        assert cut.together([last - 1]) == cut.together([last]) == cut.whole


@functools.cache
def figure8() -> Cut:
    """The trace of a real group: it violates properties, and goes on."""
    imported = import_recording(traces_dir() / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson")
    return of_events(imported.header, imported)


def test_properties_that_fail_in_several_parts_are_reported_where_they_fail_first() -> None:
    """A property that has failed fails again in later parts, and in the states that these begin in."""
    places = figure8().places
    parts = figure8().parts(places[:: len(places) // 20])
    parts_by_property = Counter(each.name for part in parts for each in part.found.findings)
    assert max(parts_by_property.values()) > 1
    assert len(parts_by_property) > 1
    assert without_time(combined(cut_traces.SOURCE, parts)) == figure8().whole
    assert len(figure8().whole["findings"]) == len(parts_by_property)


@pytest.mark.nightly
@pytest.mark.parametrize("plan", ["published", "votes_published", "fine_published", "batches_published"])
@pytest.mark.parametrize("seed", range(1, 5))
def test_simulated_clusters_with_flaws_violate_the_same_in_parts(plan: str, seed: int) -> None:
    made = fault_plan(plan, 1500)
    cut = of_events(header(made), map(as_event, simulate(seed, made)))
    for every in (3, 50, 700):
        assert cut.together(cut.places[::every]) == cut.whole


#: By the kind of deviation, what is done to an event, given as a tree of JSON.
LIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "shows": lambda tree: {**tree, "shows": {**tree["shows"], "currTerm": 77}},
    "sent": lambda tree: {**tree, "sent": []},
    "step": lambda tree: {**tree, "action": "HandleTakeLeadership", "args": {}, "sent": []},
}


def with_lie(kind: str, line: int) -> Cut:
    def lie(text: bytes) -> bytes:
        return msgspec.json.encode(LIES[kind](msgspec.json.decode(text))) + b"\n"

    return changed(holding(), line, lie)


@pytest.mark.parametrize("kind", LIES)
def test_a_trace_that_leaves_the_spec_leaves_it_at_that_line_wherever_it_is_cut(kind: str) -> None:
    sends = [line for line in range(8, EVENTS) if b'"sent":[{' in holding().lines[line - 1]]
    cut = with_lie(kind, sends[len(sends) // 2])
    assert [each["kind"] for each in cut.whole["findings"]] == [kind]
    equal_at_every_cut(cut)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", LIES)
def test_a_trace_that_leaves_the_spec_in_any_part_leaves_it_there(kind: str) -> None:
    for line in range(5, EVENTS, 3):  # three places to cut lie before it
        if kind != "sent" or b'"sent":[{' in holding().lines[line - 1]:
            equal_at_every_cut(with_lie(kind, line))


#: Malformed traces, as their lines.
MALFORMED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "no JSON": lambda lines: [*lines[:16], b"{]\n", *lines[17:]],
    "a field that is none": lambda lines: [*lines[:16], lines[16].replace(b'"seq"', b'"sec"'), *lines[17:]],
    "seq does not rise": lambda lines: [*lines[:16], lines[15], *lines[16:]],
    "a second header": lambda lines: [*lines[:16], lines[0], *lines[16:]],
    "cut": lambda lines: lines[:16],
    "a wrong count": lambda lines: [*lines[:-1], b'{"kind":"end","events":7}\n'],
    "more after the end": lambda lines: [*lines[:16], b'{"kind":"end","events":15}\n', *lines[16:]],
    "no event": lambda lines: [lines[0], lines[-1].replace(b"%d" % EVENTS, b"0")],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_trace_is_so_at_that_line_wherever_it_is_cut(name: str) -> None:
    lines = MALFORMED[name](list(holding().lines))
    cut = Cut(lines, holding().spec)
    assert cut.whole["verdict"] is (Verdict.INCONCLUSIVE if name == "no event" else Verdict.MALFORMED)
    places = [line for line in range(2, len(lines)) if line in holding().states]
    for place in places[::3]:
        assert cut.together([place], holding().states) == cut.whole, place
    assert cut.together(places, holding().states) == cut.whole


#: Fails in term 1, and has no value from term 2 on; the other holds in term 1.
FAILS_FIRST = """IndexOrder ==
    \\A n \\in Node : IF node[n].currTerm > 1 THEN Head(<< >>) = 1 ELSE node[n].currTerm # 1
Old"""
HAS_NO_VALUE = """NoHoles ==
    \\A n \\in Node : node[n].currTerm > 1 => Head(<< >>) = 1
Old"""


@pytest.mark.nightly
@pytest.mark.parametrize("planted", [(FAILS_FIRST,), (FAILS_FIRST, HAS_NO_VALUE)], ids=["failed before", "another"])
def test_a_property_that_has_no_value_ends_the_check_unless_it_has_failed_before(
    planted: tuple[str, ...], tmp_path: Path
) -> None:
    with broken_spec(tmp_path, *((f"{text.split()[0]} ==\n", f"{text}{text.split()[0]} ==\n") for text in planted)):
        spec = trace_spec(simulated()[0], "t")
    cut = of_events(simulated()[0], simulated()[1][:EVENTS], spec)
    assert cut.whole["verdict"] is (Verdict.VIOLATED if len(planted) == 1 else Verdict.INTERNAL)
    assert [each["name"] for each in cut.whole["findings"]] == ["IndexOrder"]
    assert any(part.unevaluated for part in cut.parts(cut.places))
    equal_at_every_cut(cut)


# ---- A part must begin where the one before ends ----


def other(value: Value) -> Value:
    """A value of the same kind that differs somewhere deep within."""
    if isinstance(value, Fcn):
        key = min(value.d, key=str)
        return Fcn({**value.d, key: other(value.d[key])})
    if isinstance(value, frozenset):
        return value | {Fcn({"term": 77, "leader": "n1"})}
    return {bool: lambda: not value, int: lambda: value + 1, str: lambda: value + "x", tuple: lambda: (*value, 1)}[
        type(value)
    ]()


def test_a_part_that_begins_in_another_state_than_the_one_before_ends_in_is_never_a_pass() -> None:
    """Every variable, the network and what is remembered of history too, wherever it is cut."""
    cut = holding()
    for place, name in itertools.product(cut.places[::8], cut.spec.variables):
        state = cut.states[place]
        wrong = state.replace(**{name: other(state[name])})
        found = cut.together([place], {place: wrong})
        assert found["verdict"] is not Verdict.HOLDS
        assert found["reason"] == (
            f"the state given before line {place + 1} is not the one that the lines before lead to: "
            f"they differ in {name}"
        )


def test_states_of_other_places_are_never_a_pass() -> None:
    cut = holding()
    shifted = {line: cut.states[line + 1] for line in cut.places[:-1] if cut.states[line] != cut.states[line + 1]}
    assert len(shifted) > 15
    for place in shifted:
        assert cut.together([place], shifted)["verdict"] is Verdict.INCONCLUSIVE


def test_a_violation_before_a_state_that_does_not_fit_is_reported_all_the_same() -> None:
    cut = of_file(named({"stale_install"})[0])
    assert cut.whole["verdict"] is Verdict.VIOLATED
    lines = [
        *cut.lines[:-1],
        cut.lines[-2].replace(b'"seq":', b'"seq":9'),
        b'{"kind":"end","events":%d}\n' % (len(cut.lines) - 1),
    ]
    longer = Cut(lines, cut.spec)
    last = cut.whole["findings"][-1]["line"]
    found = longer.together([last], {last: cut.states[2]})
    assert found["verdict"] is Verdict.VIOLATED
    assert [each["line"] for each in found["findings"]] == [each["line"] for each in cut.whole["findings"]]
    assert "not checked to its end: the state given before line" in found["reason"]


@pytest.mark.parametrize("lost", range(3))
def test_a_part_that_is_missing_is_never_a_pass(lost: int) -> None:
    parts = holding().parts([12, 22])
    assert combined("t", parts).verdict is Verdict.HOLDS
    del parts[lost]
    found = combined("t", parts)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "missing" in found.reason


def test_no_part_and_parts_in_another_order_are_never_a_pass() -> None:
    assert combined("t", []).verdict is Verdict.INCONCLUSIVE
    for order in itertools.permutations(holding().parts([12, 22])):
        is_in_order = [part.first_line for part in order] == [2, 13, 23]
        assert (combined("t", order).verdict is Verdict.HOLDS) is is_in_order


def test_a_state_that_cannot_be_read_is_never_a_pass() -> None:
    cut = holding()
    for text in (
        b"",
        b"junk",
        state_bytes(cut.states[20])[:-1],
        state_bytes(cut.states[20]).replace(b"network", b"notwerk"),
    ):
        part = TracePart(cut.trace.header, list(enumerate(cut.lines, 1))[20:], "t", before=20)
        last = check_part(part, cut.spec, cut.interface, text)
        found = combined("t", [*cut.parts([20])[:1], last])
        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.reason.startswith("the state before line 21 is not there: ")


def test_other_bytes_that_make_the_same_state_are_not_those_that_were_come_to() -> None:
    cut = holding()
    written, values = msgspec.msgpack.decode(state_bytes(cut.states[20]), type=tuple[str, dict[str, msgspec.Raw]])
    text = msgspec.msgpack.encode((written, dict(reversed(values.items()))))
    assert state_of_bytes(cut.spec, text) == cut.states[20]
    part = TracePart(cut.trace.header, list(enumerate(cut.lines, 1))[20:], "t", before=20)
    found = combined("t", [cut.parts([20])[0], check_part(part, cut.spec, cut.interface, text)])
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason.endswith("is not the one that the lines before lead to: they differ in their digests")


def test_the_verdict_on_a_part_can_be_sent() -> None:
    for part in with_lie("shows", 17).parts([12, 22]):
        text = msgspec.json.encode(part)
        assert msgspec.json.decode(text, type=PartVerdict) == part


# ---- Which traces are cut ----


@pytest.mark.parametrize(
    ("cores", "long", "short", "is_cut"),
    [(2, 1, 0, True), (2, 1, 20, True), (2, 1, 30, False), (2, 2, 0, False), (8, 1, 600, True), (8, 1, 650, False)]
    + [(cores, cores - 1, 0, False) for cores in range(3, 17)],
)
def test_a_trace_is_cut_where_all_cores_are_done_sooner_for_it(cores: int, long: int, short: int, is_cut: bool) -> None:
    """One that is cut takes 7/4 of the time; `long` traces have 100 times the bytes of the `short` ones."""
    sizes = [100.0] * long + [1.0] * short
    assert cutting_pays(100.0, sizes, cores) is is_cut
    whole, cut = max(100.0, sum(sizes) / cores), (sum(sizes) + 0.75 * 100.0 * long) / cores
    assert is_cut is (cut < whole)


# ---- States as bytes ----


def test_a_state_is_the_one_that_its_bytes_were_made_of() -> None:
    for cut in (holding(), of_file(named({"stale_install"})[0])):
        for state in cut.states.values():
            text = state_bytes(state)
            again = state_of_bytes(cut.spec, text)
            assert again == state
            assert state_bytes(again) == text
        assert len({state_bytes(state) for state in cut.states.values()}) == len(set(cut.states.values()))


def test_a_state_is_packed_in_a_table_and_what_is_torn_there_is_no_state() -> None:
    text = state_bytes(holding().states[20])
    assert unpacked(packed(text)) == text
    assert len(packed(text)) < len(text) / 3
    for torn in (packed(text)[:-1], text, b""):
        with pytest.raises(StateBytesError, match="they are not packed"):
            unpacked(torn)


def test_the_bytes_of_another_format_or_spec_are_refused() -> None:
    spec, state = holding().spec, holding().states[20]
    text = state_bytes(state)
    with pytest.raises(StateBytesError, match="'lockstep-state/7' is not 'lockstep-state/1'"):
        state_of_bytes(spec, text.replace(FORMAT.encode(), b"lockstep-state/7"))
    other_spec = of_file(named({"stale_install"})[0]).spec
    with pytest.raises(StateBytesError, match="of other variables than HashicorpRaft has"):
        state_of_bytes(other_spec, text)
