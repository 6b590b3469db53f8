"""Run TLC once and give its result."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lockstep.base.interrupts import deferred_interrupts
from lockstep.base.package_data import common_dir
from lockstep.base.scratch import disk_full_reason, scratch
from lockstep.base.text_files import NotUtf8Error, text_of
from lockstep.base.verdict import Verdict
from lockstep.tlc.java import find_java, find_tla2tools, jar_knows_option
from lockstep.tlc.module_files import project_files
from lockstep.tlc.newer_tlc import explain_missing_operator, explain_unknown_entry, lacking_modules
from lockstep.tlc.supervised_process import NO_LIMIT, Budget, Lines, ToolMissing, run_supervised
from lockstep.tlc.tlc_output import OutputReader
from lockstep.tlc.tlc_result import Cause, Progress, PropertyKind, SpecError, TlcResult
from lockstep.tlc.tlc_verdict import TlcRequest, judge
from lockstep.tlc.unicode_symbols import Rewritten, rewrite_in_ascii

_COVERAGE_INTERVAL_MINUTES = 60


@dataclass(frozen=True, slots=True)
class TlcSimulation:
    """A simulation: random behaviours instead of the whole state space.

    `behaviours` is how many each worker takes (None: until the budget is spent), `depth` the most states in
    each, `seed` and `aril` make a run repeatable with one worker.
    """

    behaviours: int | None
    depth: int = 100
    seed: int | None = None
    aril: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TlcOptions:
    """Options of a run of TLC.

    `workers` are threads of TLC ("auto": one a processor); `deadlock_check`, whether a state without successor is a
    violation; `simulation`, to simulate instead of check; `coverage`, to count each action; `dump`, a file (.dot) for
    the state graph; `library`, folders for EXTENDS beside the spec's own and spec/common (None: the folder above, when
    the spec lies in `models`). `budget` is how long it may run, the start of the JVM included; `heap_mb` and `stack_mb`
    are the JVM's limits in MiB; `is_short` tunes the JVM to start, for a run of seconds; `java` and `jar` are tools to
    use instead of searching.
    """

    workers: int | Literal["auto"] = 1
    deadlock_check: bool = True
    simulation: TlcSimulation | None = None
    coverage: bool = False
    dump: Path | None = None
    library: Sequence[Path] | None = None
    budget: Budget = NO_LIMIT
    heap_mb: int | None = None
    stack_mb: int = 16
    is_short: bool = False
    java: Path | None = None
    jar: Path | None = None


TLC_DEFAULTS = TlcOptions()


def run_tlc(
    spec_path: Path,
    cfg_path: Path,
    options: TlcOptions = TLC_DEFAULTS,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> TlcResult:
    """Check or simulate one model with TLC.

    Arguments: `spec_path` and `cfg_path`, the module and its configuration; `options`, how; `on_progress`, called with
    TLC's progress reports; `cancel`, an event that ends the run.
    Returns the result. Missing tools, a dead JVM and a spent budget are inconclusive results, malformed specs
    are malformed results; neither raises. No process or file of TLC's is left but the dump.
    Raises EnvironmentFailedError, or OSError, where temporary files cannot be written, and BadInputError where the
    modules cannot be rewritten in ASCII. Interrupts are acted on after the JVM is dead and its files are removed, see
    deferred_interrupts (outside the main thread use `cancel`).
    """
    started = time.monotonic()
    spec, cfg = spec_path.absolute(), cfg_path.absolute()
    for file in (spec, cfg):
        if not file.is_file():
            error = SpecError(str(file), None, None, "no such file")
            return TlcResult(Verdict.MALFORMED, str(error), error=error)
    reader = OutputReader(on_progress)
    try:
        with deferred_interrupts() as interrupts, scratch("tlc") as folder:
            read = _files(spec, cfg, _library(spec, options), folder)
            command = _command(read, options, folder)
            ended = run_supervised(
                command,
                cwd=folder,
                stderr=folder / "stderr.txt",
                on_output=Lines(lambda line: reader.feed(read.restored(line))),
                budget=options.budget,
                should_stop=lambda: bool(interrupts) or (cancel is not None and cancel.is_set()),
            )
            if options.dump is not None and read.project is not None:
                _restore(options.dump, read.project)
            lacking = disk_full_reason(folder) if ended.status != 0 else None
    except ToolMissing as problem:
        return TlcResult(Verdict.INCONCLUSIVE, str(problem), cause=Cause.TOOL_MISSING)
    result = judge(TlcRequest(spec, cfg, options.simulation is not None), reader, ended)
    jar = find_tla2tools(options.jar)
    result = explain_missing_operator(explain_unknown_entry(result, cfg, jar), jar)
    if lacking is not None and (result.violation is None or result.violation.kind is PropertyKind.EVALUATION):
        reason = f"TLC cannot write its temporary files: {lacking}"
        result = replace(result, verdict=Verdict.INCONCLUSIVE, cause=Cause.TOOL_FAILED, reason=reason)
        result = replace(result, error=None, violation=None)
    return replace(result, wall_seconds=time.monotonic() - started, command=tuple(command))


@dataclass(frozen=True, slots=True)
class _Files:
    """The files that TLC reads: the author's, or the same in ASCII.

    `library` are the folders of modules; `restored` puts the author's files and places into a line that TLC prints;
    `project` is what was rewritten, if anything was.
    """

    spec: Path
    cfg: Path
    library: list[Path]
    restored: Callable[[str], str]
    project: Rewritten | None


def _files(spec: Path, cfg: Path, library: list[Path], folder: Path) -> _Files:
    """Write the files in ASCII into a folder, where the author's are not; one that is no UTF-8 is left to TLC."""
    try:
        project = rewrite_in_ascii(project_files(spec, library), text_of(cfg))
    except NotUtf8Error:
        project = None
    if project is None:
        return _Files(spec, cfg, library, str, None)
    ascii_folder = folder / "ascii"
    ascii_folder.mkdir()
    project.write(ascii_folder)
    in_ascii = ascii_folder / spec.name, ascii_folder / f"{spec.stem}.cfg"
    in_ascii[1].write_text(project.cfg or "", encoding="utf-8")
    return _Files(*in_ascii, [ascii_folder, *library], project.restored(ascii_folder), project)


