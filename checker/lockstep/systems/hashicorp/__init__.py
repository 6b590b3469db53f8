"""hashicorp/raft: all that lockstep knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from lockstep.base.progress import Say
from lockstep.conformance.spec_interface import Outbox
from lockstep.systems.hashicorp.codes import CODES
from lockstep.systems.hashicorp.constants import CONSTANTS
from lockstep.systems.hashicorp.facts import FACTS
from lockstep.systems.hashicorp.picture import FAULTS, PICTURE
from lockstep.systems.hashicorp.plans import SIMULATOR
from lockstep.systems.hashicorp.reached import reached
from lockstep.systems.hashicorp.reference import reference_location
from lockstep.systems.system import Compile, Floor, RawFormat, System, Untold
from lockstep.tla.spec import Spec
from lockstep.trace.imported_trace import Imported


def _is_recording(_path: Path, begin: bytes) -> bool:
    return b'"hcraft-capture-' in begin


def _read_recording(paths: Sequence[Path], _untold: Untold, compile_: Compile, say: Say) -> Imported:
    # What reads a recording is slow to import, and only this needs it.
    from lockstep.systems.hashicorp.recording import import_recording

    (path,) = paths
    return import_recording(path, compile_, say)


def _floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    # Only fleets have floors; what is argued there of each plan is slow to import, too.
    from lockstep.systems.hashicorp.floors import floors

    return floors(plan, spec)


HASHICORP = System(
    spec="HashicorpRaft",
    title="hashicorp/raft",
    root=Path("hashicorp", "HashicorpRaft.tla"),
    cfg=Path("hashicorp", "Trace.cfg"),
    constants=CONSTANTS,
    observe="Observe",
    outbox=Outbox("Outbox", "network", ("src", "dst")),
    null="NoNode",
    least_integer=0,
    codes=CODES,
    locate=reference_location,
    formats=(RawFormat("a recording", _is_recording, _read_recording),),
    simulator=SIMULATOR,
    reached=reached,
    floors=_floors,
    models=Path("hashicorp", "models"),
    lemmas=MappingProxyType(
        {
            name: f"lockstep.systems.hashicorp.lemmas.{name}"
            for name in ("quorum_match_index", "quorum_match_index_any_size", "applied_order_inductive")
        }
    ),
    picture=PICTURE,
    facts=FACTS,
    faults=FAULTS,
)
