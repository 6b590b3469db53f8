"""Running a model of a manifest by tables, in a process of its own, with a result of the form of TLC's.

The pins are TLC's: what tables find is held against the same counts and the same violation.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.models.model_manifest import Manifest, ModelEntry
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.values.itf_values import from_itf
from lockstep.tla.values.kinds import format_value
from lockstep.tlc import TlcOptions, TlcResult, TlcVerdict, TlcViolation
from lockstep.tlc.supervised_process import Budget, How, run_supervised
from lockstep.tlc.tlc_result import Cause, Counterexample, PropertyKind, SpecError, TlcStep

_VERDICTS = {
    Verdict.HOLDS: TlcVerdict.HOLDS,
    Verdict.VIOLATED: TlcVerdict.VIOLATED,
    Verdict.INCONCLUSIVE: TlcVerdict.INCONCLUSIVE,
    Verdict.MALFORMED: TlcVerdict.ERROR,
}


def run_by_tables(
    manifest: Manifest, entry: ModelEntry, options: TlcOptions, *, cancel: threading.Event | None = None
) -> TlcResult:
    """Run a model by tables, within its budget of processor time.

    Arguments: `options`, of which the tools count, for compiling the spec; `cancel`, an event that ends the run.
    Returns the result: the counts, and of a violation the property and the counterexample.
    """
    begin = time.perf_counter()
    output = bytearray()
    with scratch("tables") as folder:
        ended = run_supervised(
            _command(manifest, entry, options),
            cwd=folder,
            stderr=folder / "stderr",
            on_output=output.extend,
            budget=Budget(cpu_seconds=entry.budget_seconds),
            should_stop=lambda: cancel is not None and cancel.is_set(),
        )
    seconds = time.perf_counter() - begin
    if ended.how is not How.EXITED:
        cause = Cause.TIMED_OUT if ended.how is How.TIMED_OUT else Cause.CANCELLED
        return _inconclusive(cause, f"{ended.how} {ended.spent}".strip(), seconds)
    try:
        told = json.loads(bytes(output))
        if Verdict(told["verdict"]).exit_code != ended.status:
            raise ValueError("it told a verdict, and ended with the status of another")
        return _result(manifest, entry, options, told, seconds)
    except (ValueError, KeyError, TypeError):
        said = " ".join(ended.stderr_tail[-1:]) or f"exit status {ended.status}"
        return _inconclusive(Cause.TOOL_FAILED, f"the search by tables died: {said}", seconds)


def _command(manifest: Manifest, entry: ModelEntry, options: TlcOptions) -> list[str]:
    spec, cfg = (path.resolve() for path in manifest.files(entry))
    command = [sys.executable, "-m", "lockstep", "model", "--spec", str(spec), "--cfg", str(cfg), "--engine", "tables"]
    command += [word for folder in manifest.library for word in ("-I", str(folder.resolve()))]
    if options.jar is not None:
        command += ["--tla-tools", str(Path(options.jar).resolve())]
    return [*command, "--deadlock" if entry.deadlock else "--no-deadlock", "--format", "json", "--full"]


def _inconclusive(cause: Cause, reason: str, seconds: float) -> TlcResult:
    return TlcResult(TlcVerdict.INCONCLUSIVE, reason, cause=cause, wall_seconds=seconds)


def _result(
    manifest: Manifest, entry: ModelEntry, options: TlcOptions, told: dict[str, Any], seconds: float
) -> TlcResult:
    verdict, reason = _VERDICTS[Verdict(told["verdict"])], told["reason"]
    if verdict is TlcVerdict.INCONCLUSIVE:
        return _inconclusive(Cause.NO_FINAL_VERDICT, reason, seconds)
    if verdict is TlcVerdict.ERROR:
        error = SpecError(f"{entry.module}.tla", None, None, reason)
        return TlcResult(verdict, reason, error=error, wall_seconds=seconds)
    counts = {name: told[name] for name in ("distinct", "generated", "depth")}
    if verdict is TlcVerdict.HOLDS:
        return TlcResult(verdict, reason, **counts, wall_seconds=seconds)
    # The manifest pins of a violation how many states lead to it.
    counts["depth"] = len(told["counterexample"])
    violation = _violation(told["property"], reason)
    found = _counterexample(manifest, entry, options, told)
    return TlcResult(verdict, reason, violation=violation, counterexample=found, **counts, wall_seconds=seconds)


def _counterexample(manifest: Manifest, entry: ModelEntry, options: TlcOptions, told: dict[str, Any]) -> Counterexample:
    """Read a counterexample as TLC's; values that are told as strings may be model values."""
    spec = load_spec(*manifest.files(entry), search_path=manifest.library, jar=options.jar)

    def text(tree: object) -> str:
        return format_value(from_itf(tree, spec.model_values))

    steps = [
        TlcStep(each["step"], each["action"], None, {name: text(tree) for name, tree in each["state"].items()}, "")
        for each in told["counterexample"]
    ]
    by, stays = told["back_by"], told["back_to"] == len(steps)
    return Counterexample(tuple(steps), None if stays else told["back_to"], by and by["action"], stays)


def _violation(name: str, reason: str) -> TlcViolation:
    kinds = {each.value: each for each in PropertyKind}
    return (
        TlcViolation(kinds[name], None, reason) if name in kinds else TlcViolation(PropertyKind.INVARIANT, name, reason)
    )
