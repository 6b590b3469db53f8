"""TLC alone re-checks a trace: its verdict, and the event it names, are those of the compiled spec."""

from __future__ import annotations

import functools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.package_data import spec_dir, traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.module_text import Literals, decoded, encoded
from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec, check_with_tlc, hold_with_tlc
from lockstep.conformance.by_tlc.trace_module import ReadEvent, TraceModule
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.json_values import Words, to_value
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.systems.trace_files import import_trace
from lockstep.systems.trace_specs import trace_constants
from lockstep.tla.loading.spec_project import Parsed, parse_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.itf_values import to_itf
from lockstep.tlc import TlcOptions, run_tlc
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import PUBLISHED
from raftref.dledger.simulation import FaultPlan, figure8, scenario_plan, simulate, truncated_tail
from tests.support.places import SPECS
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.processes import wait_until
from tests.support.sampling import sampled
from tests.support.systems.dledger import dledger_tlc_spec
from tests.support.systems.simulated_traces import REPAIRED, as_event, header
from tests.support.tla.broken_spec import NO_VALUE, broken_spec

LENGTH = 80
"""Events of most traces here: a module of some pages, in which TLC's own start is most of the time."""

LOCK_SERVICE = spec_dir().parent / "docs" / "lock_service"


@functools.cache
def simulated(plan: FaultPlan, seed: int = 3) -> tuple[Header, tuple[Event, ...]]:
    return header(plan), tuple(as_event(tree) for tree in simulate(seed, plan))


def ordered() -> list[Event]:
    return list(simulated(fault_plan("ordered", LENGTH))[1])


@functools.cache
def subject_of(key: bytes) -> TlcSpec:
    return dledger_tlc_spec(msgspec.json.decode(key, type=Header), "t")


def with_both(events: Sequence[Event], head: Header | None = None) -> TraceVerdict:
    """Check events with both engines, assert that they agree, and return TLC's verdict."""
    head = head or simulated(fault_plan("ordered", LENGTH))[0]
    subject = subject_of(msgspec.json.encode(head))
    by_tlc = check_with_tlc(Trace(trace_lines(head, events), "t"), subject)
    compiled = check_trace(Trace(trace_lines(head, events), "t"), subject.spec, subject.interface)
    assert agreed(by_tlc) == agreed(compiled)
    return by_tlc


def agreed(verdict: TraceVerdict) -> object:
    """Return all of a verdict that engines agree on: not the time, nor why an action is no step or a value no value."""
    why = "" if verdict.verdict is Verdict.MALFORMED else verdict.reason
    findings = [replace(each, details=(), spec_line="") if each.kind == "step" else each for each in verdict.findings]
    return verdict.verdict, why, findings, verdict.events, verdict.steps, verdict.observed


def last(events: Sequence[Event], matches: Callable[[Event], bool]) -> int:
    return max(index for index, event in enumerate(events) if matches(event))


def changed(events: list[Event], index: int, **changes: Any) -> list[Event]:
    """Change an event, and leave out what comes after it."""
    return [*events[:index], msgspec.structs.replace(events[index], **changes)]


# ---- What conforms ----

PLANS = {
    "in any order, published": fault_plan("published", LENGTH),
    "in order, repaired": fault_plan("ordered", LENGTH),
    "in order, published": FaultPlan.from_dict({"nodes": 3, "fifo": True, "events": LENGTH}),
    "in any order, repaired": FaultPlan.from_dict({"nodes": 3, "flaws": [], "events": LENGTH}),
}


@pytest.mark.parametrize("name", sampled(PLANS, ["in any order, published"]))
def test_a_simulated_trace_holds_for_tlc_too(name: str) -> None:
    plan = PLANS[name]
    head, events = simulated(plan)
    assert plan.constants() == dict(head.constants)
    verdict = with_both(events, head)
    assert (verdict.verdict, verdict.events, verdict.steps) == (Verdict.HOLDS, LENGTH, LENGTH)
    assert verdict.observed > LENGTH


@pytest.mark.nightly
def test_a_trace_without_steps_is_inconclusive() -> None:
    seen = Event(seq=0, node="n1", action="Observe", shows={"currTerm": 0}, sent=())
    assert with_both([seen]).verdict is Verdict.INCONCLUSIVE


