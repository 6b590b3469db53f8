"""Errors of the input, told in another process."""

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
def test_an_error_of_the_input_that_another_process_tells_is_the_same(error: BadInputError) -> None:
    told = pickle.loads(pickle.dumps(error))
    assert (type(told), str(told), vars(told)) == (type(error), str(error), vars(error))
