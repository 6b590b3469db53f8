"""What a trace shows of the queues and of what clients were told: a mistake there is noticed at its own step."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest

from lockstep.conformance.trace_verdict import Finding
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.follower import EntryHandler
from raftref.dledger.messages import Index, Term
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation import simulate
from raftref.dledger.state import ClientFutures, Future
from raftref.dledger.steps import Effects
from tests.support.systems.dledger import check_dledger
from tests.support.systems.simulated_traces import as_event, header


def deviation(seed: int) -> Finding | None:
    plan = fault_plan("fine", 300)
    trace = Trace(trace_lines(header(plan), map(as_event, simulate(seed, plan))), "t")
    return check_dledger(trace, trace_spec(trace.header, "t")).deviation


def test_as_it_is_the_run_conforms() -> None:
    assert deviation(1) is None


def test_a_client_that_is_not_told_is_noticed_where_it_should_have_been(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ClientFutures.answer

    def silent(self: ClientFutures, term: Term, indexes: Collection[Index]) -> tuple[Future, ...]:
        answer(self, term, indexes)
        return ()

    monkeypatch.setattr(ClientFutures, "answer", silent)
    found = deviation(1)
    assert found is not None
    assert (found.kind, found.name, found.action) == ("shows", "acknowledged", "ActOnQuorumIndex")


def test_an_append_that_a_compare_does_not_clear_is_noticed_where_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else shows that it waits until it is handled, which may never be."""
    handle_push: Callable[..., Effects] = EntryHandler.handle_push

    def keeping(self: EntryHandler, m: Any) -> Effects:
        kept = dict(self.write_request_map)
        effects = handle_push(self, m)
        self.write_request_map = kept | self.write_request_map
        return effects

    keeping.__dict__.update(handle_push.__dict__)
    held = keeping.__dict__["action"]
    monkeypatch.setattr(EntryHandler, "handle_push", keeping)
    monkeypatch.setitem(ACTIONS, "HandlePush", replace(held, perform=keeping))
    found = deviation(1)
    assert found is not None
    assert (found.kind, found.name, found.action) == ("shows", "writeRequestMap", "HandlePush")
