"""The spec that the traces of a run are checked against, and the check of one trace against it in a task."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

from pyspark.sql import SparkSession

from lockstep.base.scratch import scratch
from lockstep.base.text_files import text_of
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.shipped_specs import Key, ShippedSpecs, SpecShipper
from lockstep.jobs.spark.spark_check import check_lines
from lockstep.logs.mapping import read_mapping
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.source_files import EACH, TOGETHER, unpacked_name
from lockstep.pipeline.task_traces import TraceLines
from lockstep.pipeline.trace_store import short_hash
from lockstep.systems.file_check import own_check
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_opening import SpecOptions
from lockstep.systems.trace_specs import spec_hash, switches_of
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.spec import Spec


class TraceChecker(Protocol):
    """Checks whole traces in a task."""

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Return the verdict on a trace, and the SHA-256 of the spec that it was checked against."""


#: Makes the checker of traces with these names and first lines.
CheckerFactory = Callable[[Iterable[tuple[str, bytes | None]]], TraceChecker]


class SpecChoice(Protocol):
    """The spec that traces are checked against."""

    @property
    def logs(self) -> str:
        """The grouping of the lines when they are ingested, as for InputFiles."""

    @property
    def name(self) -> str | None:
        """The variant of the verdicts, None where it is that of the lines."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `lockstep check` that choose it."""

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""

    def checkers(self, spark: SparkSession) -> CheckerFactory:
        """Return what makes the checkers of a stage, in the driver; what they have in common is shipped once."""


@dataclass(frozen=True, slots=True)
class HeaderSpecs:
    """The specs of the traces' headers, with what `switches` choose in place of the headers' constants."""

    switches: tuple[str, ...] = ()

    @property
    def logs(self) -> str:
        """The grouping of the lines when they are ingested."""
        return ""

    @property
    def name(self) -> str | None:
        """The variant of the verdicts."""
        return "+".join(each.replace("=", "-") for each in self.switches) or None

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `lockstep check`."""
        return tuple(part for each in self.switches for part in ("--switch", each))

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""
        specs = {name: spec_hash(system) for name, system in SYSTEMS.items()}
        return short_hash(version("lockstep-raft"), specs, self.switches)

    def shipper(self, spark: SparkSession) -> SpecShipper:
        """Return what compiles the specs and ships them, with what a later stage needs: the definitions of coverage."""
        return SpecShipper(spark, switches_of(self.switches), covers=True)

    def checkers(self, spark: SparkSession) -> CheckerFactory:
        """Return what makes the checkers."""
        shipper = self.shipper(spark)
        return lambda headers: HeaderChecker(shipper.ship(headers))


#: The specs of the traces' headers, as they are.
AS_DECLARED = HeaderSpecs()


@dataclass(frozen=True, slots=True)
class HeaderChecker:
    """Checks traces against the specs of their headers, which are `shipped`."""

    shipped: ShippedSpecs

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Return the verdict on a trace, and the SHA-256 of the spec."""
        keys: list[Key] = []

        def spec_of(key: Key) -> Spec:
            keys.append(key)
            return self.shipped.spec(lines.trace, key)

        verdict = check_lines(lines, lines.trace, spec_of, self.shipped.switches)
        return verdict, self.shipped.hash(keys[0]) if keys else ""


@dataclass(frozen=True, slots=True)
class OwnSpec:
    """A spec of the reader's own, with the mapping of the lines of logs if they are logs.

    They are checked strictly if they do not pass where some explanation of them fails a property.
    """

    files: SpecFiles
    strict: bool = False

    @property
    def logs(self) -> str:
        """The grouping of the lines when they are ingested."""
        if self.files.mapping is None:
            return ""
        return TOGETHER if read_mapping(self.files.mapping).files == "together" else EACH

    @property
    def name(self) -> str | None:
        """The variant of the verdicts."""
        return self.files.module.stem

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `lockstep check`."""
        return (*SpecOptions(own=self.files).command_line(), *(["--strict"] if self.strict else []))

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""
        files = self.files
        modules = module_texts(files.module, files.library)
        texts = [text_of(path) for path in (files.cfg, *([files.mapping] if files.mapping else []))]
        return short_hash(version("lockstep-raft"), files.module.name, modules, texts, self.strict)

    def checkers(self, spark: SparkSession) -> CheckerFactory:
        """Return what makes the checker; raises BadInputError where spec, cfg or mapping cannot be used."""
        judge = own_check(self.files, strict=self.strict)
        digest = hashlib.sha256(pickle.dumps(judge)).hexdigest()
        checker = OwnSpecChecker(spark.sparkContext.broadcast(judge), digest)
        return lambda headers: checker


@dataclass(frozen=True, slots=True)
class OwnSpecChecker:
    """Checks traces, or logs, against a spec of the reader's own, which is `shipped` with its judge."""

    shipped: Any
    digest: str

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Check a trace, or logs, from files: a search may read their lines again."""
        with scratch("log") as folder:
            verdict, names = TraceVerdict(lines.trace, Verdict.INCONCLUSIVE, ""), dict[str, str]()
            try:
                names = _write_files(lines, folder)
                judge, files = self.shipped.value, list(map(Path, names))
                verdict = judge.check_logs(files) if judge.is_together or len(files) > 1 else judge(files[0])
            except OSError:  # Another try, or another machine, may have more space.
                raise
            except Exception as error:  # One trace must not take the verdicts of all others with it.
                verdict = failure(error, lines.trace)
            return _with_names(verdict, names, lines.trace), self.digest


def _write_files(lines: TraceLines, folder: Path) -> dict[str, str]:
    """Write the lines into a file of a folder for each file that they came from; return the name of that for each."""
    names: dict[str, str] = {}
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for line, source in lines.with_sources():
            if source not in files:
                name = folder / PurePosixPath(unpacked_name(source)).name
                files[source] = stack.enter_context(name.open("wb"))
                names[str(name)] = source
            files[source].write(line)
    return dict(sorted(names.items(), key=lambda each: each[1]))


def _with_names(verdict: TraceVerdict, names: Mapping[str, str], trace: str) -> TraceVerdict:
    """Return a verdict that names the files that there were where it names those that were written."""

    def named(text: str) -> str:
        for file, name in sorted(names.items(), reverse=True):  # p.log.1 before p.log
            text = text.replace(file, name)
        return text

    findings = [
        replace(each, details=tuple(map(named, each.details)), source=named(each.source)) for each in verdict.findings
    ]
    notes, sources = list(map(named, verdict.notes)), list(map(named, verdict.sources))
    reason = named(verdict.reason)
    found = replace(verdict, source=trace, reason=reason, findings=findings, notes=notes, sources=sources)
    found.note_reached(verdict.reached, verdict.reachable)
    found.blame_spec(verdict.fault)
    return found
