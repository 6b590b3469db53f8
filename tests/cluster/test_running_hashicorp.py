"""Groups of hashicorp/raft that run: as processes on this machine, and under faults in simulated time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.base.verdict import Verdict
from lockstep.cli.client_command import command as client_command
from lockstep.cluster.chaos_run import ChaosResult, ChaosRun
from lockstep.cluster.chaos_verdict import ChaosJudge
from lockstep.cluster.group_session import GroupOptions, GroupSession
from lockstep.cluster.node_processes import NodeProcesses, free_addresses
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from raftref.hashicorp.runtime.durable_stores import DiskStores
from raftref.hashicorp.stores import Stores
from tests.support.programs.processes import running_nodes, wait_until

SYSTEM = SYSTEMS["HashicorpRaft"]


def running() -> RunningNodes:
    assert SYSTEM.running is not None
    return SYSTEM.running()


# ---- Processes -------------------------------------------------------------------------------------------


#: The answer for the first entry, which is the configuration.
NOTHING_THERE = "get 1: refused, no command at index 1 has been applied"


class Conversation:
    """Gives a group its commands, each after what the group printed to the one before."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.session = GroupSession(SYSTEM, running(), GroupOptions(3, folder, NodeKind(), 0.3), self.said.append)

    async def leader(self) -> str:
        """The server that is a leader now, or the next one."""
        while True:
            steps = [step for step in self.session.newest().values() if step is not None]
            leaders = [step for step in steps if step.shows.get("role") == "Leader"]
            if leaders:
                return max(leaders, key=lambda step: step.shows["currentTerm"]).node
            await asyncio.sleep(0.1)

    async def confirmed(self, value: str) -> AsyncIterator[str]:
        """Append a value until it is confirmed: on a slow machine a leader may lose its lease."""
        while not any(line.startswith(f"append {value}: index ") for line in self.said):
            yield f"append {value}"

    async def members_changed(self) -> AsyncIterator[str]:
        """Remove a follower, which shuts down, and add it again once its process is another one."""
        leader = await self.leader()
        node = next(each for each in self.session.nodes if each != leader)
        for command in (f"remove {node}", f"kill {node}", f"start {node}", f"add {node}"):
            yield command
            while command.startswith(("remove", "add")) and not any(
                line.startswith(f"{command}: index ") for line in self.said
            ):
                yield command

    async def commands(self) -> AsyncIterator[str]:
        async for line in self.confirmed("a"):
            yield line
        old = await self.leader()
        yield f"kill {old}"
        async for line in self.confirmed("c"):
            yield line
        yield f"start {old}"
        other = next(node for node in self.session.nodes if node != old)
        yield f"cut {other}"
        yield "wait 0.3"
        yield "heal"
        async for line in self.confirmed("d"):
            yield line
        yield f"pause {old}"
        yield "wait 1"
        yield f"resume {old}"
        yield "status"
        leader = await self.leader()
        yield f"transfer {next(node for node in self.session.nodes if node != leader)}"
        async for line in self.confirmed("e"):
            yield line
        async for line in self.members_changed():
            yield line
        index = next(line for line in self.said if line.startswith("append a: index ")).split()[3].rstrip(",")
        while not any(line.startswith(f"get {index}: a of term ") for line in self.said):
            yield f"get {index}"
        while NOTHING_THERE not in self.said:
            yield "get 1"


@pytest.mark.nightly
def test_a_group_of_processes_loses_its_leader_and_nothing_else_and_what_it_did_holds_in_the_spec(
    tmp_path: Path,
) -> None:
    talk = Conversation(tmp_path / "run")
    verdict = asyncio.run(talk.session.run(talk.commands()))
    assert verdict.verdict is Verdict.HOLDS, (verdict, talk.said)
    assert any(line.startswith("n1 role ") and ", commitIndex " in line for line in talk.said)
    events = [json.loads(line) for line in talk.session.trace.read_text().splitlines()[1:-1]]
    taken = {event["action"] for event in events}
    assert {"Crash", "Restart", "RequestVote", "ApplyFsm", "HandleHeartbeatResponse", "RPCError"} <= taken
    assert any(event["action"] == "AppendConfigurationEntry" for event in events)
    assert running_nodes(tmp_path) == []
    logs = "".join(path.read_text() for path in (tmp_path / "run").glob("*.log"))
    assert "error" not in logs.lower()


@pytest.mark.nightly
def test_a_client_asks_servers_that_were_started_by_hand(tmp_path: Path) -> None:
    names = ("n1", "n2", "n3")
    peers = ";".join(f"{name}={host}:{port}" for name, (host, port) in zip(names, free_addresses(3), strict=True))
    words = ["--system", SYSTEM.spec, "--time-scale", "0.2"]
    commands = {name: [name, peers, *words, "--dir", str(tmp_path / name)] for name in names}
    with NodeProcesses(commands, tmp_path) as group:
        for name in names:
            group.start(name)
        ask = ["--system", SYSTEM.spec, peers]

        def said(*words: str) -> str:
            return CliRunner().invoke(client_command, [*ask, *words], standalone_mode=False).output

        answers = [said("append", "x")]
        while ": index " not in answers[-1] and len(answers) < 20:
            answers.append(said("append", "x"))
        index = answers[-1].split()[3].rstrip(",")
        assert wait_until(lambda: said("get", index).startswith(f"get {index}: x of term "))
        refused = "get 99: refused, no command at index 99 has been applied\n"
        assert wait_until(lambda: said("get", "99") == refused)
        group.kill("n1")
        group.start("n1")
        assert wait_until(lambda: said("get", index).startswith(f"get {index}: x of term "))
    assert running_nodes(tmp_path) == []


# ---- Simulated time --------------------------------------------------------------------------------------


def chaos(seed: int) -> ChaosResult:
    return ChaosRun(running(), seed, 3, NodeKind()).run(20.0)


@pytest.mark.parametrize("seed", [3, 6])
def test_nothing_confirmed_is_lost_whatever_fails(seed: int, tmp_path: Path) -> None:
    result = chaos(seed)
    assert result.confirmed > 20
    assert sum(result.faults.values()) > 3
    verdict = ChaosJudge(SYSTEM, running(), 3).judge(result, tmp_path / "chaos.ndjson", with_spec=False)
    assert verdict.reasons == []


def test_a_disk_that_forgets_entries_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: of the log nothing is durable behind the third entry."""
    persist = DiskStores.persist

    def forgets(self: DiskStores, before: Stores, after: Stores) -> None:
        kept = {index: entry for index, entry in after.logs.items() if index <= 3}
        persist(self, before, replace(after, logs=kept))

    monkeypatch.setattr(DiskStores, "persist", forgets)
    judge = ChaosJudge(SYSTEM, running(), 3)
    run = chaos(3)
    assert run.faults["power"] > 0
    (reason, *_) = judge.judge(run, tmp_path / "chaos.ndjson", with_spec=False).reasons
    assert "in the end" in reason or "log is" in reason
