"""Groups of the real hashicorp/raft under load: python -m tests.scripts.loaded_hashicorp --runs 8 --out FOLDER

Processes of the released library, recorded, store what two clients append, while servers are killed and stopped for a
while, links between them are cut, and an operator transfers leaderships, takes snapshots and changes the members. What
they recorded is merged and checked by the spec, and what the clients were answered is compared with what a server has
applied. A row for each run says what was done to the group and what the check says; the exit code is 1 if a run does
not hold or has lost a command, and 3 if all others hold and some were left out. Releases, numbers of servers and bounds
are drawn by the seed of the run. A group in which something that is waited for does not come, as on a busy machine, is
left out, with a note. Go fetches the modules.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TypeAlias

from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client import RequestFailedError
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
from tests.scripts.reproduce.raft_group import RaftGroup
from tests.support.systems.go_programs import RELEASES, go_programs
from tests.support.systems.mixed_raft import Appender

#: How many servers there are, how often in 12 runs.
SIZES = (3,) * 8 + (5,) * 4
#: The time of a call in seconds.
RPC_TIMEOUT = 2.0


class LoadedServers(RaftGroup):
    """A group whose operator may be refused."""

    def await_leader(self) -> str:
        """Return the leader, once there is one."""
        return self.leader()

    def start_again(self, name: str) -> None:
        """Start a server that was killed."""
        self.start(name)

    def ask_or_refuse(self, name: str, op: str, **fields: str) -> None:
        """Ask a server for something that it may refuse, or not answer."""
        with suppress(RequestFailedError):
            self._ask(name, op, **fields)

    def change_or_refuse(self, command: ChangeCommand, name: str) -> None:
        """Change the members by whoever leads, who may refuse."""
        with suppress(RequestFailedError):
            self.change(command, name)

    def paused(self, name: str) -> AbstractContextManager[None]:
        """Let the process of a server stand still meanwhile."""
        return standing_still(self._processes[name])


Fault: TypeAlias = Callable[[LoadedServers, random.Random], None]


# ---- What is done to it beside the faults of any group ---------------------------------------------------


def transfer(group: LoadedServers, chance: random.Random) -> None:
    """The leadership is handed over."""
    group.ask_or_refuse(group.await_leader(), "transfer", to=any_follower(group, chance))


def snapshot(group: LoadedServers, chance: random.Random) -> None:
    """A server takes a snapshot, unless it has nothing new."""
    group.ask_or_refuse(chance.choice(group.running()), "snapshot")


def left_behind(group: LoadedServers, chance: random.Random) -> None:
    """A follower is down until the leader has a snapshot, and is sent that if the entries are gone."""
    down = any_follower(group, chance)
    group.kill(down)
    wait(chance)
    group.ask_or_refuse(group.await_leader(), "snapshot")
    group.start_again(down)


def demoted(group: LoadedServers, chance: random.Random) -> None:
    """A follower loses its vote, and gets it again."""
    name = any_follower(group, chance)
    for command in (ChangeCommand.DEMOTE_VOTER, ChangeCommand.ADD_VOTER):
        group.change_or_refuse(command, name)
        wait(chance)


FAULTS: tuple[Fault, ...] = (*COMMON_FAULTS, transfer, snapshot, left_behind, demoted)


# ---- Runs ------------------------------------------------------------------------------------------------


def drawn(folder: Path, chance: random.Random) -> tuple[str, LoadedServers]:
    """Draw how a group is set up; return its description, and the group, which is not started."""
    release, servers = chance.choice([*RELEASES]), chance.choice(SIZES)
    max_append, kept = chance.choice((1, 3, 64)), chance.choice((0, 3, 10240))
    pipeline, prevote = chance.random() < 0.7, chance.random() < 0.8
    group = LoadedServers(
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


def load(seed: int, folder: Path) -> Loaded:
    """Let faults happen to the group of a seed while clients append."""
    chance = random.Random(seed)
    setting, group = drawn(folder, chance)
    faults = [chance.choice(FAULTS) for _ in range(chance.randint(*NUMBER_OF_FAULTS))]
    done, acknowledged = tuple(map(fault_name, faults)), dict[str, int]()
    try:
        with group:
            group.start(*group.kinds)
            with Appender(group, "a") as one, Appender(group, "b") as other:
                one.until_more(3)
                for fault in faults:
                    fault(group, chance)
                    wait(chance)
                one.until_more(3)
            acknowledged |= one.acknowledged | other.acknowledged
            applied = until_applied(group, max(acknowledged.values()))
            group.stop(*group.running())
        assert_applied(one, other, applied)
    except (AssertionError, RequestFailedError, LostError, subprocess.TimeoutExpired) as error:
        return Loaded(setting, done, len(acknowledged), recorded(group), outcome_of(error), str(error))
    return Loaded(setting, done, len(acknowledged), group.records())


def recorded(group: LoadedServers) -> list[Path]:
    """Return the files of the servers that have recorded anything."""
    return [path for path in group.records() if path.exists()]


def until_applied(group: LoadedServers, index: int) -> list[tuple[int, str]]:
    """Return what the leader has applied, once it has come to an index, whatever stands there."""
    leader = group.await_leader()

    def is_applied() -> bool:
        shown = group.status(leader)
        return shown is not None and shown["appliedIndex"] >= index

    group.until(is_applied)
    return group.applied(leader)


def assert_applied(one: Appender, other: Appender, applied: list[tuple[int, str]]) -> None:
    """Raise LostError unless a server has applied each acknowledged command where it was acknowledged."""
    try:
        one.check(applied)
        other.check(applied)
    except AssertionError as error:
        raise LostError(str(error)) from error


def build() -> None:
    """Build the programs of each release."""
    for release in RELEASES:
        go_programs(release)


if __name__ == "__main__":
    main(__doc__, load, FAULTS, build)
