"""Files of traces that grow and are rotated, and what the plans of a watch read of them."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.pipeline.watch.growing_files import Offset, Planner
from lockstep.pipeline.watch.growing_source import LINES, blocks

NAME = "a.trace.ndjson"


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Reader:
    """Reads a folder batch by batch, as the stream does: `lines` by trace, and what else was said."""

    folder: Path
    patience: float = 30.0
    clock: Clock = field(default_factory=Clock)
    offset: Offset = field(default_factory=Offset)
    lines: dict[str, list[bytes]] = field(default_factory=dict)
    said: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.planner = self.new_planner()

    def new_planner(self) -> Planner:
        """What a restart has: the offset alone."""
        return Planner(self.folder, self.patience, str(self.folder), clock=self.clock)

    def step(self, *due: str) -> bool:
        """One batch; False where there was nothing to do. The offset goes through JSON, as Spark keeps it."""
        after = self.planner.next(self.offset, due)
        if after is self.offset:
            return False
        self.take(Offset.of(json.loads(json.dumps(after.tree()))))
        return True

    def take(self, after: Offset) -> None:
        for piece in after.pieces:
            for trace, kind, line, block in blocks(self.folder, piece, str(self.folder)):
                if kind != LINES:
                    self.said.append((trace, kind, block.decode()))
                    continue
                there = self.lines.setdefault(trace, [])
                assert line == len(there) + 1, (trace, line, len(there))
                there += block.splitlines(keepends=True)
        self.said += [(each.trace, each.kind, each.text) for each in after.said]
        self.offset = after

    def all(self, seconds: float = 0.0) -> None:
        """Read until nothing is new, let `seconds` pass, and read what is new then."""
        for passed in (0.0, seconds):
            self.clock.now += passed
            while self.step():
                pass


def header(text: str = "") -> bytes:
    return json.dumps({"kind": "header", "scenario": text}).encode() + b"\n"


def event(seq: int, pad: int = 0) -> bytes:
    return json.dumps({"kind": "event", "seq": seq, "pad": "x" * pad}).encode() + b"\n"


class Writer:
    """Writes one file, in pieces that may end within a line, and rotates it as logrotate and loggers do."""

    def __init__(self, folder: Path, rng: random.Random, name: str = NAME) -> None:
        self.path, self.rng = folder / name, rng
        self.file = self.path.open("ab", buffering=0)
        self.torn = b""
        self.written: list[bytes] = []

    def write(self, line: bytes) -> None:
        """Write a line, perhaps without its end, which comes with the next."""
        self.written.append(line)
        data = self.torn + line
        cut = self.rng.randrange(len(data)) if self.rng.random() < 0.3 else len(data)
        self.torn = data[cut:]
        self.file.write(data[:cut])

    def flush(self) -> None:
        """Complete the last line."""
        self.file.write(self.torn)
        self.torn = b""

    def _shift(self) -> None:
        for number in range(len(list(self.path.parent.iterdir())), 0, -1):
            for ending in ("", ".gz"):
                old = self.path.with_name(f"{self.path.name}.{number}{ending}")
                if old.exists():
                    old.rename(self.path.with_name(f"{self.path.name}.{number + 1}{ending}"))

    def rename(self) -> None:
        """Rotate by renaming, and begin a new file."""
        self.flush()
        self._shift()
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        self.file.close()
        self.file = self.path.open("ab", buffering=0)

    def copytruncate(self) -> None:
        """Rotate by copying, and write on into the emptied file."""
        self.flush()
        self._shift()
        shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
        self.file.truncate(0)

    def compress(self) -> None:
        """Compress the newest of the old files."""
        old = self.path.with_name(f"{self.path.name}.1")
        if old.exists():
            with gzip.open(f"{old}.gz", "wb") as packed:
                packed.write(old.read_bytes())
            old.unlink()


class Pieces:
    """Writes the traces of a folder into another, each bit by bit, with a torn line at nearly every end.

    `left` tells whether there is more; `torn` counts the writes that ended within a line.
    """

    def __init__(self, whole: Path, folder: Path, rng: random.Random, only: str = "") -> None:
        self.rng, self.torn = rng, 0
        self._rest = {path.name: path.read_bytes() for path in sorted(whole.glob(f"{only}*.trace.ndjson"))}
        self._sizes = {name: len(data) for name, data in self._rest.items()}
        self._folder = folder

    @property
    def left(self) -> bool:
        return bool(self._rest)

    def write(self, share: float) -> bool:
        """Write about that share of each trace, in mixed pieces; tell whether a line was completed."""
        has_line = False
        wanted = {name: self.rng.uniform(0.5, 1.5) * share * self._sizes[name] for name in self._rest}
        while names := [name for name in wanted if wanted[name] > 0 and name in self._rest]:
            name = self.rng.choice(names)
            size = self.rng.randrange(1, 2 + int(self._sizes[name] * share / 2))
            data, self._rest[name] = self._rest[name][:size], self._rest[name][size:]
            with (self._folder / name).open("ab") as file:
                file.write(data)
            has_line |= b"\n" in data
            self.torn += not data.endswith(b"\n")
            wanted[name] -= len(data)
            if not self._rest[name]:
                del self._rest[name]
        return has_line
