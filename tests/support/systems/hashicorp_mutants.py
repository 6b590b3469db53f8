"""The mutants of hashicorp/raft's reference: all that is not stores, messages or the form of a step."""

from __future__ import annotations

import random
from pathlib import Path

import raftref.hashicorp
from lockstep.base.verdict import Verdict
from lockstep.conformance.both_ways_check import BothWays, check_both_ways
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.plan_floors import FEW_CLUSTERS, FEW_EVENTS
from lockstep.systems.trace_specs import trace_spec
from raftref.hashicorp.choices import Flaw
from tests.scripts.hashicorp_traces import FIRST, probed_with
from tests.support.systems.mutants import Reference

#: The events of a cluster with one flaw, the steps after which every action is tried, and the seeds besides the first
#: that shows the flaw.
EVENTS, STEPS, SEEDS = 400, 12, 4


def with_each_flaw() -> str:
    """Return where a cluster with one flaw leaves the spec that has it, or would: most plans have all flaws or none."""
    for flaw, (plan, first, _) in FIRST.items():
        for seed in dict.fromkeys([first, *range(1, SEEDS + 1)]):
            found = _asked(flaw, plan, seed)
            if found.findings:
                return f"{found.source}: {found.findings[0].kind} {found.findings[0].name}"
            if found.verdict is not Verdict.HOLDS:
                return f"{found.source}: {found.reason}"
    return ""


def _asked(flaw: Flaw, plan: str, seed: int) -> BothWays:
    header, run = probed_with(flaw, plan, seed, EVENTS)
    spec, source = trace_spec(header, flaw), f"{flaw} {plan} {seed}"
    steps = frozenset(random.Random(source).sample(range(1, EVENTS + 1), STEPS))
    return check_both_ways(header, run, spec, HASHICORP.interface(spec), steps, source)


ROOT = Path(raftref.hashicorp.__file__).parent
#: The modules that the spec has chapters of, but for the form of a step, and messages.
_CHAPTERS = (
    *("values", "stores", "state", "server", "logs", "elections", "votes", "follower", "leader"),
    *("replication", "pipeline", "zombies", "snapshots", "membership", "leadership", "failures", "hashicorp_raft"),
)

REFERENCE = Reference(
    root=ROOT,
    sources=tuple(ROOT / f"{name}.py" for name in _CHAPTERS),
    order=(
        *("raft_whole_published", "raft_votes_published", "raft_whole", "raft_snapshots_published"),
        *("raft_members_published", "raft_five", "raft_transfers", "raft_verify"),
    ),
    larger=(
        "raft_whole_published",
        "raft_whole",
        "raft_votes_published",
        "raft_snapshots_published",
        "raft_members_published",
    ),
    floor=(FEW_CLUSTERS, FEW_EVENTS),
    rules=(),
    elsewhere=with_each_flaw,
)
