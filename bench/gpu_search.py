"""Measure exploring by tables on a graphics card, and compare its counts with those of the processor.

    python bench/gpu_search.py --beside crash lossy --alone three_terms prior_term_commit:MaxTerm=5 --out gpu.json

A model is the name of one of the manifests, with other constants after a colon, or `plain` for no SYMMETRY:
`prior_term_commit:MaxTerm=5,plain`. Those after `--beside` are explored by the processor as well, and both must agree
on the states, successors and depth, and on the states of each level. Those after `--alone` are explored on the card
alone, and those after `--confirm` twice, with two functions of fingerprints. Each search begins with empty tables, but
with kernels that are compiled, which is measured on its own. The results are written after each model, so that a run
that is cut off has them, too.

`--prepare` compiles the specs alone, which needs Java; then the rest does not. Without a card,
NUMBA_ENABLE_CUDASIM=1 simulates one, some ten thousand times slower.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.models.pinned_models import files_of
from lockstep.systems.registry import model_named
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.tables import table_search
from lockstep.tla.tables.confirmed_count import explore_until_confirmed
from lockstep.tla.tables.cuda_device import require_cuda
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables

#: Explored first, so that the kernels are compiled.
_FIRST = "crash"
_COMPARED = ("distinct", "generated", "depth", "levels", "complete", "violation")


def main() -> None:
    """Explore the models, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--beside", "--alone", "--confirm"):
        parser.add_argument(name, nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the file for the results")
    parser.add_argument("--most", type=int, default=None, help="stop a search after as many states")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no search after as many seconds")
    parser.add_argument("--prepare", action="store_true", help="compile the specs, and explore nothing")
    chosen = parser.parse_args()
    ways: list[tuple[str, Callable[[Spec, SearchOptions], dict[str, Any]]]] = [
        *((name, _beside) for name in chosen.beside),
        *((name, _alone) for name in chosen.alone),
        *((name, _confirmed) for name in chosen.confirm),
    ]
    if chosen.prepare:
        for name in (_FIRST, *(name for name, _ in ways)):
            _spec(name)
        return
    require_cuda()
    begun = time.perf_counter()
    written: dict[str, Any] = {"machine": _machine(), "results": []}
    _write(chosen.out, written)
    with _watched():
        first = _alone(*_spec(_FIRST))
        written["compiling kernels, and one small model"] = time.perf_counter() - begun
        print(
            f"{_FIRST}, with kernels to be compiled: {time.perf_counter() - begun:.1f} s", first["counts"], flush=True
        )
        for name, way in ways:
            if time.perf_counter() - begun > chosen.seconds:
                print(f"{name}: left out, the time is up", flush=True)
                continue
            spec, options = _spec(name)
            try:
                found = way(spec, replace(options, max_states=chosen.most, on_progress=_progress(name)))
            except Exception as error:
                found = {"failed": f"{type(error).__name__}: {error}"}
            written["results"].append({"model": name, "way": way.__name__.strip("_"), **found})
            _write(chosen.out, written)
            print(name, json.dumps({key: each for key, each in found.items() if key != "levels"}), flush=True)
    wrong = [each["model"] for each in written["results"] if "failed" in each or not each.get("equal", True)]
    if wrong:
        raise SystemExit(f"failed, or unlike the processor: {', '.join(wrong)}")


def _spec(name: str) -> tuple[Spec, SearchOptions]:
    """Load a model, with other constants where some are named."""
    name, _, changes = name.partition(":")
    manifest, entry = model_named(name)
    files = files_of(manifest, entry)
    lines = files.cfg.read_text(encoding="utf-8").splitlines()
    for change in filter(None, changes.split(",")):
        key, _, value = change.partition("=")
        if key == "plain":
            lines = [each for each in lines if not each.startswith("SYMMETRY")]
            continue
        if not any(each.split()[:2] == [key, "="] for each in lines):
            raise SystemExit(f"{name}: no constant {key}")
        lines = [f"  {key} = {value}" if each.split()[:2] == [key, "="] else each for each in lines]
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        cfg = Path(folder) / f"{name}.cfg"
        cfg.write_text("\n".join(lines) + "\n", encoding="utf-8")
        spec = replace(files, named_cfg=cfg).load()
    return spec, SearchOptions(check_deadlock=entry.deadlock and spec.check_deadlock)


# ---- Ways of exploring ----


def _beside(spec: Spec, options: SearchOptions) -> dict[str, Any]:
    """Explore on the card and on the processor, and compare."""
    found = _alone(spec, options)
    begin = time.perf_counter()
    other = explore_by_tables(spec, options)
    seconds = time.perf_counter() - begin
    mine = _exploration.pop()
    differing = [name for name in _COMPARED if getattr(mine, name) != getattr(other, name)]
    return {**found, "seconds of the processor's engine": seconds, "equal": not differing, "differing": differing}


_exploration: list[TableExploration] = []


def _alone(spec: Spec, options: SearchOptions) -> dict[str, Any]:
    """Explore on the card."""
    _SPENT.clear()
    begin = time.perf_counter()
    found = explore_by_tables(spec, replace(options, device="cuda"))
    seconds = time.perf_counter() - begin
    _exploration[:] = [found]
    return _record(found, seconds)


def _confirmed(spec: Spec, options: SearchOptions) -> dict[str, Any]:
    """Explore on the card with two functions of fingerprints."""
    _SPENT.clear()
    begin = time.perf_counter()
    found = explore_until_confirmed(spec, replace(options, device="cuda"))
    record = _record(found, time.perf_counter() - begin)
    return {**record, "confirmed": found.confirmed, "doubt": found.doubt}


def _record(found: TableExploration, seconds: float) -> dict[str, Any]:
    return {
        "counts": (found.distinct, found.generated, found.depth),
        "complete": found.complete,
        "gave up": found.gave_up,
        "violation": None if found.violation is None else found.violation.label,
        "seconds": seconds,
        "states a second": found.distinct / seconds,
        "successors a second": found.generated / seconds,
        "evaluations": found.evaluations,
        "bytes of memory": found.memory,
        "collision": found.collision,
        "parts": dict(_SPENT),
        "peak of the processor's memory, bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "levels": found.levels,
    }


def _progress(name: str) -> Callable[[SearchProgress], None]:
    """Return a report of the progress, every ten seconds."""
    last = 0.0

    def report(progress: SearchProgress) -> None:
        nonlocal last
        if progress.seconds - last >= 10 or progress.seconds < last:
            last = progress.seconds
            print(f"  {name}: {progress.distinct:,} states, level {progress.depth}, {last:.0f} s", flush=True)

    return report


# ---- Where the time goes ----

_SPENT: Counter[str] = Counter()


@contextmanager
def _watched() -> Iterator[None]:
    """Take the time of the parts of a search; each ends by reading what the card has done."""
    from lockstep.tla.tables.cuda_frontier import CudaFrontier
    from lockstep.tla.tables.cuda_tables import CudaTables

    owners = {
        "generate": (CudaFrontier, "_generate"),
        "insert": (CudaFrontier, "_insert"),
        "accept": (CudaFrontier, "_accept"),
        "evaluate": (CudaFrontier, "_evaluate"),
        "copy tables": (CudaTables, "refresh"),
        "read": (CudaFrontier, "_read_status"),
        "chunks": (CudaFrontier, "expand"),
    }
    before = [(owner, name, getattr(owner, name)) for owner, name in owners.values()]
    for part, (owner, name) in owners.items():
        setattr(owner, name, _timed(part, getattr(owner, name)))
    table_search._REPORT_SECONDS = 1.0
    try:
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


def _timed(part: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return method(*arguments, **options)
        finally:
            _SPENT[part] += time.perf_counter() - begin
            _SPENT[f"{part}, times"] += 1

    return timed


def _machine() -> dict[str, str]:
    """Describe the machine and its card."""
    import numba
    from numba import cuda

    described = {"python": platform.python_version(), "numba": numba.__version__, "numpy": table_search.np.__version__}
    try:
        from importlib.metadata import version

        described["numba-cuda"] = version("numba-cuda")
        card = cuda.get_current_device()
        name = card.name
        described["card"] = name.decode() if isinstance(name, bytes) else str(name)
        described["compute capability"] = str(card.compute_capability)
        described["free memory"] = str(cuda.current_context().get_memory_info()[0])
    except Exception as error:  # what is not known is left out, such as of a simulated card
        described["not known"] = str(error)
    return described


def _write(path: Path, written: dict[str, Any]) -> None:
    path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
