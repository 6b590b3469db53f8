"""The cost of one more entry by the length of the log: python bench/store_append.py [--lengths 10 1000 10000]

An entry is appended to a `FileLedgerStore` in a folder, and to the `LedgerStore` in memory. A store is filled up to
each length in turn, and then the next entries are timed: the median counts. Only the ratios to the shortest log carry
over.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lockstep.report.text_table import table
from raftref.dledger.choices import PUBLISHED
from raftref.dledger.messages import Entry, Term
from raftref.dledger.storage import DirectoryDisk, FileLedgerStore
from raftref.dledger.store import LedgerStore

#: How many entries are timed at each length.
TIMED = 200


def seconds(store: LedgerStore, length: int) -> float:
    """Fill a store up to a length; return the seconds that an entry takes then."""
    for index in range(len(store.log), length):
        store.append(Entry(Term(1), f"value {index}"))
    times = []
    for _ in range(TIMED):
        begin = time.perf_counter()
        store.append(Entry(Term(1), "a value"))
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def rows(folder: Path, lengths: list[int]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each store."""
    stores: dict[str, Callable[[], LedgerStore]] = {
        "FileLedgerStore": lambda: FileLedgerStore(DirectoryDisk(folder)),
        "LedgerStore": lambda: LedgerStore(PUBLISHED),
    }
    for name, made in stores.items():
        store = made()
        found = [seconds(store, length) for length in lengths]
        yield (name, f"{found[0] * 1e6:.0f} µs", *(f"{each / found[0]:.1f}x" for each in found[1:]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 1_000, 10_000])
    args = parser.parse_args()
    lengths = sorted(args.lengths)
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as name:
        found = list(rows(Path(name), lengths))
    print(table(("one entry more", *(f"at {each:,}" for each in lengths)), found))


if __name__ == "__main__":
    main()