def _restore(dump: Path, project: Rewritten) -> None:
    """Put the characters of the author's strings into the state graph that TLC has dumped."""
    if project.has_stand_ins and dump.is_file():
        part = dump.with_name(f"{dump.name}.part")
        with dump.open(encoding="utf-8") as lines, part.open("w", encoding="utf-8") as written:
            written.writelines(map(project.characters, lines))
        part.replace(dump)


def _command(read: _Files, options: TlcOptions, folder: Path) -> list[str]:
    """Compose the command line; raises ToolMissing where there is no Java that is new enough, or no jar."""
    launcher, tools = find_java(options.java).path, find_tla2tools(options.jar)
    return [
        str(launcher),
        *_jvm_options(folder, read.library, options),
        *("-cp", str(tools), "tlc2.TLC", "-tool", "-metadir", str(folder / "meta")),
        *_tlc_options(options),
        *(("-noGenerateSpecTE",) if jar_knows_option(tools, "-noGenerateSpecTE") else ()),
        # TLC looks for the cfg below the spec's folder, even when its path is absolute.
        *("-config", os.path.relpath(read.cfg, read.spec.parent), str(read.spec)),
    ]


def _library(spec: Path, options: TlcOptions) -> list[Path]:
    """Where TLC looks for modules: the spec's folder, the given ones or the one above `models`, and the common ones."""
    above = [spec.parent.parent] if spec.parent.name == "models" else []
    more = above if options.library is None else [folder.absolute() for folder in options.library]
    return [spec.parent, *more, common_dir(), *lacking_modules(find_tla2tools(options.jar))]


def _jvm_options(folder: Path, library: Sequence[Path], options: TlcOptions) -> list[str]:
    """The JVM's options: its limits, its temporary files in `folder`, numbers printed the English way."""
    temporary = folder / "tmp"
    temporary.mkdir()
    heap = [] if options.heap_mb is None else [f"-Xmx{options.heap_mb}m"]
    return [
        *heap,
        f"-Xss{options.stack_mb}m",
        *(("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") if options.is_short else ("-XX:+UseParallelGC",)),
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={folder / 'jvm-crash.log'}",
        # SANY unpacks the standard modules here; a folder that runs share is a race.
        f"-Djava.io.tmpdir={temporary}",
        "-Duser.language=en",
        "-Duser.country=US",
        "-Dfile.encoding=UTF-8",
        "-Dsun.stdout.encoding=UTF-8",
        f"-DTLA-Library={os.pathsep.join(str(each) for each in library)}",
    ]


def _tlc_options(options: TlcOptions) -> list[str]:
    """TLC's own options. `-deadlock` turns the check off, and 2.15 does not know `-workers auto`."""
    count = (os.cpu_count() or 1) if options.workers == "auto" else options.workers
    # Temporal properties are checked once, at the end: when TLC checks them before is a matter of time.
    words = ["-workers", str(count), "-lncheck", "final"]
    if not options.deadlock_check:
        words.append("-deadlock")
    if options.coverage:
        words += ["-coverage", str(_COVERAGE_INTERVAL_MINUTES)]
    if options.dump is not None:
        words += ["-dump", "dot,actionlabels", str(options.dump.absolute())]
    return [*words, *(["-fp", "0"] if options.simulation is None else _simulation_options(options.simulation))]


def _simulation_options(simulation: TlcSimulation) -> list[str]:
    words = ["-simulate"]
    if simulation.behaviours is not None:
        words.append(f"num={simulation.behaviours}")
    words += ["-depth", str(simulation.depth)]
    if simulation.seed is not None:
        words += ["-seed", str(simulation.seed)]
    if simulation.aril is not None:
        words += ["-aril", str(simulation.aril)]
    return words
