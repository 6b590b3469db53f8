"""A whole node: all its parts on one state, and the fields that a trace may show of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from raftref.action import Action, actions_of
from raftref.dledger.choices import Feature
from raftref.dledger.commit import QuorumAckChecker, StateMachineCaller
from raftref.dledger.failures import Process
from raftref.dledger.follower import EntryHandler
from raftref.dledger.messages import NO_TERM
from raftref.dledger.pushing import PushingDispatcher
from raftref.dledger.state import DispatcherState
from raftref.records import record

#: The spec's record of an index of a log that cannot be read.
HOLE_RECORD = {"term": NO_TERM, "value": None}


class Server(Process, PushingDispatcher, EntryHandler, QuorumAckChecker, StateMachineCaller):
    """One member of a group. Every action of the protocol is a method of it.

    Source: DLedgerServer.
    """

    def observe(self, *, with_log: bool = True) -> dict[str, Any]:
        """Return the fields that a trace may show of this node: the spec's Observe, as JSON.

        Parts of features that are off are left out: an election without messages, queues where nothing waits.

        Args:
            with_log: Whether to show the log as well, which may be long.
        """
        omitted = set() if with_log else {"log"}
        omitted |= set() if self.vote_messages else {"election"}
        if not self.has(Feature.REQUEST_QUEUES):
            omitted |= {"writeRequestMap", "compareOrTruncateRequests"}
        return {name: show(self) for name, show in SHOWN.items() if name not in omitted}


def _dispatcher(state: DispatcherState) -> dict[str, Any]:
    shown: dict[str, Any] = record(state)
    return {**shown, "awaiting": shown["awaiting"] or "NOTHING"}


#: The fields that a trace may show of a node, by the names of the spec's Observe; `acknowledged` is the group's.
SHOWN: Mapping[str, Callable[[Server], Any]] = {
    "role": lambda node: node.member_state.role.value,
    "currTerm": lambda node: node.member_state.curr_term,
    "currVoteFor": lambda node: node.member_state.curr_vote_for,
    "leaderId": lambda node: node.member_state.leader_id,
    "ledgerBeginIndex": lambda node: node.ledger_store.begin_index,
    "ledgerEndIndex": lambda node: node.ledger_store.end_index,
    "ledgerEndTerm": lambda node: node.ledger_store.end_term,
    "committedIndex": lambda node: node.ledger_store.committed_index,
    "checkPoint": lambda node: node.ledger_store.check_point,
    "lastQuorumIndex": lambda node: node.last_quorum_index,
    "lastAppliedIndex": lambda node: node.last_applied_index,
    "futures": lambda node: node.client_futures.record(),
    "log": lambda node: [HOLE_RECORD if each is None else record(each) for each in node.ledger_store.log],
    "peerWaterMarks": lambda node: dict(node.peer_water_marks),
    "dispatchers": lambda node: {peer: _dispatcher(each) for peer, each in node.dispatchers.items()},
    "writeRequestMap": lambda node: {"#set": record(list(node.write_request_map.values()))},
    "compareOrTruncateRequests": lambda node: record(node.compare_or_truncate_requests),
    "election": lambda node: node.election.record(),
}

#: Every action of a node by its trace name, which is the spec's.
ACTIONS: dict[str, Action] = actions_of(Server)
