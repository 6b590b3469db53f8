"""Running bounded models with TLC, or by tables, and comparing the results with what their manifest pins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lockstep.base.verdict import Verdict
from lockstep.models.counterexample import with_arguments
from lockstep.models.model_manifest import Manifest, ModelEntry, run_model
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.search_worker import explore_in_worker
from lockstep.models.tlc_search import result_of_tlc
from lockstep.models.witness_runs import group_singly, group_witnesses, run_witnesses
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.search_options import SearchOptions
from lockstep.tlc import TLC_DEFAULTS, Budget, Cause, TlcOptions


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """The result of one model, and where it differs from the pins."""

    entry: ModelEntry
    files: SpecFiles
    result: SearchResult
    mismatches: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Holds when the result is exactly what the manifest pins, be it a violation."""
        if self.result.verdict in (Verdict.MALFORMED, Verdict.INCONCLUSIVE):
            return self.result.verdict
        return Verdict.VIOLATED if self.mismatches else Verdict.HOLDS

    @property
    def found(self) -> str:
        """The result in a few words, and whether it was expected."""
        return f"{self._found}, by tables" if self.result.engine is Engine.TABLES else self._found

    @property
    def _found(self) -> str:
        result = self.result
        if result.verdict is Verdict.INCONCLUSIVE:
            return f"inconclusive: {result.reason}"
        if result.verdict is Verdict.MALFORMED:
            return f"error: {result.reason}"
        if self.mismatches:
            return "UNEXPECTED: " + "; ".join(self.mismatches)
        if result.verdict is Verdict.HOLDS:
            return "holds"
        label = result.property or "?"
        return f"reached, as expected ({label})" if self.entry.witness else f"violates {label}, as expected"

    @property
    def counterexample(self) -> Behaviour | None:
        """The counterexample, with the arguments of its steps."""
        found = self.result.counterexample
        return with_arguments(found, self.files) if found and self.result.engine is Engine.TLC else found


def files_of(manifest: Manifest, entry: ModelEntry, options: TlcOptions = TLC_DEFAULTS) -> SpecFiles:
    """Return the files of a model; `options` name the tla2tools that parse it."""
    return SpecFiles(*manifest.files(entry), manifest.library, options.jar)


def run_models(
    entries: Sequence[tuple[Manifest, ModelEntry]],
    *,
    parallel: int,
    options: TlcOptions = TLC_DEFAULTS,
    share_runs: bool = False,
    engine: Engine | None = None,
    on_start: Callable[[ModelEntry], None] | None = None,
) -> Generator[ModelOutcome, None, None]:
    """Run models, some at a time, and yield their outcomes in the order given.

    Arguments: `entries`, each with its manifest; `parallel`, the number of models that run at once; `options`, those of
    TLC that an entry leaves open, such as the tools; `share_runs`, whether witnesses that share their constants are
    reached in one run, where the first of them stands, without counts and counterexamples of their own; `engine`, TLC
    or tables, of all models that it can explore, None for that of each entry; `on_start`, called with each run's first
    model.
    """
    cancel = threading.Event()

    def run(group: tuple[Manifest, tuple[ModelEntry, ...]]) -> list[ModelOutcome]:
        manifest, models = group
        if on_start is not None:
            on_start(models[0])
        files = [files_of(manifest, entry, options) for entry in models]
        if len(models) > 1:
            runs = run_witnesses(manifest, models, options, cancel=cancel)
            results = [result_of_tlc(each, found) for each, found in zip(files, runs, strict=True)]
        elif models[0].mode == "check" and (engine or models[0].engine) == Engine.TABLES:
            results = [_by_tables(models[0], files[0], cancel)]
        else:
            results = [result_of_tlc(files[0], run_model(manifest, models[0], options, cancel=cancel))]
        return [
            ModelOutcome(entry, of_entry, result, tuple(compare(entry, result)))
            for entry, of_entry, result in zip(models, files, results, strict=True)
        ]

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            for outcomes in pool.map(run, group_witnesses(entries) if share_runs else group_singly(entries)):
                yield from outcomes
        finally:  # Ctrl-C, or a caller that stops asking: no TLC is left behind.
            cancel.set()


def _by_tables(entry: ModelEntry, files: SpecFiles, cancel: threading.Event | None = None) -> SearchResult:
    """Run a model by tables, within its budget of processor time; the pins are TLC's all the same."""
    options = SearchOptions(check_deadlock=None if entry.deadlock else False)
    return explore_in_worker(files, Engine.TABLES, options, Budget(cpu_seconds=entry.budget_seconds), cancel)


def compare(entry: ModelEntry, result: SearchResult) -> list[str]:
    """List how a result differs from what the manifest pins; an empty list means that it is the pinned one.

    Returns one line for each difference. When the outcome itself differs, that is the only line.
    """
    unrefuted = result.verdict is Verdict.INCONCLUSIVE and result.cause is Cause.SIMULATED
    outcome = "unrefuted" if unrefuted else str(result.verdict)
    if outcome != entry.result:
        return [f"{entry.name}: result: pinned {entry.result}, found {outcome} ({result.reason})"]
    found: list[tuple[str, object, object]] = []
    if entry.result == "violated":
        length = result.depth if result.counterexample is None else len(result.counterexample.steps)
        found = [("property", entry.violates, result.property), ("depth", entry.depth, length)]
    else:
        found = [(pin, getattr(entry, pin), getattr(result, pin)) for pin in ("distinct", "generated", "depth")]
    return [
        f"{entry.name}: {pin}: pinned {pinned}, found {actual}"
        for pin, pinned, actual in found
        if pinned is not None and pinned != actual
    ]
