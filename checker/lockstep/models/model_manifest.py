"""The manifest of bounded models, which pins what TLC finds.

`library = ["..", "../../common"]` names the folders, from the manifest's own, of the modules that models extend.
Then one `[[model]]` table for each model:

    [[model]]
    name = "small"              # unique; the cfg is FOLDER/<name>.cfg unless `cfg` names another
    module = "MCQueue"          # MCQueue.tla beside the manifest
    mode = "check"              # or "simulate", with a table [model.simulation]
    tier = "quick"              # or "deep"
    workers = 1                 # or "auto"
    engine = "tlc"              # or "tables", of a model that takes TLC long; pins are TLC's, or the note says whose
    result = "holds"            # "violated" with `property`; "unrefuted" for a simulation that finds nothing
    distinct = 23004
    generated = 78072
    depth = 21
    deadlock = true             # whether a deadlock is a violation
    budget_seconds = 60         # of processor time, for each worker
    symmetry = false            # whether the cfg uses SYMMETRY
    witness = false             # true: the "violation" shows that something is reachable
    switch = "EarlyAnswer"      # of a violated model: the flaw that is published here and
    twin = "answers"            # repaired in this model, which holds and differs in nothing else
    note = ""

FOLDER is `witnesses` for a witness, `bugs` for another model that is violated, and `green` for the rest.
"""

from __future__ import annotations

import os
import re
import threading
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.tlc.supervised_process import Budget
from lockstep.tlc.tlc_output import cfg_section
from lockstep.tlc.tlc_result import Progress, TlcResult
from lockstep.tlc.tlc_run import TLC_DEFAULTS, TlcOptions, TlcSimulation, run_tlc

