"""The step that a process had written to its disk, and not yet recorded, when it died.

A node records a step once its files have it. A process that dies in between comes up with more than it has recorded,
by one step. Its files show which it was; where a file is gone, it died while it replaced that (VoteFile).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from raftref.dledger.choices import Feature
from raftref.dledger.messages import CommitRequest, Message, PushType, VoteMessage
from raftref.dledger.server import ACTIONS, Server
from raftref.records import record

#: An action by the spec's name, and its arguments.
NodeMove: TypeAlias = tuple[str, tuple[Any, ...]]


def unrecorded_step(server: Server, messages: Iterable[Message], shows: Mapping[str, Any]) -> NodeMove | None:
    """Return the step that explains what a process came up with, None where none is needed or none is known.

    Args:
        server: The node after the last step that it has recorded.
        messages: The messages that are under way in its group.
        shows: The fields that the node showed when it came up.
    """
    state, store = server.member_state, server.ledger_store
    messages = list(messages)
    if (shows["currTerm"], shows["currVoteFor"]) == (0, None) != (state.curr_term, state.curr_vote_for):
        asked = [m for m in messages if isinstance(m, VoteMessage) and m.dst == server.node_id]
        return ("CrashInPersistTerm", ()) if server.can_crash_in_persist_term(requests=asked) else None
    if (shows["currTerm"], shows["currVoteFor"]) != (state.curr_term, state.curr_vote_for):
        possible = _steps_of_term(server, messages, shows)
    elif shows["checkPoint"] != store.check_point:
        is_new = shows["checkPoint"] == store.committed_index
        possible = [("PersistCheckPoint", ())] if is_new else [("CrashInPersistCheckPoint", ())]
    else:
        possible = _steps_of_log(server, shows["log"])
    return next((each for each in possible if ACTIONS[each[0]].enabled(server, *each[1])), None)


def _steps_of_term(server: Server, messages: Iterable[Message], shows: Mapping[str, Any]) -> list[NodeMove]:
    """Return the steps that may have written this term and vote."""
    term, vote = shows["currTerm"], shows["currVoteFor"]
    if vote is None:
        return [("IncreaseTerm", ()), ("VoteForQuorumResponses", ())] if term > server.member_state.curr_term else []
    if vote == server.node_id:
        return [("HandleOwnVote", ())]
    asked = [m for m in messages if isinstance(m, VoteMessage) and m.dst == server.node_id]
    return [("HandleVote", (m,)) for m in asked if (m.src, m.term) == (vote, term) and server.would_accept(m)]


def _steps_of_log(server: Server, log: Sequence[Any]) -> list[NodeMove]:
    """Return the steps that may have written this log."""
    store = server.ledger_store
    before, tail = ([None if each is None else record(each) for each in part] for part in (store.log, store.tail))
    added = list(log[len(before) :])
    appends = list(log[: len(before)]) == before
    if appends and added == tail[: len(added)]:  # nothing was added, or what was cut has come back by itself
        return []
    return (_appends(server, len(before), added) if appends else []) + [
        ("HandleDoTruncate", (m,))
        for m in server.requests()
        if not isinstance(m, CommitRequest)
        and m.type is PushType.TRUNCATE
        and m.index == len(log) - 1
        and [*before[: m.index], record(m.entries[0])] == list(log)
    ]


def _appends(server: Server, index: int, added: Sequence[Any]) -> list[NodeMove]:
    """Return the steps that may have stored these entries from an index on."""
    action = "HandleDoBatchAppend" if server.has(Feature.BATCHES) else "HandleDoAppend"
    pushed: list[NodeMove] = [
        (action, (m,))
        for m in server.requests()
        if not isinstance(m, CommitRequest)
        and (m.type, m.index) == (PushType.APPEND, index)
        and list(map(record, m.entries)) == added
    ]
    if len(added) > 1:
        return pushed
    value = added[0]["value"]
    return [*pushed, ("AppendAsLeader", (value,)), ("AppendInBatch", (value,))]
