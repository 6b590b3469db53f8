"""The systems that lockstep knows, by the root module that the header of a trace names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lockstep.models.proofs.lemmas import QUORUM_LEMMAS, Lemmas
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.system import Constants, RawFormat, Simulator, System

#: Every system by its `spec`; the first is the one that a command is about where nothing else is said.
SYSTEMS: Mapping[str, System] = MappingProxyType({system.spec: system for system in (DLEDGER, HASHICORP)})


def lemmas() -> Lemmas:
    """Return the lemmas of all systems, and those on quorums, by name."""
    found = dict(QUORUM_LEMMAS)
    for system in SYSTEMS.values():
        found |= system.lemmas
    return found


def raw_formats() -> Iterator[tuple[System, RawFormat]]:
    """Yield the raw formats of all systems."""
    for system in SYSTEMS.values():
        for raw in system.formats:
            yield system, raw


def simulators() -> dict[str, tuple[System, Simulator]]:
    """Return the simulator of each plan of faults, with its system; the names of plans differ between systems."""
    found: dict[str, tuple[System, Simulator]] = {}
    for system in SYSTEMS.values():
        if system.simulator is not None:
            found |= dict.fromkeys(system.simulator.plans, (system, system.simulator))
    return found


def constants() -> Iterator[Constants]:
    """Yield the constants that headers of traces choose, system by system."""
    for system in SYSTEMS.values():
        if system.constants is not None:
            yield system.constants
