"""Groups of the real hashicorp/raft under load: python -m tests.scripts.loaded_servers --runs 8 --out FOLDER

Processes of the released library, recorded, store what two clients append, while servers are killed and stopped for a
while, links between them are cut, and an operator transfers leaderships, takes snapshots and changes the members. What
they recorded is merged and checked by the spec, and what the clients were answered is compared with what a server has
applied. A row for each run says what was done to the group and what the check says; the exit code is 1 if a run does
not hold or has lost a command, and 3 if all others hold and some were left out. Releases, numbers of servers and bounds
are drawn by the seed of the run. A group in which something that is waited for does not come, as on a busy machine, is
left out, with a note. Go fetches the modules.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.report.text_table import table
from lockstep.systems.file_check import check
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.node_recorder import MergeOptions
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client import RequestFailedError
from tests.scripts.reproduce.links import apart, cut_off
from tests.scripts.reproduce.raft_group import RaftGroup
from tests.support.systems.go_programs import RELEASES, go_programs
from tests.support.systems.mixed_raft import Appender

#: How many servers there are, how often in 12 runs.
SIZES = (3,) * 8 + (5,) * 4
#: The fewest and the most faults of a run.
NUMBER_OF_FAULTS = (2, 6)
#: The shortest and the longest time that a fault lasts, and that follows it, in seconds.
LASTS = (0.1, 1.5)
#: The time of a call in seconds.
RPC_TIMEOUT = 2.0
#: The outcome of a run in which something that is waited for did not come.
LEFT_OUT = "left out"


class LostError(Exception):
    """A command that was acknowledged was not applied at its index."""


#: What is done to a group while clients append.
Fault: TypeAlias = Callable[["LoadedGroup", random.Random], None]


@dataclass(frozen=True)
class Run:
    """One run: how the group was set up, what was done to it, and what became of its recording."""

    seed: int
    setting: str
    done: tuple[str, ...]
    acknowledged: int
    events: int
    #: What the check says, or why there is no recording to check.
    outcome: str
    reason: str

    @property
    def row(self) -> tuple[object, ...]:
        """Return its row of the table."""
        return self.seed, self.setting, ", ".join(self.done), self.acknowledged, self.outcome


# ---- The group -------------------------------------------------------------------------------------------


class LoadedGroup(RaftGroup):
    """A group whose operator may be refused."""

    def ask_or_refuse(self, name: str, op: str, **fields: str) -> None:
        """Ask a server for something that it may refuse, or not answer."""
        with suppress(RequestFailedError):
            self._ask(name, op, **fields)

    def change_or_refuse(self, command: ChangeCommand, name: str) -> None:
        """Change the members by whoever leads, who may refuse."""
        with suppress(RequestFailedError):
            self.change(command, name)

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Let the process of a server stand still meanwhile."""
        process = self._processes[name]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)


# ---- What is done to it ----------------------------------------------------------------------------------


def wait(chance: random.Random) -> None:
    """Let some time pass."""
    time.sleep(chance.uniform(*LASTS))


def follower(group: LoadedGroup, chance: random.Random) -> str:
    """Return any server but the leader."""
    leader = group.leader()
    return chance.choice([name for name in group.running() if name != leader])


def restart(group: LoadedGroup, name: str, chance: random.Random) -> None:
    """Kill a server, and start it again."""
    group.kill(name)
    wait(chance)
    group.start(name)


def leader_killed(group: LoadedGroup, chance: random.Random) -> None:
    """The leader dies, and comes back."""
    restart(group, group.leader(), chance)


def follower_killed(group: LoadedGroup, chance: random.Random) -> None:
    """A follower dies, and comes back."""
    restart(group, follower(group, chance), chance)


def all_killed(group: LoadedGroup, chance: random.Random) -> None:
    """All servers die, and come back one after the other."""
    names = group.running()
    group.kill(*names)
    for name in chance.sample(names, len(names)):
        group.start(name)


def leader_paused(group: LoadedGroup, chance: random.Random) -> None:
    """The process of the leader stands still."""
    with group.paused(group.leader()):
        wait(chance)


def leader_cut(group: LoadedGroup, chance: random.Random) -> None:
    """The leader is cut off, and stores what nobody else gets."""
    group.links.rules(*cut_off(group.leader()))
    wait(chance)
    group.links.rules()


def link_cut(group: LoadedGroup, chance: random.Random) -> None:
    """Two servers do not reach each other."""
    group.links.rules(*apart(*chance.sample(group.running(), 2)))
    wait(chance)
    group.links.rules()


def transfer(group: LoadedGroup, chance: random.Random) -> None:
    """The leadership is handed over."""
    group.ask_or_refuse(group.leader(), "transfer", to=follower(group, chance))


def snapshot(group: LoadedGroup, chance: random.Random) -> None:
    """A server takes a snapshot, unless it has nothing new."""
    group.ask_or_refuse(chance.choice(group.running()), "snapshot")


def left_behind(group: LoadedGroup, chance: random.Random) -> None:
    """A follower is down until the leader has a snapshot, and is sent that if the entries are gone."""
    down = follower(group, chance)
    group.kill(down)
    wait(chance)
    group.ask_or_refuse(group.leader(), "snapshot")
    group.start(down)


def demoted(group: LoadedGroup, chance: random.Random) -> None:
    """A follower loses its vote, and gets it again."""
    name = follower(group, chance)
    for command in (ChangeCommand.DEMOTE_VOTER, ChangeCommand.ADD_VOTER):
        group.change_or_refuse(command, name)
        wait(chance)


