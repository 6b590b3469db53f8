"""Groups of DLedger nodes as processes: those of Java, unmodified, and those of the reference, on the same folders."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from lockstep.cluster.node_processes import free_addresses
from raftref.dledger.client_messages import AppendEntryRequest
from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.dledger.storage import CheckPointFile, DirectoryDisk, FileLedgerStore, TermFile
from tests.support.places import TESTS
from tests.support.programs.java_programs import OPENED, classpath, recorder_jar
from tests.support.programs.processes import wait_until

JAVA, PYTHON = "java", "python"
GROUP = "g"
#: The longest that a client waits for a group on a busy machine, in seconds.
PATIENCE = 15.0
NODES = ("n0", "n1", "n2")

#: How the line begins in which a process of Java answers a command.
ANSWER = b"ANSWER "

#: The versions of the real DLedger that the tests run.
VERSIONS = ("0.2.7", "0.3.2")
_SOURCES = [TESTS / "support" / "dledger_java" / name for name in ("Node.java", "Client.java")]
#: A JVM that is small, quick to start, and collects garbage in one thread: several run beside each other.
SMALL_JVM = ["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

#: The words before a command whose process is to be killed when the one that started it is, where the system can do so.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []

#: Times of a node of Java in milliseconds, and by what the reference's are multiplied to be about the same.
TIMES = {"heartBeatTimeIntervalMs": 500, "minVoteIntervalMs": 100, "maxVoteIntervalMs": 300, "checkPointInterval": 300}
TIME_SCALE = 0.25


def java_words(version: str, options: Sequence[str] = SMALL_JVM) -> list[str]:
    """The words that start a JVM with DLedger of a version, and with Node and Client."""
    path = classpath([f"io.openmessaging.storage:dledger:{version}"], _SOURCES)
    return ["java", *OPENED, *options, "-cp", path]


@dataclass(frozen=True, slots=True)
class GroupSetting:
    """How a mixed group runs.

    `batches`: leaders push batches. `preferred`: the node to which a leader of Java hands over. `flaws` and `features`
    are those of the reference's nodes. `java` are more fields of DLedgerConfig for some nodes; `jvm` are the options of
    each JVM. `is_recorded`: each node records, in the folder of the group. `nodes` are the members.
    """

    version: str
    batches: bool = False
    preferred: str | None = None
    flaws: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    java: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=lambda: TIMES)
    time_scale: float = TIME_SCALE
    jvm: Sequence[str] = tuple(SMALL_JVM)
    is_recorded: bool = False
    nodes: tuple[str, ...] = NODES


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An append that the group confirmed."""

    value: str
    index: Index
    term: Term


