"""Throughput and latency of a group of the reference beside one of the real DLedger: python bench/real_nodes.py

Three nodes of one kind run as processes on this machine, with DLedger's own times and the JVM's own options, and are
asked by DLedger's own client, in a process of its own: by one thread, each append after the one before, for the
latency; by `--threads` threads for the throughput. A node of the reference forces each entry to the disk before it
confirms it; one with the published flaws does not, as a real one does not (AsyncFlush). The kinds take turns,
`--rounds` times, and the median of the rounds counts. Each group and its client are warmed up by appends that do not
count. Maven fetches the jars. Only the ratios carry over to other machines, and not to one that is busy.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lockstep.report.text_table import table
from raftref.dledger.choices import IN_0_2_7
from tests.support.systems.mixed_dledger import JAVA, NODES, PYTHON, GroupSetting, MixedGroup


class Measured(NamedTuple):
    """Confirmed appends a second by several threads; median and 99th percentile of one in milliseconds; refusals."""

    per_second: float
    median: float
    p99: float
    refused: float


def measured(setting: GroupSetting, kind: str, count: int, threads: int) -> Measured:
    """Measure a group of one kind."""
    with tempfile.TemporaryDirectory() as name, MixedGroup(Path(name), setting) as group:
        group.start(**dict.fromkeys(NODES, kind))
        group.await_leader()
        with group.java_client() as client:

            def load(prefix: str, by: int) -> tuple[float, list[int]]:
                _, seconds, *micros = client.ask(f"load {prefix} {count} {by}")
                return float(seconds), sorted(map(int, micros))

            load("warm", threads)
            _, one = load("one", 1)
            seconds, many = load("many", threads)
    refused = 2 * count - len(one) - len(many)
    p99 = one[min(len(one) - 1, len(one) * 99 // 100)]
    return Measured(len(many) / seconds, statistics.median(one) / 1e3, p99 / 1e3, refused)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dledger", default="0.2.7", help="the version of the real DLedger")
    parser.add_argument("--count", type=int, default=2_000, help="appends of each measurement")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", action="store_true", help="let leaders push batches")
    args = parser.parse_args()
    common: dict[str, Any] = {"times": {}, "time_scale": 1.0, "jvm": ()}
    repaired = GroupSetting(args.dledger, args.batches, **common)
    published = GroupSetting(args.dledger, args.batches, flaws=tuple(map(str, IN_0_2_7)), **common)
    kinds = {"java": (JAVA, repaired), "python": (PYTHON, repaired), "python, published": (PYTHON, published)}
    found: dict[str, list[Measured]] = {name: [] for name in kinds}
    for _ in range(args.rounds):
        for name, (kind, setting) in kinds.items():
            found[name].append(measured(setting, kind, args.count, args.threads))
    medians = {name: [statistics.median(column) for column in zip(*each, strict=True)] for name, each in found.items()}
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}, DLedger {args.dledger}")
    load = os.getloadavg()[0]
    print(f"{args.count:,} appends, {args.rounds} rounds, {os.cpu_count()} processors, load average {load:.1f}\n")
    header = ("group", f"appends/s by {args.threads}", "/ java", "median ms", "/ java", "p99 ms", "/ java", "refused")
    print(table(header, [row(name, each, medians["java"]) for name, each in medians.items()]))


def row(name: str, medians: list[float], java: list[float]) -> tuple[Any, ...]:
    """Return a row of the table: what was measured, each with its ratio to Java."""
    *columns, refused = medians
    cells = [cell for each, base in zip(columns, java, strict=False) for cell in (each, f"{each / base:.2f}x")]
    return name, *cells, int(refused)


if __name__ == "__main__":
    main()
