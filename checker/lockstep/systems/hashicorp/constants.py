"""The constants that the header of a trace of hashicorp/raft chooses: group, bounds, features, flaws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.feature_constants import FeatureConstants
from lockstep.systems.node_picture import shown
from lockstep.systems.system import Choice, Constants, HeaderChoices
from lockstep.tla.values.constructed_sets import STRING
from lockstep.tla.values.kinds import ModelValue, Value
from raftref.choices import PUBLISHED, REPAIRED
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature, Flaw

#: The most nodes that a trace may have, and the most that a bound of a server may be (10240 is the default of one).
MAX_NODES, MAX_BOUND = 64, 100_000

CHOICES = FeatureConstants(tuple(map(str, Feature)), tuple(map(str, Flaw)))
header_constants = CHOICES.in_header


def _values(nodes: Sequence[str], chosen: HeaderChoices) -> Mapping[str, Value]:
    """Return the constants of the spec: the first nodes vote (0: all of them), those behind them only store the log."""
    voters, nonvoters = int(chosen["Voters"]) or len(nodes), int(chosen["Nonvoters"])
    bounds = ("Fifo", "MaxAppendEntries", "TrailingLogs", "RetainSnapshots")
    return {
        "Node": frozenset(nodes),
        "Voters": frozenset(nodes[:voters]),
        "Nonvoters": frozenset(nodes[voters : voters + nonvoters]),
        "Value": STRING,
        "NoNode": ModelValue("NoNode"),
        **{name: chosen[name] for name in bounds},
        **CHOICES.in_spec(chosen),
    }


def _header_choices(constants: Mapping[str, Value]) -> tuple[tuple[str, ...], dict[str, Choice]]:
    """Return the servers of a spec, first those that vote, then nonvoters, and what a header chooses."""
    voters, nonvoters = constants["Voters"], constants["Nonvoters"]
    others = constants["Node"] - voters - nonvoters
    nodes = [shown(node) for group in (voters, nonvoters, others) for node in sorted(group, key=shown)]
    header = {**header_constants(constants), "Voters": len(voters), "Nonvoters": len(nonvoters)}
    return tuple(nodes), {name: header[name] for name in _ALLOWED}


_ALLOWED: dict[str, tuple[Choice, ...] | range] = {
    "Fifo": (False, True),
    "Voters": range(MAX_NODES + 1),
    "Nonvoters": range(MAX_NODES),
    "MaxAppendEntries": range(1, MAX_BOUND + 1),
    "TrailingLogs": range(MAX_BOUND + 1),
    "RetainSnapshots": range(1, MAX_BOUND + 1),
    **CHOICES.allowed,
}

#: A flaw that a header does not name is as in v1.7.3; the bounds are the library's defaults. Unless the header says
#: otherwise, channels keep no order, all nodes vote, and there is no pipeline.
CONSTANTS = Constants(
    allowed=_ALLOWED,
    defaults={
        "Fifo": False,
        "Voters": 0,
        "Nonvoters": 0,
        "MaxAppendEntries": 64,
        "TrailingLogs": 10240,
        "RetainSnapshots": 2,
        **{each: each in DEFAULT_FEATURES for each in CHOICES.features},
        **CHOICES.forms(IN_V173),
    },
    variants={PUBLISHED: CHOICES.forms(IN_V173), REPAIRED: CHOICES.forms(())},
    values=_values,
    header_choices=_header_choices,
)
