"""The whole protocol by the names of its actions, and the fields that a trace may show of a server."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from raftref.action import Action, actions_of
from raftref.hashicorp import (
    elections,
    failures,
    follower,
    leader,
    leadership,
    logs,
    membership,
    pipeline,
    replication,
    snapshots,
    votes,
    zombies,
)
from raftref.hashicorp.choices import Feature
from raftref.hashicorp.server import Server
from raftref.hashicorp.values import NO_INDEX
from raftref.records import record

#: Every action of a server by the spec's name.
ACTIONS: dict[str, Action] = actions_of(
    elections,
    votes,
    logs,
    leader,
    replication,
    pipeline,
    zombies,
    follower,
    snapshots,
    membership,
    leadership,
    failures,
)


def _campaign(server: Server) -> dict[str, Any]:
    campaign = server.campaign
    return {"phase": campaign.phase.value, "granted": record(campaign.granted), "transfer": campaign.transfer}


def _leader_state(server: Server) -> dict[str, Any]:
    commitment = server.commitment
    return {
        "startIndex": commitment.start_index,
        "commitIndex": commitment.commit_index,
        "matchIndexes": {peer: commitment.match_indexes.get(peer, NO_INDEX) for peer in server.nodes},
        "stepDown": server.must_step_down,
    }


def _replication(server: Server) -> dict[str, Any]:
    routines = {peer: record(server.replication(peer)) for peer in server.nodes}
    return {peer: {**each, "awaiting": each["awaiting"] or "NOTHING"} for peer, each in routines.items()}


#: The fields that a trace may show of a server, as JSON, by the names of the spec's Observe.
SHOWN: Mapping[str, Callable[[Server], Any]] = {
    "role": lambda server: server.role.value,
    "loop": lambda server: server.loop.value,
    "currentTerm": lambda server: server.current_term,
    "lastVoteTerm": lambda server: server.stores.last_vote_term,
    "lastVoteCand": lambda server: server.stores.last_vote_cand,
    "leader": lambda server: server.leader,
    "log": lambda server: {"#map": [[index, record(entry)] for index, entry in sorted(server.log.items())]},
    "lastLog": lambda server: record(server.last_log),
    "lastSnapshot": lambda server: record(server.last_snapshot),
    "lastIndex": lambda server: server.last_index,
    "commitIndex": lambda server: server.commit_index,
    "storedCommit": lambda server: server.stores.commit_index,
    "lastApplied": lambda server: server.last_applied,
    "fsm": lambda server: {**record(server.fsm.last), "applied": record(server.fsm.applied)},
    "fsmQueue": lambda server: record(server.fsm.queue),
    "snapshots": lambda server: [record(each.place) for each in server.stores.snapshots],
    "configurations": lambda server: record(server.configurations),
    "campaign": _campaign,
    "leaderState": _leader_state,
    "replication": _replication,
    "snapshotting": lambda server: server.snapshotting.phase.value,
    "transfer": lambda server: record(server.transfer),
    "verify": lambda server: {"active": server.verification.active, "acks": record(server.verification.acks)},
}


def observe(server: Server, omitted: Container[str] = ()) -> dict[str, Any]:
    """Return what a trace may show of a server: the spec's Observe, as JSON, but for what is omitted.

    The commit index that a log store keeps is shown only if it keeps one.
    """
    hidden = () if server.has(Feature.RESTORE_COMMITTED_LOGS) else ("storedCommit",)
    return {name: show(server) for name, show in SHOWN.items() if name not in omitted and name not in hidden}
