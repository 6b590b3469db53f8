"""The constants that the header of a trace of hashicorp/raft chooses: what is modelled, and how each flaw is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.systems.system import Choice, Choices, Constants
from lockstep.tla.values.kinds import ModelValue, Value
from lockstep.tla.values.lazy.constructed import STRING

#: What a trace may have modelled, and what it has where its header is silent.
FEATURES: Mapping[str, bool] = {
    "PreVote": True,
    "Heartbeats": True,
    "Zombies": True,
    "FsmQueue": True,
    "Snapshots": True,
    "ConfigurationChanges": True,
    "Transfers": True,
    "Verify": True,
    "ShutdownOnRemove": True,
}

#: The flaws of v1.7.3.
IN_V173 = (
    "TornVote",
    "ConflictAtSnapshot",
    "CommitUnverified",
    "DeleteThenStore",
    "SnapshotRegress",
    "StaleInstall",
    "HeartbeatRace",
    "VerifyCountsNonvoters",
    "VerifyCountsOldAcks",
    "TransferFlagLeft",
)

#: Those of older releases, and of a published description.
IN_OTHERS = (
    "TruncateWithoutConflict",
    "EvenQuorum",
    "LastLogNotLowered",
    "LongerLogOlderTerm",
    "KnownLeaderRejected",
    "ReplayUncommitted",
    "MatchWithoutRecalculate",
)
FLAWS = (*IN_V173, *IN_OTHERS)

_V173: dict[str, Choice] = {
    **dict.fromkeys(IN_V173, "published"),
    **dict.fromkeys(IN_OTHERS, "repaired"),
}

#: Of the library's Config and of FileSnapshotStore.
_LIMITS: dict[str, int] = {"MaxAppendEntries": 64, "TrailingLogs": 10240, "RetainSnapshots": 2}


def _values(nodes: Sequence[str], chosen: Choices) -> Mapping[str, Value]:
    """Return the constants of the spec for those of a header: all nodes vote in the first configuration."""
    return {
        "Node": frozenset(nodes),
        "Voters": frozenset(nodes),
        "Nonvoters": frozenset(),
        "Value": STRING,
        "NoNode": ModelValue("NoNode"),
        "Fifo": False,
        "Features": frozenset(name for name in FEATURES if chosen[name]),
        "Flaws": frozenset(name for name in FLAWS if chosen[name] == "published"),
        **{name: chosen[name] for name in _LIMITS},
    }


#: A flaw that a header does not name is as in v1.7.3.
CONSTANTS = Constants(
    allowed={
        **dict.fromkeys(FEATURES, (True, False)),
        **dict.fromkeys(FLAWS, ("published", "repaired")),
        "MaxAppendEntries": tuple(range(1, 1025)),
        "TrailingLogs": (*range(1025), 10240),
        "RetainSnapshots": tuple(range(1, 17)),
    },
    defaults={**FEATURES, **_V173, **_LIMITS},
    variants={
        "published": {name: str(value) for name, value in _V173.items()},
        "repaired": dict.fromkeys(FLAWS, "repaired"),
    },
    values=_values,
)
