"""hashicorp/raft: all that lockstep knows of it."""

from __future__ import annotations

from pathlib import Path

from lockstep.conformance.interface import Outbox
from lockstep.systems.hashicorp.codes import CODES
from lockstep.systems.hashicorp.constants import CONSTANTS
from lockstep.systems.hashicorp.floors import floors
from lockstep.systems.hashicorp.picture import PICTURE
from lockstep.systems.hashicorp.plans import SIMULATOR
from lockstep.systems.hashicorp.reached import reached
from lockstep.systems.hashicorp.reference import reference_location
from lockstep.systems.system import System

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
    simulator=SIMULATOR,
    reached=reached,
    floors=floors,
    models=Path("hashicorp", "models"),
    picture=PICTURE,
)
