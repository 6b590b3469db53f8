"""Elections: a server becomes a candidate, and asks for votes."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.messages import (
    RequestPreVoteRequest,
    RequestVoteRequest,
    RpcType,
    TimeoutNowRequest,
    TimeoutNowResponse,
)
from raftref.hashicorp.server import Server, takes_event
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import DONE, Outcome, StoreError, step
from raftref.hashicorp.values import NodeId, Term

# ---- Standing for election -------------------------------------------------------------------------------


def follows(server: Server) -> bool:
    """A follower's main loop takes an event."""
    return server.selects and server.role is Role.FOLLOWER


@step(when=follows)
def heartbeat_timeout(server: Server) -> None:
    """Hear nothing of the leader, and forget it; a voter stands for election.

    Source: runFollower, heartbeatTimer.
    """
    server.leader = None
    if server.is_voter:
        _stand(server)


def campaigns(server: Server) -> bool:
    """A candidate's main loop takes an event."""
    return server.selects and server.role is Role.CANDIDATE


@step(when=campaigns)
def election_timeout(server: Server) -> None:
    """Begin the campaign anew. That a leader has chosen this server counts once only.

    Source: runCandidate, electionTimer.
    """
    server.end_campaign()
    server.loop = Loop.CAMPAIGN


@step(when=takes_event)
def timeout_now(server: Server, m: TimeoutNowRequest) -> None:
    """Stand at once, since a leader has chosen this server. No term is compared.

    A server that is a candidate already goes on with the campaign that it has.

    Source: timeoutNow.
    """
    if server.role is Role.CANDIDATE:
        server.leader = None
    else:
        _stand(server)
    server.campaign = replace(server.campaign, transfer=True)
    server.respond(m, TimeoutNowResponse(server.node_id, m.src))


def _stand(server: Server) -> None:
    server.set_state(Role.CANDIDATE)
    server.loop = Loop.CAMPAIGN


# ---- Asking for votes ------------------------------------------------------------------------------------


def _begin_phase(server: Server, phase: CampaignPhase) -> None:
    """Count the votes of a phase, its own at once. How many are needed is found out once for both phases."""
    campaign = server.campaign
    server.campaign = replace(
        campaign,
        phase=phase,
        granted=frozenset({server.node_id}) if server.is_voter else frozenset(),
        votes_needed=(
            server.configurations.latest.quorum_size()
            if campaign.phase is CampaignPhase.NONE
            else campaign.votes_needed
        ),
    )


def _at_campaign(server: Server) -> bool:
    """Return whether the main loop is at the beginning of a campaign."""
    return server.is_up and server.loop is Loop.CAMPAIGN


def _asks_pre_votes(server: Server) -> bool:
    """Return whether pre-votes come first: no leader has asked for the campaign, and none were won yet."""
    campaign = server.campaign
    return server.has(Feature.PRE_VOTE) and campaign.phase is CampaignPhase.NONE and not campaign.transfer


def can_pre_elect_self(server: Server) -> bool:
    """The main loop is at the beginning of a campaign, which no leader has asked for."""
    return _at_campaign(server) and _asks_pre_votes(server)


@step(when=can_pre_elect_self)
def pre_elect_self(server: Server) -> None:
    """Ask the voters whether they would vote for this server. No term is raised, and nothing is written.

    Source: preElectSelf.
    """
    server.loop = Loop.SELECT
    if server.role is Role.CANDIDATE:
        _begin_phase(server, CampaignPhase.PREVOTE)
    if server.campaign.is_won:
        win_pre_vote(server)
        return
    last, term = server.last_entry, Term(server.current_term + 1)
    for peer in sorted(server.other_voters):
        server.send(RequestPreVoteRequest(server.node_id, peer, term, last.index, last.term))
    _await_none_if_follower(server)


def _await_none_if_follower(server: Server) -> None:
    """Take no answers if a heartbeat beside the main loop has made the candidate a follower (HeartbeatRace)."""
    if server.role is not Role.CANDIDATE:
        server.campaign = replace(server.campaign, phase=CampaignPhase.NONE, granted=frozenset())
        server.effects.await_none()


def can_run_follower(server: Server) -> bool:
    """The main loop is at the beginning of a campaign, or goes on as a candidate or leader, and the server follows.

    One that has won a pre-vote does not look.
    """
    begins = _at_campaign(server) and server.campaign.phase is CampaignPhase.NONE
    return (begins or server.is_overtaken) and server.role is Role.FOLLOWER


@step(when=can_run_follower)
def run_follower(server: Server) -> None:
    """Find that the server follows, and do not campaign, count votes, or lead.

    Source: run, after runFollower, runCandidate and runLeader (HeartbeatRace).
    """
    server.leave_loop()
    server.loop = Loop.SELECT


def win_pre_vote(server: Server) -> None:
    """Go on to the election."""
    server.effects.abandon({RpcType.REQUEST_PRE_VOTE})
    server.campaign = replace(server.campaign, phase=CampaignPhase.VOTE, granted=frozenset())
    server.loop = Loop.CAMPAIGN


def can_elect_self(server: Server, asked: frozenset[NodeId], outcome: Outcome) -> bool:
    """The main loop is at an election, and `asked` are the voters that it can have asked until then."""
    if not _at_campaign(server) or _asks_pre_votes(server):
        return False
    if outcome == DONE:
        return asked == server.other_voters
    return asked <= server.other_voters if outcome.write > 1 else not asked


@step(when=can_elect_self)
def elect_self(server: Server, asked: frozenset[NodeId], outcome: Outcome) -> None:
    """Raise the term, vote for itself, and ask the voters for their votes.

    If the vote cannot be written, the candidate takes no answers, and waits for its timer.

    Args:
        server: The candidate.
        asked: The voters that it asks: all others, or where the writes end before, those that come first in the list of
            servers.
        outcome: Of the writes: CurrentTerm, then the vote.

    Source: electSelf.
    """
    server.loop = Loop.SELECT
    server.set_current_term(Term(server.current_term + 1))
    _begin_phase(server, CampaignPhase.VOTE)
    last, transfer = server.last_entry, server.campaign.transfer
    for peer in sorted(asked):
        server.send(RequestVoteRequest(server.node_id, peer, server.current_term, last.index, last.term, transfer))
    if server.is_voter:
        try:
            server.persist_vote(server.current_term, server.node_id)
        except StoreError:
            server.campaign = replace(server.campaign, phase=CampaignPhase.NONE, granted=frozenset())
            server.effects.await_none()
            return
    if server.role is not Role.CANDIDATE:
        _await_none_if_follower(server)
    elif server.campaign.is_won:
        win(server)


def win(server: Server) -> None:
    """Become the leader; the main loop goes on to lead."""
    server.set_state(Role.LEADER)
    server.leader = server.node_id
    server.loop = Loop.LEAD
