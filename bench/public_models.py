"""The models of a checkout: of tlaplus/Examples what its manifests list, of any other each cfg beside its module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFESTS = "specifications/*/manifest.json"
SEARCH = "exhaustive search"


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a search; None for one that is not known."""

    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None

    @property
    def are_known(self) -> bool:
        """Whether all three are known."""
        return None not in (self.distinct, self.generated, self.depth)


NOTHING_COUNTED = Counts()


@dataclass(frozen=True, slots=True)
class Model:
    """A configuration of a spec.

    `name` is the path of the configuration below the folder of specs, without its suffix; `mode`, how it is meant to be
    run; `counts`, what TLC counts, where the manifest has that.
    """

    name: str
    module: Path
    cfg: Path
    mode: str = SEARCH
    counts: Counts = NOTHING_COUNTED

    @property
    def folder(self) -> str:
        """The folder of specs that `name` starts in, with the slash at its end."""
        return str(self.cfg).removesuffix(f"{self.name}{self.cfg.suffix}")

    @property
    def size(self) -> tuple[bool, int]:
        """The number of states in the manifest, to sort by; an unknown number comes last."""
        return self.counts.distinct is None, self.counts.distinct or 0


def models(checkout: Path) -> list[Model]:
    """Return all models of a checkout, in the order of their names; raises SystemExit where it has none."""
    if any(checkout.glob(MANIFESTS)):
        found = [_listed(checkout, module, each) for module in modules(checkout) for each in module["models"]]
    else:
        found = [_beside_its_module(checkout, cfg) for cfg in checkout.rglob("*.cfg") if _module_of(cfg).exists()]
    if not found:
        raise SystemExit(f"{checkout}: neither {MANIFESTS} nor a cfg beside the module of its name")
    return sorted(found, key=lambda model: model.name.lower())


def modules(checkout: Path) -> Iterator[dict[str, Any]]:
    """Yield what the manifests say of each module of a checkout."""
    for manifest in sorted(checkout.glob(MANIFESTS)):
        yield from json.loads(manifest.read_text(encoding="utf-8"))["modules"]


def _listed(checkout: Path, module: dict[str, Any], listed: dict[str, Any]) -> Model:
    cfg = Path(listed["path"])
    mode = listed["mode"] if isinstance(listed["mode"], str) else "simulate"
    counts = Counts(listed.get("distinctStates"), listed.get("totalStates"), listed.get("stateDepth"))
    name = str(cfg.relative_to("specifications").with_suffix(""))
    return Model(name, checkout / module["path"], checkout / cfg, mode, counts)


def _beside_its_module(checkout: Path, cfg: Path) -> Model:
    return Model(str(cfg.relative_to(checkout).with_suffix("")), _module_of(cfg), cfg)


def _module_of(cfg: Path) -> Path:
    return cfg.with_suffix(".tla")


def why_not(model: Model, most_states: int) -> str:
    """Return why a model is not run: it is not for a search, or has too many states. "" where it is run."""
    if model.mode in ("simulate", "generate"):
        return "simulation mode"
    if model.mode == "symbolic":
        return "for Apalache"
    if model.mode != SEARCH:
        return f"mode {model.mode}"
    if model.counts.distinct is not None and model.counts.distinct > most_states:
        return f"too large: {model.counts.distinct:,} states"
    return ""
