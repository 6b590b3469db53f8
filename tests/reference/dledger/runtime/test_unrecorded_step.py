"""A process that dies after it has written a step to its files, and before it has recorded it."""

from __future__ import annotations

from typing import Any

import pytest

from raftref.dledger.choices import Config, Feature, Flaw
from raftref.dledger.client_messages import AppendEntryRequest, BatchAppendEntryRequest
from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, Term, VoteMessage
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.runtime.unrecorded_step import unrecorded_step
from raftref.dledger.server import Server
from raftref.runtime.replay import ReplayError
from raftref.runtime.virtual import KILLED
from tests.support.systems.running_dledger import DLedgerGroup, entry, leads
from tests.support.systems.running_groups import NODES, clients, disturb, leaders


class ProcessDiedError(Exception):
    """The process is no more."""


class DyingDriver(DLedgerDriver):
    """A driver whose process dies before it records a step, if the step is of the action to die in.

    A vote that is refused writes nothing, and lets it live.
    """

    dies_in: str | None = None
    died_at: str | None = None

    def record_step(self, action: str, args: Any, shows: Any) -> None:
        refuses = action == "HandleVote" and shows["currVoteFor"] != args["m"].src
        if action == DyingDriver.dies_in and not refuses:
            DyingDriver.dies_in, DyingDriver.died_at = None, self.node_id
            raise ProcessDiedError
        super().record_step(action, args, shows)


def run_in_which_a_process_dies(action: str, after: float = 12.0, **given: Any) -> DLedgerGroup:
    """A run with faults in which a process dies within the first action after a while."""
    DyingDriver.dies_in = None
    run = DLedgerGroup(5, driver=DyingDriver, **given)
    clients(run.group, leads, entry, 0.3)
    disturb(run.group, 5, 4.0, ("kill", "partition"), 60.0)
    run.group.run_until(after)
    DyingDriver.dies_in, DyingDriver.died_at = action, None
    with pytest.raises(ProcessDiedError):
        while run.group.now < 60.0:
            for leader in leaders(run.group, leads):
                if Feature.BATCHES in given.get("features", ()):
                    run.group.ask(leader, BatchAppendEntryRequest(leader, ("a", "b")), lambda answer: None)
            run.group.run_until(run.group.now + 0.5)
    assert DyingDriver.died_at is not None
    run.group.kill(DyingDriver.died_at)
    run.group.start(DyingDriver.died_at)
    run.group.run_until(run.group.now + 10)
    return run


@pytest.mark.parametrize(
    ("action", "after"),
    [
        ("IncreaseTerm", 0.0),
        ("HandleOwnVote", 0.0),
        ("HandleVote", 0.0),
        ("AppendAsLeader", 12.0),
        ("HandleDoAppend", 12.0),
        ("HandleDoTruncate", 0.0),
        ("PersistCheckPoint", 12.0),
    ],
)
def test_a_step_that_was_written_and_not_recorded_is_found_in_what_the_process_comes_up_with(
    action: str, after: float
) -> None:
    run = run_in_which_a_process_dies(action, after)
    recorded = sum(step.action == action for step in run.group.steps)
    taken = sum(event["action"] == action for event in replayed(run.plan, run.group.steps))
    assert taken == recorded + 1


@pytest.mark.parametrize("action", ["AppendInBatch", "HandleDoBatchAppend"])
def test_so_is_one_of_a_batch(action: str) -> None:
    run = run_in_which_a_process_dies(action, features={Feature.BATCHES})
    assert list(replayed(run.plan, run.group.steps))


@pytest.mark.parametrize("lost", [1, 2])
def test_one_step_without_a_record_is_found_and_two_are_refused(lost: int) -> None:
    """A leader that is cut off appends two entries, and dies; of the second, or of both, there is no record."""
    run = DLedgerGroup(1)
    leader = run.elect()
    run.group.partition([leader])
    for count in (1, 2):
        run.group.ask(leader, AppendEntryRequest(leader, f"v{count}"), lambda answer: None)
    run.group.run_until(run.group.now + 0.05)
    run.group.kill(leader)
    run.group.start(leader)
    run.group.run_until(run.group.now + 0.05)
    steps = run.group.steps
    begin = [at for at, step in enumerate(steps) if step.action == "AppendAsLeader"][-lost]
    end = max(at for at, step in enumerate(steps) if step.action == KILLED)
    kept = [step for at, step in enumerate(steps) if step.node != leader or not begin <= at < end]
    if lost == 1:
        assert sum(event["action"] == "AppendAsLeader" for event in replayed(run.plan, kept)) == 2
    else:
        with pytest.raises(ReplayError, match=r" Start at "):
            list(replayed(run.plan, kept))


def test_of_two_requests_for_votes_the_one_that_the_log_allows_explains_a_vote() -> None:
    """A candidate led its term, and asks again in it: of its two requests the first one's log is too short."""
    voter = Server("n3", NODES, Config(features=frozenset({Feature.VOTE_MESSAGES})))
    voter.ledger_store.append(Entry(Term(1), "a"))
    voter.member_state.enter_term(Term(2))
    first = VoteMessage("n2", "n3", Term(2), NO_TERM, NONE)
    again = VoteMessage("n2", "n3", Term(2), Term(2), Index(0))
    shows = {**voter.observe(), "currVoteFor": "n2"}
    assert unrecorded_step(voter, [first, again], shows) == ("HandleVote", (again,))
    assert unrecorded_step(voter, [first], shows) is None


# ---- A file that is gone ----


def actions_after_a_death(run: DLedgerGroup, writes: int) -> list[str]:
    """The actions of n1, which dies after some changes of its disk, and comes back."""
    run.group.kill_within("n1", writes, lambda: None)
    run.group.run_until(run.group.now + 8.0)
    run.group.kill("n1")
    run.group.start("n1")
    run.group.run_until(run.group.now + 1.0)
    return [event["action"] for event in replayed(run.plan, run.group.steps) if event["node"] == "n1"]


def test_a_process_that_died_while_it_replaced_its_term_comes_back_without_one() -> None:
    """VoteFile; repaired there is always a whole file."""
    published = [actions_after_a_death(DLedgerGroup(1, flaws={Flaw.VOTE_FILE}), writes) for writes in range(8)]
    assert sum("CrashInPersistTerm" in each for each in published) == 1
    repaired = [actions_after_a_death(DLedgerGroup(1), writes) for writes in range(8)]
    assert not any("CrashInPersistTerm" in each for each in repaired)


def test_a_process_that_died_while_it_replaced_its_checkpoint_comes_back_without_one() -> None:
    def dies_after(writes: int) -> list[str]:
        run = DLedgerGroup(1, flaws={Flaw.VOTE_FILE})
        leader = run.elect()
        run.group.ask(leader, AppendEntryRequest(leader, "a"), lambda answer: None)
        run.group.run_until(run.group.now + 5.0)  # now there is a checkpoint, and the next one is due
        run.group.ask(leader, AppendEntryRequest(leader, "b"), lambda answer: None)
        return actions_after_a_death(run, writes)

    assert sum("CrashInPersistCheckPoint" in dies_after(writes) for writes in range(4, 14)) == 1
