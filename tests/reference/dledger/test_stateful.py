"""Hypothesis drives the reference and steps the compiled spec beside it, drawing from what is enabled.

Each rule is a part of the protocol. It draws one of the actions of that part that the reference may take now,
takes it, and lets the spec take the same one. After every step the spec must allow it, show the same state, and
keep every invariant; and the two must agree on what is enabled at all.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lockstep.conformance.comparison import compare
from lockstep.conformance.json_values import to_value
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import FORMAT, Header
from raftref.dledger.choices import FINE, REPAIRED, VOTES, Config, Feature, Flaw
from raftref.dledger.messages import (
    BatchRequest,
    CommitRequest,
    ElectionRequest,
    ElectionResponse,
    Entry,
    NodeId,
    Request,
    Response,
    Term,
)
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation import Cluster, FaultPlan
from raftref.dledger.simulation.cluster import PUSH_HANDLERS
from raftref.dledger.simulation.scenarios import Script, figure8_to_the_third_term
from raftref.records import record
from tests.support.systems.dledger import WORDS
from tests.support.systems.machines import search

# Loading a spec raises the limit to this; Hypothesis complains if that happens within a run.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

Move = tuple[str, str, tuple[Any, ...]]

FIGURE_8 = Config(flaws=frozenset({Flaw.PRIOR_TERM_COMMIT}))
TERMS, ENTRIES, MESSAGES = 5, 4, 3

ELECTION = ("ChangeToCandidate", "NextTerm", "SetCurrVoteFor", "ChangeToLeader", "ChangeToFollower")
LEADER = (
    "DoCompare",
    "DoTruncate",
    "DoAppend",
    "DoBatchAppend",
    "DoCheckAppendResponse",
    "DoCheckBatchAppendResponse",
    "DoCommit",
)
LEAKS = ("CheckLeak",)
QUORUM = ("QuorumAckChecker", "ActOnQuorumIndex", "RefreshOwnWaterMark", "CheckResponseFuturesTimeout", "DoCommitted")
DELIVERY = ("HandleCompareResponse", "HandleTruncateResponse", "HandleAppendResponse", "HandlePush", *PUSH_HANDLERS)
FAULTS = (
    "PushTimeOut",
    "PersistCheckPoint",
    "FlushDataService",
    "Crash",
    "Shutdown",
    "LosePower",
    "CrashInPersistTerm",
    "CrashInPersistCheckPoint",
    "Restart",
    "Lose",
    "Duplicate",
)
CLIENT = ("AppendAsLeader", "AppendInBatch", "RefuseAppend")
ROUND = (
    "IncreaseTerm",
    "VoteForQuorumResponses",
    "HandleOwnVote",
    "ParseVoteResponses",
    "SendHeartbeats",
    "ParseHeartBeatResponses",
    "HeartBeatTimeOut",
)
HEARING = ("HandleVote", "HandleVoteResponse", "HandleHeartBeat", "HandleHeartBeatResponse")
TRANSFER = (
    "HandleLeadershipTransfer",
    "WaitToTakeLeadership",
    "HandleTakeLeadership",
    "TakeLeadershipTimeOut",
    "HandleTransferResponse",
    "TransferTimeOut",
)
ALL = (*CLIENT, *ROUND, *HEARING, *TRANSFER, *ELECTION, *LEADER, *LEAKS, *QUORUM, *DELIVERY, *FAULTS)


def spec_for(plan: FaultPlan) -> Spec:
    header = Header(
        format=FORMAT, system="raftref", version="test", spec="DLedger", nodes=plan.node_ids, constants=plan.constants()
    )
    return trace_spec(header, "test")


class Moves:
    """The actions that each node may take now, within the bounds of the search; found once between two steps."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._known: dict[str, list[Move]] = {}

    def after_a_step(self) -> None:
        """Forget what was found: the cluster has changed."""
        self._known.clear()

    def among(self, actions: tuple[str, ...]) -> list[Move]:
        return [move for action in actions for move in self._moves(action)]

    def _moves(self, action: str) -> list[Move]:
        if action not in self._known:
            self._known[action] = [
                (node, action, args)
                for node in self.cluster.node_ids
                for args in self._arguments(node, action)
                if self._allowed(node, action, args)
            ]
        return self._known[action]

    def _allowed(self, node: str, action: str, args: tuple[Any, ...]) -> bool:
        if action in ("Lose", "Duplicate"):
            return action == "Lose" or self._under_way() < MESSAGES
        if action in LEADER and self._under_way() >= MESSAGES:
            return False
        return self.cluster.enabled(node, action, *args)

    def _under_way(self) -> int:
        waiting = sum(
            len(each.write_request_map) + len(each.compare_or_truncate_requests)
            for each in self.cluster.servers.values()
        )
        return waiting + sum(len(channel) for channel in self.cluster.network.channels.values())

    def _arguments(self, node: str, action: str) -> list[tuple[Any, ...]]:
        """The candidates for an action's parameters; what is not enabled is dropped later."""
        server = self.cluster.servers[node]
        names = ("m",) if action in ("Lose", "Duplicate") else ACTIONS[action].parameters
        others = [each for each in self.cluster.node_ids if each != node]
        arriving = [m for peer in others for m in self.cluster.network.channels[peer, node].deliverable()]
        if action in PUSH_HANDLERS and self.cluster.plan.has(Feature.REQUEST_QUEUES):
            arriving = list(server.requests())
        elif action in DELIVERY:  # The reference takes requests and responses by type, the spec by their kind.
            pushed = (Request, BatchRequest, CommitRequest)
            wanted: tuple[type, ...] = (Response,) if action.endswith("Response") else pushed
            arriving = [m for m in arriving if isinstance(m, wanted)]
        elif action in (*HEARING, *TRANSFER):
            wanted = (ElectionResponse,) if action.endswith("Response") else (ElectionRequest,)
            arriving = [m for m in arriving if isinstance(m, wanted)]
        else:
            arriving = [m for m in arriving if self.cluster.network.may_be_disturbed(m)]
        choices: dict[str, list[Any]] = {
            "peer": others,
            "leader": others,
            "transferee": others,
            "call": sorted(server.election.transfers, key=lambda call: (call.term, call.transferee)),
            "expired": [False, True],
            "candidate": list(self.cluster.node_ids),
            "m": arriving,
            "value": ["v"] if len(server.ledger_store.log) < ENTRIES else [],
            "term": [term for term in range(TERMS + 1) if term > server.member_state.curr_term],
            "resurrected": list(range(3)),
            "kept": list(range(4)),
            "count": list(range(ENTRIES + 1)),
            "code": ["NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL", "REQUEST_WITH_EMPTY_BODYS"],
        }
        return list(itertools.product(*(choices[name] for name in names)))


