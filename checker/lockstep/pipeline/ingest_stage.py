"""The stage that reads files: the driver lists them, the tasks stream them into the store line by line.

A file is read once in a run. Further files of the same folder become further batches, and one that has changed since it
was read is refused.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.isolated_work import Isolation, retry_isolated
from lockstep.jobs.spark.record_tables import column_rows
from lockstep.jobs.spark.spark_session import task_slots
from lockstep.logs.log_rotation import is_log, logs_of
from lockstep.pipeline.file_locations import location, refuse_not_utf8
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.source_files import EACH, PACKED_SUFFIXES, TOGETHER, SourceFile, unpacked_name
from lockstep.pipeline.stage_batches import BatchCounts, StageFailed, StageProgress, concurrent_batches, take_turns
from lockstep.pipeline.store_tables import READ
from lockstep.pipeline.task_traces import PARTITIONS_PER_SLOT, chunks, partitions
from lockstep.pipeline.trace_store import Batch, TraceStore, short_hash

#: Bytes of the files of a batch, about, and their number, at most.
BATCH_BYTES = 64 * 1024 * 1024
MAX_BATCH_FILES = 1_000

#: Bytes of a packed file once it is unpacked, about, for each that it has.
_PACKED_RATIO = 10

#: The endings of the files of a folder that are read; for a mapping also the parts of a log that was rotated.
_WANTED = re.compile(r"\.(ndjson|jsonl|log)(\.gz|\.zst)?$")

_ROWS = 1_000


@dataclass(frozen=True, order=True, slots=True)
class ListedFile:
    """A file that was found: the trace that it becomes, its URI, its size in bytes, and when it was changed."""

    trace: str
    uri: str
    size: int
    changed: str

    @property
    def weight(self) -> int:
        """About how many bytes there are to read, one at least."""
        return max(1, self.size * (_PACKED_RATIO if self.uri.endswith(PACKED_SUFFIXES) else 1))


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files to ingest: files and folders, by path or URI; `version` is that of SourceFile.

    `logs`: the lines are stored as they are, for a mapping to read them, and each log is a trace, with all files of it
    if it was rotated (EACH), or all files of a folder together are one (TOGETHER).
    """

    paths: Sequence[str]
    logs: str = ""
    version: str | None = None

    def run_name(self) -> str:
        """Return the name of a run of these alone."""
        return short_hash([location(path).uri for path in self.paths], self.logs, self.version)

    def listed(self) -> list[ListedFile]:
        """Return all files, in the order of their traces.

        Raises BadInputError where a path stands for none, or two files, or those of two folders, would become one
        trace.
        """
        found: dict[str, ListedFile] = {}
        for path in self.paths:
            files = list(_files_at(path, bool(self.logs)))
            if not files:
                raise BadInputError(f"{path}: there is no such file, and no folder with .ndjson or .log files in it")
            for file in files:
                other = found.setdefault(file.trace, file)
                if other.uri != file.uri:
                    raise BadInputError(f"{other.uri} and {file.uri} would both be the trace {file.trace!r}")
        if self.logs == TOGETHER:
            return sorted(_traces_of_folders(found.values()))
        if self.logs == EACH:
            logs = logs_of([Path(trace) for trace in found])
            return sorted(replace(found[str(path)], trace=log.name) for log in logs for path in log.paths)
        return sorted(found.values())


def _files_at(path: str, takes_rotated: bool) -> Iterator[ListedFile]:
    top = location(path)
    (info,) = top.files.get_file_info([top.path])
    if top.is_file:
        yield ListedFile(unpacked_name(PurePosixPath(top.path).name), top.uri, info.size, str(info.mtime_ns))
        return
    for name, size, changed in top.below():
        hidden = any(part.startswith((".", "_")) for part in name.split("/"))
        if hidden or not (_WANTED.search(name) or is_log(Path(unpacked_name(name)))):
            continue
        file = top / name
        refuse_not_utf8(file.path)
        if not takes_rotated and not _WANTED.search(name):
            raise BadInputError(f"{file.path}: it was rotated, and only --logs joins such files: name each file")
        yield ListedFile(unpacked_name(name), file.uri, size, changed)


