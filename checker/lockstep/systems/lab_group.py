"""The spec of a course's lab, as a system: spec/lab/LabRaft.tla."""

from __future__ import annotations

from pathlib import Path

from lockstep.systems.system import System

#: No trace names it in its header: `lockstep grade` makes its events of the lines of programs.
LAB_GROUP = System(
    spec="LabRaft",
    title="Raft as in the labs of MIT 6.5840",
    root=Path("lab", "LabRaft.tla"),
    cfg=Path("lab", "LabRaft.cfg"),
    models=Path("lab", "models"),
    switch_title="without {}",
)
