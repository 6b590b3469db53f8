"""A channel that re-orders is a bag: each of its messages is there once at least (TypeOK, AreCounted of Channels)."""

from __future__ import annotations

import pytest

from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation, LiteralEvaluation
from lockstep.systems.dledger.recording_import import import_recording
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.values.kinds import Fcn
from tests.support.systems.dledger_lines import FAULT_FREE

MESSAGE = Fcn(
    {"kind": "request", "type": "COMMIT", "src": "n0", "dst": "n1", "term": 0, "commitIndex": -1, "awaited": False}
)


@pytest.mark.parametrize("evaluation", [LiteralEvaluation, IncrementalEvaluation])
@pytest.mark.parametrize(("copies", "violated"), [(1, False), (2, False), (0, True)])
def test_a_message_is_under_way_once_at_least(copies: int, violated: bool, evaluation: type[Evaluation]) -> None:
    spec = trace_spec(import_recording(FAULT_FREE).header, "recorded")
    initial = next(iter(spec.initial_states()))
    values = dict(zip(spec.variables, initial, strict=True))
    network = values["network"]
    channels = Fcn({**network.d["n0"].d, "n1": Fcn({MESSAGE: copies})})
    after = spec.state({**values, "network": Fcn({**network.d, "n0": channels})})
    properties = evaluation(spec)
    properties.begin(initial)
    assert ("TypeOK" in properties.violated(initial, after)) is violated
