"""Recorded groups of real processes under load: faults of any system, and a series of runs with its table.

What the processes of a run recorded is merged and checked by the spec, and what clients were answered is compared with
what a node has. A run draws everything from its seed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.report.text_table import table
from lockstep.systems.file_check import check
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.node_recorder import MergeOptions
from tests.scripts.reproduce.links import Links, apart, cut_off

#: The fewest and the most faults of a run.
NUMBER_OF_FAULTS = (2, 6)
#: The shortest and the longest time that a fault lasts, and that follows it, in seconds.
LASTS = (0.1, 1.5)
#: The outcome of a run in which something that is waited for did not come, of one in which an append that was confirmed
#: is not where it was confirmed, and of one in which a process ended by itself.
LEFT_OUT, LOST, DIED = "left out", "lost", "died"


class LostError(Exception):
    """An append that was confirmed is not where it was confirmed."""


class LoadedGroup(Protocol):
    """A group of processes that faults happen to."""

    links: Links

    def await_leader(self) -> str:
        """Return the leader, once there is one."""
        ...

    def running(self) -> list[str]:
        """Return the nodes that run."""
        ...

    def kill(self, *names: str) -> None:
        """Kill processes."""
        ...

    def start_again(self, name: str) -> None:
        """Start a node that was killed."""
        ...

    def paused(self, name: str) -> AbstractContextManager[None]:
        """Let the process of a node stand still meanwhile."""
        ...


@contextmanager
def standing_still(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let a process stand still meanwhile."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


# ---- What is done to a group of any system ---------------------------------------------------------------


def wait(chance: random.Random) -> None:
    """Let some time pass."""
    time.sleep(chance.uniform(*LASTS))


def any_follower(group: LoadedGroup, chance: random.Random) -> str:
    """Return any node but the leader."""
    leader = group.await_leader()
    return chance.choice([name for name in group.running() if name != leader])


def restart(group: LoadedGroup, name: str, chance: random.Random) -> None:
    """Kill a node, and start it again."""
    group.kill(name)
    wait(chance)
    group.start_again(name)


def leader_killed(group: LoadedGroup, chance: random.Random) -> None:
    """The leader dies, and comes back."""
    restart(group, group.await_leader(), chance)


def follower_killed(group: LoadedGroup, chance: random.Random) -> None:
    """A follower dies, and comes back."""
    restart(group, any_follower(group, chance), chance)


def all_killed(group: LoadedGroup, chance: random.Random) -> None:
    """All nodes die, and come back one after the other."""
    names = group.running()
    group.kill(*names)
    for name in chance.sample(names, len(names)):
        group.start_again(name)


def leader_paused(group: LoadedGroup, chance: random.Random) -> None:
    """The process of the leader stands still."""
    with group.paused(group.await_leader()):
        wait(chance)


def leader_cut(group: LoadedGroup, chance: random.Random) -> None:
    """The leader is cut off, and stores what nobody else gets."""
    group.links.rules(*cut_off(group.await_leader()))
    wait(chance)
    group.links.rules()


def link_cut(group: LoadedGroup, chance: random.Random) -> None:
    """Two nodes do not reach each other."""
    group.links.rules(*apart(*chance.sample(group.running(), 2)))
    wait(chance)
    group.links.rules()


#: What any group is subjected to.
COMMON_FAULTS = (leader_killed, follower_killed, all_killed, leader_paused, leader_cut, link_cut)


def fault_name(fault: Callable[..., None]) -> str:
    """Return the name of a fault as words."""
    return fault.__name__.replace("_", " ")


# ---- Runs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loaded:
    """A run that is over: how the group was set up, which faults happened, and what its nodes recorded.

    `outcome` is one of the above where the run did not go through, and `reason` says why.
    """

    setting: str
    done: tuple[str, ...]
    confirmed: int
    records: Sequence[Path]
    outcome: str = ""
    reason: str = ""


def outcome_of(error: Exception) -> str:
    """Return the outcome of a run that an error ended."""
    return LOST if isinstance(error, LostError) else DIED if "ended by itself" in str(error) else LEFT_OUT


@dataclass(frozen=True)
class Run:
    """One run, and what became of it."""

    seed: int
    setting: str
    done: tuple[str, ...]
    confirmed: int
    events: int
    #: What the check says, or why there is no recording to check.
    outcome: str
    reason: str

    @property
    def row(self) -> tuple[object, ...]:
        """Return its row of the table."""
        return self.seed, self.setting, ", ".join(self.done), self.confirmed, self.outcome


#: Runs the group of a seed in a folder.
Load = Callable[[int, Path], Loaded]


def merged(records: Sequence[Path], out: Path) -> Path:
    """Merge what the nodes have recorded into a file, and return it."""
    with out.open("wb") as file:
        file.writelines(MergedFiles(records, MergeOptions(), lambda _: None).lines(is_over=True))
    return out


def run(load: Load, seed: int, out: Path) -> Run:
    """Run a group in a folder of its own, which is removed if all is well, and return what became of it.

    What was recorded is checked, too, where the run did not go through, if each node has recorded anything.
    """
    folder = out / f"{seed}"
    folder.mkdir(parents=True)
    loaded = load(seed, folder)
    known = seed, loaded.setting, loaded.done, loaded.confirmed
    silent = [path.name for path in loaded.records if b"\n" not in path.read_bytes()]
    if loaded.outcome and (silent or not loaded.records):
        return Run(*known, 0, loaded.outcome, f"{loaded.reason}; no line in {', '.join(silent) or 'any file'}")
    try:
        found = check(merged(loaded.records, folder / "group.ndjson"))
    except BadInputError as error:
        return Run(*known, 0, "refused", f"{error}; {loaded.reason}")
    if found.verdict is Verdict.HOLDS and loaded.outcome:
        return Run(*known, found.events, loaded.outcome, loaded.reason)
    if found.verdict is Verdict.HOLDS:
        shutil.rmtree(folder)
    outcome = LOST if loaded.outcome == LOST else str(found.verdict)
    return Run(*known, found.events, outcome, f"{found.reason}; {loaded.reason}" if loaded.reason else found.reason)


def runs(load: Load, seeds: Sequence[int], out: Path, parallel: int) -> Iterator[Run]:
    """Run groups, some at a time, and yield what became of each."""
    with ProcessPoolExecutor(parallel, max_tasks_per_child=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in as_completed([pool.submit(run, load, seed, out) for seed in seeds]):
            yield each.result()


def summary(found: Sequence[Run], faults: Sequence[str]) -> str:
    """Return a table of the outcomes of the runs with each fault, and of all."""
    outcomes = sorted({each.outcome for each in found})
    kinds: Mapping[str, Sequence[Run]] = {name: [each for each in found if name in each.done] for name in faults}
    rows = [
        (name, *(sum(each.outcome == outcome for each in kind) for outcome in outcomes))
        for name, kind in [*kinds.items(), ("any", found)]
    ]
    return table(("runs with", *outcomes), rows)


def main(
    description: str | None, load: Load, faults: Sequence[Callable[..., None]], prepare: Callable[[], None]
) -> None:
    """Print a line for each run, and a table of what was done how often and with what outcome.

    Arguments: `description`, what --help prints first; `load`, which runs a group; `faults`, all that may happen;
    `prepare`, which builds once what all runs need.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1, help="the first run's")
    parser.add_argument("--parallel", type=int, default=1, help="how many groups run at once")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder for the recordings that do not hold")
    args = parser.parse_args()
    prepare()
    found = []
    for each in runs(load, range(args.seed, args.seed + args.runs), args.out, args.parallel):
        found.append(each)
        print(*each.row, each.reason, sep=" | ", flush=True)
    print(summary(found, [fault_name(each) for each in faults]))
    confirmed, events = sum(each.confirmed for each in found), sum(each.events for each in found)
    print(f"{confirmed:,} appends confirmed, {events:,} events")
    outcomes = {each.outcome for each in found}
    sys.exit(1 if outcomes - {str(Verdict.HOLDS), LEFT_OUT} else 3 if LEFT_OUT in outcomes else 0)
