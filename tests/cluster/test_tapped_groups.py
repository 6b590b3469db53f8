"""Groups of real nodes whose wire is tapped: what crosses it breaks no rule, and hides no message."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.cluster.node_processes import free_addresses
from lockstep.systems.file_check import check
from lockstep.systems.running_nodes import Address
from lockstep.systems.wire_format import UNREADABLE
from tests.scripts.reproduce.dledger_group import DLedgerGroup
from tests.support.programs.processes import hear, wait_until
from tests.support.systems import mixed_dledger, mixed_raft

pytestmark = pytest.mark.nightly


@contextmanager
def tapped(spec: str, nodes: Mapping[str, Address], output: Path) -> Iterator[Mapping[str, Address]]:
    """Tap some nodes, and return where the proxies listen."""
    proxies = dict(zip(nodes, free_addresses(len(nodes)), strict=True))
    words = [sys.executable, "-m", "lockstep", "tap", "--system", spec, "--all-voters", "-o", str(output)]
    for option, addresses in (("--node", nodes), ("--listen", proxies)):
        words += [word for name, (host, port) in addresses.items() for word in (option, f"{name}={host}:{port}")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear) as process:
        try:
            assert wait_until(output.exists)
            yield proxies
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def through(name: str, nodes: Mapping[str, Address], proxies: Mapping[str, Address]) -> Mapping[str, Address]:
    """Return where a node reaches each member: the others by their proxies."""
    return {other: nodes[other] if other == name else proxies[other] for other in nodes}


def judged(wire: Path) -> Counter[str]:
    """Check what crossed the wire, and return how many lines there are of each kind."""
    found = check(wire)
    assert found.verdict is Verdict.HOLDS, [found.reason, found.findings]
    kinds: Counter[str] = Counter()
    for line in wire.read_text(encoding="utf-8").splitlines()[1:]:
        kinds[line.partition('"kind":"')[2].partition('"')[0]] += 1
    assert kinds[UNREADABLE] == 0
    return kinds


# ---- hashicorp/raft ----------------------------------------------------------------------------------------


class TappedServers(mixed_raft.MixedGroup):
    """Servers that reach each other by a tap."""

    proxies: Mapping[str, Address]

    def _go(self, name: str) -> list[str]:
        places = through(name, self.addresses, self.proxies)
        words = ";".join(f"{other}={host}:{port}" for other, (host, port) in places.items())
        return [*super()._go(name), "-through", words]


@pytest.mark.parametrize("release", ["1.7.3", "1.8.0"])
def test_servers_of_the_real_library_break_no_rule(tmp_path: Path, release: str) -> None:
    names = ("n1", "n2", "n3")
    shape = mixed_raft.Shape(names, release=release)
    wire = tmp_path / "wire.ndjson"
    with (
        TappedServers(dict.fromkeys(names, mixed_raft.GO), tmp_path, shape) as servers,
        tapped("HashicorpRaft", servers.addresses, wire) as proxies,
    ):
        servers.proxies = proxies
        servers.start(*names)
        leader = servers.leader()
        first = servers.append(*(f"a{number}" for number in range(20)))
        servers.kill(leader)
        second = servers.append(*(f"b{number}" for number in range(20)))
        servers.start(leader)
        servers.until_applied(first | second)
    kinds = judged(wire)
    assert kinds["AppendEntries"] > 80
    assert kinds["Heartbeat"] > 0
    assert kinds["RequestVote"] >= 4
    assert kinds["refused"] > 0


# ---- DLedger -----------------------------------------------------------------------------------------------


class TappedNodes(DLedgerGroup):
    """Nodes that reach each other by a tap."""

    proxies: Mapping[str, Address]

    def java_peers_of(self, node: str) -> str:
        places = through(node, self.addresses, self.proxies)
        return ";".join(f"{other}-{host}:{port}" for other, (host, port) in places.items())


@pytest.mark.parametrize("version", ["0.2.7", "0.3.2"])
def test_nodes_of_the_released_dledger_break_no_rule(tmp_path: Path, version: str) -> None:
    wire = tmp_path / "wire.ndjson"
    with (
        TappedNodes(tmp_path, version, is_recorded=False) as group,
        tapped("DLedger", group.addresses, wire) as proxies,
    ):
        group.proxies = proxies
        group.up(*mixed_dledger.NODES)
        leader = group.await_leader()
        for number in range(20):
            group.append_to(leader, f"a{number}")
        group.kill(leader)
        other = group.await_leader(*{*mixed_dledger.NODES} - {leader})
        for number in range(20):
            group.append_to(other, f"b{number}")
    kinds = judged(wire)
    assert kinds["PUSH"] > 80
    assert kinds["VOTE"] >= 4
    assert kinds["HEART_BEAT"] > 0
