"""Traces of simulated clusters of hashicorp/raft, and their check."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

import msgspec

from lockstep.conformance.check import TraceVerdict, check_trace
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.plans import REFERENCE, SIMULATOR, fault_plan
from lockstep.systems.simulated import event_of
from lockstep.systems.specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.format import Event, Header, Trace, trace_lines
from raftref.hashicorp.simulation import simulate
from raftref.hashicorp.switches import Flaw

#: The cluster in which a server with the flaw first does what a repaired one would not: its plan, its seed, how many
#: events it takes until then.
FIRST = {
    Flaw.TORN_VOTE: ("raft_whole", 6, 72),
    Flaw.CONFLICT_AT_SNAPSHOT: ("raft_whole", 4, 308),
    Flaw.COMMIT_UNVERIFIED: ("raft_votes", 13, 68),
    Flaw.STALE_INSTALL: ("raft_whole", 11, 322),
    Flaw.HEARTBEAT_RACE: ("raft_votes", 5, 264),
    Flaw.VERIFY_COUNTS_NONVOTERS: ("raft_whole", 2, 41),
    Flaw.VERIFY_COUNTS_OLD_ACKS: ("raft_whole", 3, 121),
    Flaw.TRANSFER_FLAG_LEFT: ("raft_whole", 1, 101),
    Flaw.TRUNCATE_WITHOUT_CONFLICT: ("raft_whole", 3, 68),
    Flaw.EVEN_QUORUM: ("raft_whole", 2, 43),
    Flaw.LAST_LOG_NOT_LOWERED: ("raft_whole", 2, 138),
    Flaw.LONGER_LOG_OLDER_TERM: ("raft_whole", 34, 148),
    Flaw.KNOWN_LEADER_REJECTED: ("raft_whole", 5, 77),
    Flaw.REPLAY_UNCOMMITTED: ("raft_whole", 1, 40),
    Flaw.MATCH_WITHOUT_RECALCULATE: ("raft_whole", 18, 186),
}


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
    """A cluster of a plan whose servers have one flaw and no other, told truly."""
    chosen = replace(fault_plan(plan, events), flaws=frozenset({flaw}))
    run = islice(simulate(seed, chosen), events)
    return REFERENCE.header(plan, chosen, seed), [event_of(event) for event in run]


def claiming_repaired(header: Header, flaw: Flaw) -> Header:
    return msgspec.structs.replace(header, constants={**header.constants, str(flaw): "repaired"})