@pytest.mark.nightly
def test_tlc_is_given_strings_of_any_characters() -> None:
    text = json.dumps([msgspec.to_builtins(event) for event in ordered()[:30]])
    renamed = re.sub(r'"v(\d+)"', r'"\\u00e9\\u2028 \\"\\\\ \\n\\u0001\1"', text)
    assert renamed != text
    assert with_both(msgspec.json.decode(renamed, type=list[Event])).verdict is Verdict.HOLDS


# ---- What does not ----


def test_a_tampered_observation_is_found_at_its_event_with_both_values() -> None:
    index = last(ordered(), lambda event: "committedIndex" in event.shows)
    events = ordered()
    verdict = with_both(changed(events, index, shows={**events[index].shows, "committedIndex": 77, "currTerm": 7}))
    assert verdict.deviation is not None
    assert (verdict.deviation.kind, verdict.deviation.line) == ("shows", index + 2)
    assert [detail.split(":")[0] for detail in verdict.deviation.details] == ["currTerm", "committedIndex"]


@pytest.mark.nightly
def test_an_event_that_was_dropped_is_missed() -> None:
    events = ordered()
    del events[next(index for index, event in enumerate(events) if event.action == "AppendAsLeader")]
    assert with_both(events).deviation is not None


@pytest.mark.nightly
@pytest.mark.parametrize("copies", [0, 2])
def test_a_message_listed_less_or_more_often_than_it_was_sent_is_found(copies: int) -> None:
    events = ordered()
    index = last(events, lambda event: len(event.sent or ()) == 1)
    (message,) = events[index].sent or ()
    deviation = with_both(changed(events, index, sent=(message,) * copies)).deviation
    assert deviation is not None
    assert (deviation.kind, deviation.line) == ("sent", index + 2)


@pytest.mark.nightly
def test_an_argument_is_bound_where_another_would_give_the_same_observation() -> None:
    """Only the argument identifies the peer, and a later event needs the right one."""
    events = [msgspec.structs.replace(event, shows={}, sent=None) for event in ordered()]
    index = next(i for i, event in enumerate(events) if event.action == "DoCompare")
    peer = events[index].args["peer"]
    other = next(name for name in ("n1", "n2", "n3") if name not in (peer, events[index].node))
    events[index] = msgspec.structs.replace(events[index], args={"peer": other})
    deviation = with_both(events).deviation
    assert deviation is not None
    assert (deviation.kind, deviation.line > index + 2) == ("step", True)


def scenario(play: Callable[..., list[dict[str, Any]]]) -> tuple[Header, list[Event]]:
    return header(scenario_plan(PUBLISHED)), [as_event(tree) for tree in play(PUBLISHED)]


@pytest.mark.nightly
def test_the_properties_that_fail_are_found_each_at_its_event() -> None:
    head, events = scenario(figure8)
    verdict = with_both(events, head)
    assert verdict.deviation is None
    assert {"LeaderCompleteness", "CommittedEntriesStayProp"} <= verdict.violations.keys()


@pytest.mark.nightly
def test_a_value_that_the_spec_has_not_is_malformed_after_the_events_before_it_were_checked() -> None:
    events = ordered()
    index = last(events, lambda event: event.action == "AppendAsLeader")
    verdict = with_both(changed(events, index, args={"value": 1}))
    assert verdict.verdict is Verdict.MALFORMED
    assert verdict.reason.startswith(f"t:{index + 2}: field `args.value`: ")


