"""Traces as DataFrames of PySpark: read or simulate them, check them, list violations, and count what they reach.

Each function works with a SparkSession that is there already, in a notebook, a job or on a hosted Spark, changes none
of its settings, and returns a DataFrame. The stages of `lockstep pipeline` are made of the same.
docs/traces/pipeline.md lists the columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

from lockstep.base.errors import BadInputError
from lockstep.base.extras import extra

with extra("spark"):
    from pyspark.sql import DataFrame, SparkSession

    from lockstep.jobs.spark.isolated_work import Isolation
    from lockstep.pipeline.check_stage import checked
    from lockstep.pipeline.coverage_stage import counters
    from lockstep.pipeline.coverage_stage import reached as reached_lines
    from lockstep.pipeline.generate_stage import DECLARED, simulated
    from lockstep.pipeline.ingest_stage import InputFiles, lines_of_files
    from lockstep.pipeline.pipeline_session import refuse_unfit
    from lockstep.pipeline.source_files import EACH, TOGETHER
    from lockstep.pipeline.spec_choice import HeaderSpecs, OwnSpec, SpecChoice
    from lockstep.pipeline.store_tables import TABLES, findings
    from lockstep.pipeline.stored_traces import SimulatedCluster
    from lockstep.pipeline.task_traces import survey
from lockstep.models.search_result import SpecFiles
from lockstep.systems.registry import simulators
from lockstep.systems.trace_opening import SpecOptions
from lockstep.systems.trace_specs import Switches, switches_of

__all__ = ["check", "reached", "read_traces", "simulate", "violations"]


def read_traces(
    spark: SparkSession, *paths: str | Path, logs: str = "", version: str | None = None, isolated: bool = False
) -> DataFrame:
    """Return the lines of the traces in files and folders; recordings, and logs of known systems, are imported.

    The files are listed now, and read by the tasks. What is no line of a trace is a row with a `reason`, and `check`
    calls its trace malformed.

    Arguments: `paths`, also as URIs that driver and tasks can reach; `logs`, where a mapping is to read the lines:
    "each" if each log is a trace, "together" if all logs of a folder are one; `version`, of the system that wrote logs,
    if they do not name it; `isolated`, whether each recording is imported in a process of its own, for one that may
    crash it.
    Raises BadInputError where a path stands for no file, or two files would be one trace; SparkStartError and
    UnfitWorkersError where this session cannot run lockstep.
    """
    if logs not in ("", EACH, TOGETHER):
        raise BadInputError(f"logs={logs!r}: it is {EACH!r} or {TOGETHER!r}")
    if not paths:
        raise BadInputError("read_traces: name a file or a folder")
    files = InputFiles([str(path) for path in paths], logs, version)
    listed = files.listed()
    refuse_unfit(spark)
    return lines_of_files(spark, files, listed, Isolation(is_always=isolated))


def simulate(
    spark: SparkSession,
    *plans: str,
    seeds: int | Iterable[int] = 20,
    events: int = 500,
    variant: str = DECLARED,
) -> DataFrame:
    """Return the lines of the traces of simulated clusters; the tasks simulate them.

    Arguments: `plans` of faults, all if none is named; `seeds`, or how many from 1 on; `events` of a cluster;
    `variant`, "published" or "repaired" where the flaws are not to be those of the plan.
    Raises BadInputError where there is no such plan or variant; SparkStartError and UnfitWorkersError as read_traces.
    """
    known = simulators()
    if unknown := sorted(set(plans) - known.keys()):
        raise BadInputError(f"{unknown[0]!r} is no plan; plans are {', '.join(sorted(known))}")
    if variant not in (DECLARED, "published", "repaired"):
        raise BadInputError(f"variant={variant!r}: it is 'declared', 'published' or 'repaired'")
    chosen = range(1, 1 + seeds) if isinstance(seeds, int) else seeds
    refuse_unfit(spark)
    flaws = "" if variant == DECLARED else variant
    clusters = [SimulatedCluster(plan, seed, events, flaws) for seed in chosen for plan in plans or known]
    return simulated(spark, clusters)


def check(
    lines: DataFrame,
    *,
    switches: Switches = MappingProxyType({}),
    spec: str | Path | None = None,
    cfg: str | Path | None = None,
    mapping: str | Path | None = None,
    strict: bool = False,
    timeout: float | None = None,
    isolated: bool = False,
) -> DataFrame:
    """Return the verdict on each trace: that of `lockstep check`.

    The first line of each trace is collected now, for the driver to compile the specs; the tasks check, each trace
    whole and in order. So `lines` are computed twice: cache or write them where that is slow.

    Arguments: `lines`, as read_traces and simulate return them, or a table of them; `switches`, `spec`, `cfg` and
    `mapping` as for `lockstep.check`; `strict`, with a mapping, allows no explanation that violates a property;
    `timeout`, the seconds that one trace may take, where it is to be inconclusive and not to be waited for; `isolated`,
    whether each trace is checked in a process of its own, so that one that crashes it is inconclusive and does not end
    the job. A `timeout` isolates as well.
    Raises BadInputError where `lines` lack a column, or a spec cannot be used.
    """
    against = _spec_choice(switches, spec, cfg, mapping, strict)
    _refuse_unfit(lines)
    verdicts = checked(lines, survey(lines), against, _isolation(timeout, isolated))
    return verdicts.select("trace", *(name for name in verdicts.columns if name != "trace"))


def _isolation(timeout: float | None, isolated: bool) -> Isolation:
    """Isolate also what may take too long: `local[2]` retries no task, so a worker that is killed ends the job."""
    return Isolation(timeout, is_always=isolated or timeout is not None)


def _spec_choice(
    switches: Switches, spec: str | Path | None, cfg: str | Path | None, mapping: str | Path | None, strict: bool
) -> SpecChoice:
    if spec is None:
        if cfg is not None or mapping is not None or strict:
            raise BadInputError("cfg, mapping and strict go with a spec")
        words = tuple(SpecOptions(switches).switch_words())
        switches_of(words)
        return HeaderSpecs(words)
    if switches:
        raise BadInputError("switches are for traces of a system that lockstep knows")
    named_cfg, mapping_file = (None if each is None else Path(each) for each in (cfg, mapping))
    return OwnSpec(SpecFiles(Path(spec), named_cfg, mapping=mapping_file), strict)


def violations(verdicts: DataFrame) -> DataFrame:
    """Return a row for each finding that makes a verdict: a property that fails, or where a trace leaves the spec.

    Arguments: `verdicts`, as check returns them, or a table of them.
    Raises BadInputError where they lack a column.
    """
    _refuse_without(verdicts, "verdicts", ("trace", "findings"))
    return findings(verdicts).where("not disputed")


def reached(
    lines: DataFrame,
    *,
    spec: str | Path | None = None,
    cfg: str | Path | None = None,
    mapping: str | Path | None = None,
    strict: bool = False,
    timeout: float | None = None,
    isolated: bool = False,
) -> DataFrame:
    """Return how often each trace reaches each part that its spec defines as Reachable; a malformed trace has no row.

    A trace that could not be counted, as it crashed its process or ran out of time, or as a formula of its spec has no
    value, has one row: its `kind` is "not counted", its `name` the reason, its `times` 1.

    As for check, the first lines are collected now. Arguments and exceptions are those of check.
    """
    against = _spec_choice({}, spec, cfg, mapping, strict)
    _refuse_unfit(lines)
    traces = survey(lines)
    counter = counters(lines.sparkSession, against)((trace, each.header) for trace, each in traces.items())
    return reached_lines(lines, traces, counter, _isolation(timeout, isolated))


def _refuse_unfit(lines: DataFrame) -> None:
    _refuse_without(lines, "lines", TABLES["lines"].schema.names)
    refuse_unfit(lines.sparkSession)


def _refuse_without(rows: DataFrame, table: str, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in rows.columns]:
        raise BadInputError(f"these are no {table}: the DataFrame has no column {missing[0]}")
