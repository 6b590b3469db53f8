"""Measure what Spark costs: python bench/pipeline.py [--events 100000 1000000] [--plan ordered] [--long 200000]
Or the fixed cost of a small run, stage by stage: python bench/pipeline.py --stages traces

The same lines are checked by one process, by a pool of processes, and by the stage `check` of the pipeline with one
core and with all, one after the other, with the same checker; the run ends where their verdicts differ. The start
of Spark has a row of its own. Processor time is that of all processes, Java's among them; where other work goes on
beside it, it says more than the clock. Memory is the most that was resident at once, with shared pages counted once:
of Spark's Java process, and of the Python processes together.

With --long a trace of that many events is put among the short ones, and the time of the stage is compared with its
lower bound: the time of that trace alone, or of all of them divided by the cores, whichever is longer.

With --stages, `lockstep pipeline run` reads, checks and reports on the files of a folder. A row has the seconds of one
stage, and the processor time of Java, of the driver's Python, and of the Python workers. The last row is the work
itself: what one process without Spark takes to read and check the same files, to follow them once more for coverage,
and to minimise the counterexamples. The rest is the fixed cost.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from lockstep.base.deadline import Deadline
from lockstep.conformance.property_evaluation import NoEvaluation
from lockstep.jobs.minimise_trace import minimise
from lockstep.jobs.spark.record_tables import column_rows
from lockstep.jobs.spark.spark_check import check_lines
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.counterexample_stage import MAX_SECONDS, counterexamples
from lockstep.pipeline.coverage_stage import cover, times_of
from lockstep.pipeline.generate_stage import Clusters, generate
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.report_stage import report
from lockstep.pipeline.source_files import SourceFile
from lockstep.pipeline.spec_choice import AS_DECLARED
from lockstep.pipeline.task_traces import in_order
from lockstep.pipeline.trace_store import TraceStore
from lockstep.report.text_table import table
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import end_line

#: Events of a short trace.
SHORT = 500

CORES = os.cpu_count() or 1

Texts = dict[tuple[object, ...], str]


class CheckResult(NamedTuple):
    """The result of checking a trace, the same whichever way it is checked."""

    verdict: str
    events: int
    steps: int
    observed: int


# ---- The checker without Spark ----

_texts: Texts = {}
_specs: dict[tuple[object, ...], Spec] = {}


def take(texts: Texts) -> None:
    """Take the compiled specs, in a process of the pool."""
    _texts.update(texts)


def spec_of(key: tuple[object, ...]) -> Spec:
    """Return a spec, which a process makes of its text once."""
    if key not in _specs:
        _specs[key] = Spec.from_source(_texts[key])
    return _specs[key]


def traces_in(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the traces of a file of lines, which has each whole and in order."""
    batches = pq.ParquetFile(path).iter_batches(1_000, columns=["trace", "seq", "bytes"])  # type: ignore[no-untyped-call]  # pyarrow has no types
    for trace, group in itertools.groupby(column_rows(batches, "trace", "seq", "bytes"), key=lambda row: row[0]):
        yield trace, (line for _, line in in_order(trace, ((seq, line) for _, seq, line in group), 0))


def checked(path: Path) -> dict[str, CheckResult]:
    """Check the traces of a file of lines."""
    found = {}
    for trace, lines in traces_in(path):
        verdict = check_lines(lines, trace, spec_of, {})
        found[trace] = CheckResult(str(verdict.verdict), verdict.events, verdict.steps, verdict.observed)
    return found


def specs_for(paths: Sequence[Path]) -> Texts:
    """Compile the specs of all traces."""
    found: Texts = {}
    for path in paths:
        for trace, lines in traces_in(path):
            header = opened(lines, trace).header
            if (key := spec_key(header, trace, {})) not in found:
                found[key] = trace_spec(header, trace, {}).source
            for _ in lines:
                pass
    return found


# ---- Memory ----


