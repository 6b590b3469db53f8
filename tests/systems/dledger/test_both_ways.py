"""The reference beside all that the spec allows: guards that are too strict or too lax are both noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.both_ways_check import BothWays, check_both_ways
from lockstep.conformance.json_values import to_tree, to_value
from lockstep.jobs.fleet_both_ways import by_plan, check_cluster_both_ways
from lockstep.report.verdict_text import finding_text
from lockstep.systems.dledger.plans import PLANS, SIMULATOR, fault_plan
from raftref.action import NotEnabled
from raftref.dledger.messages import message_from
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.simulation import Schedule, Trial, simulate
from raftref.dledger.store import LedgerStore
from raftref.records import record
from tests.support.sampling import sampled
from tests.support.systems.dledger import interface
from tests.support.systems.dledger_mutants import REFERENCE
from tests.support.systems.mutants import Mutant, planted, spec_of

#: The protocol as published, elections message by message, and all of it at once; the others at night.
SAMPLE = ("published",)


def asked(plan: str, steps: int = 4, seed: int = 1, events: int = 400) -> BothWays:
    return check_cluster_both_ways(plan, seed, events, steps, spec_of(plan))


@pytest.mark.parametrize("plan", sampled(PLANS, SAMPLE))
def test_a_cluster_takes_what_the_spec_allows_and_nothing_else(plan: str) -> None:
    """There is no exception: not one action, nor one argument, is left out."""
    found = asked(plan)
    assert (found.verdict, found.findings, found.steps) == (Verdict.HOLDS, [], 4)
    assert min(found.taken, found.refused) > 50


# ---- Too strict ----


def never(monkeypatch: pytest.MonkeyPatch, action: str, when: Callable[[Server], bool] = lambda _: True) -> None:
    """Let no node take an action, or none for which `when` holds, whatever its own guard says."""
    own = ACTIONS[action]

    def enabled(server: Server, *args: Any, **carried: Any) -> bool:
        return not when(server) and own.enabled(server, *args, **carried)

    def perform(server: Server, *args: Any, **carried: Any) -> Any:
        if when(server):
            raise NotEnabled(action)
        return own.perform(server, *args, **carried)

    monkeypatch.setitem(ACTIONS, action, replace(own, enabled=enabled, perform=perform))


#: A plan in which an action can be taken, where it is not `whole`.
ELSEWHERE = {
    **dict.fromkeys(("ChangeToCandidate", "NextTerm", "SetCurrVoteFor"), "fine"),
    **dict.fromkeys(("ChangeToLeader", "ChangeToFollower"), "fine"),
    **dict.fromkeys(("AppendInBatch", "DoBatchAppend", "HandleDoBatchAppend", "DoCheckBatchAppendResponse"), "batches"),
    "CrashInPersistTerm": "fine_published",
    "CrashInPersistCheckPoint": "fine_published",
    "DoCommitted": "applied",
    **dict.fromkeys(("ClearCompareOrTruncateRequests", "PushAnsweredAgain", "FailStore", "SkipCommit"), "not_follower"),
}

#: No plan elects a leader in one step.
TAKEN = sorted(ACTIONS.keys() - {"ElectLeader"})
#: Some plans for each part of the protocol; the others at night.
SOME = ("ActOnQuorumIndex", "HandleVote")


def refused(action: str) -> bool:
    """Whether asking says that the action is refused, in one of some clusters."""
    plan = ELSEWHERE.get(action, "whole")
    found = (asked(plan, steps=12, seed=seed) for seed in range(1, 7))
    return any(each.kind == "refused" and each.name == action for one in found for each in one.findings)


@pytest.mark.parametrize("action", SOME)
def test_an_action_that_no_node_takes_is_noticed(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch, action)
    assert refused(action)


@pytest.mark.nightly
@pytest.mark.parametrize("action", sorted({*TAKEN} - {*SOME}))
def test_an_action_that_no_node_takes_is_noticed_whichever_it_is(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch, action)
    assert refused(action)


@pytest.mark.nightly
def test_an_action_that_one_node_alone_never_takes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch, "RefuseAppend", lambda server: server.node_id == "n2")
    found = asked("fine")
    assert {(each.kind, each.name, each.node) for each in found.findings} == {("refused", "RefuseAppend", "n2")}
    assert REFERENCE.by_traces(["fine"]) == ""
    first = found.findings[0]
    head, *rest = finding_text(found.source, first).splitlines()
    place = f"{found.source}:{first.line}"
    assert head == f"{place}: LS204 RefuseAppend is a step the spec allows here, and the system refuses it"
    assert rest[0] == "    the spec allows it, and the system refuses it"
    assert rest[-2].startswith("    spec       ") and rest[-1].startswith("    reference  ")


def the_first(function: str, before: str, after: str) -> Mutant:
    return next(m for m in REFERENCE.mutants() if (m.function, m.before, m.after) == (function, before, after))


@pytest.mark.nightly
def test_a_leader_that_never_pushes_leaves_no_trace_and_is_noticed_by_asking_and_by_the_floor() -> None:
    """`0 < index` in has_entry: the first entry can never be read, so nothing is ever pushed."""
    mutant = the_first("has_entry", "0 <= index < len(self.log)", "0 < index < len(self.log)")
    with planted(mutant):
        assert REFERENCE.by_traces(["ordered"]) == ""
        assert REFERENCE.by_asking(["ordered"], seeds=[2]).startswith("ordered 2: refused ")
        floor = REFERENCE.by_floors(["ordered"])
    assert floor.startswith("ordered: missing ")
    assert {"DoAppend", "HandleDoAppend", "entries committed"} <= set(
        floor.removeprefix("ordered: missing ").split(", ")
    )
    assert REFERENCE.by_asking(["ordered"], seeds=[2]) == ""


# ---- Too lax, or with another result ----


def test_a_guard_that_refuses_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ACTIONS["RefuseAppend"]
    monkeypatch.setitem(ACTIONS, "RefuseAppend", replace(own, enabled=lambda *_: True))
    found = asked("fine")
    assert found.verdict is not Verdict.HOLDS


def test_what_is_tried_must_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LedgerStore, "persist_check_point", lambda self: setattr(self, "check_point", 7))
    found = asked("fine", steps=2)
    assert ("shows", "checkPoint") in {(each.kind, each.name) for each in found.findings}


# ---- Asking ----


def test_a_run_that_is_asked_is_event_for_event_one_that_is_not() -> None:
    plan = fault_plan("whole", 200)
    header, run = SIMULATOR.asked("whole", 3, 200)
    seen = []
    for event, trial in run:
        seen.append((event.seq, event.node, event.action))
        if event.seq % 40 == 0:
            assert [trial.take(*offer) for offer in islice(trial.offers(), 300)]
    assert seen == [(each["seq"], each["node"], each["action"]) for each in simulate(3, plan)]
    assert header.constants == SIMULATOR.cluster("whole", 3, 200)[0].constants


def test_a_run_in_which_nothing_is_tried_is_no_pass() -> None:
    header, run = SIMULATOR.asked("ordered", 1, 30)
    spec = spec_of("ordered")
    found = check_both_ways(header, run, spec, interface(spec), (), "t")
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, "nothing was tried")
    (plan,) = by_plan([("ordered", 1)], [found])
    assert plan.verdict is Verdict.INCONCLUSIVE


def test_an_action_that_the_reference_has_not_is_refused() -> None:
    schedule = Schedule(1, fault_plan("ordered", 10))
    assert schedule.next_event()
    assert Trial(schedule.cluster).take("n1", "Unheard", {}) is None


def messages(plan: str, seed: int) -> Iterator[dict[str, Any]]:
    for event in simulate(seed, fault_plan(plan, 300)):
        yield from event["sent"]


@pytest.mark.parametrize("plan", ["ordered", "batches", "handover"])
def test_a_message_is_read_as_it_was_written(plan: str) -> None:
    written = list(messages(plan, 2))
    assert len({(each["kind"], each["type"]) for each in written}) >= 6
    assert [record(message_from(each)) for each in written] == written


def test_a_value_of_the_spec_is_written_as_a_trace_has_it() -> None:
    spec = spec_of("whole")
    words = interface(spec).words
    (state,) = spec.initial_states()
    given = [value for action in spec.actions for args in spec.arguments(state, action) for value in args.values()]
    given += [spec.evaluate("Observe", state, node) for node in ("n1", "n2", "n3")]
    assert len(given) > 50
    for value in given:
        assert to_value(to_tree(value, words), words) == value