@pytest.mark.nightly
def test_an_action_that_the_spec_has_not_is_malformed() -> None:
    events = ordered()
    assert with_both(changed(events, len(events) // 2, action="DoNothing")).verdict is Verdict.MALFORMED


@pytest.mark.nightly
def test_an_action_of_the_spec_that_has_no_value_is_an_internal_error(tmp_path: Path) -> None:
    event = Event(seq=0, node="n1", action="PersistCheckPoint", shows={"checkPoint": -1})
    head = simulated(fault_plan("ordered", LENGTH))[0]
    with broken_spec(tmp_path, NO_VALUE):
        verdict = check_with_tlc(Trace(trace_lines(head, [event]), "t"), dledger_tlc_spec(head, "t"))
    assert verdict.verdict is Verdict.INTERNAL
    assert verdict.reason.startswith("the spec could not be evaluated at line 2 (PersistCheckPoint of n1): ")


# ---- The module ----


def parsed_with_values(head: Header, values: Sequence[str]) -> Parsed:
    """The spec with a finite set of values, over which TLC can evaluate Next."""
    chosen = {**trace_constants(DLEDGER, head, "t"), "Value": frozenset(values)}
    return parse_spec(DLEDGER.module, DLEDGER.trace_cfg, constants=chosen)


@pytest.mark.nightly
def test_every_step_of_the_module_is_a_step_of_the_spec_s_own_next(tmp_path: Path) -> None:
    """The actions of the module are copies with their arguments given; TLC compares them with the originals."""
    head, events = simulated(fault_plan("published", LENGTH))
    subject = subject_of(msgspec.json.encode(head))
    reading = EventReader("t", subject.spec.actions, subject.interface)
    read = []
    for line, event in enumerate(events, start=2):
        args = reading.arguments(line, event)
        read.append(ReadEvent(line, event, tuple(args[name] for name in subject.spec.actions[event.action].params)))
    values = [event.args["value"] for event in events if event.action == "AppendAsLeader"]
    module = TraceModule(subject.spec, parsed_with_values(head, values), subject.interface, read)
    spec, cfg = module.write(tmp_path, ())
    spec.write_text(module.text.replace("\n====\n", "\nStepsOfNext == [][Next]_vars\n====\n"))
    with cfg.open("a") as file:
        file.write("PROPERTY StepsOfNext\n")
    result = run_tlc(spec, cfg, TlcOptions(deadlock_check=False, is_short=True, library=[spec_dir() / "dledger"]))
    assert (result.verdict, result.depth) == (Verdict.HOLDS, LENGTH + 1)


def test_logs_that_grow_are_written_entry_by_entry_and_values_once() -> None:
    literals = Literals("T_", "ops")
    names = [literals.text((7,) * length) for length in range(200)]
    assert len(set(names)) == 200
    assert sum(map(len, literals.definitions)) < 200 * 40
    assert literals.text((7,) * 150) == names[150]


def test_any_string_is_written_in_printable_characters_and_read_back() -> None:
    strings = ["", "n1", "é", "\u2028", "lockstep:", "lockstep:6e31", "\ud800", "\x00"]
    written = [encoded(string) for string in strings]
    assert all(string.isascii() and string.isprintable() for string in written)
    assert len(set(written)) == len(strings)
    assert [decoded(string) for string in written] == strings


# ---- The command line ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli")
    done = lockstep("simulate", "--seed", "7", "--events", "40", cwd=place)
    assert done.returncode == 0
    return place


NAME = "ordered-7.trace.ndjson"


@pytest.mark.nightly
def test_one_trace_after_the_other_is_checked_and_the_replay_names_the_engine(folder: Path) -> None:
    text = (folder / NAME).read_text()
    (folder / "wrong.ndjson").write_text(text.replace('"currTerm":0', '"currTerm":9', 1))
    (folder / "empty.ndjson").write_bytes(b"")
    done = lockstep("check", "--engine", "tlc", NAME, "wrong.ndjson", cwd=folder)
    assert (done.returncode, f"{NAME}: holds: " in done.stdout) == (1, True)
    assert done.stdout.endswith(f"\nreplay: lockstep check --engine tlc {NAME} wrong.ndjson\n")
    done = lockstep("check", "--engine", "tlc", "empty.ndjson", cwd=folder)
    assert (done.returncode, "the file is empty" in done.stdout) == (2, True)


def test_a_budget_that_is_spent_and_a_java_that_is_missing_are_inconclusive(folder: Path, tmp_path: Path) -> None:
    done = lockstep("check", "--engine", "tlc", "--timeout", "0.3", NAME, cwd=folder)
    assert (done.returncode, "inconclusive: TLC: " in done.stdout) == (3, True)
    nowhere = dict.fromkeys(("PATH", "JAVA_HOME", "XDG_CACHE_HOME"), str(tmp_path))  # nothing is parsed yet
    done = lockstep("check", "--engine", "tlc", NAME, cwd=folder, **nowhere)
    assert (done.returncode, "inconclusive: Java 17 or newer is required" in done.stdout) == (3, True)


def test_a_timeout_ends_the_check_by_the_compiled_spec_and_names_the_line(folder: Path) -> None:
    done = lockstep("check", "--timeout", "0.000001", NAME, cwd=folder)
    assert done.returncode == 3
    assert f"{NAME}: LS401 inconclusive: the 1e-06 s of --timeout are spent at line 2" in done.stdout
    assert lockstep("check", "--timeout", "500", NAME, cwd=folder).returncode == 0


def test_a_log_of_a_reader_s_own_system_is_checked_by_tlc(tmp_path: Path) -> None:
    program = [sys.executable, str(LOCK_SERVICE / "lock_service.py"), "--forgetful"]
    (tmp_path / "service.log").write_bytes(subprocess.run(program, capture_output=True, check=True).stdout)
    own = ("--spec", LOCK_SERVICE / "LockService.tla", "--mapping", LOCK_SERVICE / "mapping.toml", "service.log")
    by_tlc = lockstep("check", "--engine", "tlc", *own, cwd=tmp_path)
    compiled = lockstep("check", *own, cwd=tmp_path)
    assert by_tlc.returncode == compiled.returncode == 1
    assert by_tlc.stdout.replace("--engine tlc ", "") == compiled.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_an_interrupt_leaves_no_file_behind(number: int, folder: Path, tmp_path: Path) -> None:
    # The handler is set because a child of a background shell starts with SIGINT ignored.
    code = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import lockstep.cli.command_line as c\nc.main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, "check", "--engine", "tlc", str(folder / NAME)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: list(tmp_path.glob("lockstep-run-*/trace-*/LockstepTrace.cfg")))
        time.sleep(0.5)
        child.send_signal(number)
        assert child.wait(timeout=20) == (130 if number == signal.SIGINT else 143)
    finally:
        child.kill()
    assert list(tmp_path.iterdir()) == []


# ---- Wider ----


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["ordered", "five", "published"])
def test_both_engines_agree_on_simulated_clusters(name: str, seed: int) -> None:
    head, events = simulated(fault_plan(name, 400), seed)
    with_both(events, head)


