"""The network of the library: what a step asks of it, and whose answers are waited for no more."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.core.effects import Abandoned, Effects
from raftref.hashicorp.messages import Message, Request, Response
from raftref.hashicorp.values import NodeId
from raftref.simulation import Network as Channels


class Network(Channels[Message]):
    """All channels of a group."""

    def apply(self, node: NodeId, effects: Effects) -> None:
        """Do what a step of `node` asks of the network: calls are given up, then messages are sent."""
        for abandoned in effects.abandoned:
            self.abandon(node, abandoned)
        for m in effects.sent:
            self.send(m)

    def abandon(self, node: NodeId, abandoned: Abandoned) -> None:
        """Let `node` take no more answers to what it abandoned.

        Its requests under way are no longer awaited; answers to them under way are dropped.
        """

        def not_awaited(m: Message) -> Message:
            if isinstance(m, Request) and m.awaited and m.type in abandoned.types:
                return replace(m, awaited=False)
            return m

        def without_answers(m: Message) -> Message | None:
            return None if isinstance(m, Response) and m.type in abandoned.types else m

        for (src, dst), channel in self.channels.items():
            if src == node and abandoned.peer in (None, dst):
                channel.change(not_awaited)
            elif dst == node and abandoned.peer in (None, src):
                channel.change(without_answers)
