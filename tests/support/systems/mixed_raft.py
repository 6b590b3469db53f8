"""Groups of hashicorp/raft in which some servers are the real library's and some the reference's, as processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from lockstep.cluster.node_processes import free_addresses
from raftref.hashicorp.choices import IN_V173
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.hashicorp.runtime.client_lines import Answer
from tests.support.systems.go_programs import go_programs

GO, PYTHON = "go", "python"

#: The time in which a group must come to what a test waits for, in seconds. The machine may be busy.
PATIENCE = 60.0

#: The rest of a client between two commands, in seconds: each command is read again from each server in the end.
REST = 0.03


@dataclass
class Shape:
    """How the servers of a group are started. Numbers are those of the library's Config.

    `voters` are the servers of the first configuration, all if there are none. `time_scales` multiplies all times of a
    kind: one that is several times as slow as the other does not stand for election first. `recorded`: all servers
    record what they do, those of the reference with the flaws of the library. `steps`: those of the reference record
    their steps. `pipeline`: leaders send without waiting for answers.
    """

    voters: tuple[str, ...] = ()
    prevote: bool = True
    max_append_entries: int = 64
    trailing_logs: int = 10240
    time_scales: Mapping[str, float] = field(default_factory=lambda: {GO: 1.0, PYTHON: 1.0})
    release: str = "1.8.0"
    recorded: bool = False
    steps: bool = True
    pipeline: bool = True


class MixedGroup:
    """Servers by their kinds; leaving the block kills them all."""

    def __init__(self, kinds: Mapping[str, str], folder: Path, shape: Shape | None = None) -> None:
        self.kinds, self.folder, self.shape = dict(kinds), folder, shape or Shape()
        self.addresses = dict(zip(self.kinds, free_addresses(len(self.kinds)), strict=True))
        self.peers = ";".join(f"{name}={host}:{port}" for name, (host, port) in self.addresses.items())
        self.programs = go_programs(self.shape.release)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        #: The servers that were started, and neither killed nor stopped since.
        self._wanted = set[str]()

    def __enter__(self) -> MixedGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
        for process in self._processes.values():
            process.wait()

    # ---- Processes -----------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Start the processes of servers, and wait until they answer: first those that take longer to come up."""
        for kind in (PYTHON, GO):
            starting = [name for name in names if self.kinds[name] == kind]
            for name in starting:
                self._start(name)
            for name in starting:
                self.until(lambda name=name: self.status(name))  # type: ignore[misc]

    def _start(self, name: str) -> None:
        assert not self.is_running(name)
        with self.log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self._go(name) if self.kinds[name] == GO else self._python(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wanted.add(name)

    def kill(self, *names: str) -> None:
        """Kill the processes of servers with SIGKILL."""
        for name in names:
            self._assert_running(name)
            self._wanted.remove(name)
            self._processes[name].kill()
            self._processes[name].wait()

    def stop(self, *names: str) -> None:
        """Let servers stop in order."""
        for name in names:
            self._assert_running(name)
            self._wanted.remove(name)
            self._processes[name].terminate()
            assert self._processes[name].wait(PATIENCE) == 0, self.log(name).read_text()[-2000:]

    def _assert_running(self, name: str) -> None:
        assert self.is_running(name), f"{name} ended by itself: {self.log(name).read_text()[-2000:]}"

    def is_running(self, name: str) -> bool:
        process = self._processes.get(name)
        return process is not None and process.poll() is None

    def running(self) -> list[str]:
        """The servers that were started, and neither killed nor stopped since; fails if one has ended by itself."""
        for name in self._wanted:
            self._assert_running(name)
        return [name for name in self.kinds if name in self._wanted]

    def log(self, name: str) -> Path:
        """The file of what a server prints."""
        return self.folder / f"{name}.log"

    def steps(self, name: str) -> list[dict[str, Any]]:
        """The steps that a server of the reference has recorded."""
        return [json.loads(line) for line in (self.folder / f"{name}.steps").read_text().splitlines()]

    def records(self) -> list[Path]:
        """The files of what the servers have recorded."""
        ends = {GO: "lines", PYTHON: "steps"}
        return [self.folder / f"{name}.{ends[kind]}" for name, kind in self.kinds.items()]

    def _go(self, name: str) -> list[str]:
        shape = self.shape
        words = [f"{self.programs}/server", "-id", name, "-peers", self.peers, "-dir", str(self.folder / name)]
        words += ["-voters", ",".join(shape.voters), f"-prevote={str(shape.prevote).lower()}"]
        words += ["-max-append", str(shape.max_append_entries), "-trailing", str(shape.trailing_logs)]
        words += ["-record", str(self.folder / f"{name}.lines")] if shape.recorded else []
        words += [] if shape.pipeline else ["-in-flight", "1"]
        return [*words, "-time-scale", str(shape.time_scales[GO])]

    def _python(self, name: str) -> list[str]:
        shape = self.shape
        words = [sys.executable, "-m", "lockstep", "node", name, self.peers, "--system", "HashicorpRaft"]
        words += ["--dir", str(self.folder / name)]
        words += ["--record", str(self.folder / f"{name}.steps")] if shape.steps else []
        words += [] if shape.prevote else ["--without", "PreVote"]
        words += ["--feature", "Pipeline"] if shape.pipeline else []
        words += [word for voter in shape.voters for word in ("--voter", voter)]
        bounds = {"max_append_entries": shape.max_append_entries, "trailing_logs": shape.trailing_logs}
        words += [word for bound, value in bounds.items() for word in ("--setting", f"{bound}={value}")]
        words += [word for flaw in sorted(IN_V173) for word in ("--flaw", flaw)] if shape.recorded else []
        return [*words, "--time-scale", str(shape.time_scales[PYTHON])]

    # ---- Clients -------------------------------------------------------------------------------------

    def client(self) -> RaftClient:
        """A client of the servers that run now."""
        return RaftClient({name: self.addresses[name] for name in self.running()}, timeout=PATIENCE)

    def append(self, *values: str) -> dict[str, int]:
        """Append commands one after the other, and return their indexes."""

        async def append_all() -> dict[str, int]:
            client = self.client()
            return {value: (await client.apply(value))["index"] for value in values}

        return asyncio.run(append_all())

    def append_together(self, values: Sequence[str]) -> dict[str, int]:
        """Append commands at once, and return their indexes."""

        leader = self.leader()

        async def append_all() -> dict[str, int]:
            answers = await asyncio.gather(*(self.client().ask(leader, "apply", value=each) for each in values))
            return {value: answer["index"] for value, answer in zip(values, answers, strict=True)}

        return asyncio.run(append_all())

    def ask(self, name: str, op: str, **fields: Any) -> Answer:
        return asyncio.run(self.client().ask(name, op, **fields))

    def change(self, command: ChangeCommand, name: str) -> None:
        """Add or remove a server, by whoever leads."""
        asyncio.run(self.client().change(command, name))

    def transfer(self, to: str) -> None:
        """Let the leader hand over to a server, unless that leads, and wait until it does."""
        if self.leader() != to:
            asyncio.run(self.client().transfer(to))
        self.until(lambda: self.leader() == to)

    def status(self, name: str) -> Answer | None:
        """Return what a server shows, None while it does not answer."""
        try:
            return asyncio.run(RaftClient(self.addresses, timeout=2.0).ask(name, "status"))
        except RequestFailedError:
            return None

    def leader(self) -> str:
        """Return the leader of the highest term, once there is one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = {name: self.status(name) for name in self.running()}
            leaders = {name: each for name, each in shown.items() if each is not None and each["state"] == "Leader"}
            if leaders:
                return max(leaders, key=lambda name: int(leaders[name]["term"]))
            time.sleep(0.05)
        raise AssertionError("no server leads")

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "what is waited for has not come"
            time.sleep(0.05)

    def applied(self, name: str) -> list[tuple[int, str]]:
        """Return index and value of all commands that a server's state machine has applied."""

        async def read_all() -> list[tuple[int, str]]:
            client, found = self.client(), []
            last = (await client.ask(name, "status"))["appliedIndex"]
            for index in range(1, last + 1):
                try:
                    found.append((index, str((await client.ask(name, "read", index=index))["value"])))
                except RequestFailedError as error:
                    assert error.error.startswith("no command at index"), error
            return found

        return asyncio.run(read_all())

    def until_applied(self, expected: Mapping[str, int], *names: str) -> None:
        """Wait until servers have applied commands, all running ones if none are named, each at its index."""
        wanted = {(index, value) for value, index in expected.items()}
        for name in names or self.running():
            self.until(lambda name=name: self._has_reached(name, max(expected.values())))  # type: ignore[misc]
            assert wanted <= set(self.applied(name)), name

    def _has_reached(self, name: str, index: int) -> bool:
        shown = self.status(name)
        return shown is not None and shown["appliedIndex"] >= index


class Appender:
    """A client that appends unique commands, one after the other, while the block runs.

    `acknowledged` are those with an answer, with their indexes; `uncertain` those whose answer never came, which may be
    committed all the same.
    """

    def __init__(self, group: MixedGroup, prefix: str = "c") -> None:
        self._group, self._prefix = group, prefix
        self.acknowledged: dict[str, int] = {}
        self.uncertain: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._append()), daemon=True)

    async def _append(self) -> None:
        client, count = RaftClient(self._group.addresses, timeout=5.0), 0
        while not self._over.is_set():
            value, count = f"{self._prefix}{count}", count + 1
            try:
                self.acknowledged[value] = (await client.apply(value))["index"]
                await asyncio.sleep(REST)
            except RequestFailedError as error:
                if error.is_uncertain:
                    self.uncertain.append(value)
                await asyncio.sleep(0.05)

    def until_more(self, count: int = 10) -> None:
        """Wait until some more commands are acknowledged."""
        goal = len(self.acknowledged) + count
        self._group.until(lambda: len(self.acknowledged) >= goal)

    def __enter__(self) -> Appender:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Append no more."""
        self._over.set()
        self._thread.join(PATIENCE)

    def check(self, applied: Sequence[tuple[int, str]]) -> None:
        """Assert that a server has applied each acknowledged command at its index, in their order, and none twice."""
        values = [value for _, value in applied]
        assert len(values) == len(set(values)), "a command was applied twice"
        at = dict(applied)
        lost = {value: index for value, index in self.acknowledged.items() if at.get(index) != value}
        assert lost == {}
        indexes = [*self.acknowledged.values()]
        assert indexes == sorted(indexes), "a later command stands before an earlier one"
        own = {value for value in values if value.startswith(self._prefix)}
        assert own <= {*self.acknowledged, *self.uncertain}, "a command that was never appended"