@pytest.mark.nightly
@pytest.mark.parametrize("switches", [{}, REPAIRED], ids=["published", "repaired"])
@pytest.mark.parametrize("name", ["fault_free", "figure8", "loss", "truncate_restart"])
def test_both_engines_agree_on_recordings(name: str, switches: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    import_trace(traces_dir() / "captured" / "dledger" / f"dledger-0.2.7-{name}.ndjson", path)
    trace = Trace(iter(path.read_bytes().splitlines(keepends=True)), "t")
    head = msgspec.structs.replace(trace.header, constants={**trace.header.constants, **switches})
    with_both([event for _, event in trace], head)


@pytest.mark.nightly
def test_both_engines_agree_on_what_a_restart_brings_back() -> None:
    head, events = scenario(truncated_tail)
    assert "RecoveryKeepsLogProp" in with_both(events, head).violations


@pytest.mark.nightly
def test_both_engines_agree_that_a_message_which_was_never_sent_is_not_handled() -> None:
    events = [msgspec.structs.replace(event, shows={}, sent=None) for event in ordered()]
    index = last(events, lambda event: event.action == "HandleDoAppend")
    deviation = with_both(changed(events, index, args={"m": {**events[index].args["m"], "commitIndex": 77}})).deviation
    assert deviation is not None
    assert (deviation.kind, deviation.line) == ("step", index + 2)


@pytest.mark.nightly
def test_both_engines_agree_on_whatever_is_taken_from_a_trace_or_changed_in_it() -> None:
    """Every tenth event: without it, at another node, without what it sent, and with a number that it shows raised."""
    events = list(simulated(fault_plan("ordered", 120))[1])
    for index in range(5, 120, 10):
        event = events[index]
        numbers = {name: value for name, value in event.shows.items() if type(value) is int}
        name = sorted(numbers)[index % len(numbers)]
        with_both([*events[:index], *events[index + 1 :]])
        with_both(changed(events, index, node=next(n for n in ("n1", "n2", "n3") if n != event.node)))
        with_both(changed(events, index, sent=()))
        with_both(changed(events, index, shows={**event.shows, name: numbers[name] + 1}))


SYSTEMS = SPECS / "systems"
STEPS = 25


@dataclass(frozen=True)
class Walk:
    """Random steps of a spec that is not DLedger, as a trace that shows the variables which a trace can show."""

    spec: Spec
    words: Words
    source: str = "a walk"

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        chooses = random.Random(1)
        (state,) = self.spec.initial_states()
        for number in range(1, STEPS + 1):
            successors = list(self.spec.successors(state))
            if not successors:
                return
            action, args, state = chooses.choice(successors)
            # A model value within a set has no words in a trace.
            trees = {name: to_itf(value) for name, value in state.as_dict().items()}
            shows = {name: tree for name, tree in trees.items() if to_value(tree, self.words) == state.as_dict()[name]}
            yield number, Event(number, "", action, {name: to_itf(value) for name, value in args.items()}, shows)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    ["BagQueue", "DieHard", "PaxosVoting", "Philosophers", "ReadersWriters", "SearchTree", "TwoPhaseCommit"],
)
def test_both_engines_agree_on_other_specs_whatever_form_their_actions_have(name: str) -> None:
    tla, cfg = SYSTEMS / f"{name}.tla", SYSTEMS / f"{name}.cfg"
    files = SpecFiles(tla, cfg)
    system = own_system(files)
    spec = load_own_spec(files, system)
    interface = system.interface(spec)
    walk = Walk(spec, interface.words)
    by_tlc = check_with_tlc(walk, TlcSpec(spec, parse_spec(tla, cfg), interface))
    assert by_tlc.verdict is Verdict.HOLDS
    assert agreed(by_tlc) == agreed(check_trace(walk, spec, interface))


