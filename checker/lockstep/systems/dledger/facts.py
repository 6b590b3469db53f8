"""The SQL of the facts of DLedger's traces."""

from __future__ import annotations

from lockstep.systems.system import Facts, Rule

FACTS = Facts(
    shows=(
        "role string, currTerm bigint, committedIndex bigint, lastQuorumIndex bigint, lastAppliedIndex bigint, "
        "ledgerEndIndex bigint, dispatchers map<string, struct<type: string>>"
    ),
    columns={
        "runs": "shows.role <> 'DOWN'",
        "leads": "shows.role = 'LEADER'",
        "term": "shows.currTerm",
        "committed": "shows.committedIndex",
        "quorum": "shows.lastQuorumIndex",
        "applied": "shows.lastAppliedIndex",
        "end": "shows.ledgerEndIndex",
        "states": "transform_values(shows.dispatchers, (peer, dispatcher) -> dispatcher.type)",
    },
    rules=(
        Rule("committed falls", "runs and before_runs and committed < before_committed", "CommittedMonotonicProp"),
        Rule("index order", "quorum > committed or committed > end", "IndexOrder"),
        Rule("applied is committed", "applied > committed", "AppliedIsCommitted"),
    ),
    one_leader="ElectionSafety",
)
