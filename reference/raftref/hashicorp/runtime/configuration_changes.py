"""Changes of the group that clients ask a leader for: each waits until the one before it is committed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from raftref.hashicorp.membership import is_change_possible, next_configuration
from raftref.hashicorp.runtime.client_calls import ConfigurationChangeRequest, RaftError
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import NO_INDEX, EntryType, Index
from raftref.runtime.driver import NEVER, Seconds


@dataclass(frozen=True, slots=True)
class _WaitingChange:
    key: Hashable
    request: ConfigurationChangeRequest
    until: Seconds


class ConfigurationChanges:
    """The changes that wait at one leader.

    Source: configurationChangeChIfStable, requestConfigChange.
    """

    def __init__(self, node: NodeContext, futures: Futures) -> None:
        """Begin with none; `futures` answers their clients."""
        self._node = node
        self._futures = futures
        self._changes: list[_WaitingChange] = []

    def ask(self, key: Hashable, request: ConfigurationChangeRequest) -> None:
        """Let a change wait, no longer than its client does."""
        until = self._node.now + request.timeout if request.timeout > 0 else NEVER
        self._changes.append(_WaitingChange(key, request, until))

    def moments(self) -> list[Seconds]:
        """Return until when they wait."""
        return [each.until for each in self._changes]

    def work(self) -> bool:
        """Take the next change, once the one before it is committed, or let it wait no longer.

        Source: configurationChangeChIfStable, appendConfigurationEntry.
        """
        node, server = self._node, self._node.server
        self._give_up_late()
        if not (self._changes and is_change_possible(server)):
            return False
        change = self._changes.pop(0)
        error = self._refusal(change.request)
        if error is not None:
            self._futures.answer(change.key, error)
            return True
        self._futures.add(change.key, Index(server.last_index + 1), EntryType.CONFIGURATION)
        return node.take("AppendConfigurationEntry", change.request.command, change.request.server, DONE)

    def _give_up_late(self) -> None:
        late = [each for each in self._changes if each.until <= self._node.now]
        self._changes = [each for each in self._changes if each not in late]
        for each in late:
            self._futures.answer(each.key, RaftError.ENQUEUE_TIMEOUT)

    def _refusal(self, request: ConfigurationChangeRequest) -> str | None:
        """Return why a change is refused, None where it is not.

        That a server is refused whose address nobody was started with is not the library's: there a change has it.

        Source: nextConfiguration, checkConfiguration.
        """
        configurations = self._node.server.configurations
        if self._node.server.transfer.in_progress:
            return RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS
        if request.prev_index not in (NO_INDEX, configurations.latest_index):
            return f"configuration changed since {request.prev_index} (latest is {configurations.latest_index})"
        after = next_configuration(configurations.latest, request.command, request.server)
        if request.server in after.servers and request.server not in self._node.server.nodes:
            return f"no address of {request.server} is known"
        return None if after.voters else "need at least one voter in configuration"

    def end_leadership(self, refusal: RaftError) -> None:
        """Refuse those that wait. Source: runLeader, the deferred part."""
        for each in self._changes:
            self._futures.answer(each.key, refusal)
        self._changes = []
