"""One trace, or counterexample, out of a store, and the command that checks it again by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.jobs.spark.spark_session import CANNOT_BE_READ
from lockstep.pipeline.stage_batches import HOW_TO_REPAIR
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.systems.trace_files import cluster_file

#: The source of a simulated cluster begins with this: it is the command that simulates it.
_SIMULATE = "lockstep simulate "


class SimulatedCluster(NamedTuple):
    """The arguments that reproduce a simulated cluster."""

    plan: str
    seed: int
    events: int
    variant: str = ""

    def command(self) -> str:
        """Return the command that writes its trace, but for `-o`."""
        chosen = f" --variant {self.variant}" if self.variant else ""
        return f"{_SIMULATE}--plan {shlex.quote(self.plan)} --seed {self.seed} --events {self.events}{chosen}"


def simulated_cluster(source: str) -> SimulatedCluster | None:
    """Return the cluster that a source stands for, None where it is none."""
    if not source.startswith(_SIMULATE):
        return None
    _, _, _, plan, _, seed, _, events, *variant = shlex.split(source)
    return SimulatedCluster(plan, int(seed), int(events), *variant[1:])


class StoredRun(NamedTuple):
    """A run of the store at `uri`; `is_together`: each of its traces may have several files."""

    uri: str
    run: str
    is_together: bool = False


def replay_command(place: StoredRun | None, trace: str, source: str, options: Sequence[str]) -> str:
    """Return the command line that gets a trace again and checks it, empty where it is neither stored nor simulated.

    Arguments: `place`, where the trace is stored; `source`, where it came from; `options`, those of `lockstep check`
    that choose what it is checked against.
    """
    check = shlex.join(["lockstep", "check", *options])
    if (cluster := simulated_cluster(source)) is not None:
        return f"{source} -o . && {check} {shlex.quote(cluster_file(cluster.plan, cluster.seed, cluster.variant))}"
    if place is None:
        return ""
    name = PurePosixPath(trace).name
    if place.is_together:
        name = f"{name}-logs"
    elif "--mapping" not in options:
        name = f"{name.removesuffix('.ndjson').removesuffix('.trace')}.trace.ndjson"
    file = shlex.quote(name)
    words = [shlex.quote(each) for each in (place.uri.removeprefix("file://"), place.run, trace)]
    return f"lockstep pipeline trace {' '.join(words)} -o {file} && {check} {file}"


def counterexample_command(uri: str, run: str, variant: str, signature: str, options: Sequence[str]) -> str:
    """Return the command line that gets a counterexample out of a store and checks it."""
    file = f"{signature}.trace.ndjson"
    get = ["lockstep", "pipeline", "counterexample", uri.removeprefix("file://"), run, signature]
    check = shlex.join(["lockstep", "check", *options, file])
    return f"{shlex.join([*get, '--variant', variant, '-o', file])} && {check}"


def stored_counterexample(store: TraceStore, run: str, signature: str, variant: str | None = None) -> bytes:
    """Return the lines of the counterexample of a signature; `variant` is needed where several have it.

    Raises BadInputError where the run has none, or several; GaveUpError where a file is damaged.
    """
    found: dict[str, bytes | None] = {}
    known: set[str] = set()
    for batch in store.batches("counterexamples", run, variant):
        for row in _table(store, "counterexamples", run, batch, ["signature", "lines"]).to_pylist():
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


def stored_lines(store: TraceStore, run: str, trace: str) -> Iterator[tuple[bytes, str]]:
    """Yield the lines of one trace of a run, in order, each with the file that it came from.

    Raises BadInputError where the run has no such trace, or a line of it is missing; GaveUpError where a file is
    damaged.
    """
    columns = ["seq", "bytes", "source"]
    for batch in store.batches("lines", run):
        table = _table(store, "lines", run, batch, columns, trace)
        rows = sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
        for expected, (seq, line, source) in enumerate(rows):
            if seq != expected:
                raise BadInputError(f"{trace}:{expected + 1}: the store has no such line of it")
            yield line, source
        if rows:
            return
    _refuse_damaged(store, "lines", run)
    raise BadInputError(f"run {run!r} has no trace {trace!r}")


def _refuse_damaged(store: TraceStore, table: str, run: str) -> None:
    """Raise GaveUpError where a batch is damaged: the missing trace may be in it."""
    for batch in store.damaged(table, run):
        path = store.folder(table, run, batch).path
        raise GaveUpError(f"{path} {CANNOT_BE_READ}: its files are not those that were written; {HOW_TO_REPAIR}")


def _table(
    store: TraceStore, table: str, run: str, batch: Batch, columns: list[str], trace: str | None = None
) -> pa.Table:
    """Return columns of a batch, of one trace or of all; a byte that has changed is an error."""
    import pyarrow.dataset as ds  # it imports pandas, which takes the workers longer than all else

    folder = store.folder(table, run, batch)
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    try:
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
        data = ds.dataset(folder.path, filesystem=folder.files, format=parquet)
        return data.to_table(columns=columns, filter=None if trace is None else ds.field("trace") == trace)
    except (pa.ArrowException, OSError) as error:
        why = str(error).strip().partition("\n")[0]
        raise GaveUpError(f"a file in {folder.path} {CANNOT_BE_READ}: {why}; {HOW_TO_REPAIR}") from error