class InStep(RuleBasedStateMachine):
    """The reference and the spec, taking the same steps."""

    config: ClassVar[Config] = REPAIRED
    prepared: ClassVar[Callable[[Script], None] | None] = None

    @initialize()
    def start(self) -> None:
        play = Script(self.config)
        self.cluster = play.cluster
        self.spec = spec_for(self.cluster.plan)
        (self.state,) = self.spec.initial_states()
        self.moves = Moves(self.cluster)
        prepare = type(self).prepared
        if prepare is not None:
            prepare(play)
        for event in play.events:
            self.follow(event)

    def follow(self, event: dict[str, Any]) -> None:
        """Let the spec take the step the reference took, and compare."""
        self.moves.after_a_step()
        args = {name: to_value(value, WORDS) for name, value in event["args"].items()}
        after = self.spec.step(self.state, event["action"], {"n": event["node"], **args})
        assert after is not None, self.spec.explain(self.state, event["action"], {"n": event["node"], **args})
        shown = list(compare(event["shows"], self.spec.evaluate("Observe", after, event["node"]), WORDS))
        differing = [str(each) for each in shown if not each.equal]
        assert shown, f"{event['action']} shows nothing"
        assert not differing, f"{event['action']}: {differing}"
        for message in event["sent"]:
            assert to_value(message, WORDS) in self.spec.evaluate("Outbox", after, message["src"]), message
        for name, keeps in self.spec.action_properties.items():
            assert keeps(self.state, after), f"{name} is violated by {event['action']} of {event['node']}"
        self.state = after

    def play(self, actions: tuple[str, ...], data: st.DataObject) -> None:
        node, action, args = data.draw(st.sampled_from(self.moves.among(actions)))
        self.follow(self.cluster.take(node, action, *args))

    def can(self, *actions: str) -> bool:
        return hasattr(self, "moves") and bool(self.moves.among(actions))

    @precondition(lambda self: self.can(*ELECTION))
    @rule(data=st.data())
    def elect(self, data: st.DataObject) -> None:
        self.play(ELECTION, data)

    @precondition(lambda self: self.can("SetCurrVoteFor", "ChangeToLeader", "ChangeToFollower"))
    @rule(data=st.data())
    def vote(self, data: st.DataObject) -> None:
        self.play(("SetCurrVoteFor", "ChangeToLeader", "ChangeToFollower"), data)

    @precondition(lambda self: self.config.has(Feature.VOTE_MESSAGES) and self.can(*ROUND))
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        self.play(ROUND, data)

    @precondition(lambda self: self.config.has(Feature.VOTE_MESSAGES) and self.can(*HEARING))
    @rule(data=st.data())
    def hear(self, data: st.DataObject) -> None:
        self.play(HEARING, data)

    @precondition(lambda self: self.config.has(Feature.VOTE_MESSAGES) and self.can(*TRANSFER))
    @rule(data=st.data())
    def transfer(self, data: st.DataObject) -> None:
        self.play(TRANSFER, data)

    @precondition(lambda self: self.can(*CLIENT))
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        self.play(CLIENT, data)

    @precondition(lambda self: self.can(*LEADER, *LEAKS))
    @rule(data=st.data())
    def push(self, data: st.DataObject) -> None:
        self.play((*LEADER, *LEAKS), data)

    @precondition(lambda self: self.can(*DELIVERY))
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        self.play(DELIVERY, data)

    @precondition(lambda self: self.can(*QUORUM))
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        self.play(QUORUM, data)

    @precondition(lambda self: self.can(*FAULTS))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        self.play(FAULTS, data)

    def holds(self, name: str) -> None:
        if hasattr(self, "state"):
            assert self.spec.invariants[name](self.state), f"{name} is violated"

    @invariant()
    def every_variable_has_its_type(self) -> None:
        self.holds("TypeOK")

    @invariant()
    def last_quorum_index_up_to_committed_index_up_to_ledger_end_index(self) -> None:
        self.holds("IndexOrder")

    @invariant()
    def at_most_one_leader_in_a_term(self) -> None:
        self.holds("ElectionSafety")

    @invariant()
    def logs_with_an_equal_entry_are_equal_before_it(self) -> None:
        self.holds("LogMatching")

    @invariant()
    def an_acknowledged_entry_is_stored_by_a_quorum(self) -> None:
        self.holds("AcknowledgedIsDurable")

    @invariant()
    def what_is_applied_is_committed(self) -> None:
        self.holds("AppliedIsCommitted")

    @invariant()
    def a_leader_holds_every_committed_entry(self) -> None:
        self.holds("LeaderCompleteness")

    @invariant()
    def no_two_nodes_commit_different_entries_at_one_index(self) -> None:
        self.holds("StateMachineSafety")

    @invariant()
    def reference_and_spec_acknowledge_the_same(self) -> None:
        if hasattr(self, "state"):
            in_spec = {(each.d["index"], each.d["entry"]) for each in self.state["acknowledged"]}
            assert in_spec == {(index, to_value(record(entry), WORDS)) for index, entry in self.cluster.acknowledged}

    @invariant()
    def reference_and_spec_enable_the_same_steps(self) -> None:
        if not hasattr(self, "moves"):
            return
        for action in ALL:
            for node in self.cluster.node_ids:
                for args in self.moves._arguments(node, action):
                    self.same_enabledness(node, action, args)

    def same_enabledness(self, node: str, action: str, args: tuple[Any, ...]) -> None:
        names = self.spec.actions[action].params[1:]
        values = {name: to_value(record(value), WORDS) for name, value in zip(names, args, strict=True)}
        allowed = self.spec.step(self.state, action, {"n": node, **values}) is not None
        enabled = True if action in ("Lose", "Duplicate") else self.cluster.enabled(node, action, *args)
        assert allowed == enabled, f"{action}{args} of {node}: the spec says {allowed}, the reference {enabled}"


