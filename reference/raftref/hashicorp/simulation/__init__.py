"""Simulated groups of servers: a seed and a fault plan give a run."""

from raftref.hashicorp.simulation.cluster import Cluster, Network
from raftref.hashicorp.simulation.fault_plan import FaultPlan
from raftref.hashicorp.simulation.schedule import Schedule, simulate
from raftref.hashicorp.simulation.trial import Trial
from raftref.simulation.group import Event
from raftref.simulation.plans import PlanError

__all__ = ["Cluster", "Event", "FaultPlan", "Network", "PlanError", "Schedule", "Trial", "simulate"]