class MixedGroup:
    """Some nodes, each a process of either kind; leaving the block kills all of them."""

    def __init__(self, folder: Path, setting: GroupSetting) -> None:
        self.setting, self.store, self.nodes = setting, folder / "store", setting.nodes
        self._logs = folder
        self.store.mkdir(parents=True)
        self.addresses = dict(zip(self.nodes, free_addresses(len(self.nodes)), strict=True))
        self._java = java_words(setting.version, setting.jvm)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kinds: dict[str, str] = {}

    def __enter__(self) -> MixedGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    # ---- Nodes ---------------------------------------------------------------------------------------

    @property
    def java_peers(self) -> str:
        """The members as DLedger writes them."""
        return ";".join(f"{node}-{host}:{port}" for node, (host, port) in self.addresses.items())

    def java_peers_of(self, node: str) -> str:
        """The members as a node of Java reaches them."""
        return self.java_peers

    @property
    def peers(self) -> str:
        """The members as lockstep's commands take them."""
        return ";".join(f"{node}={host}:{port}" for node, (host, port) in self.addresses.items())

    def folder(self, node: str) -> Path:
        """The folder of a node's files, whichever kind runs on it. Source: DLedgerConfig.getDefaultPath."""
        return self.store / f"dledger-{node}"

    def _recording(self, node: str, kind: str) -> Path:
        return self._logs / (f"{node}.rec" if kind == JAVA else f"{node}.steps.ndjson")

    def merged(self) -> Path:
        """Merge what the nodes have recorded, and return the recording."""
        found = sorted(self._logs.glob("n*.rec")) + sorted(self._logs.glob("n*.steps.ndjson"))
        out = self._logs / "group.ndjson"
        words = [sys.executable, "-m", "lockstep", "merge", *map(str, found), "-o", str(out)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return out

    def _words(self, node: str, kind: str) -> list[str]:
        setting = self.setting
        if kind == JAVA:
            fields: dict[str, object] = {**setting.times, **setting.java.get(node, {})}
            if setting.batches:  # 0.4.0 has no such field
                fields["isEnableBatchPush"] = "true"
            if setting.preferred is not None:
                fields["preferredLeaderIds"] = setting.preferred
            given = [f"{name}={value}" for name, value in fields.items()]
            agent = [f"-javaagent:{recorder_jar()}={self._recording(node, kind)}"] if setting.is_recorded else []
            return [
                self._java[0],
                *agent,
                *self._java[1:],
                "Node",
                GROUP,
                node,
                self.java_peers_of(node),
                str(self.store),
                *given,
            ]
        features = [*setting.features, *(["Batches"] if setting.batches else [])]
        given = [word for each in features for word in ("--feature", each)]
        given += [word for each in setting.flaws for word in ("--flaw", each)]
        given += ["--record", str(self._recording(node, kind))] if setting.is_recorded else []
        place = ["--group", GROUP, "--dir", str(self.folder(node)), "--time-scale", str(setting.time_scale)]
        return [sys.executable, "-m", "lockstep", "node", node, self.peers, *place, *given]

    def start(self, **kinds: str) -> None:
        """Start nodes, each of a kind."""
        for node, kind in kinds.items():
            assert node not in self._processes or self._processes[node].poll() is not None, f"{node} runs"
            with (self._logs / f"{node}.log").open("ab") as log:
                self._processes[node] = subprocess.Popen(
                    [*DIE_WITH_PARENT, *self._words(node, kind)], stdin=subprocess.PIPE, stdout=log, stderr=log
                )
            self.kinds[node] = kind

    def pid(self, node: str) -> int:
        """The number of a node's process."""
        return self._processes[node].pid

    def order(self, node: str, command: str) -> list[str]:
        """Give a node of Java a command, and return the words of its answer."""
        process, log = self._processes[node], self._logs / f"{node}.log"
        assert process.stdin is not None
        begin = log.stat().st_size
        process.stdin.write(f"{command}\n".encode())
        process.stdin.flush()
        found: list[bytes] = []

        def answers() -> bool:
            lines = log.read_bytes()[begin:].splitlines(keepends=True)
            found[:] = [line for line in lines if line.startswith(ANSWER) and line.endswith(b"\n")]
            return bool(found)

        assert wait_until(answers, 60), f"{node} does not answer {command}: {self.log(node)}"
        return found[0].decode().split()[1:]

    def kill(self, node: str) -> None:
        """Kill a node with SIGKILL."""
        assert self._processes[node].poll() is None, f"{node} ended by itself: {self.log(node)}"
        self._processes[node].kill()
        self._processes[node].wait()

    def stop(self, *nodes: str) -> None:
        """Stop nodes in order, with SIGTERM, once each has recorded something, if it records."""
        for node in nodes:
            assert wait_until(partial(self._has_come_up, node), 60), self.log(node)
            assert self._processes[node].poll() is None, f"{node} ended by itself: {self.log(node)}"
            self._processes[node].terminate()
        for node in nodes:
            self._processes[node].wait(timeout=30)

    def _has_come_up(self, node: str) -> bool:
        """Return whether a node has recorded a line, or records nothing: one that died before has none to merge."""
        path = self._recording(node, self.kinds[node])
        return not self.setting.is_recorded or (path.exists() and b"\n" in path.read_bytes())

    def log(self, node: str) -> str:
        """The end of what a node printed."""
        return (self._logs / f"{node}.log").read_text(errors="replace")[-2000:]

    # ---- Clients -------------------------------------------------------------------------------------

    def client(self) -> Client:
        """A client of the reference."""
        return Client(GROUP, self.addresses)

    def leader(self) -> str | None:
        """The node that a majority names as its leader, and that leads by its own account."""
        named = [self._named(node) for node in self.nodes]
        found = {each for each in named if each is not None and named.count(each) > len(self.nodes) // 2}
        leader = found.pop() if found else None
        return leader if leader is not None and named[self.nodes.index(leader)] == leader else None

    def _named(self, node: str) -> str | None:
        try:
            return asyncio.run(Client(GROUP, self.addresses, timeout=1.0).metadata(node)).leader_id
        except RequestRefusedError:
            return None

    def await_leader(self, *wanted: str) -> str:
        """Wait for a leader, one of these if any are named."""
        found: list[str] = []

        def leads() -> bool:
            leader = self.leader()
            if leader is None or (wanted and leader not in wanted):
                return False
            found.append(leader)
            return True

        assert wait_until(leads, 60), f"no leader of {wanted or self.nodes}: {[self.log(node) for node in self.kinds]}"
        return found[-1]

    def hand_over(self, node: str) -> None:
        """Let the leader hand over to a node, and wait until that leads."""

        def leads() -> bool:
            if self.leader() == node:
                return True
            try:
                asyncio.run(self.client().hand_over(node))
            except RequestRefusedError:
                time.sleep(0.2)
            return False

        assert wait_until(leads, 60), f"{node} does not lead: {[self.log(node) for node in self.kinds]}"

    def append(self, *values: str) -> list[Confirmed]:
        """Append values, one after the other; each must be confirmed."""

        async def append_all() -> list[Confirmed]:
            client = Client(GROUP, self.addresses, timeout=PATIENCE)
            answers = [(value, await client.append(value)) for value in values]
            return [Confirmed(value, each.index, each.term) for value, each in answers]

        return asyncio.run(append_all())

    def append_in_vain(self, node: str, *values: str) -> None:
        """Let a leader without followers store values, in any order."""

        async def append(value: str) -> None:
            try:
                await Client(GROUP, self.addresses, timeout=0.2).ask(node, AppendEntryRequest(node, value))
            except RequestRefusedError:
                return
            raise AssertionError(f"{value} was confirmed")

        async def append_all() -> None:
            await asyncio.gather(*map(append, values))

        asyncio.run(append_all())

    @contextmanager
    def appending(self, prefix: str, rest: float = 0.005) -> Iterator[SteadyAppends]:
        """Append unique values all the while, in a thread that rests for some seconds after each."""
        appends = SteadyAppends(self.client(), prefix, rest)
        appends.start()
        try:
            yield appends
        finally:
            appends.stop()

    @contextmanager
    def java_client(self) -> Iterator[JavaClient]:
        """DLedger's own client, in a process of its own."""
        client = JavaClient([*self._java, "Client", GROUP, self.java_peers])
        try:
            yield client
        finally:
            client.close()

    # ---- Files ---------------------------------------------------------------------------------------

    def committed_index(self, node: str) -> int:
        """The committed index in a node's checkpoint, which follows that of the node."""
        return CheckPointFile(DirectoryDisk(self.folder(node))).load()

    def await_committed(self, index: int, *nodes: str) -> None:
        """Wait until nodes, by default all, have an index committed by their checkpoints."""
        for node in nodes or self.nodes:
            there = wait_until(lambda node=node: self.committed_index(node) >= index, 60)  # type: ignore[misc]
            assert there, f"{node} has {self.committed_index(node)} of {index} committed: {self.log(node)}"

    def stored(self, node: str) -> StoredLog:
        """Read the log in the files of a node that does not run."""
        assert self._processes[node].poll() is not None, f"{node} runs"
        disk = DirectoryDisk(self.folder(node))
        store = FileLedgerStore(disk)
        store.startup(curr_term=TermFile(disk).load()[0])
        files = store.files
        headers = [files.header_at(Index(index)) for index in range(store.end_index + 1)]
        as_bytes = [
            (files.data.select(each.pos, each.size), files.index.select(32 * each.index, 32)) for each in headers
        ]
        return StoredLog([entry for entry in store.log if entry is not None], as_bytes, store.committed_index)


class StoredLog(NamedTuple):
    """A node's log in its files: the entries, the bytes of each in data file and index file, what is committed."""

    entries: list[Entry]
    as_bytes: list[tuple[bytes, bytes]]
    committed_index: int


class SteadyAppends(threading.Thread):
    """Appends values, each once, one after the other; `confirmed` are those that the group confirmed."""

    def __init__(self, client: Client, prefix: str, rest: float) -> None:
        super().__init__(daemon=True)
        self.confirmed: list[Confirmed] = []
        self.refused = 0
        self._client, self._prefix, self._rest, self._over = client, prefix, rest, False

    def run(self) -> None:
        asyncio.run(self._append())

    async def _append(self) -> None:
        number = 0
        while not self._over:
            number += 1
            value = f"{self._prefix}{number}"
            try:
                answer = await self._client.append(value)
                self.confirmed.append(Confirmed(value, answer.index, answer.term))
            except RequestRefusedError:
                self.refused += 1
            await asyncio.sleep(self._rest)

    def more(self, count: int) -> None:
        """Wait until this many more have been confirmed."""
        goal = len(self.confirmed) + count
        assert wait_until(lambda: len(self.confirmed) >= goal), f"{len(self.confirmed)} of {goal} confirmed"

    def stop(self) -> None:
        """Append no more."""
        self._over = True
        self.join(30)


class JavaClient:
    """The process of Client.java."""

    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(
            [*DIE_WITH_PARENT, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, command: str) -> list[str]:
        """Give a command, and return the words of its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return line.split()[1:]
        raise AssertionError(f"the client of Java has ended before it answered {command}")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()


def assert_kept(group: MixedGroup, confirmed: list[Confirmed], *nodes: str) -> dict[str, StoredLog]:
    """Assert that nodes, by default all, have what was confirmed, in its order, in logs that are equal byte for byte.

    The nodes must not run. Where one log is longer, only what both have is compared.
    """
    logs = {node: group.stored(node) for node in nodes or NODES}
    assert confirmed, "nothing was confirmed"
    indexes = [each.index for each in confirmed]
    assert indexes == sorted(set(indexes)), "an append was confirmed below an earlier one"
    for node, log in logs.items():
        # As a node of Java stops, two of its threads may replace the checkpoint at once, and then there is none.
        is_lost = group.kinds[node] == JAVA and not (group.folder(node) / "checkpoint").exists()
        assert is_lost or log.committed_index >= indexes[-1], f"{node} has {log.committed_index} committed"
        for each in confirmed:
            assert log.entries[each.index] == Entry(each.term, each.value), f"{node} at {each.index}"
        values = [entry.value for entry in log.entries]
        assert len(values) == len(set(values)), f"{node} has a value twice"
    first, *others = logs.items()
    for node, log in others:
        common = min(len(log.as_bytes), len(first[1].as_bytes))
        assert log.as_bytes[:common] == first[1].as_bytes[:common], f"{node} and {first[0]} differ"
    return logs


def terms_of(log: StoredLog) -> list[Any]:
    """The terms of a log's entries, each once."""
    return sorted({entry.term for entry in log.entries})
