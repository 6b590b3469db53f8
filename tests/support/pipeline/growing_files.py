"""Files of traces that grow, and what the planner of a watch reads of them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.pipeline.watch.growing_files import BatchPlanner, ReadOffset
from lockstep.pipeline.watch.growing_source import LINES, source_row

NAME = "a.trace.ndjson"


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Reader:
    """Reads a folder batch by batch, as the stream does: `lines` by trace, and `notices` as (trace, kind, text)."""

    folder: Path
    patience: float = 30.0
    clock: Clock = field(default_factory=Clock)
    offset: ReadOffset = field(default_factory=ReadOffset)
    lines: dict[str, list[bytes]] = field(default_factory=dict)
    notices: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget all but the offset, as a watch does that is started again."""
        self.planner = BatchPlanner(self.folder, self.patience, str(self.folder), clock=self.clock)

    def step(self, *due: str) -> bool:
        """Read one batch; False where there was nothing to do. The offset goes through JSON, as Spark keeps it."""
        after = self.planner.next(self.offset, due)
        if after is self.offset:
            return False
        self.read(ReadOffset.from_tree(json.loads(json.dumps(after.tree()))))
        return True

    def read(self, after: ReadOffset) -> None:
        for each in (*after.pieces, *after.notices):
            trace, kind, number, data = source_row(self.folder, each, str(self.folder))
            if kind == LINES:
                there = self.lines.setdefault(trace, [])
                assert number == len(there) + 1, (trace, number, len(there))
                there += data.splitlines(keepends=True)
            else:
                self.notices.append((trace, kind, data.decode()))
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


class Pieces:
    """Writes the traces of a folder into another, each bit by bit, with a torn line at nearly every end.

    `left` is whether there is more; `torn` counts the writes that ended within a line.
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
        """Write about that share of each trace, in mixed pieces; return whether a line was completed."""
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
