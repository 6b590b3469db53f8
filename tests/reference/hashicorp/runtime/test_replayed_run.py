"""Recorded steps that are taken again: what a server did otherwise than the core is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from raftref.hashicorp.choices import IN_V173, Flaw
from raftref.hashicorp.messages import RequestVoteRequest
from raftref.hashicorp.runtime import replayed_run
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.durable_stores import MemoryStores
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import Index, Term
from raftref.runtime.driver import NodeStep
from raftref.runtime.replay import ReplayError
from raftref.runtime.virtual import KILLED, NetworkConditions
from tests.support.systems.running_groups import clients, disturb
from tests.support.systems.running_raft import RaftGroup, command, leads


def chaotic(seed: int, **given: Any) -> RaftGroup:
    run = RaftGroup(seed, conditions=NetworkConditions(loss=0.02), **given)
    clients(run.group, leads, command, 0.3)
    disturb(run.group, seed, 1.5, ("kill", "kill", "pause", "partition"), 15.0)
    run.group.run_until(15.0)
    return run


@pytest.mark.parametrize("flaws", [frozenset(), IN_V173])
@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_a_run_can_be_taken_again(seed: int, flaws: frozenset[Flaw]) -> None:
    run = chaotic(seed, flaws=flaws)
    events = list(replayed(run.plan, run.group.steps))
    assert {"Crash", "Restart", "RPCError", "HandleRequestVoteResponse"} <= {event["action"] for event in events}


class ForgetfulOfVotes(MemoryStores):
    """Stores on which no vote is ever durable: the planted mistake."""

    def persist(self, before: Stores, after: Stores) -> None:
        super().persist(before, after.set(last_vote_term=Term(0), last_vote_cand=None))


class ForgetfulOfEntries(MemoryStores):
    """Stores that keep the first three entries alone: another planted mistake."""

    def persist(self, before: Stores, after: Stores) -> None:
        logs = {index: entry for index, entry in after.logs.items() if index <= 3}
        super().persist(before, replace(after, logs=logs))


@pytest.mark.parametrize(("stores", "field"), [(ForgetfulOfVotes, "lastVote"), (ForgetfulOfEntries, "log is")])
def test_what_is_not_durable_is_noticed_when_the_process_comes_up_again(stores: type[Any], field: str) -> None:
    run = RaftGroup(3, stores=stores)
    clients(run.group, leads, command, 0.1)
    leader = run.elect()
    run.group.run_until(run.group.now + 1)
    run.group.kill(leader)
    run.group.start(leader)
    with pytest.raises(ReplayError, match=f"{leader} Start .*{field}"):
        list(replayed(run.plan, run.group.steps))


def changed(steps: list[NodeStep], action: str, **shows: Any) -> list[NodeStep]:
    number = next(number for number, step in enumerate(steps) if step.action == action)
    lie = replace(steps[number], shows={**steps[number].shows, **shows})
    return [*steps[:number], lie, *steps[number + 1 :]]


def test_a_step_that_shows_something_else_or_is_missing_or_unknown_is_refused() -> None:
    run = RaftGroup(2)
    run.elect()
    steps = run.group.steps
    assert list(replayed(run.plan, steps))
    with pytest.raises(ReplayError, match="commitIndex is 7, and"):
        list(replayed(run.plan, changed(steps, "ProcessLogs", commitIndex=7)))
    with pytest.raises(ReplayError, match="no such message is under way"):
        list(replayed(run.plan, [step for step in steps if step.action != "ElectSelf"]))
    with pytest.raises(ReplayError, match="is not enabled"):
        list(replayed(run.plan, [step for step in steps if step.action != "HeartbeatTimeout"]))
    with pytest.raises(ReplayError, match="no such action"):
        list(replayed(run.plan, [replace(steps[0], action="Vanish")]))
    with pytest.raises(ReplayError, match="no such server"):
        list(replayed(run.plan, [replace(steps[0], node="n9")]))


# ---- A process that dies in its writes ----


class ProcessDiedError(Exception):
    """The process was killed while it wrote."""


class DyingStores(MemoryStores):
    """Stores whose process dies once some writes are done."""

    dies_after: int | None = None

    def persist(self, before: Stores, after: Stores) -> None:
        if self.dies_after is not None:
            if self.dies_after == 0:
                raise ProcessDiedError
            self.dies_after -= 1
        super().persist(before, after)


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_process_that_died_in_the_writes_of_a_vote_has_done_some_of_them(writes: int) -> None:
    plan = FaultPlan(flaws=IN_V173)
    steps: list[NodeStep] = []

    def driver(node: str, stores: MemoryStores) -> RaftDriver:
        return RaftDriver(node, plan.node_ids, plan.configuration, stores, Random(1), steps.append, flaws=IN_V173)

    candidate, stores = driver("n1", MemoryStores()), DyingStores()
    driver("n3", MemoryStores()).start(0.0)
    candidate.start(0.0)
    voter = driver("n2", stores)
    voter.start(2.5)
    asked = stand(candidate, voter)
    stores.dies_after = writes
    with pytest.raises(ProcessDiedError):
        voter.on_request(3.0, "vote", asked)
    assert voter.take_outputs() == []
    stores.dies_after = None
    driver("n2", stores).start(6.0)
    last = list(replayed(plan, steps))[-2:]
    action = "RequestVote" if writes else "Crash"
    assert [event["action"] for event in last] == [action, "Restart"]
    assert last[-1]["shows"]["currentTerm"] == (2 if writes else 1)
    assert last[-1]["shows"]["lastVoteTerm"] == (2 if writes == 2 else 0)
    assert last[-1]["shows"]["lastVoteCand"] is None


def stand(candidate: RaftDriver, voter: RaftDriver) -> RequestVoteRequest:
    """Let a candidate win its pre-vote, and return how it asks the voter for its vote."""
    candidate.on_time(3.0)
    for output in candidate.take_outputs():
        if getattr(output, "peer", None) == "n2":
            voter.on_request(3.0, "pre-vote", output.message)
            (reply,) = voter.take_outputs()
            candidate.on_answer(3.0, output.number, reply.message)
            break
    calls = [output for output in candidate.take_outputs() if getattr(output, "peer", None) == "n2"]
    return next(call.message for call in calls if isinstance(call.message, RequestVoteRequest))


def test_a_request_that_was_sent_again_is_distinguished_from_the_one_that_was_given_up() -> None:
    """A paused server handles both when it goes on, and the answers differ: the log had ended elsewhere."""
    run = RaftGroup(4)
    leader = run.elect()
    slow = run.followers[0]
    run.group.pause(slow)
    run.group.ask(leader, command(1), lambda answer: None)
    run.group.run_until(run.group.now + 2.7)
    run.group.resume(slow)
    run.group.run_until(run.group.now + 1)
    handled = [step for step in run.group.steps if (step.node, step.action) == (slow, "AppendEntries")]
    again = [step.args["m"] for step in handled if step.args["m"].get("entries")]
    assert any(again.count(m) == 2 for m in again)
    assert list(replayed(run.plan, run.group.steps))
    assert run.driver(slow).server.last_index >= Index(3)


# ---- Steps that are still coming ----


class ComingSteps:
    """Steps that come one by one; `given` are those that were asked for, the last of them at `now`."""

    def __init__(self, steps: list[NodeStep]) -> None:
        self._steps = iter(steps)
        self.given: list[NodeStep] = []
        self.now = 0.0

    def __iter__(self) -> Iterator[NodeStep]:
        return self

    def __next__(self) -> NodeStep:
        step = next(self._steps)
        self.given.append(step)
        self.now = step.at
        return step


def lag(run: RaftGroup, dead: str) -> float:
    """The longest time, in seconds, that an event of a living server comes after its step."""
    # A process on this machine records nothing of its end.
    coming = ComingSteps([step for step in run.group.steps if step.action != KILLED])
    longest, ends = 0.0, run.group.now
    for event in replayed(run.plan, coming):
        step = next(step for step in coming.given if step.action == event["action"] and step.node == event["node"])
        coming.given.remove(step)
        longest = max(longest, 0.0 if step.node == dead else coming.now - step.at)
    assert coming.now > ends - 1
    return longest


@pytest.mark.parametrize(("killed", "most"), [("leader", 3.0), ("follower", 0.2)])
def test_events_come_while_steps_are_still_coming_also_where_a_process_never_comes_back(
    killed: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader dies before it takes an answer, to one of two equal requests; or the follower after it wrote."""
    monkeypatch.setattr(replayed_run, "MAX_CALL", 2.0)
    run = RaftGroup(1)
    clients(run.group, leads, command, 0.1)
    leader = run.elect()
    follower = run.followers[0]
    run.group.pause(follower)
    run.group.run_until(run.group.now + 1.5)
    run.group.resume(follower)
    assert run.group.steps[-1].node == follower
    dead = leader if killed == "leader" else follower
    run.group.kill(dead)
    run.group.run_until(run.group.now + 8)
    assert lag(run, dead) < most


class Heard:
    """Hears of the steps of a group."""

    def __init__(self) -> None:
        self.moves: list[str] = []

    def before(self, move: tuple[str, str, tuple[Any, ...]]) -> None:
        self.moves.append(f"before {move[1]}")

    def after(self, move: tuple[str, str, tuple[Any, ...]]) -> None:
        self.moves.append(f"after {move[1]}")


def test_a_listener_hears_of_each_event_before_it_and_after_it() -> None:
    run, heard = chaotic(1), Heard()
    events = list(replayed(run.plan, run.group.steps, lambda _: heard))
    assert heard.moves == [f"{when} {event['action']}" for event in events for when in ("before", "after")]
