"""Run TLC and read everything it says: verdicts, counterexamples, coverage, state graphs, the model manifest.

TLC is the authority of lockstep. This package never turns a tool that died into a pass: a run holds only when
TLC's own message of success was read and its exit status was 0.
"""

from lockstep.models.manifest import Manifest, ModelEntry, SimulationEntry, compare, load_manifest, run_model
from lockstep.tlc.errors import GraphError, ManifestError, TlcError, ToolDied, ToolMissing
from lockstep.tlc.graph import TlcEdge, TlcGraph, dump_state_graph, parse_dot
from lockstep.tlc.java import Java, find_java, find_tla2tools
from lockstep.tlc.result import (
    ActionCoverage,
    Cause,
    Counterexample,
    Location,
    Progress,
    PropertyKind,
    SimulationStats,
    SpecError,
    Step,
    TlcResult,
    Verdict,
    Violation,
)
from lockstep.tlc.run import Simulation, run_tlc

__all__ = [
    "ActionCoverage",
    "Cause",
    "Counterexample",
    "GraphError",
    "Java",
    "Location",
    "Manifest",
    "ManifestError",
    "ModelEntry",
    "Progress",
    "PropertyKind",
    "Simulation",
    "SimulationEntry",
    "SimulationStats",
    "SpecError",
    "Step",
    "TlcEdge",
    "TlcError",
    "TlcGraph",
    "TlcResult",
    "ToolDied",
    "ToolMissing",
    "Verdict",
    "Violation",
    "compare",
    "dump_state_graph",
    "find_java",
    "find_tla2tools",
    "load_manifest",
    "parse_dot",
    "run_model",
    "run_tlc",
]
