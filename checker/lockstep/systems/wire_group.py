"""The messages between the nodes of a group, as a system: spec/wire/WireGroup.tla."""

from __future__ import annotations

from pathlib import Path

from lockstep.systems.system import System

#: No trace names it in its header: the check of a wire makes its traces.
WIRE_GROUP = System(
    spec="WireGroup",
    title="messages between nodes",
    root=Path("wire", "WireGroup.tla"),
    cfg=Path("wire", "WireGroup.cfg"),
    models=Path("wire", "models"),
)
