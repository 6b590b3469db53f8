"""Where the cause of a deviation is looked for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from lockstep.conformance.cause_places import MAX_OTHERS, MAX_STEPS_BACK, likely_places, other_places
from lockstep.conformance.deviation import Deviation, find_deviation
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, Header
from tests.support.systems.simulated_traces import simulated


@pytest.fixture(scope="module")
def run() -> tuple[Header, Sequence[Event]]:
    """A cluster whose trace holds."""
    return simulated()


def deviating(header: Header, events: Sequence[Event]) -> tuple[Deviation, TraceCheck]:
    """Return where events leave the spec, and the check that found it."""
    numbered = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events)]
    spec = trace_spec(header, "t")
    trace = ListedTrace.numbered("t", numbered)
    check = TraceCheck(trace, spec, DLEDGER.interface(spec))
    found = find_deviation(trace, check)
    assert found is not None
    return found, check


def test_the_step_that_took_a_message_is_looked_at_right_after_the_deviation_that_handles_it(
    run: tuple[Header, Sequence[Event]],
) -> None:
    header, events = run
    messages = [event.args.get("m") for event in events]
    at = next(n for n, message in enumerate(messages) if message is not None and messages.count(message) == 1)
    deviation, check = deviating(header, [*events[: at + 100], events[at]])
    assert deviation.last == at + 100
    past = deviation.past(check)
    assert likely_places(deviation, check, past)[:2] == [deviation.last, at]
    assert at not in sorted(past)[-MAX_STEPS_BACK:]


def test_steps_outside_the_past_are_the_last_ones(run: tuple[Header, Sequence[Event]]) -> None:
    header, events = run
    found = list[int]()
    for at in range(20, 30):
        lied = msgspec.structs.replace(events[at], shows={**events[at].shows, "currTerm": 77})
        deviation, check = deviating(header, [*events[:at], lied])
        past = deviation.past(check)
        others = other_places(deviation, past)
        assert others == sorted(set(range(at + 1)) - set(past), reverse=True)[:MAX_OTHERS]
        found += others
    assert found
