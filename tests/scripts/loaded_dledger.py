"""Groups of the real DLedger under load: python -m tests.scripts.loaded_dledger --runs 8 --out FOLDER

Processes of the released DLedger, recorded by the agent, three or five, store what two clients append, while nodes are
killed and stopped for a while, links between them are cut, a leader hands over, and followers fall behind by more
entries than a dispatcher keeps without an answer. What they recorded is merged and checked by the spec, and what these
two clients were confirmed is compared with the leader's files. A row for each run says what was done to the group and
what the check says; the exit code is 1 if a run does not hold, has lost an entry, or a process ended by itself, and 3
if all others hold and some were left out. Versions, numbers of nodes, batches and times are drawn by the seed of the
run. A run in which something that is waited for does not come, as on a busy machine, is left out, with a note, unless
what was recorded until then does not hold. Maven fetches the jars.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeAlias

from raftref.dledger.client_messages import AppendEntryRequest
from raftref.dledger.messages import Entry
from raftref.dledger.runtime.client import Client, RequestRefusedError
from tests.scripts.loaded_runs import (
    COMMON_FAULTS,
    NUMBER_OF_FAULTS,
    Loaded,
    LostError,
    any_follower,
    fault_name,
    main,
    outcome_of,
    standing_still,
    wait,
)
from tests.scripts.reproduce.dledger_group import DLedgerGroup
from tests.support.programs.java_programs import recorder_jar
from tests.support.programs.processes import wait_until
from tests.support.systems.mixed_dledger import GROUP, VERSIONS, Confirmed, java_words

#: How many nodes there are, how often in 12 runs.
SIZES = (3,) * 8 + (5,) * 4
#: The intervals of heartbeats that are drawn, in milliseconds. A leader that loses a majority keeps on for three.
HEARTBEATS = (500, 1_000, 2_000)
#: More entries than a dispatcher keeps without an answer (EntryDispatcher.maxPendingSize), and what a follower misses
#: otherwise.
MISSED = (1_200, *(100,) * 11)
#: How long a client rests after an append, in seconds.
REST = 0.05
#: Clients of DLedger's own that append meanwhile.
THREADS = 8


class LoadedNodes(DLedgerGroup):
    """A group of DLedger whose nodes may stand still."""

    def running(self) -> list[str]:
        """Return the nodes whose processes run."""
        return [node for node in self.nodes if node in self._processes and self._processes[node].poll() is None]

    def kill(self, *names: str) -> None:
        """Kill the processes of nodes with SIGKILL."""
        for name in names:
            super().kill(name)

    def start_again(self, name: str) -> None:
        """Start a node that was killed."""
        self.up(name)

    def paused(self, name: str) -> AbstractContextManager[None]:
        """Let the process of a node stand still meanwhile."""
        return standing_still(self._processes[name])

    def load(self, prefix: str, count: int) -> None:
        """Append values by DLedger's own client, in threads."""
        with self.java_client() as client:
            client.ask(f"load {prefix} {count} {THREADS}")

    async def append_unheard(self, node: str, *values: str) -> None:
        """Append values at a node at once, whatever it answers."""
        clients = [Client(GROUP, self.addresses, timeout=0.2) for _ in values]
        asked = zip(clients, values, strict=True)
        appends = (client.ask(node, AppendEntryRequest(node, value)) for client, value in asked)
        await asyncio.gather(*appends, return_exceptions=True)


Fault: TypeAlias = Callable[[LoadedNodes, random.Random], None]


# ---- What is done to it beside the faults of any group ---------------------------------------------------


def handed_over(group: LoadedNodes, chance: random.Random) -> None:
    """The leader is asked to hand over, and may refuse."""
    target = any_follower(group, chance)
    with suppress(RequestRefusedError):
        asyncio.run(group.client().hand_over(target))


