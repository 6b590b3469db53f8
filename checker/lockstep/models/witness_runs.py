r"""Witnesses that share their constants, reached in one run of TLC.

A witness says that something never happens, and TLC must violate it. A run of its own for each costs the start of a JVM
and the same search from the beginning. Here a generated module keeps one register of TLC for each witness: the first
state (or step) that shows it prints its name and how deep it lies; TLC stops once all are set. A witness
whose name is not printed was not reached.

TLC's `-continue` would not do: of a state it reports the first violated invariant alone, and it ends with exit code 0.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.models.model_manifest import Manifest, ModelEntry
from lockstep.tla.syntax.cfg import parse_cfg
from lockstep.tlc import TlcOptions, TlcResult, run_tlc
from lockstep.tlc.supervised_process import Budget
from lockstep.tlc.tlc_result import PropertyKind, TlcViolation

MODULE = "WitnessesTogether"
_REACHED = re.compile(r'^<<"reached", (?P<number>\d+), (?P<level>\d+)>>$')


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness and what shows it: an invariant by its name, or the formula of a step.

    `head` is its cfg but for the name; `step` is A of `[][A]_v` with its columns kept, and `changes` is v.
    """

    entry: ModelEntry
    name: str
    head: str
    step: str | None = None
    changes: str = ""


def group_witnesses(models: Iterable[tuple[Manifest, ModelEntry]]) -> list[tuple[Manifest, tuple[ModelEntry, ...]]]:
    """Group models for running: witnesses whose cfgs differ in the witness alone; any other model by itself.

    A group stands where its first model stood.
    """
    groups: dict[object, tuple[Manifest, list[ModelEntry]]] = {}
    for manifest, entry in models:
        witness = _witness(manifest, entry)
        key = (manifest.path, entry.module, entry.deadlock, witness.head) if witness else (manifest.path, entry.name)
        groups.setdefault(key, (manifest, []))[1].append(entry)
    return [(manifest, tuple(entries)) for manifest, entries in groups.values()]


def group_singly(models: Iterable[tuple[Manifest, ModelEntry]]) -> list[tuple[Manifest, tuple[ModelEntry, ...]]]:
    """Give each model a run of its own."""
    return [(manifest, (entry,)) for manifest, entry in models]


def run_witnesses(
    manifest: Manifest,
    entries: Sequence[ModelEntry],
    options: TlcOptions,
    *,
    cancel: threading.Event | None = None,
) -> list[TlcResult]:
    """Reach the witnesses of one group in one run of TLC.

    Arguments: `entries`, a group of group_witnesses with more than one model; `options`, what of a run they do not say;
    `cancel`, an event that ends the run.
    Returns a result for each: violated, with the depth of the first state that shows it; where its name was not
    printed, the result of the run itself. The counts, which are of no one of them, are left out, and the time of the
    run is that of the first.
    """
    witnesses = [found for entry in entries if (found := _witness(manifest, entry)) is not None]
    assert len(witnesses) == len(entries)
    module, _ = manifest.files(entries[0])
    with scratch("witnesses") as folder:
        (folder / f"{MODULE}.tla").write_text(_module(module.stem, witnesses), encoding="utf-8")
        (folder / f"{MODULE}.cfg").write_text(_cfg(witnesses), encoding="utf-8")
        result = run_tlc(
            folder / f"{MODULE}.tla",
            folder / f"{MODULE}.cfg",
            replace(
                options,
                workers=1,
                deadlock_check=entries[0].deadlock,
                is_short=True,
                budget=Budget(cpu_seconds=sum(entry.budget_seconds for entry in entries)),
                library=(module.parent, *manifest.library),
            ),
            cancel=cancel,
        )
    levels = _levels(result)
    first, *others = (_witness_result(each, levels.get(number), result) for number, each in enumerate(witnesses, 1))
    return [first, *(replace(other, wall_seconds=0.0) for other in others)]


