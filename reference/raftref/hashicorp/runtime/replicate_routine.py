"""The leader's goroutine that sends the log, or a snapshot, to one peer."""

from __future__ import annotations

from raftref.hashicorp.messages import AppendEntriesResponse, InstallSnapshotResponse
from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.values import Index, NodeId
from raftref.runtime.driver import Seconds


class ReplicateRoutine:
    """Decides when a peer is sent entries, up to which index, and when it is left alone after failures.

    Source: replicate, replicateTo, sendLatestSnapshot, pipelineReplicate.
    """

    def __init__(self, node: NodeContext, peer: NodeId) -> None:
        """Begin with a leadership, or with a peer that joins the group: something is sent at once."""
        self._node = node
        self._peer = peer
        self._triggered = True
        #: The last index that it was woken for, None while it waits to be woken.
        self._target: Index | None = None
        self._failure_count = 0
        #: Whether it has a pipeline, as far as it knows.
        self._pipelines = False
        node.timers.clear(("backoff", peer))

    def trigger(self) -> None:
        """Wake it, since the log has grown. Source: followerReplication.triggerCh."""
        self._triggered = True

    @property
    def rests_for(self) -> Index | None:
        """The index up to which it will send after its rest; None where it does not rest."""
        rests = not self._node.timers.is_due(("backoff", self._peer), self._node.now)
        return self._target if rests else None

    @property
    def rests_until(self) -> Seconds:
        """The end of its rest."""
        return self._node.timers.moment(("backoff", self._peer))

    def work(self) -> bool:
        """Send the peer what it needs, if the routine was woken; return whether anything was sent."""
        node, peer = self._node, self._peer
        replication = node.server.replication(peer)
        if not replication.running or replication.awaiting is not None:
            return False
        if self._target is None and replication.may_pipeline:
            return self._pipeline()
        if self._target is None and not self._wake_up():
            return False
        if self._target is None or not node.timers.is_due(("backoff", peer), node.now):
            return False
        next_index = replication.next_index
        count = max(0, min(most_entries(node.server, next_index), self._target - next_index + 1))
        if node.take("ReplicateTo", peer, count) or node.take("SendLatestSnapshot", peer):
            return True
        self._wait_for_trigger()
        return False

    def _pipeline(self) -> bool:
        """Send what is behind the entries that were sent, and wait for no answer, if the routine was woken.

        Source: pipelineReplicate, pipelineSend.
        """
        node, peer = self._node, self._peer
        replication = node.server.replication(peer)
        is_full = len(replication.in_flight) >= node.settings.max_rpcs_in_flight
        if is_full or not self._is_woken(replication.pipeline_index):
            return False
        self._triggered = False
        count = most_entries(node.server, replication.pipeline_index)
        self._pipelines = node.take("PipelineSend", peer, count)
        if self._pipelines or node.take("PipelineAbort", peer):
            self._wait_for_trigger()
            return True
        self._begin(node.server.last_log.index)  # an entry is gone, and there is no pipeline yet
        return self.work()

    def _is_woken(self, next_index: Index) -> bool:
        """Return whether there is a reason to send: new entries, a transfer that waits for them, or the time."""
        node, server, peer = self._node, self._node.server, self._peer
        transfer = server.transfer
        hurries = transfer.to == peer and not transfer.asked and next_index <= server.last_index
        return self._triggered or hurries or node.timers.is_due(("commit", peer), node.now)

    def _wake_up(self) -> bool:
        """Set out to send the whole log, if there is a reason to. Source: replicate, its select."""
        server = self._node.server
        if not self._is_woken(server.replication(self._peer).next_index):
            return False
        self._triggered = False
        self._begin(server.last_log.index)
        return True

    def _begin(self, target: Index) -> None:
        """Set out to send the log up to an index, after a rest if calls have failed. Source: backoff of util.go."""
        node, backoff = self._node, ("backoff", self._peer)
        self._target = target
        if self._failure_count:
            node.timers.set(backoff, node.now + node.settings.backoff(self._failure_count))
        else:
            node.timers.clear(backoff)

    def _wait_for_trigger(self) -> None:
        self._target = None
        self._node.timers.set(
            ("commit", self._peer), self._node.now + self._node.between(self._node.settings.commit_timeout)
        )

    def take_answer(self, m: AppendEntriesResponse | InstallSnapshotResponse) -> None:
        """Go on at once if there is more to send; in a pipeline that is another matter.

        Source: replicateTo, CHECK_MORE; pipelineDecode.
        """
        if self._pipelines:
            self._pipelines = self._node.server.replication(self._peer).has_pipeline
            return
        expected = m.success or (isinstance(m, AppendEntriesResponse) and m.no_retry_backoff)
        self._failure_count = 0 if expected else self._failure_count + 1
        target = self._target
        if target is not None and self._node.server.replication(self._peer).next_index <= target:
            self._begin(target)
        else:
            self._wait_for_trigger()

    def fail_call(self) -> None:
        """Wait to be woken after a failure, and rest then, unless it was in a pipeline."""
        self._failure_count += not self._pipelines
        self._pipelines = False
        self._wait_for_trigger()

    def stop(self) -> None:
        """End with the leadership, or with a peer that leaves the group."""
        for name in ("commit", "backoff"):
            self._node.timers.clear((name, self._peer))
