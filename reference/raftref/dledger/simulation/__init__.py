"""Simulated groups of nodes: a seed and a fault plan give a run, a scenario gives a known one."""

from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.simulation.network import Network
from raftref.dledger.simulation.scenarios import SCENARIOS, Script, figure8, scenario_plan, truncated_tail
from raftref.dledger.simulation.schedule import Schedule, simulate
from raftref.dledger.simulation.trial import Trial
from raftref.simulation.group import Event, trace_lines
from raftref.simulation.plans import PlanError

__all__ = [
    "SCENARIOS",
    "Cluster",
    "Event",
    "FaultPlan",
    "Network",
    "PlanError",
    "Schedule",
    "Script",
    "Trial",
    "figure8",
    "scenario_plan",
    "simulate",
    "trace_lines",
    "truncated_tail",
]
