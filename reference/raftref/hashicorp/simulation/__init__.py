"""Simulated groups of servers: a seed and a fault plan give a run.

Everything random comes from the seed. The simulation holds no rule of the protocol; it asks the servers what
is enabled and takes it.
"""

from raftref.hashicorp.simulation.cluster import Cluster, Event
from raftref.hashicorp.simulation.network import Network
from raftref.hashicorp.simulation.plan import FaultPlan, load_plan
from raftref.hashicorp.simulation.schedule import Schedule, constants, simulate
from raftref.hashicorp.simulation.trial import Trial
from raftref.simulation.plans import PlanError

__all__ = [
    "Cluster",
    "Event",
    "FaultPlan",
    "Network",
    "PlanError",
    "Schedule",
    "Trial",
    "constants",
    "load_plan",
    "simulate",
]
