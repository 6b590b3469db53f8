"""Simulated groups of nodes: a seed and a fault plan give a run, a scenario gives a known one.

Everything random comes from the seed. The simulation holds no rule of the protocol; it asks the nodes which actions
are enabled, and takes one.
"""

from raftref.dledger.simulation.cluster import Cluster, Event
from raftref.dledger.simulation.network import Network
from raftref.dledger.simulation.plan import FaultPlan, load_plan
from raftref.dledger.simulation.scenarios import SCENARIOS, figure8, scenario_plan, truncated_tail
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
    "scenario_plan",
    "simulate",
    "truncated_tail",
]
