"""The constants that the header of a trace of DLedger chooses: the grain, and how each known flaw is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.system import Choice, Choices, Constants
from lockstep.tla.values.kinds import ModelValue, Value
from lockstep.tla.values.sets import STRING
from raftref.dledger import COARSE, GRAINS, PUBLISHED, REPAIRED, SWITCHES


def _values(nodes: Sequence[str], chosen: Choices) -> Mapping[str, Value]:
    return {"Node": frozenset(nodes), "Value": STRING, "NoNode": ModelValue("NoNode"), **chosen}


_ALLOWED: dict[str, tuple[Choice, ...]] = {
    "AtomicElection": (False, True),
    "Fifo": (False, True),
    **dict.fromkeys(GRAINS, (True, False)),
    **dict.fromkeys(SWITCHES, ("published", "repaired")),
}

#: A flaw that a header does not name is as published in 0.2.7, a feature of the grain as coarse as can be.
CONSTANTS = Constants(
    allowed=_ALLOWED,
    defaults={**COARSE.constants(), **PUBLISHED.constants()},
    variants={"published": PUBLISHED.constants(), "repaired": REPAIRED.constants()},
    values=_values,
)