def _traces_of_folders(files: Iterable[ListedFile]) -> Iterator[ListedFile]:
    """Yield the files as those of the trace of their folder; raises BadInputError where two folders have one name."""
    folders: dict[str, PurePosixPath] = {}
    for file in files:
        folder = PurePosixPath(file.uri).parent
        trace = str(PurePosixPath(file.trace).parent) if "/" in file.trace else folder.name
        if (other := folders.setdefault(trace, folder)) != folder:
            raise BadInputError(f"{other} and {folder} would both be the trace {trace!r}")
        yield replace(file, trace=trace)


def refuse_other_logs(store: TraceStore, run: str, logs: str) -> None:
    """Raise BadInputError where lines of a run were ingested with other `logs`, as those of InputFiles."""
    for noted in store.inputs(run):
        if noted["stage"] == "ingest" and noted.get("logs", "") != logs:
            there, here = (f"with --logs {each}" if each else "without --logs" for each in (noted["logs"], logs))
            raise BadInputError(
                f"the run {run!r} was ingested {there}, and this needs it {here}: ingest the files so, into another run"
            )


def ingest(spark: SparkSession, store: TraceStore, run: str, files: InputFiles, say: Say = silent) -> None:
    """Read files into a run of a store: the lines of their traces, and dead letters.

    Raises BadInputError where the run has read a file otherwise, or it has changed since; StageFailed where a batch
    cannot be finished, as where the import of a recording kills its process.
    """
    tables = ("lines", "dead_letters")
    existing = set.intersection(*({each.name for each in store.batches(table, run)} for table in tables))
    batches = _batches(store, run, files, existing)
    for table in tables:
        store.sweep(table, run)
    todo = [batch for batch in batches if batch.name not in existing]
    todo.sort(key=lambda batch: -sum(file.weight for file in batches[batch]))

    def read(batch: Batch) -> BatchCounts:
        take_turns(spark)
        return retry_isolated(partial(_write, spark, store, run, files, batch, batches[batch]))

    progress = StageProgress("ingest", len(batches), len(batches) - len(todo), say)
    progress.run(todo, read, concurrent_batches(spark))


def _write(
    spark: SparkSession,
    store: TraceStore,
    run: str,
    files: InputFiles,
    batch: Batch,
    listed: Sequence[ListedFile],
    isolation: Isolation,
) -> BatchCounts:
    """Write a batch of files; raises StageFailed where they change meanwhile."""
    rows = lines_of_files(spark, files, listed, isolation)
    observation, again = Observation(), Observation()
    observed = rows.observe(observation, sql.count(sql.lit(1)).alias("rows"), sql.count("reason").alias("dead"))
    store.write(observed.where("reason is null").drop("reason"), "lines", run, batch)
    counts = observation.get
    letters = spark.createDataFrame([], READ.ddl)
    if counts["dead"]:
        letters = rows.where("reason is not null").observe(again, sql.count(sql.lit(1)).alias("dead"))
    store.write(letters.select("source", "line", "reason", "bytes"), "dead_letters", run, batch)
    if counts["dead"] and again.get["dead"] != counts["dead"]:  # they are read a second time for their letters
        for table in ("dead_letters", "lines"):
            store.remove(table, run, batch)
        raise StageFailed(f"ingest: batch {batch.name}: files changed while they were read")
    return BatchCounts(len(listed), counts["rows"])


def _batches(
    store: TraceStore, run: str, files: InputFiles, existing: Collection[str]
) -> dict[Batch, list[ListedFile]]:
    """Return the batches of the files: those that the run knows, as they were cut then, and those of the rest.

    Known batches that do not exist are among them also where all their files are gone: these become dead letters.
    """
    refuse_other_logs(store, run, files.logs)
    listed = {file.uri: file for file in files.listed()}
    batches: dict[Batch, list[ListedFile]] = {}
    traces: dict[str, str] = {}  # of the files that the run knows, by URI
    for noted in store.inputs(run):
        for (variant, name), cut in zip(noted["batches"], noted.get("files", []), strict=False):
            traces |= {uri: trace for trace, uri, _, _ in cut}
            is_asked = any(uri in listed for _, uri, _, _ in cut)
            if is_asked or (name not in existing and noted["version"] == files.version):
                if noted["version"] != files.version:
                    before = noted["version"] or "none"
                    raise BadInputError(
                        f"{cut[0][1]}: the run read it with --logged-version {before}: give --run another name"
                    )
                batches[Batch(variant, name)] = [_unchanged(ListedFile(*each), listed) for each in cut]
    owners = {trace: uri for uri, trace in traces.items()}
    new = [file for file in listed.values() if file.uri not in traces]
    for file in new:
        if file.trace in owners:
            raise BadInputError(f"{file.uri}: the run has the trace {file.trace!r} already, of {owners[file.trace]}")
    fresh = {Batch(DECLARED, short_hash(list(map(astuple, cut)), files.logs, files.version)): cut for cut in _cut(new)}
    if fresh:
        about = {
            "traces": len({file.trace for file in new}),
            "files": [list(map(astuple, cut)) for cut in fresh.values()],
            "logs": files.logs,
            "version": files.version,
        }
        store.put_inputs(run, "ingest", fresh, about)
    return batches | fresh


