"""The constants that the header of a trace of DLedger chooses: features, flaws, and the order of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.node_picture import shown
from lockstep.systems.system import Choice, Choices, Constants
from lockstep.tla.values.constructed_sets import STRING
from lockstep.tla.values.kinds import ModelValue, Value
from raftref.dledger.choices import IN_0_2_7, Feature, Flaw

#: The feature that the reference always has.
STEPWISE_ELECTIONS = "StepwiseElections"
FEATURES, FLAWS = (STEPWISE_ELECTIONS, *map(str, Feature)), tuple(map(str, Flaw))

PUBLISHED, REPAIRED = "published", "repaired"
#: The flaws of 0.2.7, and none, as a header has them.
AS_PUBLISHED = {str(each): PUBLISHED if each in IN_0_2_7 else REPAIRED for each in Flaw}
ALL_REPAIRED = dict.fromkeys(FLAWS, REPAIRED)
#: A feature that a header does not name is off, a flaw as published in 0.2.7.
DEFAULTS: Choices = {**dict.fromkeys(map(str, Feature), False), **AS_PUBLISHED}


def _values(nodes: Sequence[str], chosen: Choices) -> Mapping[str, Value]:
    """Return the constants of the spec for those of a header."""
    return {
        "Node": frozenset(nodes),
        "Value": STRING,
        "NoNode": ModelValue("NoNode"),
        "Fifo": chosen["Fifo"],
        "Features": frozenset(each for each in FEATURES if chosen[each] is True),
        "Flaws": frozenset(each for each in FLAWS if chosen[each] == PUBLISHED),
    }


def header_constants(constants: Mapping[str, Value]) -> dict[str, Value]:
    """Return the constants of a spec, with its features and flaws as a header has them."""
    features = {each: each in constants["Features"] for each in FEATURES}
    flaws = {each: PUBLISHED if each in constants["Flaws"] else REPAIRED for each in FLAWS}
    return {**constants, **features, **flaws}


def _header_choices(constants: Mapping[str, Value]) -> tuple[tuple[str, ...], dict[str, Choice]]:
    """Return the nodes of a spec in the order of their names, and the choices of a header."""
    chosen = header_constants(constants)
    return tuple(sorted(map(shown, constants["Node"]))), {name: chosen[name] for name in _ALLOWED}


_ALLOWED: dict[str, tuple[Choice, ...]] = {
    STEPWISE_ELECTIONS: (False, True),
    "Fifo": (False, True),
    **dict.fromkeys(map(str, Feature), (True, False)),
    **dict.fromkeys(FLAWS, (PUBLISHED, REPAIRED)),
}

CONSTANTS = Constants(
    allowed=_ALLOWED,
    defaults=DEFAULTS,
    variants={PUBLISHED: AS_PUBLISHED, REPAIRED: ALL_REPAIRED},
    values=_values,
    header_choices=_header_choices,
)
