"""One model on both engines: the compiled search, by tables or state by state, and TLC."""

from __future__ import annotations

import re
import signal
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from public_models import Counts, Model
from public_rows import Found, Outcome, Row, compared

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.text_files import text_of
from lockstep.base.verdict import Verdict
from lockstep.models.default_memory_budget import default_memory_budget
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.tables.state_layout import UnsuitedError
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import Budget, Cause, PropertyKind, TlcOptions, TlcResult, find_tla2tools, run_tlc

#: Statements of a cfg that TLC 2.15 does not know: whether deadlock counts, and what is shown or asked afterwards.
_NEWER = re.compile(r"^[ \t]*(?:ALIAS|POSTCONDITION|(?P<deadlock>CHECK_DEADLOCK))\s+(?P<said>\w+)", re.MULTILINE)

_KINDS = {
    PropertyKind.TEMPORAL: "liveness violated",
    PropertyKind.EVALUATION: "evaluation fails",
    PropertyKind.ASSUMPTION: "false assumption",
}


class _SpentError(Exception):
    """The processor time of a search is spent."""


def run_one(model: Model, search: str, library: Iterable[Path], most_states: int, seconds: float) -> Row:
    """Run a model on both engines.

    Args:
        model: the model.
        search: how the compiled search explores it, "tables" or "literal".
        library: further folders with modules.
        most_states: a model that turns out to have more states is given up.
        seconds: the processor time that each engine may take.
    """
    with tempfile.TemporaryDirectory() as folder:
        modules = _without_standard(library, Path(folder) / "library")
        compiled = _compiled(model, _SEARCHES[search], modules, most_states, seconds)
        if (compiled.counts.distinct or 0) > most_states:
            return Row(model.name, Outcome.NOT_RUN, f"too large: more than {most_states:,} states")
        tlc = _with_tlc(model, modules, Path(folder) / "for_tlc.cfg", seconds)
    return compared(model.name, compiled, tlc, model.counts)


def _without_standard(library: Iterable[Path], folder: Path) -> Path:
    """Link the modules of a library into a folder, but for those that the tools themselves have."""
    folder.mkdir()
    with zipfile.ZipFile(find_tla2tools()) as tools:
        standard = {Path(name).name for name in tools.namelist() if "/StandardModules/" in name}
    for file in (file for each in library for file in each.glob("*.tla") if file.name not in standard):
        link = folder / file.name
        if not link.exists():
            link.symlink_to(file.resolve())
    return folder


# ---- The compiled search ----


def _by_tables(spec: Spec, most_states: int) -> tuple[Exploration | TableExploration, str]:
    """Search by tables, or state by state where tables are unsuited; return what is found, and a note."""
    try:
        return explore_by_tables(spec, SearchOptions(max_states=most_states, memory_budget=default_memory_budget())), ""
    except UnsuitedError as error:
        return explore(spec, SearchOptions(max_states=most_states)), f"state by state: {error}"


def _literally(spec: Spec, most_states: int) -> tuple[Exploration | TableExploration, str]:
    return explore(spec, SearchOptions(max_states=most_states)), ""


_Search: TypeAlias = Callable[[Spec, int], tuple[Exploration | TableExploration, str]]
_SEARCHES: dict[str, _Search] = {"tables": _by_tables, "literal": _literally}


def _compiled(model: Model, search: _Search, library: Path, most_states: int, seconds: float) -> Found:
    begin = time.perf_counter()
    try:
        with _processor_time(seconds):
            spec = load_spec(model.module, model.cfg, search_path=[library])
            if not spec.has_behaviour and not spec.assumptions:
                return Found("holds", "no state", Counts(0, 0, 1))
            begin = time.perf_counter()
            found, note = search(spec, most_states + 1)
    except FalseAssumptionError as error:
        return Found("false assumption", str(error))
    except TlaError as error:
        return Found("evaluation fails", _without_folder(str(error), model), seconds=time.perf_counter() - begin)
    except BadInputError as error:
        return Found("refused", _without_folder(str(error), model))
    except (_SpentError, GaveUpError, RecursionError, MemoryError) as error:
        return Found("unfinished", str(error) or type(error).__name__)
    except Exception as error:  # what is no answer to a spec: the row says where it came from
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Found("internal error", f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")
    return replace(_of_search(found, time.perf_counter() - begin), note=note)


def _of_search(found: Exploration | TableExploration, seconds: float) -> Found:
    counts = Counts(found.distinct, found.generated, found.depth)
    if isinstance(found, TableExploration) and (why := found.doubt or found.gave_up):
        return Found("unfinished", why, counts, seconds)
    if found.violation is None:
        return Found("holds", "", counts, seconds, found.unchecked)
    verdict = "liveness violated" if found.violation.kind == PropertyKind.TEMPORAL else "violated"
    return Found(verdict, found.violation.label, counts, seconds, found.unchecked)


@contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Raise _SpentError where a block takes more processor time than this."""

    def spent(*_: object) -> None:
        raise _SpentError(f"{seconds:g} s of processor time")

    signal.signal(signal.SIGPROF, spent)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# ---- TLC ----


def _with_tlc(model: Model, library: Path, cfg: Path, seconds: float) -> Found:
    text = text_of(model.cfg)
    cfg.write_text(_NEWER.sub("", text), encoding="utf-8")
    deadlock = all(found["said"] == "TRUE" for found in _NEWER.finditer(text) if found["deadlock"])
    above = model.module.parent.parent
    options = TlcOptions(deadlock_check=deadlock, library=[above, library], budget=Budget(cpu_seconds=seconds))
    return _of_tlc(run_tlc(model.module, cfg, options), model)


def _of_tlc(result: TlcResult, model: Model) -> Found:
    counts = Counts(result.distinct, result.generated, result.depth)
    if result.verdict is Verdict.HOLDS:
        return Found("holds", "", counts, result.wall_seconds)
    if result.violation is not None:
        verdict = _KINDS.get(result.violation.kind, "violated")
        said = result.violation.label if verdict == "violated" else _without_folder(result.reason, model)
        return Found(verdict, said, counts, result.wall_seconds)
    if result.cause is Cause.VACUOUS:
        return Found("holds", "no state", counts, result.wall_seconds)
    unfinished = result.cause in (Cause.TIMED_OUT, Cause.OUT_OF_MEMORY, Cause.STACK_OVERFLOW)
    return Found("unfinished" if unfinished else "refused", _without_folder(result.reason, model))


def _without_folder(message: str, model: Model) -> str:
    """Return a message without the folder that the checkout happens to lie in."""
    for folder in (model.folder, f"{Path(model.folder).resolve()}/"):
        message = message.replace(folder, "")
    return message