FAULTS: tuple[Fault, ...] = (
    leader_killed,
    follower_killed,
    all_killed,
    leader_paused,
    leader_cut,
    link_cut,
    transfer,
    snapshot,
    left_behind,
    demoted,
)


def fault_name(fault: Fault) -> str:
    """Return the name of a fault as words."""
    return fault.__name__.replace("_", " ")


# ---- Runs ------------------------------------------------------------------------------------------------


def drawn(folder: Path, chance: random.Random) -> tuple[str, LoadedGroup]:
    """Draw how a group is set up; return its description, and the group, which is not started."""
    release, servers = chance.choice([*RELEASES]), chance.choice(SIZES)
    max_append, kept = chance.choice((1, 3, 64)), chance.choice((0, 3, 10240))
    pipeline, prevote = chance.random() < 0.7, chance.random() < 0.8
    group = LoadedGroup(
        folder,
        release,
        voters=tuple(f"n{number}" for number in range(1, servers + 1)),
        rpc_timeout=RPC_TIMEOUT,
        max_append_entries=max_append,
        trailing_logs=kept,
        pipeline=pipeline,
        prevote=prevote,
    )
    words = [release, f"{servers} servers", f"{max_append} an append", f"{kept} kept"]
    words += [] if pipeline else ["no pipeline"]
    return ", ".join([*words, *([] if prevote else ["no pre-vote"])]), group


def load(group: LoadedGroup, faults: list[Fault], chance: random.Random) -> int:
    """Let faults happen while clients append; return how many commands were acknowledged.

    Raises:
        LostError: One of them was not applied where it was acknowledged.
    """
    with group:
        group.start(*group.kinds)
        with Appender(group, "a") as one, Appender(group, "b") as other:
            one.until_more(3)
            for fault in faults:
                fault(group, chance)
                wait(chance)
            one.until_more(3)
        acknowledged = one.acknowledged | other.acknowledged
        group.until_applied({max(acknowledged, key=acknowledged.__getitem__): max(acknowledged.values())})
        applied = group.applied(group.leader())
        group.stop(*group.running())
    try:
        one.check(applied)
        other.check(applied)
    except AssertionError as error:
        raise LostError(str(error)) from error
    return len(acknowledged)


def merged(group: LoadedGroup) -> Path:
    """Merge what the servers have recorded, and return the recording."""
    out = group.folder / "group.ndjson"
    with out.open("wb") as file:
        file.writelines(MergedFiles(group.records(), MergeOptions(), lambda _: None).lines(is_over=True))
    return out


def run(seed: int, out: Path) -> Run:
    """Run a group in a folder of its own, which is removed if all is well, and return what became of it."""
    chance = random.Random(seed)
    folder = out / f"{seed}"
    folder.mkdir()
    setting, group = drawn(folder, chance)
    faults = [chance.choice(FAULTS) for _ in range(chance.randint(*NUMBER_OF_FAULTS))]
    done = tuple(map(fault_name, faults))
    try:
        acknowledged = load(group, faults, chance)
    except (AssertionError, RequestFailedError) as error:
        return Run(seed, setting, done, 0, 0, LEFT_OUT, str(error))
    except LostError as error:
        return Run(seed, setting, done, 0, 0, "lost", str(error))
    try:
        found = check(merged(group))
    except BadInputError as error:
        return Run(seed, setting, done, acknowledged, 0, "refused", str(error))
    if found.verdict is Verdict.HOLDS:
        shutil.rmtree(folder)
    return Run(seed, setting, done, acknowledged, found.events, str(found.verdict), found.reason)


def runs(seeds: range, out: Path, parallel: int) -> Iterator[Run]:
    """Run groups, some at a time, and yield what became of each."""
    for release in RELEASES:
        go_programs(release)  # built once
    with ProcessPoolExecutor(parallel, max_tasks_per_child=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in as_completed([pool.submit(run, seed, out) for seed in seeds]):
            yield each.result()


def summary(found: Sequence[Run]) -> str:
    """Return a table of the outcomes of the runs with each fault, and of all."""
    outcomes = sorted({each.outcome for each in found})
    kinds: dict[str, list[Run]] = {
        name: [each for each in found if name in each.done] for name in map(fault_name, FAULTS)
    }
    kinds["any"] = [*found]
    rows = [
        (name, *(sum(each.outcome == outcome for each in kind) for outcome in outcomes)) for name, kind in kinds.items()
    ]
    return table(("runs with", *outcomes), rows)


def main() -> None:
    """Print a line for each run, and a table of what was done how often and with what outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1, help="the first run's")
    parser.add_argument("--parallel", type=int, default=1, help="how many groups run at once")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder for the recordings that do not hold")
    args = parser.parse_args()
    found = []
    for each in runs(range(args.seed, args.seed + args.runs), args.out, args.parallel):
        found.append(each)
        print(*each.row, each.reason, sep=" | ", flush=True)
    print(summary(found))
    acknowledged, events = sum(each.acknowledged for each in found), sum(each.events for each in found)
    print(f"{acknowledged:,} commands acknowledged, {events:,} events")
    outcomes = {each.outcome for each in found}
    sys.exit(1 if outcomes - {str(Verdict.HOLDS), LEFT_OUT} else 3 if LEFT_OUT in outcomes else 0)


if __name__ == "__main__":
    main()
