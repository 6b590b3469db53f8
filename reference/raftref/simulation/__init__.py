"""Simulated groups of nodes: a seed and a fault plan give a run, a scenario gives a known one.

Everything random comes from the seed. The simulation holds no rule of the protocol; it asks the nodes what
is enabled and takes it.
"""

from raftref.simulation.cluster import Cluster, Event
from raftref.simulation.network import Network
from raftref.simulation.plan import FaultPlan, PlanError, load_plan, read_switches
from raftref.simulation.scenarios import SCENARIOS, figure8, resurrected_tail, scenario_plan
from raftref.simulation.schedule import Schedule, constants, simulate

__all__ = [
    "SCENARIOS",
    "Cluster",
    "Event",
    "FaultPlan",
    "Network",
    "PlanError",
    "Schedule",
    "constants",
    "figure8",
    "load_plan",
    "read_switches",
    "resurrected_tail",
    "scenario_plan",
    "simulate",
]
