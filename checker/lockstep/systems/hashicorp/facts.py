"""What SQL asks of traces of hashicorp/raft."""

from __future__ import annotations

from lockstep.systems.system import Facts, Rule

FACTS = Facts(
    shows=(
        "role string, currentTerm bigint, commitIndex bigint, lastApplied bigint, lastIndex bigint, "
        "lastSnapshot struct<index: bigint>, fsm struct<index: bigint>, "
        "replication map<string, struct<running: boolean, awaiting: string>>"
    ),
    columns={
        "runs": "shows.role <> 'Shutdown'",
        "leads": "shows.role = 'Leader'",
        "term": "shows.currentTerm",
        "committed": "shows.commitIndex",
        "applied": "shows.lastApplied",
        "end": "shows.lastIndex",
        "snapshot": "shows.lastSnapshot.index",
        "fsm": "shows.fsm.index",
        # A routine that replicates to a peer waits for an answer of this kind, or has nothing under way.
        "states": (
            "transform_values(map_filter(shows.replication, (peer, runner) -> runner.running), "
            "(peer, runner) -> runner.awaiting)"
        ),
    },
    rules=(
        Rule("commitIndex falls", "runs and before_runs and committed < before_committed", "CommitMonotonicProp"),
        # That lastApplied <= commitIndex, as published descriptions have it, does not hold: see SeedIndexOrder.
        Rule("index order", "runs and (snapshot > applied or applied > end or committed > end)", "IndexOrder"),
        Rule("term falls", "term < before_term", "TermsRiseProp"),
        Rule("FSM goes back", "runs and before_runs and fsm < before_fsm", "FsmNeverGoesBackProp"),
        Rule("snapshot falls", "runs and before_runs and snapshot < before_snapshot", "SnapshotsRiseProp"),
    ),
    one_leader="ElectionSafety",
)
