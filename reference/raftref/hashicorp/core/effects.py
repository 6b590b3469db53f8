"""What a step asks of the world outside: messages to send, and answers that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from raftref.hashicorp.messages import Message, Response, RpcType
from raftref.hashicorp.values import NodeId


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The calls that a server gives up: of these types, to one peer, or to all where `peer` is None.

    Their requests under way are no longer awaited, and answers under way are ignored.
    """

    types: frozenset[RpcType]
    peer: NodeId | None = None


@dataclass(slots=True)
class Effects:
    """What a step asks for, in its order: first calls are given up, then messages are sent."""

    abandoned: list[Abandoned] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)

    def abandon(self, types: Collection[RpcType], peer: NodeId | None = None) -> None:
        """Wait no more for the answers to some calls."""
        self.abandoned.append(Abandoned(frozenset(types), peer))

    def await_none(self) -> None:
        """Let nobody wait for an answer to what was sent."""
        self.sent = [m if isinstance(m, Response) else replace(m, awaited=False) for m in self.sent]
