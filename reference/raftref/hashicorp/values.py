"""Entries, configurations and snapshots, as servers store them. All of them are frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, TypeAlias

NodeId: TypeAlias = str
Value: TypeAlias = str

#: A position in a log, counted from 1; 0 where there is none.
Index = NewType("Index", int)
#: A leadership, counted from 1, the term of the bootstrap; 0 before it.
Term = NewType("Term", int)

NO_INDEX = Index(0)
NO_TERM = Term(0)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The servers of a group: those with a vote, and those that only store the log. The order of the list is left out.

    Source: Configuration, Server.Suffrage.
    """

    voters: frozenset[NodeId] = frozenset()
    nonvoters: frozenset[NodeId] = frozenset()

    @property
    def servers(self) -> frozenset[NodeId]:
        """All of them."""
        return self.voters | self.nonvoters

    def has_vote(self, server: NodeId) -> bool:
        """Return whether a server votes. Source: hasVote."""
        return server in self.voters

    def quorum_size(self) -> int:
        """Return how many voters are a majority. Source: quorumSize."""
        return len(self.voters) // 2 + 1


NO_CONFIGURATION = Configuration()


class EntryType(StrEnum):
    """The types of entries. Source: LogType; the deprecated ones are left out."""

    COMMAND = "Command"
    NOOP = "Noop"
    CONFIGURATION = "Configuration"
    BARRIER = "Barrier"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log, without its index. A command has a value, a configuration entry a configuration.

    Source: Log.
    """

    term: Term
    type: EntryType
    value: Value | None = None
    configuration: Configuration = NO_CONFIGURATION


@dataclass(frozen=True, slots=True)
class Log:
    """An entry at its index. Source: Log."""

    index: Index
    entry: Entry


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The end of a log or a snapshot."""

    index: Index = NO_INDEX
    term: Term = NO_TERM


NO_PLACE = Place()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the FSM after an index, and the configuration that was committed then.

    Source: SnapshotMeta, and what FSMSnapshot.Persist writes.
    """

    index: Index
    term: Term
    configuration: Configuration
    configuration_index: Index
    applied: tuple[Log, ...]

    @property
    def place(self) -> Place:
        """Its end."""
        return Place(self.index, self.term)


@dataclass(frozen=True, slots=True)
class ClientLog:
    """A client's request to append a command with a value, or a barrier. Source: logFuture."""

    type: EntryType
    value: Value | None = None


@dataclass(frozen=True, slots=True, order=True)
class Zombie:
    """A replication routine of a leadership that is over: it may still send, in its own term."""

    peer: NodeId
    term: Term
    next_index: Index