@dataclass
class Memory:
    """The most that was resident at once, in MiB."""

    java: int = 0
    python: int = 0
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Look once a second as long as the block lasts."""
        thread = threading.Thread(target=self._sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _sample(self) -> None:
        while not self._end.wait(1):
            java = python = 0
            for name, kib in below(os.getpid()):
                if name == "java":
                    java += kib
                else:
                    python += kib
            self.java, self.python = max(self.java, java >> 10), max(self.python, python >> 10)


def processes_below(parent: int) -> Iterator[tuple[int, str, float]]:
    """Yield number, command and seconds of processor time, with ended children, of a process and all below it."""
    children: dict[int, list[int]] = {}
    found: dict[int, tuple[str, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        found[int(folder.name)] = name, sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        children.setdefault(int(fields[1]), []).append(int(folder.name))
    todo = [parent]
    while todo:
        each = todo.pop()
        todo += children.get(each, [])
        yield each, *found[each]


def below(parent: int) -> Iterator[tuple[str, int]]:
    """Yield the command and the resident KiB of a process and of all below it."""
    for each, name, _ in processes_below(parent):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        yield name, sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def processor() -> float:
    """Return the seconds of processor time of this process and of all below it so far."""
    return sum(seconds for *_, seconds in processes_below(os.getpid()))


# ---- What is measured ----


class Row(NamedTuple):
    """One way of checking some traces."""

    events: int
    way: str
    seconds: float
    processor: float
    start: float
    memory: Memory
    said: dict[str, CheckResult]


def alone(paths: Sequence[Path], texts: Texts, events: int, processes: int) -> Row:
    """Check with one process, or with a pool of some."""
    memory = Memory()
    with memory.sampled():
        begin, used = time.perf_counter(), processor()
        if processes == 1:
            take(texts)
            parts = list(map(checked, paths))
        else:
            with ProcessPoolExecutor(processes, initializer=take, initargs=(texts,)) as pool:
                parts = list(pool.map(checked, paths))
        seconds, used = time.perf_counter() - begin, processor() - used
    name = "one process" if processes == 1 else f"pool of {processes}"
    return Row(events, name, seconds, used, 0.0, memory, {key: said for part in parts for key, said in part.items()})


def with_spark(folder: Path, run: str, master: str, events: int, *, cut: bool = False) -> tuple[Row, float]:
    """Check with the pipeline; return the row, and the seconds that tasks spent on checking."""
    memory = Memory()
    store = TraceStore.open(str(folder))
    shutil.rmtree(folder / "verdicts" / f"run={run}", ignore_errors=True)
    shutil.rmtree(folder / "states" / f"run={run}", ignore_errors=True)
    with memory.sampled():
        before = time.perf_counter()
        with pipeline_session(master) as spark:
            begin, used = time.perf_counter(), processor()
            check(spark, store, run, is_cut=cut)
            seconds, used = time.perf_counter() - begin, processor() - used
            said, spent = verdicts(spark, store, run)
    return Row(events, f"Spark, {master}", seconds, used, begin - before, memory, said), spent


def verdicts(spark: SparkSession, store: TraceStore, run: str) -> tuple[dict[str, CheckResult], float]:
    """Return what the table of verdicts says of each trace, and how many seconds the checks took together."""
    rows = store.read(spark, "verdicts", run, store.batches("verdicts", run))
    said = {row["trace"]: CheckResult(*row[1:]) for row in rows.select("trace", *CheckResult._fields).collect()}
    return said, float(rows.agg(sql.sum("seconds")).first()[0])  # type: ignore[index]  # an aggregate has one row


def compare(folder: Path, plans: Sequence[str], events: int, masters: Sequence[str], loop_most: int) -> list[Row]:
    """Check the same traces in every way."""
    run = f"{events}"
    fill(folder, run, [Clusters(plans, range(1, 1 + max(1, events // SHORT // len(plans))), SHORT)])
    paths = sorted((folder / "lines" / f"run={run}").rglob("*.parquet"))
    texts = specs_for(paths)
    rows = [as_it_comes(alone(paths, texts, events, 1))] if events <= loop_most else []
    rows.append(as_it_comes(alone(paths, texts, events, CORES)))
    rows += [as_it_comes(with_spark(folder, run, master, events)[0]) for master in masters]
    for row in rows:
        if row.said != rows[0].said or not row.said:
            raise SystemExit(f"{row.way} and {rows[0].way} say different things of the traces")
        if sum(said.events for said in row.said.values()) != events // SHORT // len(plans) * len(plans) * SHORT:
            raise SystemExit(f"{row.way} did not check all events")
    return rows


def as_it_comes(row: Row) -> Row:
    """Print on standard error how long one way took: the tables come when the last one is done."""
    seconds = f"{row.seconds:.1f} s, {row.processor:.1f} s of processor"
    memory = f"{row.memory.java:,} MiB of Java, {row.memory.python:,} MiB of Python"
    print(f"{row.events:,} events, {row.way}: {seconds}, {memory}", file=sys.stderr, flush=True)
    return row


def fill(folder: Path, run: str, clusters: Sequence[Clusters]) -> None:
    """Simulate clusters into a run."""
    store = TraceStore.open(str(folder), create=True)
    with pipeline_session() as spark:
        for each in clusters:
            generate(spark, store, run, each)


def among_short(folder: Path, plans: Sequence[str], events: int, long: int) -> str:
    """Check a long trace among short ones, and compare the time of the stage with its lower bound."""
    short = Clusters(plans, range(1, 1 + max(1, events // SHORT // len(plans))), SHORT)
    one = Clusters(plans[:1], range(1, 2), long)
    fill(folder, "alone", [one])
    fill(folder, "both", [short, one])
    master = f"local[{CORES},4]"
    whole = as_it_comes(with_spark(folder, "alone", master, long)[0])
    parted = as_it_comes(with_spark(folder, "alone", master, long, cut=True)[0])
    mixed = as_it_comes(with_spark(folder, "both", master, events + long)[0])
    both, spent = with_spark(folder, "both", master, events + long, cut=True)
    as_it_comes(both)
    if whole.said != parted.said or mixed.said != both.said or not whole.said.items() <= both.said.items():
        raise SystemExit("the parts and the whole traces have different verdicts")
    least = max(whole.seconds, spent / CORES)
    rows = [
        (f"the trace of {long:,} events alone", whole),
        ("the same, as check decides", parted),
        ("among short ones, not cut", mixed),
        ("among short ones, as check decides", both),
    ]
    cells = [(name, f"{row.events:,}", f"{row.seconds:.1f} s", f"{row.seconds / least:.2f}") for name, row in rows]
    heads = ("stage check", "events", "seconds", "of the bound")
    said = f"the bound: {least:.1f} s, of the trace alone {whole.seconds:.1f} s, of all by {CORES} cores"
    return f"{table(heads, cells)}\n\n{said} {spent / CORES:.1f} s\n"


def by_stage(folder: Path, top: Path, master: str | None) -> str:
    """Run all stages on the files of a folder, and lay out what each takes, beside the work alone."""
    rows: list[tuple[str, float, dict[str, float]]] = []
    at, used = time.perf_counter(), by_kind()

    def mark(stage: str) -> None:
        nonlocal at, used
        now, spent = time.perf_counter(), by_kind()
        rows.append((stage, now - at, {kind: max(0.0, spent[kind] - used[kind]) for kind in used}))
        at, used = time.perf_counter(), by_kind()

    store = TraceStore.open(str(folder), create=True)
    with pipeline_session(master) as spark:
        mark("start of Spark")
        ingest(spark, store, "small", InputFiles([str(top)]))
        mark("ingest")
        check(spark, store, "small")
        mark("check")
        cover(spark, store, "small")
        mark("coverage")
        counterexamples(spark, store, "small", AS_DECLARED)
        mark("counterexamples")
        found = report(spark, store, "small")
        mark("report")
        violated = store.read(spark, "counterexamples", "small", store.batches("counterexamples", "small"))
        signatures = violated.select("trace", "name", "action", "line").collect()
    begin, used_alone = time.perf_counter(), time.process_time()
    verdicts = work_alone(top, {(row[0], row[3]): (row[1], row[2]) for row in signatures})
    alone = time.perf_counter() - begin, time.process_time() - used_alone
    if verdicts != found.traces or not verdicts:
        raise SystemExit(f"the pipeline gave {found.traces} verdicts, one process {verdicts}")
    kinds = list(used)
    total = "all", sum(row[1] for row in rows), {kind: sum(row[2][kind] for row in rows) for kind in kinds}
    cells = [
        (name, f"{seconds:.1f}", *(f"{spent[kind]:.1f}" for kind in kinds), f"{sum(spent.values()):.1f}")
        for name, seconds, spent in [*rows, total]
    ]
    cells.append(("the work in one process", f"{alone[0]:.1f}", *("" for _ in kinds), f"{alone[1]:.1f}"))
    fixed = sum(total[2].values()) - alone[1]
    heads = ("stage", "seconds", *(f"s of {kind}" for kind in kinds), "s of processor")
    return f"{table(heads, cells)}\n\n{verdicts} traces; fixed cost: {fixed:.1f} s of processor\n"


def by_kind() -> dict[str, float]:
    """Return the seconds of processor time so far of Java, of this process, and of the Python workers."""
    spent = {"Java": 0.0, "driver": 0.0, "workers": 0.0}
    for pid, name, seconds in processes_below(os.getpid()):
        kind = "Java" if name == "java" else "driver" if pid == os.getpid() else "workers"
        spent[kind] += seconds
    return spent


def work_alone(top: Path, signatures: Mapping[tuple[str, int], tuple[str, str]]) -> int:
    """Do the work of all stages: read, check, count what is reached, minimise the traces of these signatures.

    Return how many traces there are.
    """
    specs: dict[tuple[object, ...], Spec] = {}
    count = 0
    for file in InputFiles([str(top)]).listed():
        lines = [row.bytes for row in SourceFile(file.uri, file.uri, file.trace).rows() if row.reason is None]
        header = opened(lines, file.trace).header
        key = spec_key(header, file.trace, {})
        if key not in specs:
            specs[key] = trace_spec(header, file.trace, {}, covers=True)
        verdict = check_lines(lines, file.trace, specs.__getitem__, {})
        times_of(check_lines(lines, file.trace, specs.__getitem__, {}, True, NoEvaluation))
        count += 1
        for (trace, line), (name, action) in signatures.items():
            if trace == file.trace:
                only = name if name in verdict.violations else None
                short = opened([*lines[: line - 1], lines[line - 1], end_line(line - 1)], trace)
                system = system_of(header, trace)
                minimise(short, specs[key], system, only=only, action=action, deadline=Deadline(MAX_SECONDS))
    return count


def laid_out(rows: Sequence[Row]) -> str:
    """Lay out the ways beside each other."""
    pool: Mapping[int, Row] = {row.events: row for row in rows if row.way.startswith("pool")}
    cells = [
        (
            f"{row.events:,}",
            row.way,
            f"{row.seconds:.1f} s",
            f"{row.events / row.seconds:,.0f}",
            f"{row.seconds / pool[row.events].seconds:.2f}",
            f"{row.processor:.1f} s",
            f"{row.processor / pool[row.events].processor:.2f}",
            f"{row.start:.1f} s" if row.start else "-",
            f"{row.memory.java:,}" if row.memory.java else "-",
            f"{row.memory.python:,}",
        )
        for row in rows
    ]
    heads = (
        "events",
        "way",
        "seconds",
        "events/s",
        "of the pool",
        "processor",
        "of the pool",
        "start",
        "MiB, Java",
        "MiB, Python",
    )
    return table(heads, cells) + "\n"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="*", default=[100_000], help="of how many events the traces are")
    parser.add_argument("--plan", nargs="+", default=["ordered"], help="plans of faults")
    parser.add_argument("--master", nargs="*", default=["local[1,4]", f"local[{CORES},4]"])
    parser.add_argument("--loop-most", type=int, default=1_000_000, help="one process checks no more events than these")
    parser.add_argument("--long", type=int, default=0, help="events of a long trace among short ones")
    parser.add_argument("--stages", type=Path, help="the folder of a small run, whose stages are measured")
    args = parser.parse_args()
    if args.stages:
        with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
            print(by_stage(Path(folder), args.stages.absolute(), None))
        return
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        for events in args.events:
            print(laid_out(compare(Path(folder) / "short", args.plan, events, args.master, args.loop_most)), flush=True)
            if args.long:
                print(among_short(Path(folder) / f"long{events}", args.plan, events, args.long), flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            Path(folder).mkdir(exist_ok=True)


if __name__ == "__main__":
    main()
