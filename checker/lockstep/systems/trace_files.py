"""Trace files: of the reference under a fault plan, and of recordings of the real system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.progress import EVERY, Say, silent
from lockstep.systems.specs import VARIANTS, spec_hash
from lockstep.trace.format import FORMAT, Event, Header, write_trace
from raftref.dledger import FINE, VOTES
from raftref.dledger.simulation import FaultPlan, constants, load_plan, simulate

if TYPE_CHECKING:
    from lockstep.systems.dledger.recording import Imported, Summary


class OverwritingError(BadInputError):
    """The file that is to be written is the one that is read."""


#: More changes of leaders than by default, and fewer crashes: half of the clusters cut entries by TRUNCATE.
_RESTLESS: dict[str, Any] = {
    "step_down": 0.012,
    "client": 0.15,
    "crash": 0.0003,
    "power_loss": 0.0002,
    "shutdown": 0.0002,
    "restart": 0.06,
    "check_point": 0.005,
    "flush": 0.01,
    "heal": 0.02,
}
_REPAIRED = {**_RESTLESS, "switches": VARIANTS["repaired"]}
_PUBLISHED = {**_RESTLESS, "crash_in_persist": 0.0008}
_BATCHES = {**FINE.constants(), "Batches": True}
_WHOLE = {**FINE.constants(), "VoteMessages": True}

#: The plans by name. In those without "published" in their name everything is repaired, and no property may fail;
#: the others are the code as it is: they conform, and properties may fail. Channels keep the order where `fifo`
#: says so. `fine` has queues, clients, passes in two parts; `batches`, `applied`, `whole` add batches, a state machine,
#: votes as messages.
PLANS: dict[str, dict[str, Any]] = {
    "ordered": {"nodes": 3, "fifo": True, **_REPAIRED},
    "five": {"nodes": 5, "fifo": True, "max_down": 2, **_REPAIRED},
    "published": {"nodes": 3, **_PUBLISHED},
    "fine": {"nodes": 3, "grain": FINE.constants(), **_REPAIRED},
    "fine_published": {"nodes": 5, "max_down": 2, "grain": FINE.constants(), **_PUBLISHED},
    "applied": {"nodes": 3, "grain": {**FINE.constants(), "Applies": True}, **_REPAIRED},
    "whole": {"nodes": 3, "transfer": 0.004, "grain": _WHOLE, **_REPAIRED},
    "batches": {"nodes": 3, "grain": _BATCHES, **_REPAIRED},
    "batches_published": {"nodes": 3, "grain": _BATCHES, **_PUBLISHED},
    "votes": {"nodes": 3, "fifo": True, "transfer": 0.004, "grain": VOTES.constants(), **_REPAIRED},
    "not_follower": {"nodes": 3, "grain": {**FINE.constants(), "NotFollower": True}, **_REPAIRED},
    "votes_published": {"nodes": 5, "max_down": 2, "transfer": 0.004, "grain": VOTES.constants(), **_PUBLISHED},
}

#: The version that a log is of, which does not say it.
LOGGED_VERSION = "0.2.7"

_DIGITS = frozenset(b"%d" % digit for digit in range(10))

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("ordered", "five", "published", "fine", "votes")

#: The plans in which a property may fail.
FLAWED = frozenset({"published", "fine_published", "batches_published", "votes_published"})

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "LeaderAppendOnlyProp", "WatermarkMonotonicWithinTermProp"})


def fault_plan(name: str, events: int) -> FaultPlan:
    """Return a plan of PLANS, or the one in the file `name`, with so many events.

    Raises PlanError where the file is no plan and OSError where it cannot be read.
    """
    plan = FaultPlan.from_dict(PLANS[name]) if name in PLANS else load_plan(Path(name))
    return replace(plan, events=events)


def write_cluster(folder: Path, name: str, seed: int, events: int, say: Say = silent) -> Path:
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
    write_trace(path, header, _events(seed, plan, lambda count: say(f"{path}: event {count:,} of {events:,}")))
    return path


def _events(seed: int, plan: FaultPlan, on_event: Callable[[int], None]) -> Iterator[Event]:
    for count, event in enumerate(simulate(seed, plan)):
        if count % EVERY == 0:
            on_event(count)
        yield Event(**{**event, "sent": tuple(event["sent"])})


def import_trace(recording: Path, path: Path, version: str = LOGGED_VERSION, say: Say = silent) -> tuple[int, Summary]:
    """Write the trace of a recording or of a log of DLedger to `path`; return its number of events, and of the lines.

    What begins with a digit, or is named `.log`, is DLedger's own log, of this version; anything else is a recording.
    Raises TraceError where the file is malformed or has what the spec does not model; UnexplainedError where no
    steps were found that lead from one line of a log to the next.
    """
    if path.exists() and recording.samefile(path):
        raise OverwritingError(f"{path}: the trace would overwrite what it is made of")
    imported = imported_file(recording, version, say)
    header = msgspec.structs.replace(imported.header, spec_hash=spec_hash())
    return write_trace(path, header, imported.events), imported.summary


def imported_file(recording: Path, version: str = LOGGED_VERSION, say: Say = silent) -> Imported:
    """Import a recording or a log; arguments and errors are those of import_trace."""
    # What places the steps of a recording is slow to import, and only this needs it.
    if is_log(recording):
        from lockstep.systems.dledger.log import import_log

        return import_log(recording, version, say)
    from lockstep.systems.dledger.recording import import_recording

    return import_recording(recording, say)


def is_log(recording: Path) -> bool:
    """Tell whether a file is DLedger's own log: it is named so, or its lines begin with a time."""
    if recording.suffix == ".log":
        return True
    with recording.open("rb") as file:
        return file.read(1) in _DIGITS
