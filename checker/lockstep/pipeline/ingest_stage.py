"""The stage that reads files: the driver lists them, the tasks stream them into the store line by line.

A file is read once in a run. Further files of the same folder become further batches, and one that has changed since it
was read is refused.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.isolated_work import Care, with_care
from lockstep.logs.log_rotation import is_log, logs_of
from lockstep.pipeline.file_locations import place, refuse_not_utf8
from lockstep.pipeline.generate_stage import TOLD
from lockstep.pipeline.source_files import EACH, PACKED_SUFFIXES, TOGETHER, SourceFile, unpacked
from lockstep.pipeline.stage_batches import Done, Stage, StageFailed, at_once, take_turns
from lockstep.pipeline.store_tables import READ
from lockstep.pipeline.task_traces import chunks, partitions, slots
from lockstep.pipeline.trace_store import Batch, Store, hash_of

#: A batch is of files of about so many bytes, and of no more than so many.
BATCH_BYTES = 64 * 1024 * 1024
BATCH_FILES = 1_000

#: A packed file has about so many times its size.
_PACKED_RATIO = 10

#: What a folder's files end with that are taken; besides, for a mapping, the parts of a log that was rotated.
_WANTED = re.compile(r"\.(ndjson|jsonl|log)(\.gz|\.zst)?$")

_ROWS = 1_000


@dataclass(frozen=True, order=True, slots=True)
class Listed:
    """A file that was found: the trace that it becomes, its URI, its size in bytes, and when it was changed."""

    trace: str
    uri: str
    size: int
    changed: str

    @property
    def weight(self) -> int:
        """Return about how many bytes there are to read, one at least."""
        return max(1, self.size * (_PACKED_RATIO if self.uri.endswith(PACKED_SUFFIXES) else 1))


@dataclass(frozen=True, slots=True)
class Files:
    """What is to be ingested: files and folders, by path or URI; `version` is that of SourceFile.

    `logs`: the lines are taken as they are, for a mapping to read them, and each log is a trace, with all files of it
    that was rotated (EACH), or all files of a folder together are one (TOGETHER).
    """

    words: Sequence[str]
    logs: str = ""
    version: str | None = None

    def run_name(self) -> str:
        """Return the name of a run of these alone."""
        return hash_of([place(word).uri for word in self.words], self.logs, self.version)

    def listed(self) -> list[Listed]:
        """Return all files, in the order of their traces.

        Raises BadInputError where a word stands for none, or two files, or those of two folders, would become one
        trace.
        """
        found: dict[str, Listed] = {}
        for word in self.words:
            files = list(_files_of(word, bool(self.logs)))
            if not files:
                raise BadInputError(f"{word}: there is no such file, and no folder with .ndjson or .log files in it")
            for file in files:
                other = found.setdefault(file.trace, file)
                if other.uri != file.uri:
                    raise BadInputError(f"{other.uri} and {file.uri} would both be the trace {file.trace!r}")
        if self.logs == TOGETHER:
            return sorted(_of_folders(found.values()))
        if self.logs == EACH:
            logs = logs_of([Path(trace) for trace in found])
            return sorted(replace(found[str(path)], trace=log.name) for log in logs for path in log.paths)
        return sorted(found.values())


def _files_of(word: str, takes_rotated: bool) -> Iterator[Listed]:
    where = place(word)
    (info,) = where.files.get_file_info([where.path])
    if where.is_file:
        yield Listed(unpacked(PurePosixPath(where.path).name), where.uri, info.size, str(info.mtime_ns))
        return
    for path, size, changed in where.below():
        hidden = any(part.startswith((".", "_")) for part in path.split("/"))
        if hidden or not (_WANTED.search(path) or is_log(Path(unpacked(path)))):
            continue
        refuse_not_utf8((where / path).path)
        if not takes_rotated and not _WANTED.search(path):
            raise BadInputError(
                f"{(where / path).path}: it was rotated, and only --logs joins such files: name each file"
            )
        yield Listed(unpacked(path), (where / path).uri, size, changed)


def _of_folders(files: Iterable[Listed]) -> Iterator[Listed]:
    """Yield the files as those of the trace of their folder; raises BadInputError where two folders have one name."""
    folders: dict[str, PurePosixPath] = {}
    for file in files:
        folder = PurePosixPath(file.uri).parent
        trace = str(PurePosixPath(file.trace).parent) if "/" in file.trace else folder.name
        if (other := folders.setdefault(trace, folder)) != folder:
            raise BadInputError(f"{other} and {folder} would both be the trace {trace!r}")
        yield replace(file, trace=trace)


def refuse_other_logs(store: Store, run: str, logs: str) -> None:
    """Raise BadInputError where lines of a run were ingested with other `logs`, as those of Files."""
    for noted in store.inputs(run):
        if noted["stage"] == "ingest" and noted.get("logs", "") != logs:
            there, here = (f"with --logs {each}" if each else "without --logs" for each in (noted["logs"], logs))
            raise BadInputError(
                f"the run {run!r} was ingested {there}, and this needs it {here}: ingest the files so, into another run"
            )


def ingest(spark: SparkSession, store: Store, run: str, files: Files, say: Say = silent) -> None:
    """Read files into a run of a store: the lines of their traces, and in dead_letters what is no line of one.

    Raises BadInputError where the run has read a file otherwise, or it has changed since; StageFailed where a batch
    cannot be finished, as where the import of a recording kills its process.
    """
    tables = ("lines", "dead_letters")
    there = set.intersection(*({each.name for each in store.batches(table, run)} for table in tables))
    parts = _parts(store, run, files, there)
    for table in tables:
        store.sweep(table, run)
    todo = [batch for batch in parts if batch.name not in there]
    todo.sort(key=lambda batch: -sum(file.weight for file in parts[batch]))

    def work(batch: Batch) -> Done:
        take_turns(spark)
        return with_care(partial(_written, spark, store, run, files, batch, parts[batch]))

    Stage("ingest", len(parts), len(parts) - len(todo), say).run(todo, work, at_once(spark))


def _written(
    spark: SparkSession, store: Store, run: str, files: Files, batch: Batch, cut: Sequence[Listed], care: Care
) -> Done:
    """Write a batch of the files `cut`, and return what it came to; raises StageFailed where they change meanwhile."""
    rows = _read(spark, files, cut, care)
    seen = Observation()
    alive = rows.observe(seen, sql.count(sql.lit(1)).alias("rows"), sql.count("reason").alias("dead"))
    store.write(alive.where("reason is null").drop("reason"), "lines", run, batch)
    counts, again = seen.get, Observation()
    letters = spark.createDataFrame([], READ.ddl)
    if counts["dead"]:
        letters = rows.where("reason is not null").observe(again, sql.count(sql.lit(1)).alias("dead"))
    store.write(letters.select("source", "line", "reason", "bytes"), "dead_letters", run, batch)
    if counts["dead"] and again.get["dead"] != counts["dead"]:  # they are read a second time for their letters
        for table in ("dead_letters", "lines"):
            store.remove(table, run, batch)
        raise StageFailed(f"ingest: batch {batch.name}: files changed while they were read")
    return Done(len(cut), counts["rows"])


def _parts(store: Store, run: str, files: Files, there: Collection[str]) -> dict[Batch, list[Listed]]:
    """Return the batches of the files: those that the run knows, as they were cut then, and those of the rest.

    Known batches that are not `there` are among them also where all their files are gone: dead letters will tell that.
    """
    refuse_other_logs(store, run, files.logs)
    listed = {file.uri: file for file in files.listed()}
    parts: dict[Batch, list[Listed]] = {}
    known: dict[str, str] = {}
    for noted in store.inputs(run):
        for (variant, name), cut in zip(noted["batches"], noted.get("files", []), strict=False):
            known |= {uri: trace for trace, uri, _, _ in cut}
            is_of_these = any(uri in listed for _, uri, _, _ in cut)
            if is_of_these or (name not in there and noted["version"] == files.version):
                if noted["version"] != files.version:
                    told = noted["version"] or "none"
                    raise BadInputError(
                        f"{cut[0][1]}: the run read it with --logged-version {told}: give --run another name"
                    )
                parts[Batch(variant, name)] = [_unchanged(Listed(*each), listed) for each in cut]
    owners = {trace: uri for uri, trace in known.items()}
    new = [file for file in listed.values() if file.uri not in known]
    for file in new:
        if file.trace in owners:
            raise BadInputError(f"{file.uri}: the run has the trace {file.trace!r} already, of {owners[file.trace]}")
    fresh = {Batch(TOLD, hash_of([_key(file) for file in cut], files.logs, files.version)): cut for cut in _cut(new)}
    if fresh:
        cuts = [[_key(file) for file in cut] for cut in fresh.values()]
        about = {
            "traces": len({file.trace for file in new}),
            "files": cuts,
            "logs": files.logs,
            "version": files.version,
        }
        store.put_inputs(run, "ingest", fresh, about)
    return parts | fresh


def _key(file: Listed) -> tuple[str, str, int, str]:
    return (file.trace, file.uri, file.size, file.changed)


def _now(noted: Listed) -> Listed:
    """Return a file as it is now; one that is gone as it was, as its dead letter will tell."""
    where = place(noted.uri)
    if not where.is_file:
        return noted
    (info,) = where.files.get_file_info([where.path])
    return replace(noted, size=info.size, changed=str(info.mtime_ns))


def _unchanged(noted: Listed, listed: Mapping[str, Listed]) -> Listed:
    now = listed.get(noted.uri) or _now(noted)
    if (now.size, now.changed) != (noted.size, noted.changed):
        raise BadInputError(f"{noted.uri}: the file has changed since the run read it: give --run another name")
    return noted


def _cut(files: Iterable[Listed]) -> Iterator[list[Listed]]:
    """Cut files into batches."""
    cut: list[Listed] = []
    weight = 0
    for _, of_trace in itertools.groupby(files, key=lambda file: file.trace):
        more = list(of_trace)
        size = sum(file.weight for file in more)
        if cut and (weight + size > BATCH_BYTES or len(cut) + len(more) > BATCH_FILES):
            yield cut
            cut, weight = [], 0
        cut += more
        weight += size
    if cut:
        yield cut


def _read(spark: SparkSession, files: Files, cut: Sequence[Listed], care: Care) -> DataFrame:
    """Return what the files of a batch hold, with the columns of READ."""
    weights: Counter[str] = Counter()
    for file in cut:
        weights[file.trace] += file.weight
    of = partitions(weights, 4 * slots(spark))
    rows = [(file.uri, file.uri.removeprefix("file://"), file.trace, of[file.trace]) for file in cut]
    frame = spark.createDataFrame(rows, "uri string, source string, trace string, partition int")
    placed = frame.repartitionById(max(of.values()) + 1, "partition").drop("partition")
    in_order = placed.sortWithinPartitions("trace", "uri")
    return in_order.mapInArrow(_Reader(bool(files.logs), files.version, care), READ.ddl)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads files in a task: rows (uri, source, trace) -> rows of READ."""

    is_log: bool
    version: str | None
    care: Care

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for _, of_trace in itertools.groupby(rows, key=lambda row: row["trace"]):
            before = 0  # lines of the files before
            for row in of_trace:
                file = SourceFile(**row, is_log=self.is_log, version=self.version, care=self.care)
                before += yield from self._read(file, before)

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
