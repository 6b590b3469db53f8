"""A trace of the reference to tamper with, and its check."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.simulation import simulate
from tests.support.systems.dledger import VARIANTS, check_dledger

REPAIRED = VARIANTS["repaired"]
EVENTS = 300


def header(plan: Any) -> Header:
    return Header(
        format=FORMAT,
        system="raftref",
        version="test",
        spec="DLedger",
        nodes=plan.node_ids,
        constants=plan.constants(),
    )


def as_event(tree: dict[str, Any]) -> Event:
    return Event(**{**tree, "sent": tuple(tree["sent"])})


@functools.cache
def simulated() -> tuple[Header, tuple[Event, ...]]:
    plan = fault_plan("ordered", EVENTS)
    return header(plan), tuple(as_event(tree) for tree in simulate(30, plan))


def check(
    events: list[Event],
    head: Header | None = None,
    switches: dict[str, str] | None = None,
    spec: Spec | None = None,
) -> TraceVerdict:
    """Check events, written and read again, against the spec of their header, or another one."""
    trace = Trace(trace_lines(head or simulated()[0], events), "t")
    return check_dledger(trace, spec or trace_spec(trace.header, "t", switches))


def last(matches: Callable[[Event], bool]) -> int:
    """Where the last event that matches stands: everything before it conforms."""
    return max(index for index, event in enumerate(simulated()[1]) if matches(event))


def tampered(index: int, **changes: Any) -> list[Event]:
    events = list(simulated()[1])
    events[index] = msgspec.structs.replace(events[index], **changes)
    return events
