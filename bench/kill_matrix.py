"""Flaws and the layers that find them: `python bench/kill_matrix.py RESULTS.csv [FLAW...] [--seconds 20]`.

Each flaw of safety is looked for by each layer, in the time given to it:

- *TLC*, *tables*: the bounded models of the manifest that have this flaw and no other;
- *simulation*: clusters of the reference with this flaw alone, of all plans with seeds 1, 2, ...; a property fails;
- *a trace*, *both ways*: the same clusters against the spec without the flaw, which refuses a step, or takes or
  refuses another one when every action is tried;
- *Hypothesis*: a hunt in a group of the size that the flaw needs, with those flaws that it needs beside it, by seed 1;
- *z3*: a lemma that is refuted with the flaw.

Times are those of the processor, of all processes that took part. A flaw that is in the file already is not measured
again. `python -m tests.scripts.kill_matrix` makes the table and the picture of docs/measured/kill_matrix.csv.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from lockstep.base.package_data import spec_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.both_ways_check import check_both_ways
from lockstep.conformance.trace_check import check_trace
from lockstep.hunt.example import Target
from lockstep.hunt.search import Search
from lockstep.models.model_manifest import load_manifest
from lockstep.systems.dledger.plans import REFERENCE as DLEDGER
from lockstep.systems.hashicorp.plans import REFERENCE as HASHICORP
from lockstep.systems.hunted_group import Hunted
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.simulated_clusters import Reference
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import Flaw as DledgerFlaw
from raftref.hashicorp.choices import Flaw as HashicorpFlaw
from tests.scripts.hunts import FLAWS
from tests.scripts.kill_matrix import MatrixCell, add, read

REFERENCES: Mapping[str, tuple[Reference[Any], Any]] = {
    "dledger": (DLEDGER, DledgerFlaw),
    "hashicorp": (HASHICORP, HashicorpFlaw),
}
#: The names of their specs.
SPECS = {"dledger": "DLedger", "hashicorp": "HashicorpRaft"}
#: The events of each cluster, and the steps after which a check both ways tries every action.
EVENTS, PROBED_STEPS = 400, 12
#: A command is given up after this many times its processor time, as other work may have most of the processor.
PATIENCE = 20


class Cell(NamedTuple):
    """The result of one layer for one flaw: the seconds until it was found, and by what; `found` is empty if not.

    `why` is the reason why a layer had nothing to try.
    """

    seconds: float
    found: str = ""
    why: str = ""


def spent() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def command(*words: str, seconds: float) -> Any:
    """Run lockstep and return its JSON; None where the time is up. A tool that died is no result."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lockstep", *words, "--format", "json"],
            capture_output=True,
            timeout=PATIENCE * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in (0, 1, Verdict.INCONCLUSIVE.exit_code):
        raise SystemExit(f"lockstep {' '.join(words)}: exit code {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def by_model(folder: str, flaw: str, engine: str, seconds: float) -> Cell:
    """Search the bounded models that have this flaw and no other, the smallest one first."""
    manifest = load_manifest(spec_dir() / folder / "models" / "manifest.toml")
    entries = [each for each in manifest.models if each.switch == flaw and not each.witness]
    if not entries:
        return Cell(0, why="no model")
    begin = spent()
    for entry in sorted(entries, key=lambda each: each.distinct or 0):
        left = seconds - (spent() - begin)
        if left <= 0:
            break
        answer = command("model", entry.name, "--engine", engine, seconds=left)
        if answer and answer[0]["property"]:
            return Cell(spent() - begin, answer[0]["property"])
    return Cell(spent() - begin)


def clusters(reference: Reference[Any], flaw: str) -> Iterator[tuple[Header, str, int, Any]]:
    """Yield clusters whose nodes have this flaw and no other, of every plan, seed by seed."""
    seed = 0
    while True:
        seed += 1
        for name in reference.plans:
            plan = reference.fault_plan(name, EVENTS)
            plan = replace(plan, flaws=frozenset({flaw}))
            yield reference.header(name, plan, seed), name, seed, plan


Judge = Callable[[Header, Reference[Any], Any, int, str], str]


def by_clusters(reference: Reference[Any], flaw: str, judge: Judge, seconds: float) -> Cell:
    """Judge clusters one by one until one is found guilty."""
    begin = spent()
    for number, (header, name, seed, plan) in enumerate(clusters(reference, flaw), start=1):
        found = judge(header, reference, plan, seed, flaw)
        taken = spent() - begin
        if found:
            return Cell(taken, f"{found}, {name} {seed}, cluster {number}")
        if taken > seconds:
            return Cell(taken)
    raise AssertionError("clusters never end")


@functools.cache
def hunted(spec: str) -> Hunted:
    """Return the parts of a system from which hunts are made."""
    make = SYSTEMS[spec].hunted
    assert make is not None
    return make()


def by_property(header: Header, reference: Reference[Any], plan: Any, seed: int, flaw: str) -> str:
    """Return the property that fails in a cluster, by the spec that has the flaw, and fails in no repaired one."""
    verdict = _checked(header, reference, plan, seed, {})
    failed = (each.name for each in verdict.findings if each.kind == "property")
    return next((name for name in failed if name not in hunted(reference.spec).may_fail_repaired), "")


def by_trace(header: Header, reference: Reference[Any], plan: Any, seed: int, flaw: str) -> str:
    """Return the step of a cluster that the spec without the flaw refuses."""
    verdict = _checked(header, reference, plan, seed, {flaw: "repaired"})
    return verdict.deviation.action if verdict.deviation is not None else ""


def by_probe(header: Header, reference: Reference[Any], plan: Any, seed: int, flaw: str) -> str:
    """Return the first difference from the spec without the flaw, when every action is tried."""
    claimed = msgspec.structs.replace(header, constants={**header.constants, flaw: "repaired"})
    spec, source = trace_spec(claimed, flaw), f"{flaw} {seed}"
    system = SYSTEMS[reference.spec]
    steps = frozenset(random.Random(source).sample(range(1, EVENTS + 1), PROBED_STEPS))
    found = check_both_ways(claimed, reference.run(seed, plan), spec, system.interface(spec), steps, source, 1)
    return found.findings[0].action if found.verdict is Verdict.VIOLATED else ""


def _checked(header: Header, reference: Reference[Any], plan: Any, seed: int, switches: Mapping[str, str]) -> Any:
    system = SYSTEMS[reference.spec]
    trace = Trace(trace_lines(header, (event for event, _ in reference.run(seed, plan))), "cluster")
    spec = trace_spec(trace.header, "cluster", switches)
    return check_trace(trace, spec, system.interface(spec))


def by_hunt(system: str, flaw: str, seconds: float) -> Cell:
    """Return the property that Hypothesis finds violated, and not without the flaw."""
    parts = hunted(SPECS[system])
    flaws = (flaw, *parts.together.get(flaw, ()))
    target = Target(parts, parts.nodes_for(flaw), flaws, frozenset(parts.properties), because=True)
    search = Search(target, 1, seconds, shrink_seconds=0, clock=spent)
    found = search.run()
    if found is None or found.violation is None:
        return Cell(seconds)
    return Cell(search.found_after or 0, found.violation[0])


@functools.cache
def lemmas() -> Any:
    """Return all lemmas with their controls, proved or refuted by z3 once, and the seconds that took."""
    begin = spent()
    return command("prove", seconds=600) or (), spent() - begin


def by_lemmas(flaw: str) -> Cell:
    """Return the lemma that has the flaw as a control, and is refuted with it."""
    found, seconds = lemmas()
    for lemma in found:
        for control in lemma["controls"]:
            if re.search(rf"\b{flaw}\b", control["statement"]) and control["verdict"] == "refuted":
                return Cell(seconds, lemma["name"])
    return Cell(0, why="no lemma")


def row(system: str, flaw: str, seconds: float, hunt_seconds: float) -> dict[str, Cell]:
    """Return what each layer finds of a flaw."""
    reference, flaws = REFERENCES[system]
    cluster_flaw = flaws(flaw)
    return {
        "TLC": by_model(system, flaw, "tlc", seconds),
        "tables": by_model(system, flaw, "tables", seconds),
        "simulation": by_clusters(reference, cluster_flaw, by_property, seconds),
        "a trace": by_clusters(reference, cluster_flaw, by_trace, seconds),
        "both ways": by_clusters(reference, cluster_flaw, by_probe, seconds),
        "Hypothesis": by_hunt(system, flaw, hunt_seconds),
        "z3": by_lemmas(flaw),
    }


def flaws_of_safety() -> Iterator[tuple[str, str]]:
    """Yield the flaws that break a property of safety, each with its system: those that are hunted."""
    for system, spec in SPECS.items():
        yield from ((system, flaw) for flaw, _ in FLAWS[spec])


def main() -> None:
    """Measure the flaws that are not in the file yet, and add them to it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("flaw", nargs="*")
    parser.add_argument("--seconds", type=float, default=20, help="of the processor, for each layer")
    parser.add_argument("--hunt-seconds", type=float, default=120, help="the same for Hypothesis")
    given = parser.parse_args()
    known = {cell.flaw for cell in read(given.results)}
    for system, flaw in flaws_of_safety():
        if flaw in known or (given.flaw and flaw not in given.flaw):
            continue
        cells = row(system, flaw, given.seconds, given.hunt_seconds)
        add(given.results, (MatrixCell(system, flaw, layer, *cell) for layer, cell in cells.items()))
        print(f"{flaw}:", "; ".join(f"{layer} {cell.found or '-'}" for layer, cell in cells.items()), flush=True)


if __name__ == "__main__":
    main()
