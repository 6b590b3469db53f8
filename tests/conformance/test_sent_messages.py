"""The messages that an event lists must be all that the step sent, and no others; an event may list none at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import TraceCheck
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import interface
from tests.support.systems.simulated_traces import check, last, simulated, tampered

SENDING = (
    "DoCompare",
    "DoTruncate",
    "DoAppend",
    "DoCheckAppendResponse",
    "DoCommit",
    "HandleDoCompare",
    "HandleDoTruncate",
    "HandleDoAppend",
    "CheckAppendFuture",
)


def sends(action: str) -> int:
    return last(lambda event: event.action == action and bool(event.sent))


def deviation(events: list[Event], index: int) -> str:
    """The one line that says how the messages of an event differ."""
    verdict = check(events)
    assert verdict.verdict is Verdict.VIOLATED
    assert verdict.deviation is not None
    assert (verdict.deviation.kind, verdict.deviation.line) == ("sent", index + 2)
    (detail,) = verdict.deviation.details
    return detail


@pytest.mark.parametrize("action", [a for a in SENDING if any(e.action == a and e.sent for e in simulated()[1])])
def test_a_sent_message_that_the_trace_leaves_out_is_missed(action: str) -> None:
    index = sends(action)
    details = deviation(tampered(index, sent=()), index)
    assert details.startswith("sent by this step, and not in the trace: ")
    assert simulated()[1][index].node in details


def test_a_message_that_was_not_sent_is_refused() -> None:
    index = sends("DoAppend")
    (sent,) = simulated()[1][index].sent or ()
    details = deviation(tampered(index, sent=(sent, {**sent, "commitIndex": 77})), index)
    assert details.startswith("not under way from ")
    assert "commitIndex |-> 77" in details


def test_a_message_that_was_sent_once_and_is_listed_twice_is_refused() -> None:
    index = sends("DoCommit")
    (sent,) = simulated()[1][index].sent or ()
    details = deviation(tampered(index, sent=(sent, sent)), index)
    assert details.startswith("under way, but not sent by this step: ")


def test_a_message_that_was_sent_earlier_and_is_listed_again_is_refused() -> None:
    """It is still under way, but this step sent nothing."""
    index = sends("DoAppend")
    event = simulated()[1][index]
    again = Event(seq=event.seq + 1, node=event.node, action="PersistCheckPoint", sent=event.sent)
    details = deviation([*simulated()[1][: index + 1], again], index + 1)
    assert details.startswith("under way, but not sent by this step: ")


def test_a_message_of_another_node_is_not_one_that_the_step_sent() -> None:
    """It is under way, but not from here."""
    index = sends("HandleDoAppend")
    events = simulated()[1]
    before = max(i for i in range(index) if events[i].sent and events[i].node != events[index].node)
    (other,) = events[before].sent or ()
    late = Event(seq=10**6, node=events[index].node, action="PersistCheckPoint", sent=(other,))
    assert deviation([*events[: before + 1], late], before + 1).startswith("not under way from ")


def test_an_event_without_a_list_of_sent_messages_passes_whatever_was_sent() -> None:
    events = [msgspec.structs.replace(event, sent=None) for event in simulated()[1]]
    assert check(events).verdict is Verdict.HOLDS


def test_an_observation_sends_nothing() -> None:
    index = sends("DoAppend")
    events = simulated()[1][: index + 1]
    quiet = Event(seq=10**6, node=events[-1].node, action="Observe", sent=())
    assert check([*events, quiet]).verdict is Verdict.HOLDS
    loud = msgspec.structs.replace(quiet, sent=events[-1].sent)
    assert deviation([*events, loud], index + 1).startswith("under way, but not sent by this step: ")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"kind": "request"}, "no message of the spec: it needs `src` and `dst`"),
        ([1], None),
        ({"#set": 3}, "'#set' needs an array, not 3"),
        ({"#map": [["src", "n1"], ["dst", 2]]}, None),
    ],
)
def test_a_value_that_is_no_message_is_malformed_or_not_under_way(message: Any, problem: str | None) -> None:
    index = sends("DoAppend")
    events = tampered(index)
    events[index] = msgspec.structs.replace(events[index], sent=(message,))
    verdict = check(events)
    if problem is None:
        assert verdict.verdict in (Verdict.MALFORMED, Verdict.VIOLATED)
    else:
        assert (verdict.verdict, verdict.reason) == (Verdict.MALFORMED, f"t:{index + 2}: field `sent[0]`: {problem}")


def test_a_message_with_a_field_of_another_kind_is_malformed_and_named() -> None:
    index = sends("DoAppend")
    (sent,) = simulated()[1][index].sent or ()
    verdict = check(tampered(index, sent=({**sent, "term": "one"},)))
    assert verdict.verdict is Verdict.MALFORMED
    assert verdict.reason.startswith(f"t:{index + 2}: field `sent[0]`: no message of the spec: ")


def test_the_reference_records_what_every_step_sent_even_where_it_sent_nothing() -> None:
    events = simulated()[1]
    assert all(event.sent is not None for event in events)
    assert any(event.sent == () for event in events)
    assert b'"sent":[]' in msgspec.json.encode(next(event for event in events if event.sent == ()))


def test_messages_under_way_are_compared_though_outbox_reads_nothing_of_the_state() -> None:
    """The messages under way from a node are compared as well, whatever the spec's Outbox reads."""
    spec = trace_spec(simulated()[0], "t")
    trace = Trace(trace_lines(simulated()[0], ()), "t")
    assert ("network", 0) in TraceCheck(trace, spec, interface(spec)).outbox_paths
