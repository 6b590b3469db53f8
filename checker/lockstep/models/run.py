"""The models of spec/dledger/models/manifest.toml: run them with TLC and hold the results against the pins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.paths import dledger_dir
from lockstep.base.verdict import Verdict
from lockstep.tlc import Manifest, ModelEntry, TlcResult, compare, load_manifest, run_model
from lockstep.tlc import Verdict as TlcVerdict


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """What TLC found in one model, and where that differs from the pins."""

    entry: ModelEntry
    result: TlcResult
    mismatches: tuple[str, ...]

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
        """Say in a few words what TLC found, and whether it was expected."""
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


def manifest() -> Manifest:
    """Load the manifest that ships with the spec."""
    return load_manifest(dledger_dir() / "models" / "manifest.toml")


def model_names() -> list[str]:
    """Name the models of the manifest that ships with the spec."""
    return [entry.name for entry in manifest().models]


def run_models(
    entries: Sequence[ModelEntry],
    *,
    parallel: int,
    java: Path | None = None,
    jar: Path | None = None,
    on_start: Callable[[ModelEntry], None] | None = None,
) -> Iterator[ModelOutcome]:
    """Run models, some at a time, and yield their outcomes in the order given.

    Arguments: `parallel`, how many TLC processes at once; `java` and `jar`, the tools if not the usual ones.
    """
    pinned = manifest()
    cancel = threading.Event()

    def run(entry: ModelEntry) -> ModelOutcome:
        if on_start is not None:
            on_start(entry)
        result = run_model(pinned, entry, java=java, jar=jar, cancel=cancel)
        return ModelOutcome(entry, result, tuple(compare(entry, result)))

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            yield from pool.map(run, entries)
        finally:  # Ctrl-C, or a caller that stops asking: no TLC is left behind.
            cancel.set()
