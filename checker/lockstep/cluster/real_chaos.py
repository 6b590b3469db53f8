"""One run of chaos in real time: a group of processes fails while clients from outside append and read.

The plan of the faults follows from the seed; what comes of it depends on the machine. Processes are killed and stopped,
links are cut and slow, and the leadership is handed over. A machine that loses power, a clock that jumps and a disk
that is full or slow are left to simulated time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random

from lockstep.base.loop_interrupts import run_until_interrupted
from lockstep.base.verdict import Verdict
from lockstep.cluster.chaos_clients import CLIENT_TIMEOUT
from lockstep.cluster.chaos_run import CALM, ChaosResult
from lockstep.cluster.chaos_verdict import ChaosVerdict
from lockstep.cluster.client_history import Append, Read
from lockstep.cluster.group_session import GroupOptions, GroupSession
from lockstep.cluster.network_links import Links
from lockstep.cluster.node_processes import NodeProcesses
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.running_nodes import AppendOutcome, ClientRefusedError, HistoryClient, ReadOutcome, RunningNodes
from lockstep.systems.system import System

#: The number of clients, the longest that one rests between two operations, in seconds, and the share of reads.
CLIENTS, MAX_REST, READS = 3, 1.0, 0.25
#: The time between two faults, and the length of one, in seconds.
FAULT_EVERY, FAULT_LASTS = (0.5, 6.0), (0.1, 12.0)
#: The odds that a cut leaves a node alone.
ALONE = 0.5
#: The faults of a group of processes, and the one order that its clients can give.
TRANSFER = "transfer"
REAL_FAULTS = ("kill", "pause", "cut", "slow network", TRANSFER)
#: What must come of them in a series.
REAL_FLOORS = frozenset({"leader changes"})
#: By what all times of the nodes are multiplied.
REAL_TIME_SCALE = 0.5
#: The longest that a slow link holds data back, in seconds.
MAX_DELAY = 0.3
#: How often a read is asked again in the end, and the rest before that, in seconds.
ATTEMPTS, RETRY = 20, 0.5


class RealChaosRun:
    """Runs a group of processes under faults, and judges it."""

    def __init__(self, system: System, running: RunningNodes, seed: int, options: GroupOptions) -> None:
        """Prepare a run. Arguments: `system` and `running`; `seed`, of the plan; `options`, of the group.

        Raises GaveUpError where the folder of the group is not empty.
        """
        assert system.hunted is not None
        self._running = running
        self._may_fail = frozenset[str]() if options.kind.flaws else system.hunted().may_fail_repaired
        self._random = Random(seed)
        self._session = GroupSession(system, running, options, lambda _: None)
        self._result = ChaosResult(seed)
        self._log: dict[int, str] = {}
        self._network_faults = 0

    def run(self, seconds: float) -> ChaosVerdict:
        """Run for a time under faults, then for a time without, and judge clients and trace.

        Each of the signals ends the run and its processes; raises Interrupted then.
        """

        async def work(links: Links, group: NodeProcesses) -> None:
            until = time.monotonic() + seconds
            clients = [self._client(number, until) for number in range(CLIENTS)]
            await asyncio.gather(self._faults(links, group, until), *clients)
            await self._calm(links, group)
            await self._read_log()

        verdict = run_until_interrupted(self._session.run_with(work, asyncio.Semaphore(0), live=False))
        result = self._result
        result.steps = self._session.steps()
        result.conclude(self._running, self._log)
        return self._verdict(verdict)

    def _verdict(self, trace: TraceVerdict) -> ChaosVerdict:
        """Return the verdict on clients and trace; what may fail in a repaired group is no violation there."""
        found = ChaosVerdict(self._result)
        found.violated = {name: "in the trace" for name in trace.violations if name not in self._may_fail}
        is_excused = trace.verdict is Verdict.VIOLATED and trace.deviation is None and not found.violated
        if trace.verdict is not Verdict.HOLDS and not is_excused:
            found.trace = f"{self._session.trace}: {trace.verdict}: {trace.reason}"
        found.trace = found.trace or "; ".join(self._session.died)
        return found

    # ---- Faults --------------------------------------------------------------------------------------

    async def _faults(self, links: Links, group: NodeProcesses, until: float) -> None:
        random, ends = self._random, set[asyncio.Task[None]]()
        while time.monotonic() < until:
            await asyncio.sleep(random.uniform(*FAULT_EVERY))
            if time.monotonic() > until - FAULT_LASTS[0]:
                break
            kind, node = random.choice(REAL_FAULTS), random.choice(self._session.nodes)
            lasts = min(random.uniform(*FAULT_LASTS), until - time.monotonic()) * (kind != TRANSFER)
            end = self._fail(kind, node, links, group)
            if end is not None:
                self._result.faults[kind] += 1
                ends.add(asyncio.create_task(_after(lasts, end)))
        await asyncio.gather(*ends)

    def _fail(
        self, kind: str, node: str, links: Links, group: NodeProcesses
    ) -> Callable[[], Awaitable[None] | None] | None:
        """Let a fault happen; return what ends it, None where it cannot happen now."""
        random, nodes = self._random, self._session.nodes
        if kind in ("kill", "pause") and not group.is_running(node):
            return None
        match kind:
            case "kill":
                group.kill(node)
                return lambda: self._start(group, node)
            case "pause":
                group.pause(node)
                return lambda: group.resume(node) if group.is_running(node) else None
            case "cut":
                alone = random.random() < ALONE
                links.cut_off([node] if alone else random.sample(nodes, random.randint(1, max(1, len(nodes) - 1))))
                return self._healing(links)
            case "slow network":
                for src in nodes:
                    for dst in nodes:
                        if src != dst:
                            links.slow(src, dst, random.uniform(0, MAX_DELAY))
                return self._healing(links)
            case _:
                return lambda: self._transfer(node)

    def _healing(self, links: Links) -> Callable[[], None]:
        """Return what ends all cuts and delays, unless another one lasts still."""
        self._network_faults += 1

        def ends() -> None:
            self._network_faults -= 1
            if not self._network_faults:
                links.heal()

        return ends

    @staticmethod
    def _start(group: NodeProcesses, node: str) -> None:
        if not group.is_running(node):
            group.start(node)

    async def _transfer(self, node: str) -> None:
        try:
            answer = await self._session.client().transfer(node)
        except ClientRefusedError:
            answer = ""
        self._result.orders["transfer"] += answer.startswith("SUCCESS")

    async def _calm(self, links: Links, group: NodeProcesses) -> None:
        links.heal()
        for node in self._session.nodes:
            if group.is_running(node):
                group.resume(node)
            else:
                group.start(node)
        await asyncio.sleep(CALM)

    # ---- Clients -------------------------------------------------------------------------------------

    def _history_client(self) -> HistoryClient:
        return self._running.history_client("lockstep", self._session.addresses)

    async def _client(self, number: int, until: float) -> None:
        """Append one value after the other, and read, until a moment."""
        client, count, random = self._history_client(), 0, Random(self._random.random())
        while time.monotonic() < until:
            await asyncio.sleep(random.uniform(0, MAX_REST))
            if random.random() < READS:
                await self._read(client, random)
            else:
                count += 1
                await self._append(client, f"c{number}-{count}")

    async def _append(self, client: HistoryClient, value: str) -> None:
        each = Append(value, time.monotonic())
        self._result.appends.append(each)
        outcome = await _in_time(client.append(value))
        if isinstance(outcome, AppendOutcome):
            each.ended, each.code, each.index = time.monotonic(), outcome.code, outcome.index
            each.is_refused = outcome.is_refused

    async def _read(self, client: HistoryClient, random: Random) -> None:
        confirmed = [each.index for each in self._result.appends if each.index is not None]
        if not confirmed:
            return
        index = max(confirmed) if random.random() < 0.5 else random.choice(confirmed)
        # A read behind a barrier shows what was confirmed, whoever answers. Else a client from outside does not know
        # whether the leader that answers is the newest.
        each = Read(index, time.monotonic(), by_newest=self._running.reads_all)
        self._result.reads.append(each)
        outcome = await _in_time(client.read(index))
        if isinstance(outcome, ReadOutcome):
            each.ended, each.code, each.values, each.up_to = (
                time.monotonic(),
                outcome.code,
                outcome.values,
                outcome.up_to,
            )

    async def _read_log(self) -> None:
        """Read the whole log at the leader, once there are no faults: up to behind the last index that is known."""
        client = self._history_client()
        last = max((each.index for each in self._result.appends if each.index is not None), default=-1)
        for index in range(last + 1):
            for _ in range(ATTEMPTS):
                outcome = await client.read(index)
                if outcome.values is not None:
                    break
                await asyncio.sleep(RETRY)
            self._log.update(outcome.values or {})


async def _after(seconds: float, end: Callable[[], Awaitable[None] | None]) -> None:
    await asyncio.sleep(seconds)
    waited = end()
    if waited is not None:
        await waited


async def _in_time(asked: Awaitable[AppendOutcome | ReadOutcome]) -> AppendOutcome | ReadOutcome | None:
    """Return an answer, None where it does not come before a client gives up."""
    try:
        async with asyncio.timeout(CLIENT_TIMEOUT):
            return await asked
    except TimeoutError:
        return None
