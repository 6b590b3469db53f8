"""Runs of TLC, and their results: verdicts, counterexamples, coverage, state graphs.

TLC is the authority of lockstep. This package never turns a tool that died into a pass: a run holds only when
TLC's own message of success was read and its exit status was 0.
"""

from lockstep.tlc.java import Java, find_java, find_tla2tools
from lockstep.tlc.state_graph import (
    GraphError,
    TlcEdge,
    TlcGraph,
    TlcNode,
    dump_state_graph,
    dumped_graph,
    parse_dot,
    read_dot,
)
from lockstep.tlc.supervised_process import Budget, ToolDied, ToolMissing
from lockstep.tlc.tlc_result import (
    ActionCoverage,
    Cause,
    Progress,
    PropertyKind,
    SimulationStats,
    SpecError,
    TlcCounterexample,
    TlcLocation,
    TlcResult,
    TlcStep,
    TlcViolation,
)
from lockstep.tlc.tlc_run import TLC_DEFAULTS, TlcOptions, TlcSimulation, run_tlc

__all__ = [
    "TLC_DEFAULTS",
    "ActionCoverage",
    "Budget",
    "Cause",
    "GraphError",
    "Java",
    "Progress",
    "PropertyKind",
    "SimulationStats",
    "SpecError",
    "TlcCounterexample",
    "TlcEdge",
    "TlcGraph",
    "TlcLocation",
    "TlcNode",
    "TlcOptions",
    "TlcResult",
    "TlcSimulation",
    "TlcStep",
    "TlcViolation",
    "ToolDied",
    "ToolMissing",
    "dump_state_graph",
    "dumped_graph",
    "find_java",
    "find_tla2tools",
    "parse_dot",
    "read_dot",
    "run_tlc",
]