def _witness(manifest: Manifest, entry: ModelEntry) -> Witness | None:
    """Return what shows a witness; None where it is none, or must be run by itself."""
    if not entry.witness or entry.mode != "check" or entry.workers != 1 or entry.heap_mb is not None:
        return None
    module, file = manifest.files(entry)
    name, text = f"{entry.violates}", re.sub(r"\\\*[^\n]*", "", file.read_text(encoding="utf-8"))
    last = rf"(?P<head>.*)^(?P<word>INVARIANTS?|PROPERTY|PROPERTIES)\s+{name}\s*"
    found, cfg = re.fullmatch(last, text, re.MULTILINE | re.DOTALL), parse_cfg(text, str(file))
    if found is None or [*cfg.invariants, *cfg.properties] != [name]:  # it lists more, or something follows
        return None
    head = found["head"].strip()
    if cfg.invariants:
        return Witness(entry, name, head)
    step = _step(module.read_text(encoding="utf-8"), name)
    return None if step is None else Witness(entry, name, head, *step)


def _step(text: str, name: str) -> tuple[str, str] | None:
    """Return A and v of `name == [][A]_v` as they are written, lines in their columns; None of another form."""
    found = re.search(rf"^{name}\s*==\s*\[\]\[(.*?)\]_(\w+)$", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    return " " * (found.start(1) - text.rindex("\n", 0, found.start(1)) - 1) + found[1], found[2]


def _module(extended: str, witnesses: Sequence[Witness]) -> str:
    """Write the module: one invariant or step constraint a witness, each with the register of its number."""
    numbers = f"1..{len(witnesses)}"
    lines = [
        f"---- MODULE {MODULE} ----",
        f"EXTENDS {extended}, TLC",
        f"ASSUME \\A number_ \\in {numbers} : TLCSet(number_, FALSE)",
        "Reached_(number_, level_) ==",
        '    /\\ PrintT(<<"reached", number_, level_>>)',
        "    /\\ TLCSet(number_, TRUE)",
        f'    /\\ IF \\A other_ \\in {numbers} : TLCGet(other_) THEN TLCSet("exit", TRUE) ELSE TRUE',
    ]
    for number, witness in enumerate(witnesses, 1):
        shown = f"~{witness.name}"
        if witness.step is not None:
            shown = f"~Step_{number} /\\ {witness.changes}' # {witness.changes}"
            lines += [f"Step_{number} ==", witness.step]
        # The level is that of the state from which TLC goes on; what shows the witness lies one deeper.
        reached = f'Reached_({number}, TLCGet("level") + 1)'
        lines.append(f"Shown_{number} == IF ~TLCGet({number}) /\\ {shown} THEN {reached} ELSE TRUE")
    return "\n".join([*lines, "====", ""])


def _cfg(witnesses: Sequence[Witness]) -> str:
    """Write the cfg: that of any of them, with the generated names in place of the witness."""
    names: Mapping[str, list[str]] = {
        "INVARIANTS": [f"Shown_{number}" for number, each in enumerate(witnesses, 1) if each.step is None],
        "ACTION_CONSTRAINTS": [f"Shown_{number}" for number, each in enumerate(witnesses, 1) if each.step is not None],
    }
    lists = [f"{word} {' '.join(listed)}" for word, listed in names.items() if listed]
    return "\n".join([witnesses[0].head, *lists, ""])


def _levels(result: TlcResult) -> dict[int, int]:
    """Return how deep each witness lies, by its number, as TLC printed it."""
    found = (_REACHED.match(line.strip()) for line in result.user_output)
    return {int(each["number"]): int(each["level"]) for each in found if each is not None}


def _witness_result(witness: Witness, level: int | None, run: TlcResult) -> TlcResult:
    if level is None or run.verdict is not Verdict.HOLDS:
        return run
    kind = PropertyKind.INVARIANT if witness.step is None else PropertyKind.ACTION
    reason = f"{witness.name} is violated"
    reached = replace(run, verdict=Verdict.VIOLATED, reason=reason, violation=TlcViolation(kind, witness.name, reason))
    return replace(reached, depth=level, distinct=None, generated=None, queue=None)
