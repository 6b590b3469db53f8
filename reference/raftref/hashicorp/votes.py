"""Votes: the answers to a candidate, and their count."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.elections import win, win_pre_vote
from raftref.hashicorp.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    RequestPreVoteRequest,
    RequestPreVoteResponse,
    RequestVoteRequest,
    RequestVoteResponse,
)
from raftref.hashicorp.server import Server, takes_event
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import Outcome, StoreError, step
from raftref.hashicorp.values import NodeId, Term

# ---- The voter -------------------------------------------------------------------------------------------


@step(when=takes_event)
def request_vote(server: Server, m: RequestVoteRequest, outcome: Outcome) -> None:
    """Answer a candidate that asks for a vote. A vote is on disk before it is given.

    Args:
        server: The voter.
        m: The request.
        outcome: Of the writes: CurrentTerm if the request's is higher, then the vote.

    Source: requestVote.
    """
    granted = _votes(server, m)
    server.respond(m, RequestVoteResponse(server.node_id, m.src, server.current_term, granted))


def can_request_vote_around_heartbeat(server: Server, request: RequestVoteRequest, heartbeat: HeartbeatRequest) -> bool:
    """The main loop takes a request of a newer term that it does not turn away, and the heartbeat is of the old one."""
    return (
        server.has(Flaw.HEARTBEAT_RACE)
        and server.selects
        and not _turns_away(server, request)
        and request.term > server.current_term
        and heartbeat.term == server.current_term
    )


@step(when=can_request_vote_around_heartbeat)
def request_vote_around_heartbeat(server: Server, request: RequestVoteRequest, heartbeat: HeartbeatRequest) -> None:
    """Answer a candidate, and enter its term with the leader of the old one (HeartbeatRace).

    A heartbeat of that leader is handled beside the main loop when this has forgotten the leader, and has not stored
    the term yet. Until its heartbeat timeout the server turns other candidates away.

    Args:
        server: The voter.
        request: The candidate's.
        heartbeat: That of the leader of the old term.

    Source: requestVote, between setState and setCurrentTerm; processHeartbeat.
    """
    server.respond(heartbeat, HeartbeatResponse(server.node_id, heartbeat.src, server.current_term, success=True))
    granted = _votes(server, request, leader=heartbeat.src)
    server.respond(request, RequestVoteResponse(server.node_id, request.src, server.current_term, granted))


def _turns_away(server: Server, m: RequestVoteRequest) -> bool:
    """Return whether a candidate is refused by the first three tests, which leave the term alone."""
    if _is_stranger(server, m.src):
        return True
    knows_other = server.leader is not None and (server.leader != m.src or server.has(Flaw.KNOWN_LEADER_REJECTED))
    return (knows_other and not m.leadership_transfer) or m.term < server.current_term


def _votes(server: Server, m: RequestVoteRequest, leader: NodeId | None = None) -> bool:
    """Decide, by the library's tests in the library's order; `leader` is who is known in a term that is entered."""
    if _turns_away(server, m):
        return False
    if m.term > server.current_term:
        _follow_in(server, m.term)
        server.leader = leader
    if _has_no_vote(server, m.src):
        return False
    if server.stores.last_vote_term == m.term and server.stores.last_vote_cand is not None:
        return server.stores.last_vote_cand == m.src
    if _has_better_log(server, m):
        return False
    try:
        server.persist_vote(m.term, m.src)
    except StoreError:
        return False
    return True


@step(when=takes_event)
def request_pre_vote(server: Server, m: RequestPreVoteRequest) -> None:
    """Answer a candidate whether it would get a vote. Nothing changes, and no vote that was given counts.

    The answer has the proposed term where that is higher and one of the first tests did not refuse.

    Source: requestPreVote.
    """
    knows_other = server.leader is not None and server.leader != m.src
    if _is_stranger(server, m.src) or knows_other or m.term < server.current_term:
        term, granted = server.current_term, False
    else:
        term = m.term
        granted = not _has_no_vote(server, m.src) and not _has_better_log(server, m)
    server.respond(m, RequestPreVoteResponse(server.node_id, m.src, term, granted))


def _knows_members(server: Server) -> bool:
    """Return whether a voter asks its configuration about a candidate (UnknownCandidateRejected)."""
    return server.has(Flaw.UNKNOWN_CANDIDATE_REJECTED) and bool(server.configurations.latest.servers)


def _is_stranger(server: Server, candidate: NodeId) -> bool:
    """Return whether a candidate is not in the configuration; a server that has none turns nobody away."""
    return _knows_members(server) and candidate not in server.configurations.latest.servers


def _has_no_vote(server: Server, candidate: NodeId) -> bool:
    """Return whether a candidate has no vote itself."""
    return _knows_members(server) and not server.configurations.latest.has_vote(candidate)


def _has_better_log(server: Server, m: RequestVoteRequest | RequestPreVoteRequest) -> bool:
    """Return whether the log ends in a later term than the candidate's, or in the same one at a higher index."""
    last = server.last_entry
    same = last.term == m.last_log_term or server.has(Flaw.LONGER_LOG_OLDER_TERM)
    return last.term > m.last_log_term or (same and last.index > m.last_log_index)