@pytest.mark.parametrize("examples", [4, pytest.param(400, marks=pytest.mark.nightly)])
def test_the_repaired_reference_stays_in_step_with_the_repaired_spec(examples: int) -> None:
    search(InStep, examples=examples, steps=40)


def push(play: Script, leader: NodeId, action: str, peer: NodeId) -> None:
    """Let a dispatcher push, the peer queue the request and then handle it, and the answer arrive."""
    play.take(leader, action, peer)
    play.deliver(leader, peer)
    (m,) = play.cluster.servers[peer].requests()
    play.take(peer, f"Handle{action}", m)
    play.deliver(peer, leader)


def a_client_is_answered(play: Script) -> None:
    """A leader's entry reaches one follower and is committed; a second entry is under way."""
    a, b, _ = play.cluster.node_ids
    play.elect(a, 1, [b])
    play.take(a, "AppendAsLeader", "a")
    push(play, a, "DoCompare", b)
    push(play, a, "DoTruncate", b)
    for action in ("RefreshOwnWaterMark", "QuorumAckChecker", "ActOnQuorumIndex"):
        play.take(a, action)
    if play.cluster.plan.has(Feature.APPLIES):
        play.take(a, "DoCommitted")
    assert play.cluster.acknowledged == {(0, Entry(Term(1), "a"))}
    play.take(a, "AppendAsLeader", "b")
    if play.cluster.plan.has(Feature.BATCHES):
        play.take(a, "AppendInBatch", "c")
        play.take(a, "DoBatchAppend", b, 2)
    else:
        play.take(a, "DoAppend", b)


