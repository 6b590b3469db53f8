"""Traces of simulated clusters of hashicorp/raft, and their check."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice
from typing import Any

import msgspec

from lockstep.conformance.both_ways_check import ProbedRun
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.plans import REFERENCE, SIMULATOR, fault_plan
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.simulation import simulate

#: The cluster in which a server with the flaw first does what a repaired one would not: its plan, the first such seed
#: of that plan, how many events it takes until then. `python -m tests.scripts.hashicorp_traces` measures the last two.
FIRST = {
    Flaw.TORN_VOTE: ("raft_whole", 1, 15),
    Flaw.CONFLICT_AT_SNAPSHOT: ("raft_whole", 3, 340),
    Flaw.COMMIT_UNVERIFIED: ("raft_five", 5, 169),
    Flaw.STALE_INSTALL: ("raft_whole", 11, 259),
    Flaw.COMPACTED_PREV_REJECTED: ("raft_whole", 18, 188),
    Flaw.UNKNOWN_CANDIDATE_REJECTED: ("raft_whole", 9, 65),
    Flaw.HEARTBEAT_RACE: ("raft_votes", 1, 344),
    Flaw.VERIFY_COUNTS_NONVOTERS: ("raft_whole", 1, 355),
    Flaw.VERIFY_COUNTS_OLD_ACKS: ("raft_whole", 1, 117),
    Flaw.TRANSFER_FLAG_LEFT: ("raft_whole", 1, 128),
    Flaw.TRUNCATE_WITHOUT_CONFLICT: ("raft_whole", 1, 336),
    Flaw.EVEN_QUORUM: ("raft_whole", 2, 55),
    Flaw.LAST_LOG_NOT_LOWERED: ("raft_whole", 5, 388),
    Flaw.LONGER_LOG_OLDER_TERM: ("raft_whole", 31, 182),
    Flaw.KNOWN_LEADER_REJECTED: ("raft_whole", 1, 312),
    Flaw.REPLAY_UNCOMMITTED: ("raft_whole", 1, 16),
    Flaw.MATCH_WITHOUT_RECALCULATE: ("raft_whole", 4, 50),
}
#: Number of events of each cluster in which the first one is looked for.
EVENTS_OF_FIRST = 400


@functools.cache
def spec_of(plan: str) -> Spec:
    return trace_spec(SIMULATOR.cluster(plan, 0, 0)[0], plan)


def check(header: Header, events: Iterable[Event], switches: Mapping[str, str] | None = None) -> TraceVerdict:
    """Check events, written and read again, against the spec of their header, or with other switches."""
    trace = Trace(trace_lines(header, events), "t")
    spec = trace_spec(trace.header, "t", switches)
    return check_trace(trace, spec, HASHICORP.interface(spec))


def checked(plan: str, seed: int, events: int) -> TraceVerdict:
    return check(*SIMULATOR.cluster(plan, seed, events))


def cluster_with(flaw: Flaw, plan: str, seed: int, events: int) -> tuple[Header, list[Event]]:
    """Return the events of a cluster whose servers have one flaw and no other, and a header that says so."""
    header, run = probed_with(flaw, plan, seed, events)
    return header, [event for event, _ in run]


def probed_with(flaw: Flaw, plan: str, seed: int, events: int) -> tuple[Header, ProbedRun]:
    """Return the header and the run of such a cluster; every action can be tried after each event of the run."""
    chosen = replace(fault_plan(plan, events), flaws=frozenset({flaw}))
    return REFERENCE.header(plan, chosen, seed), REFERENCE.run(seed, chosen)


def run_with(flaws: frozenset[Flaw], plan: str, seed: int, events: int) -> Iterator[Any]:
    """Yield the events of a cluster of a plan whose servers have these flaws and no others."""
    return islice(simulate(seed, replace(fault_plan(plan, events), flaws=flaws)), events)


def claiming_repaired(header: Header, flaw: Flaw) -> Header:
    return msgspec.structs.replace(header, constants={**header.constants, str(flaw): "repaired"})


def makes_a_difference(flaw: Flaw, plan: str, seed: int, events: int) -> bool:
    """Return whether a cluster whose servers have the flaw ever differs from one of repaired servers."""
    pairs = zip(*(run_with(each, plan, seed, events) for each in (frozenset({flaw}), frozenset())), strict=False)
    return any(flawed != repaired for flawed, repaired in pairs)


def first(flaw: Flaw) -> tuple[str, int, int]:
    """Find the first seed of the plan in FIRST whose cluster does what a repaired one would not, and where it does."""
    plan = FIRST[flaw][0]
    for seed in count(1):
        if makes_a_difference(flaw, plan, seed, EVENTS_OF_FIRST):
            header, events = cluster_with(flaw, plan, seed, EVENTS_OF_FIRST)
            deviation = check(claiming_repaired(header, flaw), events).deviation
            if deviation is not None:
                return plan, seed, deviation.seq
    raise AssertionError


if __name__ == "__main__":
    for each in FIRST:
        print(each, *first(each))
