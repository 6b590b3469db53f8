"""Commands a second, and the time that one takes: python -m bench.raft_groups [--seconds 5] [--rounds 3]

Groups of three servers of hashicorp/raft as processes on this machine: real Go servers, servers of the reference, and
mixed ones, in which the leader is of one kind and its followers are of the other. Each begins with an empty log, and
clients append as fast as they are answered, each on one connection to the leader. The kinds take turns, round after
round, so that other work on the machine falls on all alike; the medians over the rounds count. Both force each write
to the disk. Only the ratios to the Go group carry over.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import platform
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.report.text_table import table
from raftref.hashicorp.runtime.client_lines import CLIENT_BYTE, read_answer, request_line
from tests.support.systems.mixed_raft import GO, PYTHON, MixedGroup, Shape

#: The kinds of groups by the kinds of their servers, the leader first.
GROUPS = {
    "Go": (GO, GO, GO),
    "Python": (PYTHON, PYTHON, PYTHON),
    "Go leads Python": (GO, PYTHON, PYTHON),
    "Python leads Go": (PYTHON, GO, GO),
}
#: The numbers of clients that append at once.
CLIENTS = (1, 16)


@dataclass(frozen=True)
class Measurement:
    """Commands a second, and the median and 99th percentile of the time of one, in milliseconds."""

    rate: float
    median: float
    p99: float


async def measured(address: tuple[str, int], clients: int, seconds: float, names: Iterator[int]) -> Measurement:
    """Let clients append for some seconds."""
    loop = asyncio.get_running_loop()
    begin, times = loop.time(), []

    async def append() -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(CLIENT_BYTE)
        while (sent := loop.time()) < begin + seconds:
            writer.write(request_line("apply", value=f"v{next(names)}"))
            answer = read_answer(await reader.readline())
            if answer["error"] is not None:
                raise SystemExit(f"a command was refused: {answer['error']}")
            times.append(loop.time() - sent)
        writer.close()

    await asyncio.gather(*(append() for _ in range(clients)))
    in_order = sorted(times)
    p99 = in_order[int(len(in_order) * 0.99)]
    return Measurement(len(times) / (loop.time() - begin), statistics.median(times) * 1000, p99 * 1000)


def one_round(kinds: tuple[str, ...], clients: int, seconds: float) -> Measurement:
    """Measure a group that is made for it; its first server leads."""
    names = {f"n{number}": kind for number, kind in enumerate(kinds, start=1)}
    with tempfile.TemporaryDirectory() as folder, MixedGroup(names, Path(folder), Shape(steps=False)) as servers:
        servers.start(*names)
        servers.transfer("n1")
        servers.append("first")
        found = asyncio.run(measured(servers.addresses["n1"], clients, seconds, itertools.count()))
        if servers.leader() != "n1":
            raise SystemExit("the leader has changed meanwhile")
        return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, hashicorp/raft v{Shape().release}\n")
    head = ("clients", "group", "commands/s", "/ Go", "median ms", "/ Go", "p99 ms", "/ Go")
    rows: list[tuple[Any, ...]] = []
    for clients in CLIENTS:
        runs: dict[str, list[Measurement]] = {name: [] for name in GROUPS}
        for _ in range(options.rounds):
            for name, kinds in GROUPS.items():
                runs[name].append(one_round(kinds, clients, options.seconds))
        middle = {name: [_middle(found, field) for field in ("rate", "median", "p99")] for name, found in runs.items()}
        for name, values in middle.items():
            ratios = [value / of_go for value, of_go in zip(values, middle["Go"], strict=True)]
            rate, median, p99 = values
            cells = [
                f"{rate:,.0f}",
                f"{ratios[0]:.2f}",
                f"{median:.1f}",
                f"{ratios[1]:.1f}",
                f"{p99:.1f}",
                f"{ratios[2]:.1f}",
            ]
            rows.append((clients, name, *cells))
    print(table(head, rows))


def _middle(found: list[Measurement], field: str) -> float:
    return statistics.median(getattr(each, field) for each in found)


if __name__ == "__main__":
    main()