#: The generated states that are worth a JVM which compiles better, and takes longer to do so.
_LONG_RUN_STATES = 100_000

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
_AT_PATH = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]*)`|missing required field `(?P<missing>[^`]*)`")


class ManifestError(BadInputError):
    """The manifest of models is malformed.

    Arguments: `path`, the manifest; `problem`, what is wrong; `model` and `field`, where, when that is known.
    """

    def __init__(self, path: Path, problem: str, *, model: str | None = None, field: str | None = None) -> None:
        self.path = path
        self.problem = problem
        self.model = model
        self.field = field
        where = str(path)
        if model is not None:
            where += f": model {model}"
        if field is not None:
            where += f": field {field}"
        super().__init__(f"{where}: {problem}")


class SimulationEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulation of a model: behaviours for each worker, maximal states in each, the seed."""

    behaviours: _Count
    depth: _Count = 100
    seed: int = 1


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model of the manifest; see the text of this module for the fields.

    `depth` of a model that holds is the depth TLC reports; of a violated one it is the number of states in
    the counterexample, since TLC reports no depth after a liveness violation.
    """

    name: _Name
    module: _Name
    mode: Literal["check", "simulate"]
    tier: Literal["quick", "deep"]
    result: Literal["holds", "violated", "unrefuted"]
    budget_seconds: Annotated[float, msgspec.Meta(gt=0)]
    workers: _Count | Literal["auto"] = 1
    engine: Literal["tlc", "tables"] = "tlc"
    violates: str | None = msgspec.field(name="property", default=None)
    distinct: _Count | None = None
    generated: _Count | None = None
    depth: _Count | None = None
    deadlock: bool = True
    symmetry: bool = False
    witness: bool = False
    switch: str | None = None
    twin: str | None = None
    heap_mb: _Count | None = None
    cfg: str | None = None
    simulation: SimulationEntry | None = None
    note: str = ""

    @property
    def is_of_flaw(self) -> bool:
        """Whether it shows what one switch breaks."""
        return self.result == "violated" and self.switch is not None and not self.witness

    @property
    def cfg_name(self) -> str:
        """The cfg's file, from the manifest's folder."""
        folder = "witnesses" if self.witness else "bugs" if self.result == "violated" else "green"
        return self.cfg if self.cfg is not None else f"{folder}/{self.name}.cfg"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The models of one manifest, in its order, where it lies, and the folders of the modules they extend."""

    path: Path
    models: tuple[ModelEntry, ...]
    library: tuple[Path, ...] = ()

    def tier(self, *tiers: str) -> tuple[ModelEntry, ...]:
        """The models of some tiers: "quick", "deep"."""
        return tuple(entry for entry in self.models if entry.tier in tiers)

    def model(self, name: str) -> ModelEntry:
        """The model with a name; raises KeyError, naming those there are, when there is none."""
        found = next((entry for entry in self.models if entry.name == name), None)
        if found is None:
            raise KeyError(f"no model {name!r}; there are: {', '.join(entry.name for entry in self.models)}")
        return found

    def files(self, entry: ModelEntry) -> tuple[Path, Path]:
        """The module and the cfg of a model."""
        return self.path.parent / f"{entry.module}.tla", self.path.parent / entry.cfg_name


def load_manifest(path: Path) -> Manifest:
    """Read and validate a manifest.

    Arguments: `path`, of the TOML file; the modules it names lie beside it, the cfgs in the folders below it.
    Returns its models.
    Raises ManifestError, which names the file, the model and the field, when the file is missing or not TOML,
    on an unknown or missing field, a wrong type, a pin that the result forbids or needs, a missing module or
    cfg, a cfg beside or below the manifest that no model uses, and when `symmetry` is not what the cfg says.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ManifestError(path, str(problem)) from problem
    tables = document.pop("model", None)
    library = document.pop("library", [])
    if document:
        wrong = "unknown field at the top; only `library` and [[model]] tables belong here"
        raise ManifestError(path, wrong, field=min(document))
    if not isinstance(library, list) or not all(isinstance(folder, str) for folder in library):
        raise ManifestError(path, "a list of folders", field="library")
    if not isinstance(tables, list) or not tables:
        raise ManifestError(path, "there is no [[model]] table", field="model")
    entries = [_entry(path, position, table) for position, table in enumerate(tables, 1)]
    manifest = Manifest(path, tuple(entries), tuple(path.parent / folder for folder in library))
    seen: set[str] = set()
    for entry in entries:
        _validate(manifest, entry)
        if entry.name in seen:
            raise ManifestError(path, "two models have this name", model=entry.name, field="name")
        seen.add(entry.name)
    for entry in entries:
        if entry.twin is not None and not any(each.name == entry.twin and each.result == "holds" for each in entries):
            raise ManifestError(path, f"no model {entry.twin!r} that holds", model=entry.name, field="twin")
    # A model that nobody runs proves nothing, and nobody would notice that its entry is gone.
    there = {file.relative_to(path.parent).as_posix() for file in path.parent.rglob("*.cfg")}
    unused = there - {entry.cfg_name for entry in entries}
    if unused:
        raise ManifestError(path, f"{', '.join(sorted(unused))}: a cfg without an entry", field="model")
    return manifest


def _entry(path: Path, position: int, table: Any) -> ModelEntry:
    """One table as a model; errors name it, by its place when it has no name."""
    named = table.get("name") if isinstance(table, dict) else None
    model = named if isinstance(named, str) else f"number {position}"
    try:
        return msgspec.convert(table, ModelEntry)
    except msgspec.ValidationError as problem:
        text = str(problem)
        at, unknown = _AT_PATH.search(text), _UNKNOWN.search(text)
        parts = [at["field"]] if at is not None else []
        if unknown is not None:
            parts.append(unknown["field"] or unknown["missing"])
        field = ".".join(part for part in parts if part) or None
        raise ManifestError(path, _AT_PATH.sub("", text), model=model, field=field) from problem


def _validate(manifest: Manifest, entry: ModelEntry) -> None:
    """Check that the pins fit the result, and that the files exist."""
    pins = ("distinct", "generated", "depth")
    violated, simulated = entry.result == "violated", entry.mode == "simulate"
    holds = entry.result == "holds"
    exact = pins if entry.workers == 1 else pins[:2]
    unpinned = next((pin for pin in exact if holds and getattr(entry, pin) is None), None)
    forbidden = pins if simulated else pins[:2] if violated else ()
    counted = next((pin for pin in forbidden if getattr(entry, pin) is not None), None)
    rules: Sequence[tuple[bool, str, str]] = (
        (simulated and holds, "result", "a simulation proves nothing: say unrefuted, or violated"),
        (not simulated and entry.result == "unrefuted", "result", "only a simulation can be unrefuted"),
        (
            simulated != (entry.simulation is not None),
            "simulation",
            "is for mode simulate, which needs it",
        ),
        (violated != (entry.violates is not None), "property", "belongs to result violated, which needs it"),
        (simulated and entry.engine != "tlc", "engine", "only TLC simulates"),
        (entry.witness and entry.engine != "tlc", "engine", "TLC reaches witnesses, several in one run"),
        (entry.witness and not violated, "witness", "a witness is a violated property"),
        ((entry.switch is None) != (entry.twin is None), "twin", "belongs to a switch"),
        (entry.switch is not None and not violated, "switch", "belongs to result violated"),
        (unpinned is not None, unpinned or "", "a model that holds pins its counts"),
        (
            counted is not None,
            counted or "",
            f"is not pinned for {entry.mode} and {entry.result}: runs differ",
        ),
    )
    for is_broken, field, problem in rules:
        if is_broken:
            raise ManifestError(manifest.path, problem, model=entry.name, field=field)
    module, cfg = manifest.files(entry)
    for field, file in (("module", module), ("cfg", cfg)):
        if not file.is_file():
            missing = file.relative_to(manifest.path.parent).as_posix()
            raise ManifestError(manifest.path, f"{missing} does not exist", model=entry.name, field=field)
    uses_symmetry = bool(cfg_section(cfg.read_text(encoding="utf-8"), "SYMMETRY"))
    if uses_symmetry != entry.symmetry:
        problem = f"{cfg.name} {'uses' if uses_symmetry else 'does not use'} SYMMETRY"
        raise ManifestError(manifest.path, problem, model=entry.name, field="symmetry")


def run_model(
    manifest: Manifest,
    entry: ModelEntry,
    options: TlcOptions = TLC_DEFAULTS,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> TlcResult:
    """Run one model of a manifest as its entry says, within its budget of processor time.

    Arguments: `manifest` and `entry`, the model; the others as those of run_tlc; what the entry says replaces options.
    Returns TLC's result.
    """
    module, cfg = manifest.files(entry)
    chosen = entry.simulation
    run_options = replace(
        options,
        workers=entry.workers,
        deadlock_check=entry.deadlock,
        budget=Budget(cpu_seconds=entry.budget_seconds * _worker_count(entry)),
        heap_mb=entry.heap_mb,
        is_short=(entry.generated or 0) < _LONG_RUN_STATES,
        simulation=None if chosen is None else TlcSimulation(chosen.behaviours, chosen.depth, chosen.seed, aril=0),
        library=manifest.library or None,
    )
    return run_tlc(module, cfg, run_options, on_progress=on_progress, cancel=cancel)


def _worker_count(entry: ModelEntry) -> int:
    return (os.cpu_count() or 1) if entry.workers == "auto" else entry.workers
