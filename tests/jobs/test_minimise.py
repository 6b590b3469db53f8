"""A trace with a violation becomes shorter: the rest violates the same, and no part of it can be removed."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.deadline import Deadline
from lockstep.base.verdict import Verdict
from lockstep.conformance.causal_past import PlacedEvent, causes, take_placed
from lockstep.conformance.property_evaluation import LiteralEvaluation
from lockstep.conformance.rebinding import Rebinding, RecordedStep, distance
from lockstep.conformance.run_search import CandidateRun, RunReplay
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.course.plant_expression import ReferenceMethod
from lockstep.jobs.minimise_trace import MinimisedTrace, NothingToMinimiseError, minimise, shortest_known
from lockstep.models.search_result import SpecFiles
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.systems.registry import simulators
from lockstep.systems.system import System
from lockstep.systems.trace_specs import compiled
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Fcn, Value, as_fcn
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace
from tests.support.places import SPECS
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

#: Clusters with flaws, each with the events after which a property is violated: in both systems, in few steps.
DLEDGER, RAFT = ("published", 10, 64), ("raft_whole_published", 23, 95)
#: One in which events of other nodes happened beside what is wrong.
BESIDE = ("published", 6, 175)


@functools.cache
def cluster(plan: str, seed: int, events: int) -> tuple[Header, tuple[Event, ...], Spec, System]:
    system, simulator = simulators()[plan]
    header, run = simulator.cluster(plan, seed, events)
    return header, tuple(run), compiled(system, header, plan), system


@functools.cache
def shop() -> tuple[Header, Spec, System]:
    files = SpecFiles(SPECS / "minimise" / "Shop.tla")
    system = own_system(files)
    header = Header(FORMAT, "mine", "1", "Shop", ("a", "b", "c"), {})
    return header, load_own_spec(files, system), system


def opened(header: Header, events: Iterable[Event]) -> Trace:
    return Trace(trace_lines(header, events), "t")


@functools.cache
def shortened(plan: str, seed: int, count: int) -> MinimisedTrace:
    header, events, spec, system = cluster(plan, seed, count)
    return minimise(opened(header, events), spec, system)


def verdict(header: Header, events: Iterable[Event], spec: Spec, system: System) -> TraceVerdict:
    return check_trace(opened(header, events), spec, system.interface(spec))


def first_wrong(found: TraceVerdict) -> set[tuple[str, str]]:
    assert found.deviation is None, found.reason
    return {(each.code, each.name) for each in found.findings if each.seq == found.findings[0].seq}


def wrong_without(at: int, events: Sequence[Event], check: TraceCheck) -> set[str]:
    """Take events without one of them, by the stated rule alone; return the properties that fail first."""
    take, literal = Rebinding(check.spec).take, LiteralEvaluation(check.spec)
    state = check.initial()
    for event in (*events[:at], *events[at + 1 :]):
        taken = take(state, RecordedStep(event.node, event.action, check.reading.arguments(0, event)))
        if taken is not None:
            failed = literal.violated(state, taken[1])
            if failed:
                return set(failed)
            state = taken[1]
    return set()


# ---- On the spec ----


@pytest.mark.parametrize("which", [DLEDGER, RAFT], ids=lambda which: str(which[0]))
def test_a_cluster_with_a_flaw_becomes_shorter_and_violates_the_same_first(which: tuple[str, int, int]) -> None:
    header, events, spec, system = cluster(*which)
    found = shortened(*which)
    assert found.is_minimal
    assert not found.is_cut
    assert len(found.events) < len(events) / 3
    again = verdict(found.header, found.events, spec, system)
    assert first_wrong(again) == first_wrong(verdict(header, events, spec, system))
    assert again.findings[0].seq == found.events[-1].seq
    assert again.observed > len(found.events)
    assert all(event.shows and event.sent is not None for event in found.events)


@pytest.mark.parametrize("which", [DLEDGER, RAFT], ids=lambda which: str(which[0]))
def test_no_step_of_what_is_left_can_go(which: tuple[str, int, int]) -> None:
    _header, _events, spec, system = cluster(*which)
    found = shortened(*which)
    check = TraceCheck(opened(found.header, ()), spec, system.interface(spec))
    assert len(found.events) > 5
    assert [
        at for at in range(len(found.events)) if wrong_without(at, found.events, check) == {*found.properties}
    ] == []


def test_the_same_trace_is_found_again() -> None:
    header, events, spec, system = cluster(*DLEDGER)
    assert minimise(opened(header, events), spec, system) == shortened(*DLEDGER)


def test_a_minimised_trace_is_minimal() -> None:
    _header, _events, spec, system = cluster(*DLEDGER)
    found = shortened(*DLEDGER)
    again = minimise(opened(found.header, found.events), spec, system)
    assert again.events == found.events


def test_objects_by_node_have_the_nodes_in_order() -> None:
    """Not in the order of their hashes, which is another one in each process."""
    by_node = [
        list(part)
        for event in shortened(*DLEDGER).events
        for part in event.shows.values()
        if isinstance(part, dict) and part.keys() <= {"n1", "n2", "n3"}
    ]
    assert sum(len(names) > 2 for names in by_node) > 3
    assert all(names == sorted(names) for names in by_node)


def test_the_length_of_a_models_counterexample_is_known_where_a_model_of_the_flaw_violates_the_same() -> None:
    header, _events, _spec, system = cluster(*DLEDGER)
    known = shortest_known(system, header, ["CommittedEntriesStayProp"])
    assert known is not None
    assert (known[0].violates, known[1]) == ("CommittedEntriesStayProp", (known[0].depth or 0) - 1)
    repaired = msgspec.structs.replace(header, constants={**header.constants, known[0].switch or "": "repaired"})
    other = shortest_known(system, repaired, ["CommittedEntriesStayProp"])
    assert other is None or (other[0].switch != known[0].switch and other[1] >= known[1])
    assert shortest_known(system, header, ["TypeOK"]) is None


# ---- Steps that no longer fit ----


def event(seq: int, node: str, action: str, **args: Any) -> Event:
    return Event(seq, node, action, args)


def of_shop(*steps: tuple[Any, ...], **options: Any) -> MinimisedTrace:
    """Minimise a trace of the shop: node and action, then the arguments by name."""
    header, spec, system = shop()
    events = [event(seq, node, action, **dict(args)) for seq, (node, action, *args) in enumerate(steps)]
    return minimise(opened(header, events), spec, system, **options)


def ticket(by: str, number: int) -> dict[str, Any]:
    return {"by": by, "number": number}


def taken(found: MinimisedTrace) -> list[tuple[str, str, dict[str, Any]]]:
    return [(event.node, event.action, event.args) for event in found.events]


def test_a_ticket_that_is_not_there_any_more_is_the_one_that_differs_least() -> None:
    found = of_shop(
        ("a", "Draw"),
        ("b", "Draw"),
        ("b", "Draw"),
        ("c", "Serve", ("ticket", ticket("b", 2))),
        ("c", "Serve", ("ticket", ticket("b", 3))),
    )
    assert taken(found) == [
        ("b", "Draw", {}),
        ("b", "Draw", {}),
        ("c", "Serve", {"ticket": ticket("b", 2)}),
        ("c", "Serve", {"ticket": ticket("b", 1)}),
    ]


@pytest.mark.parametrize(
    ("lost", "bound"),
    [
        (("a", 1), ("a", 1)),  # it is there
        (("a", 9), ("a", 1)),  # another number
        (("b", 9), ("b", 2)),
        (("c", 2), ("b", 2)),  # another name
        (("c", 9), ("a", 1)),  # both; the first in TLC's order
        (("a", 2), ("a", 1)),  # one of either; the first again
    ],
)
def test_other_arguments_are_chosen_by_the_stated_rule(lost: tuple[str, int], bound: tuple[str, int]) -> None:
    _header, spec, _system = shop()
    state = next(iter(spec.initial_states()))
    for person in ("a", "b"):
        state = spec.step(state, "Draw", {"p": person}) or state
    rebinding = Rebinding(spec)
    arguments: dict[str, Value] = {"p": "c", "ticket": as_fcn(ticket(*lost))}
    found = rebinding.take(state, RecordedStep("c", "Serve", arguments))
    assert found is not None
    assert found[0].args == {"p": "c", "ticket": as_fcn(ticket(*bound))}
    assert rebinding.take(next(iter(spec.initial_states())), RecordedStep("c", "Serve", arguments)) is None


def test_the_parts_of_values_that_differ_are_counted_at_any_depth() -> None:
    entries = as_fcn({"entries": (as_fcn({"term": 1}), as_fcn({"term": 2})), "term": 2})
    assert distance(entries, entries) == 0
    assert distance(entries, as_fcn({"entries": (as_fcn({"term": 3}),), "term": 2})) == 2
    assert distance(True, 1) == 1
    assert distance(as_fcn({"a": 1}), as_fcn({"b": 1})) == 2


def test_steps_that_only_go_together_go_together() -> None:
    """A door is opened and shut between the others: without one of the two nobody is served."""
    found = of_shop(
        ("b", "Draw"),
        ("a", "Turn"),
        ("b", "Draw"),
        ("a", "Turn"),
        ("c", "Serve", ("ticket", ticket("b", 1))),
        ("c", "Serve", ("ticket", ticket("b", 2))),
    )
    assert [event.action for event in found.events] == ["Draw", "Draw", "Serve", "Serve"]


def test_an_element_of_an_argument_can_go() -> None:
    found = of_shop(("a", "Order", ("things", ["tea", "cake", "cake"])))
    assert taken(found) == [("a", "Order", {"things": ["cake", "cake"]})]


def test_with_a_given_action_no_other_violates_the_property() -> None:
    """Without the first ticket the first clerk serves the second one, and then the order is the one too many."""
    header, spec, system = shop()
    steps = [
        event(0, "a", "Draw"),
        event(1, "b", "Draw"),
        event(2, "c", "Serve", ticket=ticket("a", 1)),
        event(3, "a", "Order", things=["cake"]),
        event(4, "c", "Serve", ticket=ticket("b", 2)),
    ]
    of_any = minimise(opened(header, steps), spec, system, only="FewServed")
    of_serve = minimise(opened(header, steps), spec, system, only="FewServed", action="Serve")
    assert [each.action for each in of_any.events] == ["Draw", "Serve", "Order"]
    assert [each.action for each in of_serve.events] == ["Draw", "Order", "Serve"]


def test_a_minimised_trace_shows_the_same_fields_anew_and_no_others() -> None:
    header, spec, system = shop()
    order = event(2, "b", "Order", things=["cake", "cake"])
    events = [
        event(0, "a", "Draw"),
        event(1, "a", "Draw"),
        msgspec.structs.replace(order, shows={"next": 3, "served": 2}),
    ]
    (left,) = minimise(opened(header, events), spec, system).events
    assert left.shows == {"next": 1, "served": 2}
    assert left.sent is None


# ---- Recordings, and what leaves the spec ----


def as_recorded(events: Sequence[Event]) -> list[Event]:
    return [msgspec.structs.replace(event, line=number) for number, event in enumerate(events, 1)]


def test_a_recording_is_only_cut_and_every_value_stays_as_recorded() -> None:
    header, events, spec, system = cluster(*BESIDE)
    events = as_recorded(events)
    found = minimise(opened(header, events), spec, system)
    assert found.is_cut
    assert found.is_minimal
    assert len(shortened(*BESIDE).events) < len(found.events) < found.first == 174
    kept = [events.index(event) for event in found.events]
    assert kept == sorted(kept)
    again = verdict(found.header, found.events, spec, system)
    assert first_wrong(again) == first_wrong(verdict(header, events, spec, system))
    # What is cut of a node is its end, but for the node of what is wrong, which keeps all.
    for node in header.nodes:
        mine = [place for place, event in enumerate(events) if event.node == node]
        kept_mine = [place for place in kept if place in mine]
        assert kept_mine == mine[: len(kept_mine)]


def test_the_sending_of_a_message_happens_before_its_handling() -> None:
    header, events, spec, system = cluster(*RAFT)
    interface = system.interface(spec)
    check = TraceCheck(opened(header, events), spec, interface)
    replay = RunReplay(spec, partial(take_placed, check))
    run = replay.after(
        replay.begin(check.initial()), 0, [PlacedEvent(place, place + 2, event) for place, event in enumerate(events)]
    )
    senders = {place: last_senders(place, run, check) for place in range(len(run.steps))}
    places = [place for place, those in senders.items() if those]
    assert len(places) > 10
    direct = causes(run, check)
    assert [place for place in places if not senders[place] <= direct[place]] == []
    # After a step that leaves the spec there is no state.
    last = places[-1]
    cut = CandidateRun(run.steps[: last + 1], run.states[: last + 1], run.known[: last + 1])
    assert senders[last] <= causes(cut, check)[last]


def last_senders(place: int, run: CandidateRun[PlacedEvent], check: TraceCheck) -> set[int]:
    """Return the senders of the messages that an event names: no copy is sent while another is under way."""
    step = run.steps[place]
    named = [value for value in check.reading.arguments(step.line, step.event).values() if is_message(value)]
    return {max(each for each in range(place) if message in sent(run.steps[each], check)) for message in named}


def sent(step: PlacedEvent, check: TraceCheck) -> list[Value]:
    return [check.reading.value(tree, step.line, "sent") for tree in step.event.sent or ()]


def is_message(value: Value) -> bool:
    """Show a message as it was sent: where its caller waits no longer, a step has changed it under way."""
    return isinstance(value, Fcn) and "src" in value.d and value.d.get("awaited", True) is True


def test_a_trace_that_leaves_the_spec_is_cut_and_leaves_it_at_the_same_action() -> None:
    header, events, spec, system = cluster(*BESIDE)
    place = max(number for number, event in enumerate(events[:120]) if event.node == "n3")
    lied = msgspec.structs.replace(events[place], shows={**events[place].shows, "committedIndex": 77})
    events = [*events[:place], lied, *events[place + 1 :]]
    found = minimise(opened(header, events), spec, system)
    assert found.is_cut
    assert found.events[-1] == lied
    assert not found.is_rerun  # a lie of no reference
    assert len(found.events) < found.first
    assert {event.seq for event in found.events} < {event.seq for event in events}
    deviation = verdict(found.header, found.events, spec, system).deviation
    assert deviation is not None
    assert (deviation.code, deviation.name, deviation.action) == ("LS202", "committedIndex", lied.action)
    assert "LS202" in found.wrong


# ---- A reference that leaves the spec ----

#: A method of each reference, an expression in it, what is planted in its place, and a cluster that shows it.
PLANTED = {
    "DLedger": (
        ("raftref.dledger.store", "LedgerStore.update_committed_index"),
        ("min(new_index, self.end_index)", "max(new_index, self.end_index)"),
        ("ordered", 7, 150),
    ),
    "HashicorpRaft": (
        ("raftref.hashicorp.state", "Commitment.recalculate"),
        ("(len(matched) - 1) // 2", "0"),
        ("raft", 2, 200),
    ),
}


def deviation(header: Header, events: Iterable[Event], spec: Spec, system: System) -> tuple[str, str, str, int]:
    """The way in which events leave the spec, and at which of them, counted from 1; nothing where they do not."""
    found = verdict(header, events, spec, system).deviation
    return ("", "", "", 0) if found is None else (found.code, found.name, found.action, found.line - 1)


@pytest.mark.parametrize("name", sampled(PLANTED, ["DLedger"]))
def test_a_reference_that_leaves_the_spec_takes_fewer_steps_again(name: str) -> None:
    (module, method), (there, other), (plan, seed, count) = PLANTED[name]
    system, simulator = simulators()[plan]
    with ReferenceMethod(module, method).planted(there, ast.parse(other, mode="eval").body):
        header, run = simulator.cluster(plan, seed, count)
        events, spec = list(run), compiled(system, header, plan)
        found = minimise(opened(header, events), spec, system)
        assert found.is_rerun
        assert found.is_minimal
        # The reference shows this, and without any one step it no longer leaves the spec in this way.
        assert list(simulator.again(header, found.events)) == list(found.events)
        wanted = deviation(found.header, found.events, spec, system)
        for place in range(len(found.events)):
            rest = [*found.events[:place], *found.events[place + 1 :]]
            assert deviation(header, simulator.again(header, rest), spec, system)[:3] != wanted[:3]
    at = deviation(header, events, spec, system)
    assert wanted == (*at[:3], len(found.events))
    assert found.first == at[3]
    # Without what was planted the reference does not do so, and what it did is only cut.
    cut = minimise(opened(header, events), spec, system)
    assert cut.is_cut
    assert not cut.is_rerun
    assert len(found.events) < len(cut.events)


def test_a_trace_that_only_says_that_it_is_of_a_reference_is_cut() -> None:
    header, events, _, system = cluster(*BESIDE)
    lied = msgspec.structs.replace(events[60], shows={"currTerm": 77})
    text = b"".join(trace_lines(header, [*events[:60], lied])).replace(b'"n3"', b'"elsewhere"')
    trace = Trace(iter(text.splitlines(keepends=True)), "t")
    found = minimise(trace, compiled(system, trace.header, "t"), system)
    assert found.is_cut
    assert not found.is_rerun
    assert list(system.simulator.again(trace.header, found.events) if system.simulator else [1]) == []


def test_a_reference_takes_no_step_in_a_group_that_it_cannot_be() -> None:
    header, events, _, system = cluster(*RAFT)
    assert system.simulator is not None
    none = msgspec.structs.replace(header, constants={**header.constants, "Voters": 0})
    assert list(system.simulator.again(none, events)) == []
    assert len(list(system.simulator.again(header, events[:20]))) == 20


@pytest.mark.parametrize("which", [DLEDGER, RAFT], ids=lambda which: str(which[0]))
def test_a_step_whose_message_is_another_one_now_is_taken_with_that_which_differs_least(
    which: tuple[str, int, int],
) -> None:
    header, events, _, system = cluster(*which)
    assert system.simulator is not None
    place = next(number for number, event in enumerate(events) if "m" in event.args)
    message = {**events[place].args["m"], "term": 99}
    other = msgspec.structs.replace(events[place], args={**events[place].args, "m": message})
    again = list(system.simulator.again(header, [*events[:place], other]))
    assert [each.args for each in again] == [each.args for each in events[: place + 1]]
    unknown = msgspec.structs.replace(other, action="HandleNothing")
    assert len(list(system.simulator.again(header, [*events[:place], unknown]))) == place


# ---- What there is nothing to do for, and budgets ----


def test_a_trace_that_holds_is_refused_and_so_is_a_property_that_it_does_not_violate() -> None:
    with pytest.raises(NothingToMinimiseError, match="nothing to minimise: t: holds"):
        of_shop(("a", "Draw"))
    with pytest.raises(NothingToMinimiseError, match="it violates FewServed, not Other"):
        of_shop(("a", "Order", ("things", ["cake", "cake"])), only="Other")


class AfterAsking(Deadline):
    """A budget that is spent after a number of queries."""

    def __init__(self, often: int) -> None:
        super().__init__(1.0)
        self.left = often

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("recorded", [False, True])
def test_when_the_time_is_over_the_best_so_far_has_the_same_verdict_and_is_not_called_minimal(recorded: bool) -> None:
    header, events, spec, system = cluster(*(BESIDE if recorded else DLEDGER))
    events = as_recorded(events) if recorded else events
    found = minimise(opened(header, events), spec, system, deadline=AfterAsking(len(events) + 3))
    assert not found.is_minimal
    assert found.tried == 3
    assert first_wrong(verdict(found.header, found.events, spec, system)) == first_wrong(
        verdict(header, events, spec, system)
    )


# ---- The command ----


def test_the_command_writes_a_trace_that_check_accepts(tmp_path: Path) -> None:
    header, events, _spec, _system = cluster(*DLEDGER)
    write_trace(tmp_path / "long.ndjson", header, events)
    write_trace(tmp_path / "holds.ndjson", header, events[:20])
    ran = lockstep("minimise", "long.ndjson", "-o", "short.ndjson", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    left = len(shortened(*DLEDGER).events)
    assert f"violates CommittedEntriesStayProp: {left} steps for 63 of 64 events" in ran.stdout
    checked = lockstep("check", "short.ndjson", cwd=tmp_path)
    assert checked.returncode == Verdict.VIOLATED.exit_code
    assert f"short.ndjson:{left + 1}: DL111 CommittedEntriesStayProp is violated" in checked.stdout
    before = (tmp_path / "short.ndjson").read_bytes()
    refused = lockstep("minimise", "holds.ndjson", "-o", "short.ndjson", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("lockstep: nothing to minimise: holds.ndjson: holds")
    assert (tmp_path / "short.ndjson").read_bytes() == before
    (tmp_path / "cut.ndjson").write_bytes((tmp_path / "long.ndjson").read_bytes()[:-20])
    malformed = lockstep("minimise", "cut.ndjson", cwd=tmp_path)
    assert (malformed.returncode, malformed.stdout) == (2, "")
    assert malformed.stderr.startswith("lockstep: cut.ndjson:66: ")
