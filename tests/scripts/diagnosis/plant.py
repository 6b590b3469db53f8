"""Deviations whose cause is known: mistakes in the references, and changes of recordings.

`python -m tests.scripts.diagnosis.plant SOURCE COUNT SEED` writes a line of CSV for each: what was planted, where the
trace leaves the spec, and what the diagnosis names first. SOURCE is dledger, hashicorp or recordings.
"""

from __future__ import annotations

import csv
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from importlib import import_module
from pathlib import Path

from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.tampering import Tampered, Tampering, TamperingKind, TamperingOutcome, tamperings
from lockstep.conformance.trace_check import check_trace
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.systems import trace_diagnosis
from lockstep.systems.registry import simulators
from lockstep.systems.trace_diagnosis import known_diagnosis
from lockstep.systems.trace_files import open_or_import
from lockstep.systems.trace_specs import system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Event, Header, write_trace
from tests.support.places import ROOT
from tests.support.systems.mutants import Mutant, Reference, limited, planted

#: The events of a cluster, and the processor seconds that it may take.
EVENTS, SECONDS = 300, 60


@dataclass(frozen=True, slots=True)
class PlantedDeviation:
    """A row: what was planted, and what the diagnosis says.

    `rule` is the function of the reference with the mistake, or the kind of change of a recording; `line` that of the
    deviation, `planted_at` that of the change. The rest is the first cause: `definition` is that of the spec around its
    place, `at` the line at which it matters; `seconds` are those of the processor.
    """

    source: str
    planted: str
    rule: str
    planted_at: int
    line: int
    action: str
    cause: str
    place: str
    definition: str
    what: str
    at: int
    seconds: float


def mistakes(system: str, count: int, seed: int) -> Iterator[PlantedDeviation]:
    """Yield mistakes in a reference that a trace of some cluster shows."""
    reference: Reference = import_module(f"tests.support.systems.{system}_mutants").REFERENCE
    for mutant in reference.sample(10 * count, seed):
        if count == 0:
            return
        found = _of_mutant(mutant, reference)
        if found is not None:
            count -= 1
            yield found


def _of_mutant(mutant: Mutant, reference: Reference) -> PlantedDeviation | None:
    """Return the deviation of the first cluster that shows a mistake, diagnosed once the mistake is gone."""
    for plan in reference.order:
        with planted(mutant):
            cluster = _cluster(plan)
        if cluster is None:
            continue
        header, events = cluster
        spec = trace_spec(header, plan)
        found = check_trace(ListedTrace.numbered(plan, events), spec, system_of(header, plan).interface(spec))
        if found.deviation is not None:
            name = f"{mutant.path.relative_to(mutant.root)}:{mutant.line}"
            what = f"{name} {mutant.function}: {mutant.before} -> {mutant.after}"
            return _row(plan, what, f"{mutant.path.stem}.{mutant.function}", 0, header, events, spec)
    return None


def _cluster(plan: str) -> tuple[Header, list[Event]] | None:
    """Return the trace of a cluster as far as it comes; None where a mistake lets it run for ever, or not begin."""
    _, simulator = simulators()[plan]
    events: list[Event] = []
    try:
        with limited(SECONDS):
            header, stepping = simulator.cluster(plan, 1, EVENTS)
            events.extend(stepping)
    except TimeoutError:
        return None
    except Exception:  # A mistake may break the reference at any place; what it did before that counts.
        if not events:
            return None
    return header, events


# ---- Changes of recordings ----

#: The changes that are made, each with the cause that is right: a line, or a step that is missing.
CHANGES = {TamperingKind.SHOWS: "value", TamperingKind.DROPPED: "step", TamperingKind.REPEATED: "repeated"}


def changes(count: int, seed: int) -> Iterator[PlantedDeviation]:
    """Yield changes of recordings of the real systems that hold, each noticed at its event or later."""
    drawn = random.Random(seed)
    recordings = sorted((ROOT / "traces" / "captured").rglob("*.ndjson"))
    for path in drawn.sample(recordings, len(recordings)):
        trace, _ = open_or_import(path)
        events = [event for _, event in trace]
        spec = trace_spec(trace.header, path.name)
        interface = system_of(trace.header, path.name).interface(spec)
        listed = ListedTrace.numbered(path.name, events)
        if check_trace(listed, spec, interface).deviation is not None or len(events) > 3000:
            continue
        tampered = Tampered(trace.header, events, spec, interface)
        wanted = [each for each in tamperings(trace.header, events, spec) if each.kind in CHANGES]
        for kind in CHANGES:
            for each in _noticed(tampered, drawn, [each for each in wanted if each.kind is kind], 2):
                if count == 0:
                    return
                count -= 1
                what = f"{each.kind}: {events[each.at].action} {each.path}".strip()
                rule = f"{each.kind.name} {events[each.at].action}"
                yield _row(path.name, what, rule, each.at + 2, trace.header, each.applied(events), spec)


def _noticed(tampered: Tampered, drawn: random.Random, given: Sequence[Tampering], count: int) -> Iterator[Tampering]:
    for each in drawn.sample(given, len(given)):
        if count == 0:
            return
        if tampered.judge(each).outcome in (TamperingOutcome.AT_ONCE, TamperingOutcome.LATER):
            count -= 1
            yield each


# ---- The diagnosis ----


@contextmanager
def unlimited() -> Iterator[None]:
    """Let a diagnosis take any time by the clock, so that other work on the machine does not change what it finds."""
    limit = trace_diagnosis.DIAGNOSIS_SECONDS
    trace_diagnosis.DIAGNOSIS_SECONDS = float("inf")
    try:
        yield
    finally:
        trace_diagnosis.DIAGNOSIS_SECONDS = limit


def _row(
    source: str, what: str, rule: str, planted_at: int, header: Header, events: Sequence[Event], spec: Spec
) -> PlantedDeviation:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.ndjson"
        write_trace(path, header, events)
        begin = time.process_time()
        with unlimited():
            found = known_diagnosis(path, {})
        seconds = time.process_time() - begin
    assert found is not None
    return _with(found, source, what, rule, planted_at, spec, round(seconds, 1))


def _with(
    found: Diagnosis, source: str, what: str, rule: str, planted_at: int, spec: Spec, seconds: float
) -> PlantedDeviation:
    line = found.past[-1] if found.past else 0
    if not found.causes:
        return PlantedDeviation(source, what, rule, planted_at, line, "", "none", "", "", "", 0, seconds)
    first = found.causes[0]
    definition = definition_at(spec, first.place)
    return PlantedDeviation(
        *(source, what, rule, planted_at, line, first.action),
        *(first.kind, first.place, definition, first.what, first.line, seconds),
    )


def definition_at(spec: Spec, place: str) -> str:
    """Return the name of the definition around a place of the spec; "" where there is none."""
    module, _, at = place.partition(".tla:")
    if not at:
        return ""
    line = int(at.split(":")[0])
    around = [
        name for name, loc in spec.definitions.items() if loc.module == module and loc.line <= line <= loc.end_line
    ]
    return around[0] if around else ""


def main() -> None:
    """Write the rows to standard output as they come."""
    which, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([each.name for each in fields(PlantedDeviation)])
    rows = changes(count, seed) if which == "recordings" else mistakes(which, count, seed)
    for row in rows:
        writer.writerow(astuple(row))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
