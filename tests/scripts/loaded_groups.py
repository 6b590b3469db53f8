"""Groups of the real DLedger under load: python -m tests.scripts.loaded_groups --runs 8 --out FOLDER

Three processes of the released DLedger, recorded by the agent, store what DLedger's own client appends in eight
threads, while nodes are killed and start again. What they recorded is merged and checked by the spec. A row for each
run says how far a dispatcher was behind, how often it pushed again, and what the check says; the exit code is 1 if a
run does not hold. Versions, batches and faults take turns. A group that has no leader within a minute, as on a busy
machine, is left out, with a note. Maven fetches the jars.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import TypeAlias

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.text_table import table
from lockstep.systems.dledger.recording_import import import_recording
from lockstep.systems.dledger.recording_lines import SendPush
from lockstep.systems.dledger.recording_reader import RECORDING
from lockstep.systems.file_check import check
from lockstep.trace.imported_trace import Summary
from tests.support.systems.mixed_dledger import JAVA, NODES, VERSIONS, GroupSetting, JavaClient, MixedGroup

#: More entries than a dispatcher keeps without an answer (EntryDispatcher.maxPendingSize).
BEHIND = 1_200
#: Entries that are appended while nodes are killed.
BESIDE = 600
THREADS = 8
#: The time in which followers catch up and what was appended is committed, in seconds.
SETTLES = 3.0

#: DLedger's own times, in milliseconds: a leader that loses both followers keeps on for three heartbeats. Checkpoints
#: are more frequent.
TIMES = {
    "heartBeatTimeIntervalMs": 2_000,
    "minVoteIntervalMs": 300,
    "maxVoteIntervalMs": 1_000,
    "checkPointInterval": 300,
}

#: What is done to a group; its name says which nodes are killed.
Fault: TypeAlias = Callable[[MixedGroup, JavaClient, random.Random], None]


@dataclass(frozen=True)
class Run:
    """One run: how the group was set up, what was done to it, and what became of its recording."""

    version: str
    batches: bool
    fault: str
    summary: Summary
    most_pending: int
    verdict: TraceVerdict

    @property
    def row(self) -> tuple[object, ...]:
        """Return its row of the table."""
        actions = self.summary.actions
        again = actions.get("DoCheckAppendResponse", 0) + actions.get("DoCheckBatchAppendResponse", 0)
        counts = actions["AppendAsLeader"], self.most_pending, again, len(self.summary.forced)
        return self.version, "yes" if self.batches else "no", self.fault, *counts, str(self.verdict.verdict)


# ---- What is done to a group -----------------------------------------------------------------------------


@contextmanager
def loading(client: JavaClient, prefix: str, count: int) -> Iterator[None]:
    """Append values meanwhile, and wait at the end until each was confirmed or refused."""
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(client.ask, f"load {prefix} {count} {THREADS}")
        yield
        asked.result()


def a_follower(group: MixedGroup, client: JavaClient, chance: random.Random) -> None:
    """A follower is down until it is more than a thousand entries behind, and catches up while more are appended."""
    down = chance.choice([node for node in NODES if node != group.await_leader()])
    group.kill(down)
    with loading(client, "missed", BEHIND):
        pass
    group.start(**{down: JAVA})
    with loading(client, "later", 300):
        pass


def both_followers(group: MixedGroup, client: JavaClient, _: random.Random) -> None:
    """Both followers are down until they are more than a thousand entries behind; nothing is committed meanwhile."""
    leader = group.await_leader()
    down = [node for node in NODES if node != leader]
    for node in down:
        group.kill(node)
    for first in range(0, BEHIND, 200):
        group.append_in_vain(leader, *(f"missed{each}" for each in range(first, first + 200)))
    group.start(**dict.fromkeys(down, JAVA))
    with loading(client, "later", 300):
        pass


def the_leader(group: MixedGroup, client: JavaClient, _: random.Random) -> None:
    """The leader is killed while it pushes, and comes back to a group that is led by another node."""
    leader = group.await_leader()
    with loading(client, "value", BESIDE):
        time.sleep(1)
        group.kill(leader)
        group.await_leader(*(node for node in NODES if node != leader))
        group.start(**{leader: JAVA})


def any_node(group: MixedGroup, client: JavaClient, chance: random.Random) -> None:
    """Four times any node is killed, and starts again."""
    with loading(client, "value", BESIDE):
        for _ in range(4):
            node = chance.choice(NODES)
            time.sleep(chance.uniform(0.2, 1.0))
            group.kill(node)
            time.sleep(chance.uniform(0.0, 1.0))
            group.start(**{node: JAVA})
            group.await_leader()


FAULTS: tuple[Fault, ...] = (a_follower, both_followers, the_leader, any_node)


# ---- Runs ------------------------------------------------------------------------------------------------


def recorded(folder: Path, setting: GroupSetting, fault: Fault, chance: random.Random) -> Path:
    """Run a group in an empty folder; return the recording."""
    with MixedGroup(folder, setting) as group:
        group.start(**dict.fromkeys(NODES, JAVA))
        group.await_leader()
        with group.java_client() as client:
            with loading(client, "first", 20):
                pass
            fault(group, client, chance)
            time.sleep(SETTLES)
            with loading(client, "last", 20):
                pass
        group.stop(*NODES)
        return group.merged()


def most_pending(recording: Path) -> int:
    """Return the largest number of pushes without an answer that a dispatcher had."""
    _, lines = RECORDING.read(recording, lambda _: None)
    return max((line.disp.pending for line in lines if isinstance(line, SendPush)), default=0)


def runs(count: int, seed: int, faults: Sequence[Fault], out: Path) -> Iterator[Run]:
    """Run groups one after the other, each in a folder of its own, and yield what became of each."""
    turns = product(range(count), faults, (False, True), VERSIONS)
    for number, (_, fault, batches, version) in enumerate(islice(turns, count)):
        chance = random.Random(f"{seed} {number}")
        setting = GroupSetting(version, batches, times=TIMES, is_recorded=True)
        folder = out / f"{number}-{fault.__name__}-{version}{'-batches' if batches else ''}"
        try:
            recording = recorded(folder, setting, fault, chance)
        except AssertionError as error:
            print(f"{folder.name}: left out: {error}", file=sys.stderr)
            continue
        summary = import_recording(recording).summary
        found = check(recording)
        name = fault.__name__.replace("_", " ")
        yield Run(version, batches, name, summary, most_pending(recording), found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="an empty folder for the recordings")
    names = {fault.__name__: fault for fault in FAULTS}
    parser.add_argument("--fault", choices=names, action="append", help="only this; any number of them")
    args = parser.parse_args()
    found = []
    for run in runs(args.runs, args.seed, [names[each] for each in args.fault or names], args.out):
        found.append(run)
        print(*run.row, run.verdict.reason, flush=True)
    header = ("DLedger", "batches", "killed", "appended", "most pending", "pushed again", "forced", "verdict")
    print(table(header, [run.row for run in found]))
    sys.exit(any(run.verdict.verdict is not Verdict.HOLDS for run in found))


if __name__ == "__main__":
    main()
