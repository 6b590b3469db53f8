"""The systems that lockstep knows, by the root module that the header of a trace names; and what they have, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.models.model_manifest import Manifest, ModelEntry, load_manifest
from lockstep.models.proofs.lemmas import QUORUM_LEMMAS, Lemmas
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.lab_group import LAB_GROUP
from lockstep.systems.system import Constants, RawFormat, Simulator, System
from lockstep.systems.wire_group import WIRE_GROUP

#: Every system by its `spec`; the first is the default of commands.
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


# ---- Bounded models ----


class UnknownModelError(BadInputError):
    """There is no model of that name; the message names those like it, and the files that have all."""


def manifests() -> list[Manifest]:
    """Load the manifest of each system that has models, those of the messages between nodes and of the lab."""
    return [load_manifest(system.manifest) for system in _modelled() if system.manifest is not None]


def model_system(path: Path) -> System:
    """Return the system whose models the manifest at a path lists."""
    return next(system for system in _modelled() if system.manifest == path)


def _modelled() -> Iterator[System]:
    yield from SYSTEMS.values()
    yield WIRE_GROUP
    yield LAB_GROUP


def manifest(spec: str = next(iter(SYSTEMS))) -> Manifest:
    """Load the manifest of one system, by its `spec`; raises KeyError where it has none."""
    path = SYSTEMS[spec].manifest
    if path is None:
        raise KeyError(spec)
    return load_manifest(path)


def model_names() -> list[str]:
    """Return the names of the models of all systems."""
    return [entry.name for each in manifests() for entry in each.models]


def model_named(name: str) -> tuple[Manifest, ModelEntry]:
    """Return the model of a name, with its manifest; raises UnknownModelError where there is none."""
    known = manifests()
    for each in known:
        for entry in each.models:
            if entry.name == name:
                return each, entry
    meant = did_you_mean(name, model_names(), max_words=3) or ";"
    files = ", ".join(str(each.path) for each in known)
    raise UnknownModelError(f"no model {name!r}{meant} all are in {files}, and the shell completes their names")


def models_of_tier(tier: str) -> list[tuple[Manifest, ModelEntry]]:
    """Return the models of a tier, of all systems, each with its manifest."""
    return [(each, entry) for each in manifests() for entry in each.tier(tier)]
