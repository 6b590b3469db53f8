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
