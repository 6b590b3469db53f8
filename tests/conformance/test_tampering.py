"""Every change of a value in a trace is refused at its event, or the spec allows it, as TLC confirms."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.tlc_trace_check import check_with_tlc
from lockstep.conformance.tampering import (
    COMPARED,
    JudgedTampering,
    NotConformingError,
    Tally,
    Tampered,
    Tampering,
    TamperingKind,
    TamperingOutcome,
    tamperings,
)
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.systems.dledger.recording_import import import_recording
from lockstep.systems.hashicorp.plans import SIMULATOR
from lockstep.systems.trace_specs import system_of, tlc_spec, trace_spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event, Header, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled
from tests.support.systems.simulated_traces import simulated

#: Number of events that are tampered with, from the begin of a trace. In the recording n2 leads by then, and entries
#: are lost and pushed again.
SIMULATED, RECORDED = 80, 110
#: The same for a cluster of hashicorp/raft with all features and flaws; by then one leads, and a snapshot is taken.
HASHICORP_EVENTS = 60
#: The traces; that of hashicorp/raft at night.
EACH = ["simulated", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("recorded", "raft"))]


@functools.cache
def subject(name: str) -> Tampered:
    head, events = simulated()
    events = events[:SIMULATED]
    if name == "recorded":
        imported = import_recording(traces_dir() / "captured" / "dledger" / "dledger-0.2.7-loss.ndjson")
        head, events = imported.header, imported.events[:RECORDED]
    elif name == "raft":
        head, run = SIMULATOR.cluster("raft_whole_published", 1, HASHICORP_EVENTS)
        events = tuple(run)
    spec = trace_spec(head, name)
    return Tampered(head, events, spec, system_of(head, name).interface(spec))


@functools.cache
def judged(name: str) -> tuple[JudgedTampering, ...]:
    trace = subject(name)
    return tuple(trace.judge(each) for each in tamperings(trace.header, trace.events, trace.spec))


def field_of(path: str) -> str:
    """The part of a path that a finding names: `shows.futures.#set[0].index` is of futures."""
    return path.removeprefix("shows.").split(".#")[0].split("[")[0]


@pytest.mark.parametrize("name", EACH)
def test_every_value_that_is_shown_or_was_sent_is_refused_at_its_event_by_name(name: str) -> None:
    compared = [each for each in judged(name) if each.tampering.kind in COMPARED]
    assert len(compared) > 1000
    for each in compared:
        tampering = each.tampering
        assert each.outcome in (TamperingOutcome.AT_ONCE, TamperingOutcome.MALFORMED), tampering
        assert each.index == tampering.at
        wanted = field_of(tampering.path) if tampering.kind is TamperingKind.SHOWS else "sent"
        assert any(wanted in text or "sent by this step" in text for text in each.names), tampering


@pytest.mark.parametrize("name", EACH)
def test_every_kind_of_tampering_and_every_outcome_occurs(name: str) -> None:
    kinds = {each.tampering.kind for each in judged(name)}
    assert kinds == set(TamperingKind)
    outcomes = {each.outcome for each in judged(name)}
    assert outcomes == set(TamperingOutcome)


def test_an_event_out_of_the_order_of_seq_is_malformed() -> None:
    order = [each for each in judged("simulated") if each.tampering.kind is TamperingKind.SEQUENCE]
    assert len(order) == SIMULATED
    assert {each.outcome for each in order} == {TamperingOutcome.MALFORMED}
    assert all("field `seq`" in each.names[0] for each in order)


def whole(trace: Tampered, tampering: Tampering) -> Trace:
    return Trace(trace_lines(trace.header, tampering.applied(trace.events)), "t")


@pytest.mark.parametrize("name", sampled(("simulated", "recorded", "raft"), ["simulated"]))
def test_the_outcome_is_that_of_a_check_of_the_whole_tampered_trace(name: str) -> None:
    trace = subject(name)
    some = [each for each in judged(name) if each.tampering.kind is not TamperingKind.SEQUENCE][::47]
    for each in some:
        found = check_trace(whole(trace, each.tampering), trace.spec, trace.interface)
        if each.outcome is TamperingOutcome.ALLOWED:
            assert found.deviation is None
        elif each.outcome is TamperingOutcome.MALFORMED:
            assert found.verdict is Verdict.MALFORMED
        else:
            assert found.deviation is not None
            assert found.deviation.line == each.index + 2


def of_each(name: str, *outcomes: TamperingOutcome) -> list[JudgedTampering]:
    """One tampering of each kind and action that had one of these outcomes."""
    found: dict[Any, JudgedTampering] = {}
    events = subject(name).events
    for each in judged(name):
        kind, at = each.tampering.kind, each.tampering.at
        if each.outcome in outcomes and kind is not TamperingKind.SEQUENCE:
            found.setdefault((kind, events[at].action), each)
    return list(found.values())


def agrees_with_tlc(name: str, each: JudgedTampering) -> None:
    trace = subject(name)
    tampered = whole(trace, each.tampering)
    found = check_with_tlc(tampered, tlc_spec(system_of(trace.header, "t"), trace.header, "t"))
    assert found.verdict in (Verdict.HOLDS, Verdict.VIOLATED), found.reason
    if each.outcome is TamperingOutcome.ALLOWED:
        assert found.deviation is None, each.tampering
    else:
        assert found.deviation is not None, each.tampering
        assert found.deviation.line == each.index + 2


JUDGED_BY_TLC = [("simulated", TamperingOutcome.LATER), ("recorded", TamperingOutcome.ALLOWED)]


@pytest.mark.parametrize(("name", "outcome"), sampled(JUDGED_BY_TLC, JUDGED_BY_TLC[:1]))
def test_tlc_allows_what_is_allowed_and_refuses_what_is_refused_later(name: str, outcome: TamperingOutcome) -> None:
    agrees_with_tlc(name, of_each(name, outcome)[0])


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["simulated", "recorded", "raft"])
def test_tlc_agrees_on_one_change_of_each_kind_to_each_action(name: str) -> None:
    for each in (
        of_each(name, TamperingOutcome.ALLOWED)
        + of_each(name, TamperingOutcome.LATER)
        + of_each(name, TamperingOutcome.AT_ONCE)
    ):
        agrees_with_tlc(name, each)


@pytest.mark.parametrize("blind", ["_shows", "_sent"])
def test_a_check_that_compares_nothing_is_found_out(blind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = subject("simulated")
    seen: Callable[..., bool] = lambda self, *args: True  # noqa: E731 - it replaces a method
    monkeypatch.setattr(TraceCheck, blind, seen)
    tally = Tally()
    for tampering in tamperings(trace.header, trace.events[:20], trace.spec):
        tally.add(trace.judge(tampering))
    assert tally.unnoticed() >= 30


def test_only_a_conforming_trace_can_be_tampered_with() -> None:
    head, events = simulated()
    with pytest.raises(NotConformingError, match=r"t: event [0-9]+ "):
        spec = trace_spec(head, "t")
        Tampered(head, events[1:], spec, system_of(head, "t").interface(spec), "t")


# ---- The command ----


def written(folder: Path, head: Header, events: tuple[Event, ...]) -> Path:
    path = folder / "t.ndjson"
    write_trace(path, head, events)
    return path


def test_the_command_counts_what_is_refused_by_kind(tmp_path: Path) -> None:
    head, events = simulated()
    path = written(tmp_path, head, events)
    ran = lockstep("tamper", "--events", "8", "--format", "json", "--allowed", path, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["unnoticed"] == 0
    shown = next(kind for kind in report["kinds"] if kind["changed"] == str(TamperingKind.SHOWS))
    assert shown["times"] == shown["at its event"] > 100
    assert shown["refused, %"] == 100
    assert report["allowed"]


def test_a_trace_that_does_not_conform_exits_1_and_names_the_event(tmp_path: Path) -> None:
    head, events = simulated()
    ran = lockstep("tamper", written(tmp_path, head, events[1:]), cwd=tmp_path)
    assert ran.returncode == 1
    assert "only a conforming trace can be tampered with" in ran.stderr


def test_a_trace_that_shows_nothing_is_no_pass(tmp_path: Path) -> None:
    head, events = simulated()
    bare = tuple(msgspec.structs.replace(event, shows={}, sent=None) for event in events[:8])
    ran = lockstep("tamper", written(tmp_path, head, bare), cwd=tmp_path)
    assert ran.returncode == 3


def test_a_trace_without_events_exits_2(tmp_path: Path) -> None:
    head, _ = simulated()
    ran = lockstep("tamper", written(tmp_path, head, ()), cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "t.ndjson:2: there is no event to tamper with" in ran.stderr


def test_the_command_tamper_refuses_a_malformed_trace(tmp_path: Path) -> None:
    head, events = simulated()
    path = written(tmp_path, head, events[:3])
    path.write_bytes(path.read_bytes().replace(b'"seq":', b'"sex":', 1))
    with pytest.raises(TraceError):
        list(Trace(iter(path.read_bytes().splitlines(keepends=True)), "t"))
    assert lockstep("tamper", path, cwd=tmp_path).returncode == 2