# ---- The candidate ---------------------------------------------------------------------------------------


def can_handle_request_vote_response(server: Server, _m: RequestVoteResponse, _outcome: Outcome) -> bool:
    """The main loop takes an event, also as the candidate that the server was before a heartbeat (HeartbeatRace)."""
    return server.selects or server.is_overtaken


@step(when=can_handle_request_vote_response)
def handle_request_vote_response(server: Server, m: RequestVoteResponse, outcome: Outcome) -> None:
    """Count a vote, and lead with a majority; follow in a higher term.

    A candidate that a heartbeat beside the main loop has brought to a later term takes the vote for its own all the
    same, and may win that term by it (HeartbeatRace).

    Args:
        server: The candidate.
        m: The answer.
        outcome: Of the write of CurrentTerm, if the answer's is higher.

    Source: runCandidate, voteCh.
    """
    server.take_answer(m)
    if m.term > server.current_term:
        _follow_in(server, m.term)
    elif _is_won_with(server, m):
        win(server)
    elif server.is_overtaken:
        server.leave_loop()


def can_handle_request_pre_vote_response(server: Server, m: RequestPreVoteResponse, _outcome: Outcome) -> bool:
    """The main loop takes an event; as the candidate that it was before a heartbeat, a pre-vote that is granted.

    By a refusal of a higher term than it proposed the library goes to that term, even from a higher one.
    """
    return server.selects or (server.is_overtaken and m.granted)


@step(when=can_handle_request_pre_vote_response)
def handle_request_pre_vote_response(server: Server, m: RequestPreVoteResponse, outcome: Outcome) -> None:
    """Count a pre-vote, and campaign with a majority; follow in a term higher than the one proposed.

    A candidate that a heartbeat beside the main loop has made follow counts one more, too (HeartbeatRace).

    Args:
        server: The candidate.
        m: The answer.
        outcome: Of the write of CurrentTerm, if the answer's is higher.

    Source: runCandidate, prevoteCh.
    """
    server.take_answer(m)
    if m.term > server.current_term + 1:
        _follow_in(server, m.term)
    elif _is_won_with(server, m):
        win_pre_vote(server)
    elif server.is_overtaken:
        server.leave_loop()


def _is_won_with(server: Server, m: RequestVoteResponse | RequestPreVoteResponse) -> bool:
    """Count an answer, and return whether a majority has granted."""
    if m.granted:
        server.campaign = replace(server.campaign, granted=server.campaign.granted | {m.src})
    return server.campaign.is_won


def _follow_in(server: Server, term: Term) -> None:
    server.set_state(Role.FOLLOWER)
    server.set_current_term(term)
