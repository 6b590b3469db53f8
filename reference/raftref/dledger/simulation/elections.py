"""What happens next in an election that is told message by message.

As in the schedule there is no rule of the protocol here: a node is asked what it may do, and things take place
or time out by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raftref.dledger.member_state import Role
from raftref.dledger.messages import ElectionType, NodeId
from raftref.dledger.simulation.cluster import Event

if TYPE_CHECKING:
    from raftref.dledger.simulation.schedule import Schedule

#: A node draws its conclusion though answers are missing, at this rate.
ENOUGH_WAITED = 0.15
#: A candidate asks for votes at this rate: it waits for a time of its own.
ASKS = 0.06
#: A leader sends heartbeats at this rate.
BEATS = 0.3
#: A leader that finds no quorum leads no more at this rate.
NO_QUORUM_EXPIRES = 0.4
#: A follower misses its leader at this rate, if it cannot hear from it; and if it can.
LEADER_MISSED, LEADER_OVERHEARD = 0.12, 0.003
#: A transfer is given up at this rate: by the transferee, and by the leader.
TRANSFER_GIVEN_UP = 0.05


class MessageElections:
    """Lets the StateMaintainer of a node have its turn, and a transfer go on."""

    def __init__(self, schedule: Schedule) -> None:
        """Take part in a run; everything random is the schedule's."""
        self.schedule = schedule
        self.cluster = schedule.cluster

    def maintain(self, node: NodeId) -> Event | None:
        """Let a node go on with a transfer, with its round, or with what its role asks of it."""
        event = self.transfer(node)
        if event is not None:
            return event
        match self.cluster.servers[node].election.round.type:
            case ElectionType.VOTE:
                return self.schedule.attempt(node, "HandleOwnVote") or self.conclude(node, "ParseVoteResponses")
            case ElectionType.HEARTBEAT:
                expired = self.schedule.chance(NO_QUORUM_EXPIRES)
                return self.conclude(node, "ParseHeartBeatResponses", expired)
            case _:
                return self.begin(node)

    def transfer(self, node: NodeId) -> Event | None:
        """Let a transferee take over when it can, and either end give up by chance."""
        schedule = self.schedule
        event = schedule.attempt(node, "HandleTakeLeadership")
        if event is not None or not schedule.chance(TRANSFER_GIVEN_UP):
            return event
        for call in sorted(self.cluster.servers[node].election.transfers, key=lambda one: (one.term, one.transferee)):
            return schedule.attempt(node, "TransferTimeOut", call)
        return schedule.attempt(node, "TakeLeadershipTimeOut")

    def conclude(self, node: NodeId, action: str, *args: bool) -> Event | None:
        """Let a node draw its conclusion: when all answers are in, or when it has waited for long enough."""
        answers = self.cluster.servers[node].election.round.answers
        complete = None not in answers.values()
        return self.schedule.attempt(node, action, *args) if complete or self.schedule.chance(ENOUGH_WAITED) else None

    def begin(self, node: NodeId) -> Event | None:
        """Let a node that waits for nothing do what its role asks of it."""
        schedule, state = self.schedule, self.cluster.servers[node].member_state
        if state.role is Role.LEADER:
            return schedule.attempt(node, "SendHeartbeats") if schedule.chance(BEATS) else None
        if state.role is Role.FOLLOWER:
            missed = LEADER_MISSED if self.is_alone(state.leader_id, node) else LEADER_OVERHEARD
            return schedule.attempt(node, "HeartBeatTimeOut") if schedule.chance(missed) else None
        event = schedule.attempt(node, "IncreaseTerm")
        if event is not None or not schedule.chance(ASKS):
            return event
        return schedule.attempt(node, "VoteForQuorumResponses")

    def is_alone(self, leader: NodeId | None, node: NodeId) -> bool:
        """Tell whether a follower can hear no heartbeat of its leader any more."""
        return leader is None or self.schedule.deposed(leader) or not self.schedule.reaches(node, leader)
