"""What a task of Spark does with the lines of a batch: one step of each trace that has some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from pyspark.sql.streaming.state import GroupState

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.spark.apart import Care, DiedError
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
        given = kept, key[0], str(folder / key[0]), rows, specs_of(store, switches), limits
        kept, found = stepped_with(Care(limits.seconds), *given)
        state.update((kept, bool(UnderWay.of(kept).verdict)))
        if found:
            yield pd.DataFrame(found, columns=_COLUMNS).astype({"due": "float64"})

    return step


#: What to keep of a trace after a step, and the rows of OUT_DDL.
Taken = tuple[bytes, list[tuple[Any, ...]]]


def stepped(kept: bytes | None, trace: str, source: str, rows: Sequence[Row], specs: Specs, limits: Limits) -> Taken:
    """Take one step of a trace."""
    way = UnderWay.of(kept) if kept is not None else UnderWay()
    before, waited = way.verdict, bool(way.waiting)
    Step(way, source, specs, limits).run(rows)
    found: list[tuple[Any, ...]] = []
    if way.verdict != before or len(way.findings) > way.told:
        found.append(_row(Told.of(trace, source, way)))
    if way.waiting:
        found.append(_due(trace, source, way.since / 1000 + limits.patience))
    elif waited:
        found.append(_no_longer_due(trace, source))
    return way.kept(), found


def stepped_with(
    care: Care, kept: bytes | None, trace: str, source: str, rows: Sequence[Row], specs: Specs, limits: Limits
) -> Taken:
    """Take one step of a trace; where it kills a process of its own, the trace is settled as inconclusive."""
    try:
        taken = care.of(partial(stepped, kept, trace, source, rows, specs, limits))
    except DiedError as error:
        way = UnderWay.of(kept) if kept is not None else UnderWay()
        waited = bool(way.waiting)
        way.settle(TraceVerdict(source, Verdict.INCONCLUSIVE, f"the check of {_which(rows)} {error}"))
        return way.kept(), [_row(Told.of(trace, source, way)), *([_no_longer_due(trace, source)] if waited else [])]
    specs.have(UnderWay.of(taken[0]).spec, source)
    return taken


def _row(told: Told, due: float | None = None) -> tuple[Any, ...]:
    return (*msgspec.structs.astuple(told), due)


def _due(trace: str, source: str, until: float) -> tuple[Any, ...]:
    """Return the row that tells until when a trace waits for events."""
    return _row(Told(trace, source, "", "", "", 0, 0, 0, 0.0, "[]", "[]", False), until)


def _no_longer_due(trace: str, source: str) -> tuple[Any, ...]:
    return _due(trace, source, 0.0)


def _which(rows: Sequence[Row]) -> str:
    """Say which lines a step takes."""
    lines = [row for row in rows if row.kind == "lines"]
    if not lines:
        return "its end"
    first, last = min(row.line for row in lines), max(row.line + row.block.count(b"\n") - 1 for row in lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"
