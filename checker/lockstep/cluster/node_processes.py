"""The processes of a group: started, killed, paused, and stopped with the group whatever happens."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from types import TracebackType

from lockstep.base.errors import GaveUpError
from lockstep.systems.running_nodes import Address

#: The time in which a process stops by itself, in seconds.
PATIENCE = 5.0
#: The time after which a process that goes on has written what it was about to write, in seconds.
CATCHES_UP = 1.0


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
        self._killed: set[str] = set()
        #: When each process was stopped, and how long what it was about to write may still be missing.
        self._stopped: dict[str, tuple[float, float]] = {}

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

    def ended_by_themselves(self) -> dict[str, str]:
        """Return the nodes whose processes ended though nobody killed them, each with how it ended."""
        found = {}
        for node, process in self._processes.items():
            if process.poll() is not None and node not in self._killed:
                lines = (self._folder / f"{node}.log").read_text(encoding="utf-8", errors="replace").splitlines()
                found[node] = f"{node} ended by itself, exit code {process.returncode}: {lines[-1] if lines else ''}"
        return found

    def start(self, node: str) -> None:
        """Start the process of a node; raises GaveUpError where it runs."""
        if self.is_running(node):
            raise GaveUpError(f"{node} is running")
        self._stopped.pop(node, None)
        self._killed.discard(node)
        with (self._folder / f"{node}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(
                [sys.executable, "-m", "lockstep", "node", *self._commands[node]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the group, which stops its nodes
            )

    def stopped_since(self) -> float:
        """Return since when a process is stopped, or went on a moment ago; infinity if none is."""
        now = time.monotonic()
        return min((since for since, until in self._stopped.values() if now < until), default=inf)

    def kill(self, node: str) -> None:
        """Kill the process of a node with SIGKILL."""
        self._signal(node, signal.SIGKILL)
        self._stopped.pop(node, None)
        self._killed.add(node)
        self._processes[node].wait()

    def pause(self, node: str) -> None:
        """Stop the process of a node with SIGSTOP."""
        self._stopped.setdefault(node, (time.monotonic(), inf))
        self._signal(node, signal.SIGSTOP)

    def resume(self, node: str) -> None:
        """Let the process of a node go on."""
        self._signal(node, signal.SIGCONT)
        if node in self._stopped:
            self._stopped[node] = self._stopped[node][0], time.monotonic() + CATCHES_UP

    def _signal(self, node: str, number: signal.Signals) -> None:
        if not self.is_running(node):
            raise GaveUpError(f"{node} is not running")
        self._processes[node].send_signal(number)

    def stop(self) -> None:
        """Ask all processes to stop, and kill those that do not."""
        running = [process for process in self._processes.values() if process.poll() is None]
        for process in running:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in running:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
