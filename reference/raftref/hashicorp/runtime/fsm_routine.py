"""The FSM's goroutine: it applies what is committed to the client's state machine, and restores snapshots."""

from __future__ import annotations

from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.node_context import NodeContext, TakenStep
from raftref.hashicorp.runtime.state_machine import StateMachine
from raftref.hashicorp.values import Snapshot


class FsmRoutine:
    """The client's state machine beside the FSM of one server, and its state in each snapshot.

    Source: runFSM.
    """

    def __init__(self, node: NodeContext, futures: Futures, machine: StateMachine) -> None:
        """Begin with a machine that has nothing applied; its answers go to the clients that wait."""
        self._node = node
        self._futures = futures
        self.machine = machine
        #: The state in each snapshot that is kept.
        self._data: dict[Snapshot, bytes] = {}
        #: The state in the snapshot that is being taken.
        self._taken_data = b""

    def restore(self) -> None:
        """Bring the machine to the state of the FSM.

        What is durable is all that was applied, and so the machine applies that again.

        Source: restoreSnapshot.
        """
        server = self._node.server
        for log in server.fsm.applied:
            self.machine.apply(log)
        for snapshot in server.stores.snapshots[:1]:
            self._data[snapshot] = self.machine.snapshot()

    def work(self) -> bool:
        """Apply what waits; return whether anything did."""
        return self._node.take("ApplyFsm")

    def take_snapshot(self) -> None:
        """Read the state for the snapshot that is being taken."""
        self._taken_data = self.machine.snapshot()

    def snapshot_data(self, snapshot: Snapshot) -> bytes:
        """Return the state in a snapshot that is kept."""
        return self._data[snapshot]

    def after_step(self, step: TakenStep) -> None:
        """Let the machine do what the FSM did in a step, and answer the clients of what was applied."""
        self._keep_data(step)
        server, before = self._node.server, step.before
        if not server.is_up or server.fsm is before.fsm:
            return
        if step.action == "InstallSnapshot":
            self.machine.restore(step.data)
            return
        applied = server.fsm.applied[len(before.fsm.applied) :]
        responses = {log.index: self.machine.apply(log) for log in applied}
        self._futures.end_applied(server.fsm.last.index, responses)

    def _keep_data(self, step: TakenStep) -> None:
        """Keep the state of a snapshot that a step has saved, and none of one that is gone."""
        snapshots = self._node.server.stores.snapshots
        if snapshots is step.before.stores.snapshots:
            return
        # The newest is the one that the step saved, or it saved none that counts.
        saved = self._taken_data if step.action == "PersistSnapshot" else step.data
        self._data = {each: self._data.get(each, saved) for each in snapshots}