def opened(head: Header, events: Sequence[Event]) -> Trace:
    return Trace(trace_lines(head, events), "t")


@pytest.mark.nightly
def test_several_traces_are_checked_in_one_run_and_one_that_fails_fails_them_all() -> None:
    head = header(fault_plan("ordered", LENGTH))
    traces = [list(simulated(fault_plan("ordered", LENGTH), seed)[1]) for seed in (3, 4)]
    subject = dledger_tlc_spec(head, "t")
    assert hold_with_tlc([opened(head, each) for each in traces], subject)
    wrong = msgspec.structs.replace(traces[1][40], shows={"currTerm": 99})
    broken = [*traces[1][:40], wrong, *traces[1][41:]]
    assert not hold_with_tlc([opened(head, each) for each in (traces[0], broken)], subject)


@pytest.mark.nightly
def test_one_trace_with_a_forced_step_fails_all_that_are_checked_with_it() -> None:
    head = header(fault_plan("ordered", LENGTH))
    traces = [list(simulated(fault_plan("ordered", LENGTH), seed)[1]) for seed in (3, 4, 5)]
    subject = dledger_tlc_spec(head, "t")
    assert hold_with_tlc([opened(head, each) for each in traces], subject)
    forced = [msgspec.structs.replace(traces[1][0], forced=True), *traces[1][1:]]
    assert not hold_with_tlc([opened(head, traces[0]), opened(head, forced)], subject)


def test_no_traces_and_an_empty_trace_are_refused() -> None:
    head = header(fault_plan("ordered", LENGTH))
    subject = dledger_tlc_spec(head, "t")
    with pytest.raises(ValueError, match="there is no trace"):
        hold_with_tlc([], subject)
    with pytest.raises(TraceError, match="the trace is empty"):
        hold_with_tlc([opened(head, ordered()), opened(head, ())], subject)


@pytest.mark.nightly
def test_a_property_that_fails_in_one_trace_fails_all_that_are_checked_with_it() -> None:
    head, events = scenario(figure8)
    subject = dledger_tlc_spec(head, "t")
    before_the_loss = opened(head, events[: len(events) // 2])
    assert hold_with_tlc([before_the_loss], subject)
    assert not hold_with_tlc([opened(head, events[: len(events) // 2]), opened(head, events)], subject)
