"""Changes of the group: one server at a time, by an entry of the log."""

from __future__ import annotations

from enum import StrEnum

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.leader import append, start_stop_replication
from raftref.hashicorp.messages import OF_LEADERS
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import Outcome, step
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, NodeId


class ChangeCommand(StrEnum):
    """The changes. Source: ConfigurationChangeCommand; the deprecated ones are left out."""

    ADD_VOTER = "AddVoter"
    ADD_NONVOTER = "AddNonvoter"
    DEMOTE_VOTER = "DemoteVoter"
    REMOVE_SERVER = "RemoveServer"


def next_configuration(current: Configuration, command: ChangeCommand, server: NodeId) -> Configuration:
    """Return the configuration after a change. A voter that is added as a non-voter stays what it is.

    Source: nextConfiguration.
    """
    voters, nonvoters = current.voters, current.nonvoters
    match command:
        case ChangeCommand.ADD_VOTER:
            return Configuration(voters | {server}, nonvoters - {server})
        case ChangeCommand.ADD_NONVOTER:
            return current if server in voters else Configuration(voters, nonvoters | {server})
        case ChangeCommand.DEMOTE_VOTER:
            return Configuration(voters - {server}, nonvoters | {server}) if server in voters else current
        case ChangeCommand.REMOVE_SERVER:
            return Configuration(voters - {server}, nonvoters - {server})


def is_change_possible(leader: Server) -> bool:
    """Return whether the last change, and an entry of the leader's own term, are committed.

    Source: configurationChangeChIfStable.
    """
    return leader.configurations.is_stable and leader.commit_index >= leader.commitment.start_index


def can_append_configuration_entry(leader: Server, command: ChangeCommand, server: NodeId, _outcome: Outcome) -> bool:
    """A leader's main loop takes an event; the last change, and an entry of its own term, are committed.

    No transfer is in progress, and a voter remains.

    Source: configurationChangeChIfStable, checkConfiguration.
    """
    stable = is_change_possible(leader) and not leader.transfer.in_progress
    after = next_configuration(leader.configurations.latest, command, server)
    return leader.has(Feature.CONFIGURATION_CHANGES) and leader.leads and stable and bool(after.voters)


@step(when=can_append_configuration_entry)
def append_configuration_entry(leader: Server, command: ChangeCommand, server: NodeId, outcome: Outcome) -> None:
    """Append a configuration, which counts at once, even if it could not be stored.

    Args:
        leader: The leader.
        command: The change.
        server: The server that it is about.
        outcome: Of the write of the entry; if that fails, the leader follows.

    Source: leaderLoop, appendConfigurationEntry.
    """
    before = leader.configurations.latest
    after = next_configuration(before, command, server)
    index = Index(leader.last_index + 1)
    for gone in sorted(before.servers - after.servers):
        leader.effects.abandon(OF_LEADERS, gone)
    append(leader, [Entry(leader.current_term, EntryType.CONFIGURATION, None, after)])
    leader.configurations = leader.configurations.set_latest(after, index)
    if leader.leads:
        leader.commitment = leader.commitment.set_configuration(after.voters)
        start_stop_replication(leader)
