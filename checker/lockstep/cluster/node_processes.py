"""The processes of a group: started, killed, paused, and stopped with the group whatever happens."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from lockstep.base.errors import GaveUpError
from lockstep.systems.running_nodes import Address

#: The time in which a process stops once it is asked to, in seconds.
PATIENCE = 10.0
#: The exit codes of a process that was asked to stop: as a node, before it was one, and before it was lockstep.
_STOPPED = (0, 128 + signal.SIGTERM, -signal.SIGTERM)


#: The ports of nodes: below those that the system gives to connections, which could take a free one meanwhile.
PORTS = range(12_000, 32_000)


def free_addresses(count: int) -> list[Address]:
    """Return addresses of this machine on which nobody listens now."""
    found: list[Address] = []
    while len(found) < count:
        address = "127.0.0.1", random.choice(PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(address)
            except OSError:
                continue
        if address not in found:
            found.append(address)
    return found


class NodeProcesses:
    """The processes of the nodes of a group; leaving the block ends them all."""

    def __init__(self, commands: Mapping[str, Sequence[str]], folder: Path) -> None:
        """Make a group whose processes are not started.

        Arguments: `commands`, the words after `lockstep node` for each node; `folder`, for what they print.
        """
        self._commands, self._folder = dict(commands), folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        #: Those whose newest process has ended because somebody wanted it to.
        self._killed: set[str] = set()
        self._ended: dict[str, str] = {}

    def __enter__(self) -> NodeProcesses:
        """Begin with no process."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """End all processes."""
        self.stop()

    def is_running(self, node: str) -> bool:
        """Return whether the process of a node runs, or is paused."""
        process = self._processes.get(node)
        return process is not None and process.poll() is None

    def started_at(self, node: str) -> float:
        """Return when the newest process of a node was started, by the monotonic clock in seconds; 0 if none was."""
        return self._started.get(node, 0.0)

    def ended_by_themselves(self) -> dict[str, str]:
        """Return the nodes with a process that ended though nobody killed it, each with how the last of these ended.

        A node is among them even if it was started again, and so is one that did not stop when it was asked to.
        """
        for node, process in self._processes.items():
            if process.poll() is not None and node not in self._killed:
                lines = (self._folder / f"{node}.log").read_text(encoding="utf-8", errors="replace").splitlines()
                how = f"exit code {process.returncode}: {lines[-1] if lines else ''}"
                self._ended[node] = f"{node} ended by itself, {how}"
        return dict(self._ended)

    def start(self, node: str) -> None:
        """Start the process of a node; raises GaveUpError where it runs."""
        if self.is_running(node):
            raise GaveUpError(f"{node} is running")
        self.ended_by_themselves()  # notes how the last process ended
        self._killed.discard(node)
        self._started[node] = time.monotonic()
        with (self._folder / f"{node}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(
                [sys.executable, "-m", "lockstep", "node", *self._commands[node]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the group, which stops its nodes
            )

    def kill(self, node: str) -> None:
        """Kill the process of a node with SIGKILL."""
        self._signal(node, signal.SIGKILL)
        self._killed.add(node)
        self._processes[node].wait()

    def pause(self, node: str) -> None:
        """Stop the process of a node with SIGSTOP."""
        self._signal(node, signal.SIGSTOP)

    def resume(self, node: str) -> None:
        """Let the process of a node go on."""
        self._signal(node, signal.SIGCONT)

    def _signal(self, node: str, number: signal.Signals) -> None:
        if not self.is_running(node):
            raise GaveUpError(f"{node} is not running")
        self._processes[node].send_signal(number)

    def stop(self) -> None:
        """Ask all processes to stop, and kill those that do not."""
        running = {node: process for node, process in self._processes.items() if process.poll() is None}
        for process in running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        end = time.monotonic() + PATIENCE
        for node, process in running.items():
            try:
                if process.wait(max(0.0, end - time.monotonic())) in _STOPPED:
                    self._killed.add(node)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self._killed.add(node)
                self._ended[node] = f"{node} did not stop within {PATIENCE:g} s, and was killed"
