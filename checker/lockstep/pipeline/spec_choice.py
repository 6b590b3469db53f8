"""What the traces of a run are checked against, as the driver knows it and as the tasks get it."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Mapping
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
from lockstep.jobs.spark.spark_check import check_lines
from lockstep.logs.mapping import read_mapping
from lockstep.pipeline.shipped_specs import Key, Shipped, Shipping
from lockstep.pipeline.source_files import EACH, TOGETHER, unpacked
from lockstep.pipeline.task_traces import TraceLines
from lockstep.pipeline.trace_store import hash_of
from lockstep.systems.file_check import own_check
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_specs import spec_hash, switches_of
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.spec import Spec


class TaskJudge(Protocol):
    """Checks whole traces in a task."""

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Return the verdict on a trace, and the SHA-256 of what was shipped to check it against."""


class Court(Protocol):
    """Makes the judges of a stage, in the driver; what they have in common is shipped once."""

    def judge(self, headers: Iterable[tuple[str, bytes | None]]) -> TaskJudge:
        """Return the judge of traces with these names and first lines."""


class Against(Protocol):
    """What traces are checked against.

    `name` is the variant that the verdicts stand in, None where it is that of the lines; `options` are those of
    `lockstep check` that choose it; `logs`, how its lines are ingested, as for Files; `hash` is of all that decides a
    verdict besides the trace.
    """

    @property
    def logs(self) -> str:
        """How the lines are ingested."""

    @property
    def name(self) -> str | None:
        """The variant of the verdicts."""

    @property
    def options(self) -> tuple[str, ...]:
        """The words of a command line."""

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""

    def court(self, spark: SparkSession) -> Court:
        """Return what makes the judges."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The specs of the traces' headers, with what these words choose in place of the headers' constants."""

    words: tuple[str, ...] = ()

    @property
    def logs(self) -> str:
        """How the lines are ingested."""
        return ""

    @property
    def name(self) -> str | None:
        """The variant of the verdicts."""
        return "+".join(word.replace("=", "-") for word in self.words) or None

    @property
    def options(self) -> tuple[str, ...]:
        """The words of a command line."""
        return tuple(part for word in self.words for part in ("--switch", word))

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""
        specs = {name: spec_hash(system) for name, system in SYSTEMS.items()}
        return hash_of(version("lockstep-raft"), specs, self.words)

    def court(self, spark: SparkSession) -> Court:
        """Return what makes the judges."""
        return _OfHeaders(Shipping(spark, switches_of(self.words)))


#: The specs of the traces' headers, as they are.
AS_TOLD = Variant()


@dataclass(frozen=True, slots=True)
class _OfHeaders:
    shipping: Shipping

    def judge(self, headers: Iterable[tuple[str, bytes | None]]) -> TaskJudge:
        return HeaderJudge(self.shipping.of(headers))


@dataclass(frozen=True, slots=True)
class HeaderJudge:
    """Checks traces against the specs of their headers, which are `shipped`."""

    shipped: Shipped

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Return the verdict on a trace, and the SHA-256 of the spec."""
        asked: list[Key] = []

        def spec_of(key: Key) -> Spec:
            asked.append(key)
            return self.shipped.spec(key, lines.trace)

        found = check_lines(lines, lines.trace, spec_of, self.shipped.switches)
        return found, self.shipped.hash(asked[0]) if asked else ""


@dataclass(frozen=True, slots=True)
class OwnSpec:
    """A spec of the reader's own, and with `mapping` what the lines of a log are in it, as for `lockstep check`."""

    spec: Path
    cfg: Path
    mapping: Path | None = None
    library: tuple[Path, ...] = ()
    strict: bool = False

    @property
    def logs(self) -> str:
        """How the lines are ingested."""
        if self.mapping is None:
            return ""
        return TOGETHER if read_mapping(self.mapping).files == "together" else EACH

    @property
    def name(self) -> str | None:
        """The variant of the verdicts."""
        return self.spec.stem

    @property
    def options(self) -> tuple[str, ...]:
        """The words of a command line."""
        given = [("--spec", self.spec), ("--cfg", self.cfg), *(("-I", folder) for folder in self.library)]
        given += [("--mapping", self.mapping)] if self.mapping else []
        return (*(str(part) for pair in given for part in pair), *(["--strict"] if self.strict else []))

    def hash(self) -> str:
        """Return the hash of all that decides a verdict besides the trace."""
        modules = module_texts(self.spec, self.library)
        texts = [text_of(path) for path in (self.cfg, *([self.mapping] if self.mapping else []))]
        return hash_of(version("lockstep-raft"), self.spec.name, modules, texts, self.strict)

    def court(self, spark: SparkSession) -> Court:
        """Return what makes the judges; raises BadInputError where spec, cfg or mapping cannot be used."""
        judge = own_check(self.spec, self.cfg, self.mapping, search_path=self.library, strict=self.strict)
        digest = hashlib.sha256(pickle.dumps(judge)).hexdigest()
        return _Own(_OwnJudge(spark.sparkContext.broadcast(judge), digest))


@dataclass(frozen=True, slots=True)
class _Own:
    one: TaskJudge

    def judge(self, headers: Iterable[tuple[str, bytes | None]]) -> TaskJudge:
        return self.one


@dataclass(frozen=True, slots=True)
class _OwnJudge:
    shipped: Any
    digest: str

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        """Check a trace, or logs, from files: a search may read their lines again."""
        with scratch("log") as folder:
            found, names = TraceVerdict(lines.trace, Verdict.INCONCLUSIVE, ""), dict[str, str]()
            try:
                names = _written(lines, folder)
                judge, files = self.shipped.value, list(map(Path, names))
                found = judge.all(files) if judge.together or len(files) > 1 else judge(files[0])
            except OSError:  # The machine has no room: another try, or another machine, may have.
                raise
            except Exception as error:  # One trace must not take the verdicts of all others with it.
                found = failure(error, lines.trace)
            return _renamed(found, names, lines.trace), self.digest


def _written(lines: TraceLines, folder: Path) -> dict[str, str]:
    """Write the lines into a file for each that they came from, all of one folder; return the name of that for each."""
    written: dict[str, str] = {}
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for line, source in lines.with_sources():
            if source not in files:
                name = folder / PurePosixPath(unpacked(source)).name
                files[source] = stack.enter_context(name.open("wb"))
                written[str(name)] = source
            files[source].write(line)
    return dict(sorted(written.items(), key=lambda each: each[1]))


def _renamed(found: TraceVerdict, names: Mapping[str, str], trace: str) -> TraceVerdict:
    """Return a verdict that names the files that there were where it names those that were written."""

    def told(text: str) -> str:
        for file, name in sorted(names.items(), reverse=True):  # p.log.1 before p.log
            text = text.replace(file, name)
        return text

    findings = [
        replace(each, details=tuple(map(told, each.details)), source=told(each.source)) for each in found.findings
    ]
    notes, sources = list(map(told, found.notes)), list(map(told, found.sources))
    return replace(found, source=trace, reason=told(found.reason), findings=findings, notes=notes, sources=sources)
