"""The codes of the properties of HashicorpRaft.tla. A number is given once, and never to another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CODES: Mapping[str, str] = MappingProxyType(
    {
        "TypeOK": "HR101",
        "ElectionSafety": "HR102",
        "LogMatching": "HR103",
        "LeaderCompleteness": "HR104",
        "StateMachineSafety": "HR105",
        "AppliedIsCommitted": "HR106",
        "IndexOrder": "HR107",
        "LastLogIsEnd": "HR108",
        "LogAgreesWithSnapshot": "HR109",
        "OneChangeAtATime": "HR110",
        "VerifiedLeads": "HR111",
        "TransferIsOwn": "HR112",
        "VoteOncePerTermProp": "HR121",
        "TermsRiseProp": "HR122",
        "LeaderAppendOnlyProp": "HR123",
        "CommittedEntriesStayProp": "HR124",
        "FsmNeverGoesBackProp": "HR125",
        "SnapshotsRiseProp": "HR126",
        "CommitMonotonicProp": "HR127",
    }
)
