"""Trace files: of the reference under a fault plan, and of recordings of the real system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from lockstep.specs import VARIANTS, spec_hash
from lockstep.trace.dledger import Summary, import_recording
from lockstep.trace.format import FORMAT, Event, Header, write_trace
from raftref.dledger import FINE
from raftref.simulation import FaultPlan, constants, load_plan, simulate

#: The plans by name. In `ordered`, `five`, `fine`, `applied`, `whole` and `votes` all is repaired and no property may
#: fail; `ordered`, `five` and `votes` have channels that keep the order, the others such that do not. `published`
#: is the code as it is; so are `votes_published`, where elections are told message by message, with transfers of
#: leadership, and `fine_published`, which has a torn vote file as well. They conform, and properties may fail.
PLANS: dict[str, dict[str, Any]] = {
    "ordered": {"nodes": 3, "fifo": True, "switches": VARIANTS["repaired"]},
    "five": {"nodes": 5, "fifo": True, "max_down": 2, "switches": VARIANTS["repaired"]},
    "published": {"nodes": 3, "fifo": False},
    "fine": {"nodes": 3, "fifo": False, "switches": VARIANTS["repaired"], "grain": FINE.constants()},
    "fine_published": {"nodes": 5, "fifo": False, "max_down": 2, "crash_in_persist": 0.001, "grain": FINE.constants()},
    "applied": {
        "nodes": 3,
        "fifo": False,
        "switches": VARIANTS["repaired"],
        "grain": {**FINE.constants(), "Applies": True},
    },
    "whole": {
        "nodes": 3,
        "fifo": False,
        "switches": VARIANTS["repaired"],
        "grain": {**FINE.constants(), "VoteMessages": True},
    },
    "votes": {
        "nodes": 3,
        "fifo": True,
        "transfer": 0.004,
        "switches": VARIANTS["repaired"],
        "grain": {"VoteMessages": True},
    },
    "votes_published": {
        "nodes": 5,
        "fifo": False,
        "max_down": 2,
        "transfer": 0.004,
        "grain": {"VoteMessages": True},
    },
}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("ordered", "five", "published", "fine", "votes")

_ALWAYS = {"TypeOK", "LeaderAppendOnlyProp", "WatermarkMonotonicWithinTermProp"}

#: The plans in which a property may fail, and the properties that hold with their flaws all the same.
FLAWED: dict[str, frozenset[str]] = {
    "published": frozenset({"ElectionSafety", "VoteOncePerTermProp"} | _ALWAYS),
    "votes_published": frozenset({"ElectionSafety", "VoteOncePerTermProp"} | _ALWAYS),
    "fine_published": frozenset(_ALWAYS),
}


def fault_plan(name: str, events: int) -> FaultPlan:
    """Return a plan of PLANS, or the one in the file `name`, with so many events.

    Raises PlanError where the file is no plan and OSError where it cannot be read.
    """
    plan = FaultPlan.from_dict(PLANS[name]) if name in PLANS else load_plan(Path(name))
    return replace(plan, events=events)


def write_cluster(folder: Path, name: str, seed: int, events: int) -> Path:
    """Simulate one cluster and write its trace into `folder`; return the file.

    A plan, a seed and a version of this package reproduce the trace to the byte.
    """
    plan = fault_plan(name, events)
    path = folder / f"{Path(name).stem}-{seed}.trace.ndjson"
    header = Header(
        format=FORMAT,
        system="raftref",
        version=version("lockstep-raft"),
        spec="DLedger",
        nodes=plan.node_ids,
        constants={**constants(plan)},
        spec_hash=spec_hash(),
        origin="simulation of the Python reference",
        scenario=f"plan {name}, seed {seed}, {events} events",
    )
    write_trace(path, header, _events(seed, plan))
    return path


def _events(seed: int, plan: FaultPlan) -> Iterator[Event]:
    for event in simulate(seed, plan):
        yield Event(**{**event, "sent": tuple(event["sent"])})


def import_trace(recording: Path, path: Path) -> tuple[int, Summary]:
    """Write the trace of a recording of DLedger to `path`; return its number of events and what each line became.

    Raises TraceError where the recording is malformed or has what the spec does not model.
    """
    imported = import_recording(recording)
    header = msgspec.structs.replace(imported.header, spec_hash=spec_hash())
    return write_trace(path, header, imported.events), imported.summary
