"""Turns in elections: the node decides what it may do; time passes by chance."""

from __future__ import annotations

from raftref.dledger.choices import Feature
from raftref.dledger.messages import ElectionType, HeartBeat, NodeId
from raftref.dledger.quorum import is_quorum
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.state import Role
from raftref.simulation.group import Event
from raftref.simulation.random_schedule import RandomSchedule

# Rates, role by role.
#: A member acts on what it can know only by time (no leader, no quorum, no vote).
PATIENCE_ENDS = 0.12
#: A member that hears of a higher term leaves its own.
HIGHER_TERM_HEARD = 0.3
#: A heartbeat arrives though its sender leads no more.
LATE_HEARTBEAT = 0.05
#: A leader that stepped down wins the same term again.
SAME_TERM_AGAIN = 0.03

# Rates, message by message.
#: A node draws its conclusion though answers are missing.
ENOUGH_WAITED = 0.15
#: A candidate asks for votes: it waits for a time of its own.
ASKS_FOR_VOTES = 0.06
#: A leader sends heartbeats.
SENDS_HEARTBEATS = 0.3
#: A leader that finds no quorum leads no more.
NO_QUORUM_EXPIRES = 0.4
#: A follower misses its leader, if it cannot hear from it; and if it can.
LEADER_MISSED, LEADER_OVERHEARD = 0.12, 0.003
#: A transfer is given up, by the transferee or by the leader.
TRANSFER_GIVEN_UP = 0.05


