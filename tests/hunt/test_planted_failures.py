"""Each property that a hunt watches is seen to fail, in a group to which that is done.

Many fail in no trace that is kept, since nothing in the reference breaks them: so a step is made up that does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pytest

from lockstep.hunt.example import ExampleRun, Listener
from lockstep.systems.hunted_group import NODES, Move
from raftref.dledger.messages import NONE, HeartBeat
from raftref.dledger.messages import Entry as DEntry
from raftref.dledger.messages import Index as DIndex
from raftref.dledger.messages import Term as DTerm
from raftref.dledger.state import Role as DRole
from raftref.hashicorp.state import Fsm, Role, Transfer, Verification
from raftref.hashicorp.values import NO_PLACE, Entry, EntryType, Index, Log, Place, Term
from tests.support.systems.hunted_examples import hunted

#: A run that is made up. It yields each step before it changes what the step changes; a property fails at the last one.
Plant: TypeAlias = Callable[[Any], Iterator[Move]]


def step(node: str, action: str = "Planted") -> Move:
    return node, action, ()


def failed(spec: str, plant: Plant) -> list[set[str]]:
    """The properties that the watch of a new group sees fail at each step."""
    system = hunted(spec)
    plan = system.plan(NODES, (), (), random.Random(1))
    group = system.group(plan, Listener(frozenset(), ExampleRun()))
    watch, steps, found = system.watch(group), plant(group), []
    move = next(steps, None)
    while move is not None:
        watch.before(move)
        following = next(steps, None)
        found.append({name for name, _ in watch.after(move)})
        move = following
    return found


# ---- DLedger ----

ONE, OTHER, NEXT = (DEntry(DTerm(1), value) for value in ("v1", "v2", "v3"))


def d_commit(group: Any, *holders: str) -> Iterator[Move]:
    """n1 leads term 1, and commits its first entry, which others may hold."""
    leader = group.servers["n1"]
    leader.member_state.enter_term(DTerm(1))
    leader.member_state.role = DRole.LEADER
    for each in ("n1", *holders):
        group.servers[each].ledger_store.log = (ONE,)
    yield step("n1", "QuorumAckChecker")
    leader.ledger_store.committed_index = DIndex(0)


def d_index_order(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].last_quorum_index = DIndex(0)


def d_election_safety(group: Any) -> Iterator[Move]:
    group.elected[HeartBeat("n2", DTerm(0))] = None
    yield step("n1")
    group.servers["n1"].member_state.role = DRole.LEADER


def d_log_matching(group: Any) -> Iterator[Move]:
    group.servers["n2"].ledger_store.log = (ONE, NEXT)
    yield step("n1")
    group.servers["n1"].ledger_store.log = (OTHER, NEXT)


def d_no_holes(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].ledger_store.log = (None,)


def d_leader_completeness(group: Any) -> Iterator[Move]:
    yield from d_commit(group)
    yield step("n2")
    group.servers["n2"].member_state.enter_term(DTerm(2))
    group.servers["n2"].member_state.role = DRole.LEADER


def d_state_machine_safety(group: Any) -> Iterator[Move]:
    group.servers["n2"].ledger_store.log = (OTHER,)
    yield from d_commit(group)
    yield step("n2")
    group.servers["n2"].ledger_store.committed_index = DIndex(0)


def d_acknowledged_is_durable(group: Any) -> Iterator[Move]:
    group.servers["n1"].ledger_store.log = (ONE,)
    yield step("n1")
    group.acknowledged.add((DIndex(0), ONE))


def d_applied_is_committed(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].last_applied_index = DIndex(0)


def d_committed_entries_stay(group: Any) -> Iterator[Move]:
    yield from d_commit(group, "n2")
    yield step("n2")
    group.servers["n2"].ledger_store.log = ()


def d_committed_monotonic(group: Any) -> Iterator[Move]:
    store = group.servers["n1"].ledger_store
    store.log, store.committed_index = (ONE,), DIndex(0)
    yield step("n1")
    store.committed_index = NONE


def d_watermark_monotonic(group: Any) -> Iterator[Move]:
    group.servers["n1"].peer_water_marks["n2"] = DIndex(0)
    yield step("n1")
    group.servers["n1"].peer_water_marks["n2"] = NONE


def d_leader_append_only(group: Any) -> Iterator[Move]:
    leader = group.servers["n1"]
    leader.member_state.role, leader.ledger_store.log = DRole.LEADER, (ONE,)
    yield step("n1")
    leader.ledger_store.log = (OTHER, NEXT)


def d_vote_once(group: Any) -> Iterator[Move]:
    group.servers["n1"].member_state.curr_vote_for = "n2"
    yield step("n1")
    group.servers["n1"].member_state.curr_vote_for = "n3"


def d_recovery_keeps_log(group: Any) -> Iterator[Move]:
    server = group.servers["n1"]
    server.member_state.role, server.ledger_store.log = DRole.DOWN, (ONE,)
    yield step("n1", "Restart")
    server.member_state.role, server.ledger_store.log = DRole.FOLLOWER, (OTHER,)


# ---- hashicorp/raft ----

FIRST, SECOND, THIRD = (Entry(Term(1), EntryType.COMMAND, value) for value in ("v1", "v2", "v3"))
CHANGE = Entry(Term(1), EntryType.CONFIGURATION)


def store(server: Any, *entries: Entry) -> None:
    """Let a log have these entries behind the first configuration."""
    logs = {Index(1): server.log[1], **{Index(at): entry for at, entry in enumerate(entries, start=2)}}
    server.stores = server.stores.set(logs=logs)
    server.last_log = server.stores.end_of_log()


def commit(group: Any, *holders: str) -> Iterator[Move]:
    """n1 leads term 1, and commits an entry at index 2, which others may hold."""
    group.servers["n1"].role = Role.LEADER
    for each in ("n1", *holders):
        store(group.servers[each], FIRST)
    yield step("n1", "ProcessLogs")
    group.servers["n1"].commit_index = Index(2)


def index_order(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].last_applied = Index(2)


def election_safety(group: Any) -> Iterator[Move]:
    for each in ("n1", "n2"):
        yield step(each)
        group.servers[each].role = Role.LEADER


def log_matching(group: Any) -> Iterator[Move]:
    store(group.servers["n2"], FIRST, THIRD)
    yield step("n1")
    store(group.servers["n1"], SECOND, THIRD)


def leader_completeness(group: Any) -> Iterator[Move]:
    yield from commit(group)
    yield step("n2")
    server = group.servers["n2"]
    server.stores, server.role = server.stores.set(current_term=Term(2)), Role.LEADER


def state_machine_safety(group: Any) -> Iterator[Move]:
    yield from commit(group)
    yield step("n2")
    group.servers["n2"].fsm = Fsm(applied=(Log(Index(2), SECOND),))


def applied_is_committed(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].fsm = Fsm(applied=(Log(Index(2), FIRST),))


def last_log_is_end(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].last_log = Place(Index(2), Term(1))


def log_agrees_with_snapshot(group: Any) -> Iterator[Move]:
    group.servers["n1"].last_applied = Index(1)
    yield step("n1")
    group.servers["n1"].last_snapshot = Place(Index(1), Term(2))


def one_change_at_a_time(group: Any) -> Iterator[Move]:
    group.servers["n1"].role = Role.LEADER
    yield step("n1")
    store(group.servers["n1"], CHANGE)
    yield step("n1")
    store(group.servers["n1"], CHANGE, CHANGE)


def verified_leads(group: Any) -> Iterator[Move]:
    asked, newer = group.servers["n1"], group.servers["n2"]
    asked.role = Role.LEADER
    yield step("n2")
    newer.stores, newer.role = newer.stores.set(current_term=Term(2)), Role.LEADER
    yield step("n1", "VerifyLeader")
    asked.verification = Verification(active=True, quorum_size=1)
    yield step("n1", "HandleVerify")


def transfer_is_own(group: Any) -> Iterator[Move]:
    group.servers["n1"].role = Role.LEADER
    yield step("n1")
    group.servers["n1"].transfer = Transfer(in_progress=True, to="n2", term=Term(2))


def vote_once(group: Any) -> Iterator[Move]:
    server = group.servers["n1"]
    server.stores = server.stores.set(last_vote_term=Term(1), last_vote_cand="n2")
    yield step("n1")
    server.stores = server.stores.set(last_vote_cand="n3")


def terms_rise(group: Any) -> Iterator[Move]:
    yield step("n1")
    group.servers["n1"].stores = group.servers["n1"].stores.set(current_term=Term(0))


def leader_append_only(group: Any) -> Iterator[Move]:
    group.servers["n1"].role = Role.LEADER
    store(group.servers["n1"], FIRST)
    yield step("n1")
    store(group.servers["n1"], SECOND, THIRD)


def committed_entries_stay(group: Any) -> Iterator[Move]:
    yield from commit(group, "n2")
    yield step("n2")
    store(group.servers["n2"])


def fsm_never_goes_back(group: Any) -> Iterator[Move]:
    group.servers["n1"].fsm = Fsm(last=Place(Index(1), Term(1)))
    yield step("n1")
    group.servers["n1"].fsm = Fsm()


def snapshots_rise(group: Any) -> Iterator[Move]:
    server = group.servers["n1"]
    server.last_applied, server.last_snapshot = Index(1), Place(Index(1), Term(1))
    yield step("n1")
    server.last_snapshot = NO_PLACE


def commit_monotonic(group: Any) -> Iterator[Move]:
    group.servers["n1"].commit_index = Index(1)
    yield step("n1")
    group.servers["n1"].commit_index = Index(0)


PLANTED: Mapping[str, Mapping[str, Plant]] = {
    "DLedger": {
        "IndexOrder": d_index_order,
        "ElectionSafety": d_election_safety,
        "LogMatching": d_log_matching,
        "NoHoles": d_no_holes,
        "LeaderCompleteness": d_leader_completeness,
        "StateMachineSafety": d_state_machine_safety,
        "AcknowledgedIsDurable": d_acknowledged_is_durable,
        "AppliedIsCommitted": d_applied_is_committed,
        "CommittedEntriesStayProp": d_committed_entries_stay,
        "CommittedMonotonicProp": d_committed_monotonic,
        "WatermarkMonotonicWithinTermProp": d_watermark_monotonic,
        "LeaderAppendOnlyProp": d_leader_append_only,
        "VoteOncePerTermProp": d_vote_once,
        "RecoveryKeepsLogProp": d_recovery_keeps_log,
    },
    "HashicorpRaft": {
        "IndexOrder": index_order,
        "ElectionSafety": election_safety,
        "LogMatching": log_matching,
        "LeaderCompleteness": leader_completeness,
        "StateMachineSafety": state_machine_safety,
        "AppliedIsCommitted": applied_is_committed,
        "LastLogIsEnd": last_log_is_end,
        "LogAgreesWithSnapshot": log_agrees_with_snapshot,
        "OneChangeAtATime": one_change_at_a_time,
        "VerifiedLeads": verified_leads,
        "TransferIsOwn": transfer_is_own,
        "VoteOncePerTermProp": vote_once,
        "TermsRiseProp": terms_rise,
        "LeaderAppendOnlyProp": leader_append_only,
        "CommittedEntriesStayProp": committed_entries_stay,
        "FsmNeverGoesBackProp": fsm_never_goes_back,
        "SnapshotsRiseProp": snapshots_rise,
        "CommitMonotonicProp": commit_monotonic,
    },
}
#: What cannot fail but with another property.
WITH = {("HashicorpRaft", "StateMachineSafety"): {"AppliedIsCommitted"}}


@pytest.mark.parametrize("spec", PLANTED)
def test_every_property_that_is_watched_has_a_planted_failure(spec: str) -> None:
    assert list(PLANTED[spec]) == list(hunted(spec).properties)


@pytest.mark.parametrize(("spec", "name"), [(spec, name) for spec, plants in PLANTED.items() for name in plants])
def test_a_planted_failure_is_seen_at_its_step_and_nothing_else(spec: str, name: str) -> None:
    *before, last = failed(spec, PLANTED[spec][name])
    assert last == {name} | WITH.get((spec, name), set())
    assert not any(before)
