"""Flaws and the layers that find them: `python bench/kill_matrix.py RESULTS.csv [FLAW...] [--seconds 20]`.

Each flaw of safety is looked for by each layer, in the time given to it:

- *TLC*, *tables*: the bounded models of the manifest that have this flaw and no other;
- *simulation*: clusters of the reference with this flaw alone, of all plans with seeds 1, 2, ...; a property fails;
- *a trace*, *both ways*: the same clusters against the spec without the flaw, which refuses a step, or takes or
  refuses another one when every action is tried;
- *Hypothesis*: a hunt in a group of the size that the flaw needs, with those flaws that it needs beside it, by seed 1;
- *z3*: a lemma that is refuted with the flaw.

Times are those of the processor, of all processes that took part, and what was found later than in the time given does
not count. A flaw that is in the file already is not measured again. `python -m tests.scripts.kill_matrix` makes the
table and the picture of docs/measured/kill_matrix.csv.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from lockstep.systems.registry import SYSTEMS, lemmas
from lockstep.systems.simulated_clusters import Reference
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import Flaw as DledgerFlaw
from raftref.hashicorp.choices import Flaw as HashicorpFlaw
from tests.scripts.hunts import FLAWS, names
from tests.scripts.kill_matrix import MatrixCell, add, read

REFERENCES: Mapping[str, tuple[Reference[Any], Any]] = {
    "dledger": (DLEDGER, DledgerFlaw),
    "hashicorp": (HASHICORP, HashicorpFlaw),
}
#: The names of their specs.
SPECS = {"dledger": "DLedger", "hashicorp": "HashicorpRaft"}
#: The events of each cluster, and the steps after which a check both ways tries every action.
EVENTS, PROBED_STEPS = 400, 12
#: The time between two looks at the processor time of a command, and the time that it has to clean up.
LOOK_SECONDS, CLEAN_UP_SECONDS = 0.1, 30.0
#: A command hangs if it has not used its processor time after this many times that, whatever other work there is.
PATIENCE = 20
#: The processor time of a lemma with all of its controls: they show which flaw it is about.
LEMMA_SECONDS = 600


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


def in_session(session: int) -> Iterator[tuple[int, float]]:
    """Yield each process of a session, and the processor time that it, and those it has waited for, have used."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the program stands in brackets, and may have any character.
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:  # it is gone
            continue
        if int(fields[3]) == session:
            yield int(stat.parent.name), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def command(*words: str, seconds: float) -> Any:
    """Run lockstep and return its JSON; None where it took more time. A tool that died, or hangs, is no result.

    It runs in a session of its own, whose processes are waited for before this returns.
    """
    begin, hangs = spent(), time.monotonic() + PATIENCE * seconds
    line = [sys.executable, "-m", "lockstep", *words, "--format", "json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as child:
        while True:
            try:
                output, errors = child.communicate(timeout=LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                is_late = sum(used for _, used in in_session(child.pid)) > seconds
                if is_late or time.monotonic() > hangs:
                    end(child)
                    if is_late:
                        return None
                    raise SystemExit(f"lockstep {' '.join(words)} hangs") from None
    if child.returncode not in (0, 1, Verdict.INCONCLUSIVE.exit_code):
        raise SystemExit(f"lockstep {' '.join(words)}: exit code {child.returncode}: {errors.decode()}")
    return json.loads(output) if spent() - begin <= seconds else None


def end(child: subprocess.Popen[bytes]) -> None:
    """Let a command end what it has started, and wait for it; kill what does not end."""
    child.send_signal(signal.SIGTERM)
    try:
        child.communicate(timeout=CLEAN_UP_SECONDS)
    except subprocess.TimeoutExpired:
        for pid, _ in list(in_session(child.pid)):
            os.kill(pid, signal.SIGKILL)
        child.communicate()


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
        if taken > seconds:
            return Cell(taken)
        if found:
            return Cell(taken, f"{found}, {name} {seed}, cluster {number}")
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
    if found is None:
        return Cell(search.progress.seconds)
    return Cell(search.found_after, found.violation[0]) if search.found_after <= seconds else Cell(search.found_after)


@functools.cache
def refuted_controls(lemma: str) -> tuple[Sequence[str], float]:
    """Return the controls of a lemma that z3 refutes, and the seconds that it takes for the lemma with all of them."""
    begin = spent()
    (proof,) = command("prove", lemma, seconds=LEMMA_SECONDS) or ({"controls": ()},)
    return [each["statement"] for each in proof["controls"] if each["verdict"] == "refuted"], spent() - begin


def by_lemmas(flaw: str, seconds: float) -> Cell:
    """Return the lemma that has the flaw as a control, and is refuted with it."""
    for lemma in lemmas():
        refuted, taken = refuted_controls(lemma)
        if any(re.search(rf"\b{flaw}\b", each) for each in refuted):
            return Cell(taken, lemma) if taken <= seconds else Cell(taken)
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
        "z3": by_lemmas(flaw, seconds),
    }


def flaws_of_safety() -> Iterator[tuple[str, str]]:
    """Yield the flaws that break a property of safety, each with its system: those that are hunted."""
    for system, spec in SPECS.items():
        yield from ((system, flaw) for flaw, _ in FLAWS[spec])


def main() -> None:
    """Measure the flaws that are not in the file yet, and add them to it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("flaw", nargs="*", help="measure these, not all")
    parser.add_argument("--seconds", type=float, default=20, help="of the processor, for each layer")
    parser.add_argument("--hunt-seconds", type=float, default=120, help="the same for Hypothesis")
    given = parser.parse_args()
    unknown = set(given.flaw) - set(names())
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(names())}")
    known = {cell.flaw for cell in read(given.results)} if given.results.exists() else set()
    for system, flaw in flaws_of_safety():
        if flaw in known or (given.flaw and flaw not in given.flaw):
            continue
        cells = row(system, flaw, given.seconds, given.hunt_seconds)
        add(given.results, (MatrixCell(system, flaw, layer, *cell) for layer, cell in cells.items()))
        print(f"{flaw}:", "; ".join(f"{layer} {cell.found or '-'}" for layer, cell in cells.items()), flush=True)


if __name__ == "__main__":
    main()