class ElectionTurns(RandomSchedule[Cluster]):
    """Turns of members: voting, leading, following, and handing over."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run.

        Args:
            seed: The seed of all chance.
            plan: Shape and faults.
            cluster: The group of that plan to run; by default one that keeps its logs in memory.
        """
        super().__init__(seed, plan, Cluster(plan) if cluster is None else cluster)
        self.plan = plan

    def in_role(self, *roles: Role) -> list[NodeId]:
        """Return the nodes in one of these roles."""
        return [name for name, each in self.cluster.servers.items() if each.member_state.role in roles]

    def running(self) -> list[NodeId]:
        """Return the nodes whose process runs."""
        return self.in_role(Role.LEADER, Role.FOLLOWER, Role.CANDIDATE)

    def try_elect(self) -> Event | None:
        """Let a member vote, lead, follow, or leave what it can keep no longer."""
        node = self.one_of(self.running())
        if node is None:
            return None
        if self.plan.has(Feature.VOTE_MESSAGES):
            return self.maintain(node)
        state = self.cluster.servers[node].member_state
        if state.role is not Role.CANDIDATE:
            return self.leave(node)
        return self.follow(node) or self.lead(node) or self.vote(node) or self.stand(node)

    # ---- Role by role ----

    def lead(self, node: NodeId) -> Event | None:
        """Let a candidate lead; one that led this term already mostly finds that others do not follow."""
        led = HeartBeat(node, self.cluster.servers[node].member_state.curr_term) in self.cluster.elected
        return None if led and not self.chance(SAME_TERM_AGAIN) else self.attempt(node, "ChangeToLeader")

    def follow(self, node: NodeId) -> Event | None:
        """Let a heartbeat of the term's leader arrive."""
        term = self.cluster.servers[node].member_state.curr_term
        for beat in self.cluster.elected:
            if beat.term != term or beat.leader == node:
                continue
            leads = self.cluster.servers[beat.leader].member_state.role is Role.LEADER
            in_time = leads and self.cluster.servers[beat.leader].member_state.curr_term == term
            if (in_time and self.reaches(node, beat.leader)) or self.chance(LATE_HEARTBEAT):
                return self.attempt(node, "ChangeToFollower", beat.leader)
        return None

    def vote(self, node: NodeId) -> Event | None:
        """Let a vote request arrive, the member's own among them."""
        vote_for = self.cluster.servers[node].member_state.curr_vote_for
        candidates = [each for each in self.in_role(Role.CANDIDATE) if self.reaches(node, each)]
        self.random.shuffle(candidates)
        for candidate in candidates:
            counted = node in self.cluster.servers[candidate].member_state.votes
            if (vote_for is None or vote_for == candidate) and not counted:
                event = self.attempt(node, "SetCurrVoteFor", candidate)
                if event is not None:
                    return event
        return None

    def stand(self, node: NodeId) -> Event | None:
        """Let a candidate enter a higher term: one it heard of, or the next when no vote came for long."""
        term = self.cluster.highest_term(node)
        if term > self.cluster.servers[node].member_state.curr_term:
            return self.attempt(node, "NextTerm", term) if self.chance(HIGHER_TERM_HEARD) else None
        return (
            self.attempt(node, "NextTerm", term + 1)
            if self.chance(PATIENCE_ENDS / len(self.cluster.node_ids))
            else None
        )

    def leave(self, node: NodeId) -> Event | None:
        """Let a leader or follower become a candidate: a higher term, no leader, no quorum."""
        servers, state = self.cluster.servers, self.cluster.servers[node].member_state
        if self.cluster.highest_term(node) > state.curr_term:
            waits = not self.chance(HIGHER_TERM_HEARD)
        elif state.role is Role.LEADER:
            reached_count = sum(self.reaches(node, each) for each in servers)
            waits = is_quorum(reached_count, len(servers)) or not self.chance(PATIENCE_ENDS / 3)
        else:
            leader = state.leader_id
            gone = leader is None or not self.reaches(node, leader)
            waits = not (gone or self.deposed(leader)) or not self.chance(PATIENCE_ENDS)
        return None if waits else self.attempt(node, "ChangeToCandidate")

    def deposed(self, leader: NodeId | None) -> bool:
        """Return whether a node leads no more."""
        return leader is None or self.cluster.servers[leader].member_state.role is not Role.LEADER

    def try_step_down(self) -> Event | None:
        """Let a leader or follower become a candidate for no reason that can be seen."""
        node = self.one_of(self.in_role(Role.LEADER, Role.FOLLOWER))
        lost = "HeartBeatTimeOut" if self.plan.has(Feature.VOTE_MESSAGES) else "ChangeToCandidate"
        return None if node is None else self.attempt(node, lost)

    def try_transfer(self) -> Event | None:
        """Let a client command a leader to hand over to one of its peers."""
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None or not self.plan.has(Feature.VOTE_MESSAGES):
            return None
        return self.attempt(node, "HandleLeadershipTransfer", self.random.choice(self.cluster.servers[node].peers))

    # ---- Message by message ----

    def maintain(self, node: NodeId) -> Event | None:
        """Let a node go on with a transfer, with its round, or with what its role requires."""
        event = self.go_on_with_transfer(node)
        if event is not None:
            return event
        match self.cluster.servers[node].election.round.type:
            case ElectionType.VOTE:
                return self.attempt(node, "HandleOwnVote") or self.conclude_round(node, "ParseVoteResponses")
            case ElectionType.HEARTBEAT:
                expired = self.chance(NO_QUORUM_EXPIRES)
                return self.conclude_round(node, "ParseHeartBeatResponses", expired)
            case _:
                return self.begin_round(node)

    def go_on_with_transfer(self, node: NodeId) -> Event | None:
        """Let a transferee take over when it can, and either end give up by chance."""
        event = self.attempt(node, "HandleTakeLeadership")
        if event is not None or not self.chance(TRANSFER_GIVEN_UP):
            return event
        for call in sorted(self.cluster.servers[node].election.transfers, key=lambda one: (one.term, one.transferee)):
            return self.attempt(node, "TransferTimeOut", call)
        return self.attempt(node, "TakeLeadershipTimeOut")

    def conclude_round(self, node: NodeId, action: str, *args: bool) -> Event | None:
        """Let a node draw its conclusion: when all answers are in, or when it has waited for long enough."""
        answers = self.cluster.servers[node].election.round.answers
        complete = None not in answers.values()
        return self.attempt(node, action, *args) if complete or self.chance(ENOUGH_WAITED) else None

    def begin_round(self, node: NodeId) -> Event | None:
        """Let a node that waits for nothing do what its role requires."""
        state = self.cluster.servers[node].member_state
        if state.role is Role.LEADER:
            return self.attempt(node, "SendHeartbeats") if self.chance(SENDS_HEARTBEATS) else None
        if state.role is Role.FOLLOWER:
            missed = LEADER_MISSED if self.is_alone(state.leader_id, node) else LEADER_OVERHEARD
            return self.attempt(node, "HeartBeatTimeOut") if self.chance(missed) else None
        event = self.attempt(node, "IncreaseTerm")
        if event is not None or not self.chance(ASKS_FOR_VOTES):
            return event
        return self.attempt(node, "VoteForQuorumResponses")

    def is_alone(self, leader: NodeId | None, node: NodeId) -> bool:
        """Return whether a follower can hear no heartbeat of its leader any more."""
        return leader is None or self.deposed(leader) or not self.reaches(node, leader)