class InFineStep(InStep):
    """The same with queues, clients, and passes in two parts."""

    config = replace(REPAIRED, features=FINE)
    prepared = staticmethod(a_client_is_answered)


class InBatches(InFineStep):
    """The same with batches of clients, and of entries that are pushed."""

    config = replace(REPAIRED, features=FINE | {Feature.BATCHES})


class InLaterVersion(InFineStep):
    """The same where a node that does not follow refuses pushes."""

    config = replace(REPAIRED, features=FINE | {Feature.NOT_FOLLOWER})


class InAppliedStep(InFineStep):
    """The same with a state machine."""

    config = replace(REPAIRED, features=FINE | {Feature.APPLIES})


class ByMessages(InStep):
    """The same with votes as messages."""

    config = replace(REPAIRED, features=VOTES)


class Whole(InStep):
    """The same with everything."""

    config = replace(REPAIRED, features=FINE | VOTES)


#: The largest machine with few examples, and at night all of them with more.
MACHINES = [
    (Whole, 3),
    *(
        pytest.param(each, 100, marks=pytest.mark.nightly)
        for each in (InBatches, InAppliedStep, Whole, InFineStep, InLaterVersion, ByMessages)
    ),
]


@pytest.mark.parametrize(("machine", "examples"), MACHINES)
def test_the_repaired_reference_stays_in_step_with_the_spec_with_more_features(
    machine: type[InStep], examples: int
) -> None:
    search(machine, examples=examples, steps=40)


def before_the_fourth_term(play: Script) -> None:
    """Figure 8 up to the point where B and C stand in term 4, and no one has voted yet."""
    a, b, c = play.cluster.node_ids
    figure8_to_the_third_term(play)
    play.take(a, "Crash")
    play.restart(b)
    play.stand(b, 4)
    play.stand(c, 4)


class BeforeFourthTerm(InStep):
    prepared = staticmethod(before_the_fourth_term)


class BeforeFourthTermAsPublished(BeforeFourthTerm):
    config = FIGURE_8


def test_with_the_published_commit_rule_the_search_finds_figure_8() -> None:
    with pytest.raises(AssertionError, match="LeaderCompleteness is violated"):
        search(BeforeFourthTermAsPublished, examples=300, steps=12)


def test_with_the_repaired_commit_rule_the_same_search_finds_nothing() -> None:
    search(BeforeFourthTerm, examples=15, steps=12)
