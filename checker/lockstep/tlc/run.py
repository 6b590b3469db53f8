"""Run TLC once and give its result."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lockstep.base.paths import common_dir
from lockstep.tlc.errors import ToolMissing
from lockstep.tlc.java import find_java, find_tla2tools, jar_knows_option
from lockstep.tlc.parse import OutputReader
from lockstep.tlc.process import deferred_interrupts, run_supervised
from lockstep.tlc.result import Cause, Progress, SpecError, TlcResult, TlcVerdict
from lockstep.tlc.verdict import Request, judge

SCRATCH_PREFIX = "lockstep-tlc-"
_COVERAGE_INTERVAL_MINUTES = 60


@dataclass(frozen=True, slots=True)
class Simulation:
    """How to simulate: random behaviours instead of the whole state space.

    `behaviours` is how many each worker takes (None: until the budget is spent), `depth` the most states in
    each, `seed` and `aril` make a run repeatable with one worker.
    """

    behaviours: int | None
    depth: int = 100
    seed: int | None = None
    aril: int | None = None


def run_tlc(
    spec_path: Path,
    cfg_path: Path,
    *,
    workers: int | Literal["auto"] = 1,
    deadlock_check: bool = True,
    timeout_seconds: float | None = None,
    heap_mb: int | None = None,
    stack_mb: int = 16,
    simulation: Simulation | None = None,
    dump: Path | None = None,
    coverage: bool = False,
    library: Sequence[Path] | None = None,
    java: Path | None = None,
    jar: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> TlcResult:
    """Check or simulate one model with TLC.

    Arguments: `spec_path` and `cfg_path`, the module and its configuration; `workers`, threads of TLC
    ("auto": one a processor); `deadlock_check`, whether a state without successor is a violation;
    `timeout_seconds`, the budget, JVM start included; `heap_mb` and `stack_mb`, the JVM's limits in MiB;
    `simulation`, to simulate instead of check; `dump`, a file (.dot) for the state graph; `coverage`, to
    count each action; `library`, folders for EXTENDS beside the spec's own and spec/common (None: the folder above,
    when the spec lies in `models`); `java` and `jar`, tools to use instead of searching; `on_progress`, called with
    TLC's progress reports; `cancel`, an event that ends the run.
    Returns the result. Missing tools, a dead JVM and a spent budget are inconclusive results, malformed specs
    are `error` results; neither raises. No process or file of TLC's is left but the dump.
    Raises KeyboardInterrupt on SIGINT and SystemExit on SIGTERM and SIGHUP, after the JVM is dead and its
    files are removed (in the main thread; elsewhere use `cancel`).
    """
    started = time.monotonic()
    spec, cfg = spec_path.absolute(), cfg_path.absolute()
    for file in (spec, cfg):
        if not file.is_file():
            error = SpecError(str(file), None, None, "no such file")
            return TlcResult(TlcVerdict.ERROR, str(error), error=error)
    try:
        launcher, tools = find_java(java).path, find_tla2tools(jar)
    except ToolMissing as problem:
        return TlcResult(TlcVerdict.INCONCLUSIVE, str(problem), cause=Cause.TOOL_MISSING)
    request = Request(spec, cfg, simulation is not None, timeout_seconds)
    reader = OutputReader(on_progress)
    with (
        deferred_interrupts() as interrupts,
        tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, ignore_cleanup_errors=True) as scratch_name,
    ):
        scratch = Path(scratch_name)
        command = [
            str(launcher),
            *_jvm_options(scratch, _library(spec, library), heap_mb, stack_mb),
            *("-cp", str(tools), "tlc2.TLC", "-tool", "-metadir", str(scratch / "meta")),
            *_tlc_options(workers, deadlock_check, simulation, dump, coverage),
            *(("-noGenerateSpecTE",) if jar_knows_option(tools, "-noGenerateSpecTE") else ()),
            # TLC looks for the cfg below the spec's folder, even when its path is absolute.
            *("-config", os.path.relpath(cfg, spec.parent), str(spec)),
        ]
        ended = run_supervised(
            command,
            cwd=scratch,
            on_line=reader.feed,
            timeout_seconds=timeout_seconds,
            should_stop=lambda: bool(interrupts) or (cancel is not None and cancel.is_set()),
        )
    result = judge(request, reader, ended)
    return replace(result, wall_seconds=time.monotonic() - started, command=tuple(command))


def _library(spec: Path, library: Sequence[Path] | None) -> list[Path]:
    """Where TLC looks for modules: the spec's folder, the given ones or the one above `models`, and the common ones."""
    above = [spec.parent.parent] if spec.parent.name == "models" else []
    more = above if library is None else [folder.absolute() for folder in library]
    return [spec.parent, *more, common_dir()]


def _jvm_options(scratch: Path, library: Sequence[Path], heap_mb: int | None, stack_mb: int) -> list[str]:
    """The JVM's options: its limits, its temporary files in `scratch`, numbers printed the English way."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    heap = [] if heap_mb is None else [f"-Xmx{heap_mb}m"]
    return [
        *heap,
        f"-Xss{stack_mb}m",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={scratch / 'jvm-crash.log'}",
        # SANY unpacks the standard modules here; a folder that runs share is a race.
        f"-Djava.io.tmpdir={temporary}",
        "-Duser.language=en",
        "-Duser.country=US",
        "-Dfile.encoding=UTF-8",
        "-Dsun.stdout.encoding=UTF-8",
        f"-DTLA-Library={os.pathsep.join(str(folder) for folder in library)}",
    ]


def _tlc_options(
    workers: int | Literal["auto"],
    deadlock_check: bool,
    simulation: Simulation | None,
    dump: Path | None,
    coverage: bool,
) -> list[str]:
    """TLC's own options. `-deadlock` turns the check off, and 2.15 does not know `-workers auto`."""
    count = (os.cpu_count() or 1) if workers == "auto" else workers
    options = ["-workers", str(count)]
    if not deadlock_check:
        options.append("-deadlock")
    if coverage:
        options += ["-coverage", str(_COVERAGE_INTERVAL_MINUTES)]
    if dump is not None:
        options += ["-dump", "dot,actionlabels", str(dump.absolute())]
    if simulation is None:
        return [*options, "-fp", "0"]
    options += ["-simulate"]
    if simulation.behaviours is not None:
        options.append(f"num={simulation.behaviours}")
    options += ["-depth", str(simulation.depth)]
    if simulation.seed is not None:
        options += ["-seed", str(simulation.seed)]
    if simulation.aril is not None:
        options += ["-aril", str(simulation.aril)]
    return options
