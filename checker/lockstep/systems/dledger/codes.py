"""The codes of the properties of DLedger.tla. A number is given once, and never to another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CODES: Mapping[str, str] = MappingProxyType(
    {
        "IndexOrder": "DL101",
        "ElectionSafety": "DL102",
        "LogMatching": "DL103",
        "NoHoles": "DL104",
        "LeaderCompleteness": "DL105",
        "StateMachineSafety": "DL106",
        "AcknowledgedIsDurable": "DL107",
        "AppliedIsCommitted": "DL108",
        "TypeOK": "DL109",
        "CommittedEntriesStayProp": "DL111",
        "CommittedMonotonicProp": "DL112",
        "WatermarkMonotonicWithinTermProp": "DL113",
        "LeaderAppendOnlyProp": "DL114",
        "VoteOncePerTermProp": "DL115",
        "RecoveryKeepsLogProp": "DL116",
    }
)
