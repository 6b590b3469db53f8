"""Throughput and latency of a group of the reference beside one of the real DLedger: python bench/real_nodes.py

Three nodes of one kind run as processes on this machine, with DLedger's own times and the JVM's own options, and are
asked by DLedger's own client, in a process of its own: by one thread, each append after the one before, for the
latency; by `--threads` threads for the throughput. The kinds take turns, `--rounds` times, and the median of the rounds
counts. Each group and its client are warmed up by appends that do not count. Maven fetches the jars. Only the ratios
carry over to other machines, and not to a machine that is busy with something else.
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
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lockstep.report.text_table import table
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
    setting = GroupSetting(args.dledger, args.batches, times={}, time_scale=1.0, jvm=())
    found: dict[str, list[Measured]] = {JAVA: [], PYTHON: []}
    for _ in range(args.rounds):
        for kind, so_far in found.items():
            so_far.append(measured(setting, kind, args.count, args.threads))
    medians = {kind: [statistics.median(column) for column in zip(*each, strict=True)] for kind, each in found.items()}
    load = os.getloadavg()[0]
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}, DLedger {args.dledger}")
    print(f"{args.count:,} appends, {args.rounds} rounds, {os.cpu_count()} processors, load average {load:.1f}\n")
    shown = [("java", *(round(each, 2) for each in medians[JAVA]))]
    shown += [("python", *(round(each, 2) for each in medians[PYTHON]))]
    ratios = (python / java for python, java in zip(medians[PYTHON][:3], medians[JAVA][:3], strict=True))
    shown += [("python / java", *(round(each, 2) for each in ratios), None)]
    print(table(("group", f"appends/s by {args.threads}", "median ms of one", "p99 ms of one", "refused"), shown))


if __name__ == "__main__":
    main()
