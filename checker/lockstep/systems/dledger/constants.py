"""The constants that the header of a trace of DLedger chooses: features, flaws, and the order of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.feature_constants import FeatureConstants
from lockstep.systems.node_picture import shown
from lockstep.systems.system import Choice, Constants, HeaderChoices
from lockstep.tla.values.constructed_sets import STRING
from lockstep.tla.values.kinds import ModelValue, Value
from raftref.choices import PUBLISHED, REPAIRED
from raftref.dledger.choices import IN_0_2_7, Feature, Flaw

#: The feature that the reference always has.
STEPWISE_ELECTIONS = "StepwiseElections"
CHOICES = FeatureConstants((STEPWISE_ELECTIONS, *map(str, Feature)), tuple(map(str, Flaw)))
header_constants = CHOICES.in_header

#: A feature that a header does not name is off, a flaw as published in 0.2.7.
DEFAULTS: HeaderChoices = {**dict.fromkeys(map(str, Feature), False), **CHOICES.forms(IN_0_2_7)}


def _values(nodes: Sequence[str], chosen: HeaderChoices) -> Mapping[str, Value]:
    """Return the constants of the spec for those of a header."""
    return {
        "Node": frozenset(nodes),
        "Value": STRING,
        "NoNode": ModelValue("NoNode"),
        "Fifo": chosen["Fifo"],
        **CHOICES.in_spec(chosen),
    }


def _header_choices(constants: Mapping[str, Value]) -> tuple[tuple[str, ...], dict[str, Choice]]:
    """Return the nodes of a spec in the order of their names, and the choices of a header."""
    chosen = header_constants(constants)
    return tuple(sorted(map(shown, constants["Node"]))), {name: chosen[name] for name in _ALLOWED}


_ALLOWED: dict[str, tuple[Choice, ...]] = {
    STEPWISE_ELECTIONS: (False, True),
    "Fifo": (False, True),
    **{name: values for name, values in CHOICES.allowed.items() if name != STEPWISE_ELECTIONS},
}

CONSTANTS = Constants(
    allowed=_ALLOWED,
    defaults=DEFAULTS,
    variants={PUBLISHED: CHOICES.forms(IN_0_2_7), REPAIRED: CHOICES.forms(())},
    values=_values,
    header_choices=_header_choices,
)
