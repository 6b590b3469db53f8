"""The work of a task of Spark: the check of a batch of each trace, and the rows that result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd
from pyspark.sql.streaming.state import GroupState

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError
from lockstep.pipeline.watch.resumed_check import BatchCheck, SourceRow, TraceProgress, WatchLimits
from lockstep.pipeline.watch.spec_cache import SpecCache
from lockstep.pipeline.watch.verdict_table import WatchVerdict

#: The columns that Spark keeps of a trace: the bytes of its progress, and whether it is settled.
STATE_DDL = "progress binary, settled boolean"

#: The columns of an outcome: see TraceOutcome.
OUTCOME_DDL = "trace string, verdict string, due double"

#: The specs of this process: a worker that is used again need not read them again.
_specs: dict[tuple[Path, str], SpecCache] = {}


class TraceOutcome(NamedTuple):
    """The outcome of a batch for a trace.

    `verdict` is the row to record, if there are news; `due` is the time until which the trace waits for events, in
    seconds since 1970: 0 if it waits no more, None if it did not wait.
    """

    progress: bytes
    verdict: WatchVerdict | None
    due: float | None


def specs_in(store: Path, switches: dict[str, Any]) -> SpecCache:
    """Return the specs of a store, those of this process."""
    return _specs.setdefault((store, repr(sorted(switches.items()))), SpecCache(store, switches))


def task_of(
    folder: Path, store: Path, switches: dict[str, Any], limits: WatchLimits
) -> Callable[[tuple[str], Iterable[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    """Return the function that Spark calls for each trace of a batch.

    Arguments: `folder` of the traces; `store`, with the compiled specs; `switches`, which replace constants; `limits`.
    """

    def check(key: tuple[str], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        rows = [
            SourceRow(kind, int(number), bytes(data))
            for frame in frames
            for kind, number, data in zip(frame["kind"], frame["number"], frame["data"], strict=True)
        ]
        before = bytes(state.get[0]) if state.exists else None
        given = before, key[0], str(folder / key[0]), rows, specs_in(store, switches), limits
        outcome = check_isolated(Isolation(limits.seconds), *given)
        state.update((outcome.progress, TraceProgress.from_bytes(outcome.progress).settled))
        if outcome.verdict is not None or outcome.due is not None:
            verdict = None if outcome.verdict is None else msgspec.json.encode(outcome.verdict).decode()
            row = (key[0], verdict, outcome.due)
            yield pd.DataFrame([row], columns=["trace", "verdict", "due"]).astype({"due": "float64"})

    return check


def check_batch(
    before: bytes | None, trace: str, source: str, rows: Sequence[SourceRow], specs: SpecCache, limits: WatchLimits
) -> TraceOutcome:
    """Check the rows that a batch has for a trace."""
    progress = TraceProgress.from_bytes(before)
    was_settled, waited = progress.result.verdict if progress.settled else None, bool(progress.waiting)
    BatchCheck(progress, source, specs, limits).run(rows)
    is_settled = progress.result.verdict if progress.settled else None
    verdict = None
    if is_settled != was_settled or len(progress.result.findings) > progress.recorded:
        verdict = progress.new_row(trace, source)
    due = progress.since / 1000 + limits.patience if progress.waiting else 0.0 if waited else None
    return TraceOutcome(progress.to_bytes(), verdict, due)


def check_isolated(
    isolation: Isolation,
    before: bytes | None,
    trace: str,
    source: str,
    rows: Sequence[SourceRow],
    specs: SpecCache,
    limits: WatchLimits,
) -> TraceOutcome:
    """Check the rows that a batch has for a trace; where that kills its process, the trace is inconclusive."""
    try:
        outcome = isolation.run(partial(check_batch, before, trace, source, rows, specs, limits))
    except WorkDiedError as error:
        progress = TraceProgress.from_bytes(before)
        due = 0.0 if progress.waiting else None
        progress.settle(TraceVerdict(source, Verdict.INCONCLUSIVE, f"the check of {_lines_of(rows)} {error}"))
        return TraceOutcome(progress.to_bytes(), progress.new_row(trace, source), due)
    specs.fetch(TraceProgress.from_bytes(outcome.progress).spec, source)
    return outcome


def _lines_of(rows: Sequence[SourceRow]) -> str:
    """Return the line numbers of a batch, in words."""
    lines = [row for row in rows if row.kind == "lines"]
    if not lines:
        return "its end"
    first, last = min(row.number for row in lines), max(row.number + row.data.count(b"\n") - 1 for row in lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"
