"""Simulated groups of any protocol. No protocol rule is here."""

from raftref.simulation.channels import Addressed, BagChannel, Channel, FifoChannel
from raftref.simulation.network import Network

__all__ = ["Addressed", "BagChannel", "Channel", "FifoChannel", "Network"]
