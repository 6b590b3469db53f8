"""Errors of the input survive the way from a worker process."""

from __future__ import annotations

import pickle

import pytest

from lockstep.base.errors import BadInputError
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.values.kinds import ArgumentError
from lockstep.tla.values.next_state import UnassignedError
from lockstep.trace.json_lines import TraceError, UnreadableError

ERRORS = [
    TraceError("a.ndjson", 3, "field `kind`: missing"),
    UnreadableError("a.ndjson", OSError(2, "No such file or directory")),
    ArgumentError("n", "no node"),
    UnassignedError("log"),
    SpecFault("LS603", "Raft.tla:3:1", "Next: 1 is no set"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_input_survives_the_way_from_another_process(error: BadInputError) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), str(error), vars(error))
