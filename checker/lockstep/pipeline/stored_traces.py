"""One trace out of a store, and the command that checks it again by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.jobs.spark.spark_session import CANNOT_BE_READ
from lockstep.pipeline.stage_batches import REMOVE
from lockstep.pipeline.trace_store import Batch, Store
from lockstep.systems.trace_files import cluster_file

#: A byte that has changed is an error.
_PARQUET = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)

#: What a source begins with that is a simulated cluster: the command that simulates it.
_SIMULATE = "lockstep simulate "


def simulate_command(plan: str, seed: int, events: int, variant: str = "") -> str:
    """Return the source of a simulated cluster: the command that writes its trace, but for `-o`."""
    chosen = f" --variant {variant}" if variant else ""
    return f"{_SIMULATE}--plan {shlex.quote(plan)} --seed {seed} --events {events}{chosen}"


class Cluster(NamedTuple):
    """A simulated cluster: what reproduces it."""

    plan: str
    seed: int
    events: int
    variant: str = ""


def simulated(source: str) -> Cluster | None:
    """Return the cluster that a source is, None where it is none."""
    if not source.startswith(_SIMULATE):
        return None
    _, _, _, plan, _, seed, _, events, *variant = shlex.split(source)
    return Cluster(plan, int(seed), int(events), *variant[1:])


def replay_command(
    uri: str, run: str, trace: str, source: str, options: Sequence[str], *, together: bool = False
) -> str:
    """Return the command line that gets a trace again and checks it.

    Arguments: `uri` and `run`, where the trace is stored; `source`, where it came from; `options`, those of
    `lockstep check` that choose what it is checked against; `together`, whether it may have several files.
    """
    check = shlex.join(["lockstep", "check", *options])
    if (cluster := simulated(source)) is not None:
        return f"{source} -o . && {check} {shlex.quote(cluster_file(cluster.plan, cluster.seed, cluster.variant))}"
    name = PurePosixPath(trace).name
    if together:
        name = f"{name}-logs"
    elif "--mapping" not in options:
        name = f"{name.removesuffix('.ndjson').removesuffix('.trace')}.trace.ndjson"
    file = shlex.quote(name)
    words = [shlex.quote(each) for each in (uri.removeprefix("file://"), run, trace)]
    return f"lockstep pipeline trace {' '.join(words)} -o {file} && {check} {file}"


def counterexample_command(uri: str, run: str, variant: str, signature: str, options: Sequence[str]) -> str:
    """Return the command line that gets a counterexample out of a store and checks it; arguments as there."""
    file = f"{signature}.trace.ndjson"
    get = ["lockstep", "pipeline", "counterexample", uri.removeprefix("file://"), run, signature]
    check = shlex.join(["lockstep", "check", *options, file])
    return f"{shlex.join([*get, '--variant', variant, '-o', file])} && {check}"


def stored_counterexample(store: Store, run: str, signature: str, variant: str | None = None) -> bytes:
    """Return the lines of the counterexample of a signature; `variant` is needed where several have it.

    Raises BadInputError where the run has none, or several; GaveUpError where a file is damaged.
    """
    found: dict[str, bytes | None] = {}
    known: set[str] = set()
    for batch in store.batches("counterexamples", run, variant):
        for row in _stored(store, "counterexamples", run, batch, ["signature", "lines"]).to_pylist():
            known.add(row["signature"])
            if row["signature"] == signature:
                found[batch.variant] = row["lines"]
    if not found:
        _refuse_damaged(store, "counterexamples", run)
        raise BadInputError(
            f"run {run!r} has no counterexample {signature!r}; it has {', '.join(sorted(known)) or 'none'}"
        )
    if len(found) > 1:
        raise BadInputError(f"--variant: {signature!r} is there in {', '.join(sorted(found))}")
    (lines,) = found.values()
    if lines is None:
        raise BadInputError(f"{signature!r} could not be minimised: the table says why")
    return lines


def stored_lines(store: Store, run: str, trace: str) -> Iterator[tuple[bytes, str]]:
    """Yield the lines of one trace of a run, in order, each with the file that it came from.

    Raises BadInputError where the run has no such trace, or a line of it is missing; GaveUpError where a file is
    damaged.
    """
    batches = store.batches("lines", run)
    found = False
    for batch in batches:
        rows = _rows_of(store, run, batch, trace)
        if rows:
            found = True
            yield from _in_order(rows, trace)
            break
    if not found:
        _refuse_damaged(store, "lines", run)
        raise BadInputError(f"run {run!r} has no trace {trace!r}")


def _refuse_damaged(store: Store, table: str, run: str) -> None:
    """Raise GaveUpError where a batch, in which what is not found may be, is not what was written."""
    for batch in store.damaged(table, run):
        path = store.folder(table, run, batch).path
        raise GaveUpError(f"{path} {CANNOT_BE_READ}: its files are not those that were written; {REMOVE}")


def _rows_of(store: Store, run: str, batch: Batch, trace: str) -> list[tuple[int, bytes, str]]:
    names = ["seq", "bytes", "source"]
    table = _stored(store, "lines", run, batch, names, ds.field("trace") == trace)
    return sorted(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def _stored(store: Store, table: str, run: str, batch: Batch, columns: list[str], where: Any = None) -> pa.Table:
    folder = store.folder(table, run, batch)
    try:
        data = ds.dataset(folder.path, filesystem=folder.files, format=_PARQUET)
        return data.to_table(columns=columns, filter=where)
    except (pa.ArrowException, OSError) as error:
        why = str(error).strip().partition("\n")[0]
        raise GaveUpError(f"a file in {folder.path} {CANNOT_BE_READ}: {why}; {REMOVE}") from error


def _in_order(rows: Sequence[tuple[int, bytes, str]], trace: str) -> Iterator[tuple[bytes, str]]:
    for expected, (seq, line, source) in enumerate(rows):
        if seq != expected:
            raise BadInputError(f"{trace}:{expected + 1}: the store has no such line of it")
        yield line, source
