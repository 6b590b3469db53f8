"""The constants that the header of a trace of DLedger chooses: the grain, and how each known flaw is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.node_picture import shown
from lockstep.systems.system import Choice, Choices, Constants
from lockstep.tla.values.constructed_sets import STRING
from lockstep.tla.values.kinds import ModelValue, Value
from raftref.dledger.switches import COARSE, GRAINS, PUBLISHED, REPAIRED, SWITCHES

#: How the spec has a constant of a header: as a member of one of its sets, where the header's constant has this value.
SET_CONSTANTS: dict[str, tuple[str, str, Choice]] = {
    "AtomicElection": ("Features", "StepwiseElections", False),
    "AtomicReceipt": ("Features", "RequestQueues", False),
    "AtomicQuorumCheck": ("Features", "SplitQuorumCheck", False),
    **{
        name: ("Features", name, True)
        for name in ("VoteMessages", "PendingMap", "Batches", "NotFollower", "Clients", "Applies")
    },
    **{name: ("Published", name, "published") for name in SWITCHES},
}


def _values(nodes: Sequence[str], chosen: Choices) -> Mapping[str, Value]:
    """Return the constants of the spec for those of a header: what is no constant of its own is in a set, or not."""
    alone: dict[str, Value] = {name: value for name, value in chosen.items() if name not in SET_CONSTANTS}
    members = [(of, member) for name, (of, member, value) in SET_CONSTANTS.items() if chosen[name] == value]
    return {
        "Node": frozenset(nodes),
        "Value": STRING,
        "NoNode": ModelValue("NoNode"),
        **alone,
        **{name: frozenset(member for of, member in members if of == name) for name in ("Features", "Published")},
    }


def told_constants(constants: Mapping[str, Value]) -> dict[str, Value]:
    """Return the constants of a spec by the names that a header has for them: the inverse of `values`."""
    told = dict(constants)
    for name, (of, member, value) in SET_CONSTANTS.items():
        other = "repaired" if value == "published" else not value
        told[name] = value if member in told[of] else other
    return told


def _told(constants: Mapping[str, Value]) -> tuple[tuple[str, ...], dict[str, Choice]]:
    """Return the nodes of a spec in the order of their names, and what a header chooses for its constants."""
    told = told_constants(constants)
    return tuple(sorted(map(shown, constants["Node"]))), {name: told[name] for name in _ALLOWED}


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
    told=_told,
)
