"""A group of the real DLedger 0.3.2 under load, with batches and a follower that does not come back.

The leader finds that it has pushed all. Until it pushes again what has had no answer for a second, clients append more,
and the other follower has it committed: the push is one that could be made neither before nor after.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.places import TESTS
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Json, encoded

#: The line of the push.
PUSHED_AGAIN = 2713


@cache
def recorded() -> tuple[Json, ...]:
    packed = TESTS / "recorded" / "dledger-0.3.2-looked_before.ndjson.xz"
    return tuple(map(json.loads, lzma.decompress(packed.read_bytes()).splitlines()))


def imported(*lines: Json) -> Imported:
    return import_lines(encoded(lines), "recorded")


def verdict(found: Imported, **constants: bool) -> TraceVerdict:
    header = msgspec.structs.replace(found.header, constants={**found.header.constants, **constants})
    trace = Trace(trace_lines(header, found), "recorded")
    return check_dledger(trace, trace_spec(trace.header, trace.source))


def where(found: TraceVerdict) -> tuple[Any, ...]:
    assert found.deviation is not None, found.reason
    return found.verdict, found.deviation.action, found.deviation.recorded_line


@pytest.mark.nightly
def test_the_recording_leaves_no_order_open_and_the_group_conforms() -> None:
    found = imported(*recorded())
    assert found.summary.forced == ()
    assert verdict(found).verdict is Verdict.HOLDS


@pytest.mark.nightly
def test_the_leader_pushes_again_after_more_was_appended_and_committed() -> None:
    found = imported(*recorded())
    again = next(each for each in found if each.line == PUSHED_AGAIN and each.action == "DoCheckBatchAppendResponse")
    (push,) = again.sent or ()
    pushed = again.shows["dispatchers"][again.args["peer"]]["writeIndex"] - 1
    assert push["commitIndex"] > pushed
    refused = Verdict.VIOLATED, "DoCheckBatchAppendResponse"
    assert where(verdict(found, LateResend=False))[:2] == refused


@pytest.mark.nightly
@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_committed_entry_that_a_node_has_lost_in_the_same_recording_is_found(node: str) -> None:
    lines = list(recorded())
    place = next(at for at, line in enumerate(lines) if line["kind"] == "stop" and line["node"] == node)
    state = lines[place]["st"]
    assert state["committed"] == state["end"]
    lines[place] = lines[place] | {"st": state | {"end": state["end"] - 1}}
    found = imported(*lines)
    assert found.summary.forced == ()
    assert where(verdict(found)) == (Verdict.VIOLATED, "Crash", place + 1)
