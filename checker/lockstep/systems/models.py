"""The bounded models of all systems, by name."""

from __future__ import annotations

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.models.model_manifest import Manifest, ModelEntry, load_manifest
from lockstep.systems.registry import SYSTEMS


class UnknownModelError(BadInputError):
    """There is no model of that name; the message names those like it, and the files that have all."""


def manifests() -> list[Manifest]:
    """Load the manifest of each system that has models."""
    return [load_manifest(system.manifest) for system in SYSTEMS.values() if system.manifest is not None]


def manifest(spec: str = next(iter(SYSTEMS))) -> Manifest:
    """Load the manifest of one system, by its `spec`; raises KeyError where it has none."""
    path = SYSTEMS[spec].manifest
    if path is None:
        raise KeyError(spec)
    return load_manifest(path)


def model_names() -> list[str]:
    """Name the models of all systems."""
    return [entry.name for each in manifests() for entry in each.models]


def model_named(name: str) -> tuple[Manifest, ModelEntry]:
    """Return the model of a name, with its manifest; raises UnknownModelError where there is none."""
    known = manifests()
    for each in known:
        for entry in each.models:
            if entry.name == name:
                return each, entry
    meant = did_you_mean(name, model_names(), most=3) or ";"
    files = ", ".join(str(each.path) for each in known)
    raise UnknownModelError(f"no model {name!r}{meant} all are in {files}, and the shell completes their names")


def models_of_tier(tier: str) -> list[tuple[Manifest, ModelEntry]]:
    """Return the models of a tier, of all systems, each with its manifest."""
    return [(each, entry) for each in manifests() for entry in each.tier(tier)]
