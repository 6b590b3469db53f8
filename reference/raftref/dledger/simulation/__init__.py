"""Simulated groups of nodes: a seed and a fault plan give a run, a scenario gives a known one.

Everything random comes from the seed. The simulation holds no rule of the protocol; it asks the nodes what
is enabled and takes it.
"""

from raftref.dledger.simulation.cluster import Cluster, Event
from raftref.dledger.simulation.network import Network
from raftref.dledger.simulation.plan import FaultPlan, load_plan, read_switches
from raftref.dledger.simulation.scenarios import SCENARIOS, figure8, resurrected_tail, scenario_plan
from raftref.dledger.simulation.schedule import Schedule, constants, simulate
from raftref.dledger.simulation.trial import Trial
from raftref.simulation.plans import PlanError

__all__ = [
    "SCENARIOS",
    "Cluster",
    "Event",
    "FaultPlan",
    "Network",
    "PlanError",
    "Schedule",
    "Trial",
    "constants",
    "figure8",
    "load_plan",
    "read_switches",
    "resurrected_tail",
    "scenario_plan",
    "simulate",
]
