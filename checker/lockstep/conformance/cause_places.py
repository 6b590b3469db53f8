"""Where the cause of a deviation may be: the steps in which other outcomes are tried, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.conformance.causal_past import PlacedEvent, messages_of, under_way
from lockstep.conformance.deviation import Deviation
from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, TlaError, Value
from lockstep.trace.json_lines import TraceError

#: The last steps of a deviation's past, the last that changed what differs, and the last outside the past.
MAX_STEPS_BACK, MAX_CHANGING, MAX_OTHERS = 12, 2, 12


def likely_places(deviation: Deviation, check: TraceCheck, past: Iterable[int]) -> list[int]:
    """Return the places of the steps of the past in which the cause may be.

    First comes the deviation itself, then what took a message that it handles, and what changed the field that differs.
    """
    last, *others = sorted(past, reverse=True)
    found = [last, *_losing(deviation, check), *_changing(deviation, check), *others[: MAX_STEPS_BACK - 1]]
    return list(dict.fromkeys(found))


def other_places(deviation: Deviation, past: Iterable[int]) -> list[int]:
    """Return the places of the last steps that are not in the past: a step may change another node at once."""
    known = set(past)
    return [place for place in range(deviation.last, -1, -1) if place not in known][:MAX_OTHERS]


def first_left_out(deviation: Deviation, past: Iterable[int]) -> int | None:
    """Return the line of the last step of the past that is too far back; None where none is."""
    places = sorted(past, reverse=True)
    return deviation.events[places[MAX_STEPS_BACK]][0] if len(places) > MAX_STEPS_BACK else None


def shown_field(deviation: Deviation, check: TraceCheck, state: State) -> Value | None:
    """Return the field which the trace shows otherwise, as the spec has it in a state; None where there is none."""
    try:
        observable = check.observable(state, *deviation.events[-1])
    except (TlaError, TraceError):
        return None
    return observable.d.get(deviation.differing.partition(".")[0]) if isinstance(observable, Fcn) else None


def _losing(deviation: Deviation, check: TraceCheck) -> list[int]:
    """Return the place of the last step before which a message was under way that the deviation handles in vain."""
    for message in messages_of(PlacedEvent(deviation.last, *deviation.events[-1]), check):
        if message in under_way(deviation.states[-1], check):
            continue
        for place in range(deviation.last - 1, -1, -1):
            if message in under_way(deviation.states[place], check):
                return [place]
    return []


def _changing(deviation: Deviation, check: TraceCheck) -> list[int]:
    """Return the places of the last steps that changed the field which the trace shows otherwise."""
    found, value = list[int](), shown_field(deviation, check, deviation.states[-1])
    for place in range(deviation.last - 1, -1, -1):
        if value is None or len(found) == MAX_CHANGING:
            break
        before = shown_field(deviation, check, deviation.states[place])
        found += [place] if before != value else []
        value = before
    return found