def _unchanged(noted: ListedFile, listed: Mapping[str, ListedFile]) -> ListedFile:
    """Return a file as it was noted; raises BadInputError where it has changed."""
    now = listed.get(noted.uri) or _as_it_is(noted)
    if (now.size, now.changed) != (noted.size, noted.changed):
        raise BadInputError(f"{noted.uri}: the file has changed since the run read it: give --run another name")
    return noted


def _as_it_is(noted: ListedFile) -> ListedFile:
    """Return a file as it is now; one that is gone as it was: it becomes a dead letter."""
    where = location(noted.uri)
    if not where.is_file:
        return noted
    (info,) = where.files.get_file_info([where.path])
    return replace(noted, size=info.size, changed=str(info.mtime_ns))


def _cut(files: Iterable[ListedFile]) -> Iterator[list[ListedFile]]:
    """Cut files into batches."""
    cut: list[ListedFile] = []
    weight = 0
    for _, group in itertools.groupby(files, key=lambda file: file.trace):
        more = list(group)
        size = sum(file.weight for file in more)
        if cut and (weight + size > BATCH_BYTES or len(cut) + len(more) > MAX_BATCH_FILES):
            yield cut
            cut, weight = [], 0
        cut += more
        weight += size
    if cut:
        yield cut


def lines_of_files(
    spark: SparkSession, files: InputFiles, listed: Sequence[ListedFile], isolation: Isolation
) -> DataFrame:
    """Return what some of the files hold, with the columns of READ; the tasks read them."""
    weights: Counter[str] = Counter()
    for file in listed:
        weights[file.trace] += file.weight
    assigned = partitions(weights, PARTITIONS_PER_SLOT * task_slots(spark))
    parts: list[list[ListedFile]] = [[] for _ in range(1 + max(assigned.values()))]
    for file in sorted(listed):
        parts[assigned[file.trace]].append(file)
    reader = _FileReader(parts, bool(files.logs), files.version, isolation)
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(reader, READ.ddl)


@dataclass(frozen=True, slots=True)
class _FileReader:
    """Reads files in a task: rows with the numbers of `parts` (id) -> rows of READ."""

    parts: Sequence[Sequence[ListedFile]]
    is_log: bool
    version: str | None
    isolation: Isolation

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        listed = (file for (number,) in column_rows(batches, "id") for file in self.parts[number])
        for _, group in itertools.groupby(listed, key=lambda file: file.trace):
            before = 0  # lines of the files before
            for file in group:
                before += yield from self._read(self._source(file), before)

    def _source(self, file: ListedFile) -> SourceFile:
        name = file.uri.removeprefix("file://")
        return SourceFile(file.uri, name, file.trace, self.is_log, self.version, self.isolation)

    def _read(self, file: SourceFile, before: int) -> Generator[pa.RecordBatch, None, int]:
        """Yield what a file holds, and return how many lines that is; `before` are those of the trace before it."""
        read = 0
        for rows in chunks(file.rows(), _ROWS):
            count = len(rows)
            seqs, texts, numbers, reasons = zip(*rows, strict=True)
            numbered = [before + seq for seq in seqs]
            columns = [[file.trace] * count, numbered, texts, [file.source] * count, numbers, reasons]
            yield pa.record_batch([list(column) for column in columns], schema=READ.schema)
            read += count
        return read
