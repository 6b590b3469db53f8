"""Brokers of the real RocketMQ 5.1.4, whose commit log is DLedger 0.3.1.2, with the recorder's agent.

Source: org.apache.rocketmq.store.dledger.DLedgerCommitLog, which appends to DLedger in the broker's own process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.cluster.node_processes import free_addresses
from lockstep.systems.file_check import check
from lockstep.systems.growing_text import GrowingText
from tests.support.places import TESTS
from tests.support.programs.java_programs import NO_MAVEN, OPENED, classpath, recorder_jar
from tests.support.programs.processes import wait_until
from tests.support.systems.dledger_lines import Json
from tests.support.systems.mixed_dledger import DIE_WITH_PARENT, NODES

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(NO_MAVEN is not None, reason=str(NO_MAVEN))]

ARTIFACTS = [f"org.apache.rocketmq:rocketmq-{part}:5.1.4" for part in ("broker", "namesrv", "client")]
#: The longest that three brokers take to start, or to elect another leader, on a busy machine, in seconds.
PATIENCE = 180
CONFIG = """brokerClusterName=cluster
brokerName=brokers
brokerIP1=127.0.0.1
listenPort={port}
namesrvAddr={names}
storePathRootDir={folder}
storePathCommitLog={folder}/commitlog
mappedFileSizeCommitLog=16777216
enableDLegerCommitLog=true
dLegerGroup=brokers
dLegerPeers={peers}
dLegerSelfId={node}
"""


class Brokers:
    """A name server, and three brokers that are one group."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = classpath(ARTIFACTS, [TESTS / "support" / "dledger_java" / "Producer.java"])
        names, *addresses = free_addresses(7)
        self._names = f"127.0.0.1:{names[1]}"
        self._ports = [port for _, port in addresses[:3]]
        self._peers = ";".join(f"{node}-127.0.0.1:{port}" for node, (_, port) in zip(NODES, addresses[3:], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "names.conf").write_text(f"listenPort={names[1]}\n")
        self._run("names", ["org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(folder / "names.conf")], [])

    def _words(self, options: list[str], command: list[str]) -> list[str]:
        opened = [*OPENED, "--add-opens=java.base/java.lang=ALL-UNNAMED", f"-Duser.home={self._folder}"]
        return [*DIE_WITH_PARENT, "java", "-Xmx512m", *opened, *options, "-cp", self._path, *command]

    def _run(self, name: str, command: list[str], options: list[str]) -> None:
        environment = {**os.environ, "ROCKETMQ_HOME": str(self._folder)}
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self._words(options, command), stdout=log, stderr=log, env=environment
            )

    def recorded(self, node: str) -> Path:
        """The file of a broker's recorder."""
        return self._folder / f"{node}.ndjson"

    def lines(self, node: str) -> list[Json]:
        """The lines that a broker has recorded up to now."""
        text, found = GrowingText(self.recorded(node)), list[Json]()
        while (line := text.line()) is not None:
            found.append(json.loads(line))
        text.close()
        return found

    def start(self, node: str) -> None:
        """Start a broker, and wait until it has recorded that."""
        before = sum(line["kind"] == "recovered" for line in self.lines(node))
        config = self._folder / f"{node}.conf"
        fields = {"names": self._names, "peers": self._peers, "folder": self._folder / node, "node": node}
        config.write_text(CONFIG.format(port=self._ports[NODES.index(node)], **fields))
        agent = [f"-javaagent:{recorder_jar()}={self.recorded(node)}"]
        self._run(node, ["org.apache.rocketmq.broker.BrokerStartup", "-c", str(config)], agent)
        wait_until(lambda: sum(line["kind"] == "recovered" for line in self.lines(node)) > before, PATIENCE)

    def kill(self, node: str) -> None:
        """Kill a broker with SIGKILL."""
        self._processes[node].kill()
        self._processes[node].wait()

    def kill_all(self) -> None:
        """Kill the brokers and the name server."""
        for name in self._processes:
            self.kill(name)

    def send(self, prefix: str, count: int) -> None:
        """Send messages until `count` of them are confirmed."""
        words = self._words([], ["Producer", self._names, prefix, str(count), str(PATIENCE)])
        subprocess.run(words, check=True, timeout=2 * PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def leader(self) -> str:
        """The broker that was the last to become the leader."""
        wins = [
            (line["term"], node)
            for node in NODES
            for line in self.lines(node)
            if line["kind"] == "role" and line["op"] == "changeToLeader"
        ]
        return max(wins)[1]


@contextmanager
def running(folder: Path) -> Iterator[Brokers]:
    """Yield a name server and no broker yet; leaving the block kills all."""
    brokers = Brokers(folder)
    try:
        yield brokers
    finally:
        brokers.kill_all()


def merged(brokers: Brokers, out: Path) -> list[Json]:
    """Merge what the brokers have recorded, and return the lines."""
    files = [str(brokers.recorded(node)) for node in NODES]
    words = [sys.executable, "-m", "lockstep", "merge", *files, "-o", str(out)]
    subprocess.run(words, check=True, timeout=120)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_brokers_of_rocketmq_are_recorded_while_one_is_killed_and_starts_again(tmp_path: Path) -> None:
    out = tmp_path / "group.ndjson"
    with running(tmp_path) as brokers:
        for node in NODES:
            brokers.start(node)
        brokers.send("first", 20)
        killed = brokers.leader()
        brokers.kill(killed)
        brokers.send("second", 10)
        assert brokers.leader() != killed
        brokers.start(killed)
        brokers.send("third", 10)
    lines = merged(brokers, out)
    found = check(out)
    assert (found.verdict, found.forced) == (Verdict.HOLDS, [])
    assert sum(line.get("op") == "appendAsLeader" for line in lines) >= 40
    assert [line["node"] for line in lines if line["kind"] == "crash"] == [killed]

    stored = [line for line in lines if line.get("op") == "appendAsLeader"][10]
    stored["val"] = "another message"
    out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    wrong = check(out)
    assert wrong.verdict is Verdict.VIOLATED
    assert wrong.deviation is not None
    assert wrong.deviation.action in ("DoAppend", "DoCheckAppendResponse")
