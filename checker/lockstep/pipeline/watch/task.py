"""What a task of Spark does with the lines of a batch: one step of each trace that has some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from pyspark.sql.streaming.state import GroupState

from lockstep.pipeline.watch.specs import Specs
from lockstep.pipeline.watch.told import Told
from lockstep.pipeline.watch.under_way import Limits, Row, Step, UnderWay

#: What is kept of a trace: the bytes of UnderWay, and whether it is settled.
STATE_DDL = "kept binary, settled boolean"

#: The rows of a batch: what is told of a trace, or (`due` is not null) until when it waits for events, 0: no more.
OUT_DDL = (
    "trace string, source string, spec string, verdict string, reason string, events bigint, steps bigint, "
    "observed bigint, seconds double, findings string, notes string, settled boolean, due double"
)
_COLUMNS = [*Told.__struct_fields__, "due"]

#: The specs of this process: a worker that is used again need not read them again.
_specs: dict[tuple[Path, str], Specs] = {}


def specs_of(store: Path, switches: dict[str, Any]) -> Specs:
    """Return the specs of a store, those of this process."""
    return _specs.setdefault((store, repr(sorted(switches.items()))), Specs(store, switches))


def stepper(
    folder: Path, store: Path, switches: dict[str, Any], limits: Limits
) -> Callable[[tuple[str], Iterable[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    """Return the function that Spark calls for each trace of a batch.

    Arguments: `folder` of the traces; `store`, with the compiled specs; `switches`, which replace constants; `limits`.
    """

    def step(key: tuple[str], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        rows = [
            Row(kind, int(line), bytes(block))
            for frame in frames
            for kind, line, block in zip(frame["kind"], frame["line"], frame["block"], strict=True)
        ]
        kept = bytes(state.get[0]) if state.exists else None
        kept, found = stepped(kept, key[0], str(folder / key[0]), rows, specs_of(store, switches), limits)
        state.update((kept, bool(UnderWay.of(kept).verdict)))
        if found:
            yield pd.DataFrame(found, columns=_COLUMNS).astype({"due": "float64"})

    return step


def stepped(
    kept: bytes | None, trace: str, source: str, rows: Iterable[Row], specs: Specs, limits: Limits
) -> tuple[bytes, list[tuple[Any, ...]]]:
    """Take one step of a trace; return what to keep of it, and the rows of OUT_DDL."""
    way = UnderWay.of(kept) if kept is not None else UnderWay()
    before, waited = way.verdict, bool(way.waiting)
    Step(way, source, specs, limits).run(rows)
    found: list[tuple[Any, ...]] = []
    if way.verdict != before or len(way.findings) > way.told:
        found.append((*msgspec.structs.astuple(Told.of(trace, source, way)), None))
    if way.waiting or waited:
        due = way.since / 1000 + limits.patience if way.waiting else 0.0
        nothing = msgspec.structs.astuple(Told(trace, source, "", "", "", 0, 0, 0, 0.0, "[]", "[]", False))
        found.append((*nothing, due))
    return way.kept(), found
