"""The cost of the recorder of DLedger to a group: python bench/recorder_cost.py

Two groups of three nodes of the unmodified DLedger run side by side on this machine, with the JVM's own options, and
with long times of elections, so that they keep their leaders on a busy machine; the nodes of one of them have the
recorder's agent. The groups take turns in short rounds, the other one idle meanwhile, so that what else the machine
does meets both. A round appends `--count` times at one group, and is measured by the clock and by the processor time of
the group's three processes. The ratio of each pair of rounds that follow each other is that of the group with the agent
to the one without; the table has the median of the pairs, and the quartiles. Rounds that do not count come first, as
the JVMs compile.

The loads: DLedger's own client in one thread or eight, which sends the next value once the last is confirmed; `broker`,
as RocketMQ's broker does: the program of the leader itself appends bodies of 1 KiB without waiting, 64 of them under
way, and leaders push batches. Maven fetches the jars.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lockstep.report.text_table import table
from tests.support.systems.mixed_dledger import JAVA, NODES, VERSIONS, GroupSetting, MixedGroup

#: Values that the program of a leader has under way, and the bytes of each.
UNDER_WAY, BODY = 64, 1024
#: Times in milliseconds. What is measured has no election.
TIMES = {"heartBeatTimeIntervalMs": 5_000, "minVoteIntervalMs": 2_000, "maxVoteIntervalMs": 6_000}
TICKS = os.sysconf("SC_CLK_TCK")


class Round(NamedTuple):
    """Appends a second by the clock; processor time of the nodes for one append, in microseconds."""

    per_second: float
    micros: float


class MeasuredGroup:
    """A group that is asked to append, round by round."""

    def __init__(self, folder: Path, setting: GroupSetting, load: str, within: ExitStack) -> None:
        """Start the group; leaving `within` kills it."""
        self._group = within.enter_context(MixedGroup(folder, setting))
        self._group.start(**dict.fromkeys(NODES, JAVA))
        self._leader = self._group.await_leader()
        self._load, self._rounds, self.refused = load, 0, 0
        self._client = None if load == "broker" else within.enter_context(self._group.java_client())

    def round(self, count: int) -> Round:
        """Append this many times; what was not confirmed counts as not appended."""
        self._rounds += 1
        before = self._processor_time()
        if self._client is None:
            answer = self._group.order(self._leader, f"load {count} {BODY} {UNDER_WAY}")
        else:
            answer = self._client.ask(f"load r{self._rounds}- {count} {self._load}")
        confirmed, seconds, busy = int(answer[0]), float(answer[1]), self._processor_time() - before
        self.refused += count - confirmed
        return Round(confirmed / seconds, busy / max(confirmed, 1) * 1e6)

    def _processor_time(self) -> float:
        """The processor time of the three nodes so far, in seconds."""
        stats = [Path(f"/proc/{self._group.pid(node)}/stat").read_text(encoding="ascii") for node in NODES]
        fields = [each.rpartition(")")[2].split() for each in stats]
        return sum(int(each[11]) + int(each[12]) for each in fields) / TICKS


def measured(dledger: str, load: str, args: argparse.Namespace) -> list[tuple[Round, Round]]:
    """Return pairs of rounds, without the agent and with it."""
    common: dict[str, Any] = {"times": TIMES, "jvm": ("-Xmx512m",), "batches": load == "broker"}
    plain = GroupSetting(dledger, **common)
    with tempfile.TemporaryDirectory() as name, ExitStack() as within:
        groups = [
            MeasuredGroup(Path(name) / each, setting, load, within)
            for each, setting in (("plain", plain), ("recorded", replace(plain, is_recorded=True)))
        ]
        for group in groups * args.warm:
            group.round(args.count)
        pairs = []
        for number in range(args.rounds):
            # In turn, which comes first: a trend of the machine's load then meets both alike.
            order = groups if number % 2 == 0 else groups[::-1]
            first, second = (group.round(args.count) for group in order)
            pairs.append((first, second) if number % 2 == 0 else (second, first))
        return pairs


def row(dledger: str, load: str, pairs: list[tuple[Round, Round]]) -> tuple[Any, ...]:
    """Return a row of the table."""
    named = "broker" if load == "broker" else f"client, {load} thread{'' if load == '1' else 's'}"
    plain = [statistics.median(column) for column in zip(*(pair[0] for pair in pairs), strict=True)]
    by_clock = [recorded.per_second / other.per_second for other, recorded in pairs]
    by_processor = [other.micros / recorded.micros for other, recorded in pairs]
    return dledger, named, int(plain[0]), spread(by_clock), int(plain[1]), spread(by_processor)


def spread(ratios: list[float]) -> str:
    """Return the median of ratios, and their quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dledger", choices=VERSIONS, action="append", help="only this version")
    parser.add_argument("--load", choices=("1", "8", "broker"), action="append", help="only this load")
    parser.add_argument("--count", type=int, default=1_000, help="appends of a round")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of rounds")
    parser.add_argument("--warm", type=int, default=10, help="rounds of each group before those that count")
    args = parser.parse_args()
    rows = []
    for dledger in args.dledger or VERSIONS:
        for load in args.load or ("1", "8", "broker"):
            rows.append(row(dledger, load, measured(dledger, load, args)))
            print(*rows[-1], f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}, {java}")
    print(f"{args.rounds} pairs of rounds of {args.count:,} appends, {os.cpu_count()} processors\n")
    header = ("DLedger", "load", "appends/s", "recorded / not", "processor us an append", "not / recorded")
    print(table(header, rows))


if __name__ == "__main__":
    main()
