"""The fault that is reported: a value that cannot be compared is the trace's, a formula without a value the spec's."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.trace_verdict import Fault, TraceVerdict
from lockstep.report.verdict_text import verdict_record, verdict_text
from lockstep.systems.trace_specs import UncheckedPropertyError, spec_key, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event
from tests.support.sampling import sampled
from tests.support.systems.simulated_traces import EVENTS, check, last, simulated, tampered
from tests.support.tla.broken_spec import NO_VALUE, broken_spec

MALFORMED_ITF: dict[str, Any] = {
    "a set that is a number": {"#set": 3},
    "a map of a number": {"#map": [1]},
    "a big integer that is an array": {"#bigint": []},
    "a set of values that cannot be compared": {"#set": ["n0", 1]},
    "an integer of too many digits": {"#bigint": "9" * 5000},
    "an unknown tag": {"#bag": []},
    "junk within": {"a": [{"#set": [{"#map": [[{"#tup": 3}, 1]]}]}]},
}


def malformed(verdict: TraceVerdict, index: int, path: str) -> None:
    assert verdict.verdict is Verdict.MALFORMED, verdict.reason
    assert verdict.reason.startswith(f"t:{index + 2}: field `{path}`: ")


@pytest.mark.parametrize("tree", MALFORMED_ITF.values(), ids=MALFORMED_ITF)
def test_a_value_that_is_none_is_malformed_wherever_it_stands(tree: Any) -> None:
    index = first_of("HandleDoAppend")
    message = simulated()[1][index].args["m"]
    malformed(check(tampered(index, args={"m": tree})), index, "args.m")
    malformed(check(tampered(index, args={"m": {**message, "index": tree}})), index, "args.m")
    malformed(check(tampered(index, shows={"currTerm": tree})), index, "shows.currTerm")
    malformed(check(tampered(index, shows={"log": [tree]})), index, "shows.log")
    malformed(check(tampered(index, sent=({**message, "index": tree},))), index, "sent[0]")


@pytest.mark.parametrize(
    ("shows", "path"),
    [
        ({"currTerm": "1"}, "currTerm"),
        ({"role": 3}, "role"),
        ({"log": 3}, "log"),
        ({"peerWaterMarks": {"n1": "x"}}, "peerWaterMarks.n1"),
        ({"dispatchers": {"n3": {"writeIndex": [1]}}}, "dispatchers.n3.writeIndex"),
    ],
)
def test_an_observation_of_another_kind_than_the_spec_has_is_malformed(shows: dict[str, Any], path: str) -> None:
    index = last(lambda event: event.action == "AppendAsLeader" and event.node == "n1")
    malformed(check(tampered(index, shows=shows)), index, f"shows.{path}")


def test_a_function_may_be_shown_as_an_itf_map() -> None:
    index = last(lambda event: bool(event.shows.get("peerWaterMarks")))
    marks = simulated()[1][index].shows["peerWaterMarks"]
    shown = {"peerWaterMarks": {"#map": [[node, mark] for node, mark in marks.items()]}}
    assert check(tampered(index, shows=shown)).verdict is Verdict.HOLDS


# ---- Errors of the spec ----


def broken(folder: Path, *replaced: tuple[str, str], cfg: str = "") -> Spec:
    with broken_spec(folder, *replaced, cfg=cfg):
        return trace_spec(simulated()[0], "t")


def first_of(action: str) -> int:
    return next(index for index, event in enumerate(simulated()[1]) if event.action == action)


@pytest.mark.nightly
def test_a_guard_of_the_spec_that_has_no_value_is_an_internal_error_at_the_event(tmp_path: Path) -> None:
    verdict = check(list(simulated()[1]), spec=broken(tmp_path, NO_VALUE))
    index = first_of("PersistCheckPoint")
    node = simulated()[1][index].node
    assert (verdict.verdict, verdict.verdict.exit_code) == (Verdict.INTERNAL, 4)
    assert verdict.reason.startswith(
        f"the spec could not be evaluated at line {index + 2} (PersistCheckPoint of {node}): "
    )
    assert verdict_text(verdict).startswith("t: LS501 internal error: the spec could not be evaluated at line ")
    assert verdict.fault is Fault.NO_VALUE and pickle.loads(pickle.dumps(verdict)).fault is Fault.NO_VALUE
    assert "fault" not in verdict_record(verdict)


@pytest.mark.nightly
def test_an_action_of_the_spec_with_two_successors_is_an_internal_error(tmp_path: Path) -> None:
    two = ("MayCheckPoint(n)    == TRUE", "MayCheckPoint(n)    == TRUE\nEither(s) == {s, [s EXCEPT !.checkPoint = 9]}")
    step = (
        "    /\\ Step(n, [node[n] EXCEPT !.checkPoint = node[n].committedIndex])",
        "    /\\ \\E s \\in Either(node[n]) : Step(n, s)",
    )
    verdict = check(list(simulated()[1]), spec=broken(tmp_path, two, step))
    assert verdict.verdict is Verdict.INTERNAL
    assert "PersistCheckPoint has two successors" in verdict.reason
    assert verdict.fault is Fault.TWO_SUCCESSORS


WITHOUT_VALUE = {
    "Observe": ("     checkPoint       |-> state.checkPoint,", "     checkPoint       |-> Head(<< >>),"),
    "Outbox": ("Outbox(n) ==\n", "Outbox(n) == IF node[n].checkPoint # 77 THEN {Head(<< >>)} ELSE\n"),
    "an invariant": ("IndexOrder ==\n", "IndexOrder == Head(<< >>) = 1 /\\\n"),
    "Init": ("    /\\ network = [n \\in Node", "    /\\ Head(<< >>) = 1\n    /\\ network = [n \\in Node"),
}


@pytest.mark.parametrize("part", sampled(WITHOUT_VALUE, ["an invariant"]))
def test_a_formula_of_the_spec_that_has_no_value_is_never_the_fault_of_the_trace(part: str, tmp_path: Path) -> None:
    verdict = check(list(simulated()[1]), spec=broken(tmp_path, WITHOUT_VALUE[part]))
    assert (verdict.verdict, verdict.findings) == (Verdict.INTERNAL, [])
    assert "the spec could not be evaluated at " in verdict.reason


@pytest.mark.nightly
def test_a_domain_of_the_spec_that_has_no_value_is_the_fault_of_the_spec(tmp_path: Path) -> None:
    """The argument is compared with the domain, so the two errors must be kept apart."""
    replaced = (
        "    \\E peer \\in Peers(n) :\n    LET fresh == CheckAndFreshState",
        "    \\E peer \\in {Head(<< >>)} :\n    LET fresh == CheckAndFreshState",
    )
    verdict = check(list(simulated()[1]), spec=broken(tmp_path, replaced))
    assert verdict.verdict is Verdict.INTERNAL
    index = first_of("DoCompare")
    malformed(check(tampered(index, args={"peer": 3})), index, "args.peer")


def test_an_error_of_the_checker_itself_is_an_internal_error_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(*_: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr("lockstep.conformance.comparison.equal_count", boom)
    verdict = check(list(simulated()[1]))
    node = simulated()[1][0].node
    assert verdict.verdict is Verdict.INTERNAL
    assert verdict.reason == f"ZeroDivisionError at line 2 ({simulated()[1][0].action} of {node}): x"


def test_an_internal_error_is_the_worst_of_verdicts() -> None:
    assert worst(list(Verdict)) is Verdict.INTERNAL
    assert [verdict.exit_code for verdict in Verdict] == [0, 1, 3, 2, 4]


# ---- Properties ----


@pytest.mark.nightly
def test_a_property_that_no_trace_can_be_checked_for_is_refused(tmp_path: Path) -> None:
    live = ("Spec == Init", 'Live == <>(\\E n \\in Node : node[n].role = "LEADER")\nSpec == Init')
    with pytest.raises(UncheckedPropertyError, match=r"^Trace.cfg: no trace can be checked for Live \(DLedger.tla:"):
        broken(tmp_path, live, cfg="PROPERTY Live\n")


@pytest.fixture(scope="module")
def wrong_at_first(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    """The spec with an invariant and a property that the initial state does not have."""
    invariant = ("IndexOrder ==\n", "IndexOrder == node[CHOOSE n \\in Node : TRUE].currTerm > 0 /\\\n")
    started = ("Spec == Init", "Started == committed # {} /\\ [][TRUE]_vars\nSpec == Init")
    return broken(tmp_path_factory.mktemp("wrong"), invariant, started, cfg="PROPERTY Started\n")


def test_an_invariant_that_fails_in_the_initial_state_is_violated_before_any_event(wrong_at_first: Spec) -> None:
    spec = wrong_at_first
    verdict = check(list(simulated()[1]), spec=spec)
    found = verdict.violations["IndexOrder"]
    assert (verdict.verdict, found.line, found.action) == (Verdict.VIOLATED, 1, "Init")
    assert "t:1: DL101 IndexOrder is violated by Init (before any event)" in verdict_text(verdict)
    assert check([], spec=spec).verdict is Verdict.VIOLATED


def test_a_property_of_the_initial_state_is_checked(wrong_at_first: Spec) -> None:
    verdict = check(list(simulated()[1]), spec=wrong_at_first)
    assert (verdict.violations["Started"].line, verdict.deviation) == (1, None)


# ---- How much was compared ----


def test_compared_values_are_counted_and_the_count_is_printed() -> None:
    events = [
        Event(seq=0, node="n1", action="Observe", shows={"currTerm": 0, "peerWaterMarks": {"n1": -1, "n2": -1}}),
        Event(seq=1, node="n1", action="NextTerm", args={"term": 1}, shows={"log": []}, sent=()),
    ]
    verdict = check(events)
    assert (verdict.verdict, verdict.observed) == (Verdict.HOLDS, 5)
    assert verdict_text(verdict).endswith("(2 events, 1 step, 5 values compared)")


def test_a_trace_that_shows_nothing_gets_a_note_that_says_so() -> None:
    events = [msgspec.structs.replace(event, shows={}, sent=None) for event in simulated()[1]]
    verdict = check(events)
    assert (verdict.verdict, verdict.observed) == (Verdict.HOLDS, 0)
    assert "the trace shows nothing" in verdict.reason
    assert verdict_text(verdict).endswith(f"({EVENTS} events, {EVENTS} steps, 0 values compared)")


# ---- The header ----


def test_a_header_that_python_holds_equal_to_a_right_one_has_no_key() -> None:
    head = simulated()[0]
    wrong = msgspec.structs.replace(head, constants={**head.constants, "Fifo": 1})
    assert wrong == head
    with pytest.raises(TraceError, match=r"field `constants.Fifo`: 1 is not false or true"):
        spec_key(wrong, "t")
    with pytest.raises(TraceError, match=r"field `constants.Fifo`"):
        spec_key(wrong, "t", {"Fifo": True})