def left_behind(group: LoadedNodes, chance: random.Random) -> None:
    """A follower is down while others append, and catches up while more is appended."""
    down, missed = any_follower(group, chance), chance.choice(MISSED)
    group.kill(down)
    group.load(f"missed{chance.random()}", missed)
    group.start_again(down)
    group.load(f"later{chance.random()}", missed // 4)


def majority_killed(group: LoadedNodes, chance: random.Random) -> None:
    """The leader alone is left, stores what nobody commits, and the others come back."""
    leader = group.await_leader()
    others = [node for node in group.running() if node != leader]
    down = chance.sample(others, len(group.nodes) // 2 + 1) if len(others) > 2 else others
    group.kill(*down)
    asyncio.run(group.append_unheard(leader, *(f"vain{chance.random()}" for _ in range(20))))
    for node in down:
        group.start_again(node)


FAULTS: tuple[Fault, ...] = (*COMMON_FAULTS, handed_over, left_behind, majority_killed)


# ---- Runs ------------------------------------------------------------------------------------------------


def drawn(folder: Path, chance: random.Random) -> tuple[str, LoadedNodes]:
    """Draw how a group is set up; return its description, and the group, which is not started."""
    version, nodes, batches = chance.choice(VERSIONS), chance.choice(SIZES), chance.random() < 0.5
    heartbeat, checkpoint = chance.choice(HEARTBEATS), chance.choice((300, 3_000))
    times = {
        "heartBeatTimeIntervalMs": heartbeat,
        "minVoteIntervalMs": 200,
        "maxVoteIntervalMs": 600,
        "checkPointInterval": checkpoint,
    }
    names = tuple(f"n{number}" for number in range(nodes))
    group = LoadedNodes(folder, version, nodes=names, batches=batches, times=times)
    words = [version, f"{nodes} nodes", f"heartbeats of {heartbeat} ms", f"checkpoints of {checkpoint} ms"]
    return ", ".join([*words, *(["batches"] if batches else [])]), group


def assert_stored(group: LoadedNodes, node: str, confirmed: list[Confirmed]) -> None:
    """Assert that a node has in its files what clients were confirmed.

    Raises:
        LostError: It has not.
    """
    entries = group.stored(node).entries
    lost = [each for each in confirmed if entries[each.index : each.index + 1] != [Entry(each.term, each.value)]]
    if lost:
        raise LostError(f"{node} lacks {lost[0]}, and {len(lost) - 1} more")


def load(seed: int, folder: Path) -> Loaded:
    """Let faults happen to the group of a seed while clients append."""
    chance = random.Random(seed)
    setting, group = drawn(folder, chance)
    faults = [chance.choice(FAULTS) for _ in range(chance.randint(*NUMBER_OF_FAULTS))]
    done, confirmed = tuple(map(fault_name, faults)), list[Confirmed]()
    try:
        with group:
            group.up(*group.nodes)
            group.await_leader()
            with group.appending("a", REST) as one, group.appending("b", REST) as other:
                one.more(3)
                for fault in faults:
                    fault(group, chance)
                    wait(chance)
                one.more(3)
            confirmed += [*one.confirmed, *other.confirmed]
            leader = group.await_leader()
            last = max(each.index for each in confirmed)
            wait_until(lambda: group.committed_index(leader) >= last, 60)
            group.stop(*group.running())
            assert_stored(group, leader, confirmed)
    except (AssertionError, LostError, subprocess.TimeoutExpired) as error:
        return Loaded(setting, done, len(confirmed), recorded(folder), outcome_of(error), str(error))
    return Loaded(setting, done, len(confirmed), recorded(folder))


def recorded(folder: Path) -> list[Path]:
    """Return the files of what the nodes have recorded."""
    return sorted(folder.glob("n*.rec"))


def build() -> None:
    """Build the programs of each version, and the recorder."""
    recorder_jar()
    for version in VERSIONS:
        java_words(version)


if __name__ == "__main__":
    main(__doc__, load, FAULTS, build)
