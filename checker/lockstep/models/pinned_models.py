"""Running bounded models with TLC, or by tables, and holding the results against what their manifest pins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.models.by_tables import run_by_tables
from lockstep.models.counterexample import of_tlc
from lockstep.models.model_manifest import Manifest, ModelEntry, compare, run_model
from lockstep.models.witness_runs import alone, run_together, together
from lockstep.tla.behaviour import Behaviour
from lockstep.tlc import TLC_DEFAULTS, TlcOptions, TlcResult, TlcVerdict


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """What TLC, or the engine of its entry, found in one model, and where that differs from the pins."""

    entry: ModelEntry
    result: TlcResult
    mismatches: tuple[str, ...]
    engine: str = "tlc"

    @property
    def verdict(self) -> Verdict:
        """Holds when TLC found exactly what the manifest pins, be it a violation."""
        if self.result.verdict is TlcVerdict.ERROR:
            return Verdict.MALFORMED
        if self.result.verdict is TlcVerdict.INCONCLUSIVE:
            return Verdict.INCONCLUSIVE
        return Verdict.VIOLATED if self.mismatches else Verdict.HOLDS

    @property
    def found(self) -> str:
        """Say in a few words what was found, and whether it was expected."""
        return f"{self._found}, by tables" if self.engine == "tables" else self._found

    @property
    def _found(self) -> str:
        result, entry = self.result, self.entry
        if result.verdict is TlcVerdict.INCONCLUSIVE:
            return f"inconclusive: {result.reason}"
        if result.verdict is TlcVerdict.ERROR:
            return f"error: {result.reason}"
        if self.mismatches:
            return "UNEXPECTED: " + "; ".join(self.mismatches)
        if result.verdict is TlcVerdict.HOLDS:
            return "holds"
        label = result.violation.label if result.violation else "?"
        return f"reached, as expected ({label})" if entry.witness else f"violates {label}, as expected"


def behaviour_of(manifest: Manifest, outcome: ModelOutcome, jar: Path | None = None) -> Behaviour | None:
    """Return the counterexample that TLC, of the tla2tools `jar`, found in a model; None where it found none."""
    found = outcome.result.counterexample
    return None if found is None else of_tlc(found, *manifest.files(outcome.entry), manifest.library, jar)


def run_models(
    entries: Sequence[tuple[Manifest, ModelEntry]],
    *,
    parallel: int,
    options: TlcOptions = TLC_DEFAULTS,
    share_runs: bool = False,
    engine: str | None = None,
    on_start: Callable[[ModelEntry], None] | None = None,
) -> Generator[ModelOutcome, None, None]:
    """Run models, some at a time, and yield their outcomes in the order given.

    Arguments: `entries`, each with its manifest; `parallel`, how many TLC processes at once; `options`, what of them
    an entry does not say, such as the tools; `share_runs`, whether witnesses that share their constants are reached in
    one run, where the first of them stands, without counts and counterexamples of their own; `engine`, "tlc" or
    "tables", of all models that it can explore, None for that of each entry; `on_start`, told of each run's first
    model.
    """
    cancel = threading.Event()

    def run(group: tuple[Manifest, tuple[ModelEntry, ...]]) -> list[ModelOutcome]:
        pinned, models = group
        if on_start is not None:
            on_start(models[0])
        if len(models) > 1:
            results, chosen = run_together(pinned, models, options, cancel=cancel), "tlc"
        else:
            chosen = "tlc" if models[0].mode == "simulate" else engine or models[0].engine
            explored = run_by_tables if chosen == "tables" else run_model
            results = [explored(pinned, models[0], options, cancel=cancel)]
        return [
            ModelOutcome(entry, result, tuple(compare(entry, result)), chosen)
            for entry, result in zip(models, results, strict=True)
        ]

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            for outcomes in pool.map(run, together(entries) if share_runs else alone(entries)):
                yield from outcomes
        finally:  # Ctrl-C, or a caller that stops asking: no TLC is left behind.
            cancel.set()
