"""States go from one process to another as bytes, whatever numbers each has for their values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lockstep.pipeline.state_search.state_codec import SharedValues, StateCodec, column_names
from lockstep.tla.state import State, state_class
from lockstep.tla.tables.state_layout import Layout, Rows
from lockstep.tla.values.kinds import ModelValue
from lockstep.tla.values.value_bytes import encoded

KIND = state_class(("x", "y"))
FIRST = KIND((0, ModelValue("a")))


def codec(names: tuple[str, ...], met: list[State], shared: SharedValues) -> tuple[Layout, StateCodec]:
    """A process that has met some states, and learned some numbers."""
    layout = Layout(("x", "y"), [FIRST], [])
    layout.encode(met)
    made = StateCodec(layout, names)
    made.learn(shared)
    return layout, made


def moved(states: list[State], shared: SharedValues, met: list[State] | None = None) -> tuple[list[State], int]:
    """States that went through bytes to a process with other numbers, and how many values went with them."""
    layout, sender = codec(("y", "x"), states, shared)
    text, values = sender.encoded(layout.encode(states))
    other, receiver = codec(("y", "x"), met or [], shared)
    rows: Rows = receiver.rows(text, values)
    return [other.decode(row) for row in rows.tolist()], sender.met_new


SOME = [KIND((number % 7, ModelValue("ab"[number % 2]))) for number in range(20)]


def test_values_without_a_shared_number_go_with_their_states() -> None:
    assert moved(SOME, [[], []], list(reversed(SOME))) == (SOME, 40)


def test_values_with_a_shared_number_do_not() -> None:
    shared = [[encoded(ModelValue(each)) for each in "ba"], [encoded(each) for each in (6, 5, 0, 1, 2, 3, 4)]]
    assert moved(SOME, shared, list(reversed(SOME))) == (SOME, 0)
    assert moved([*SOME, KIND((99, ModelValue("c")))], shared) == ([*SOME, KIND((99, ModelValue("c")))], 2)


def test_true_and_one_are_two_values() -> None:
    both = [KIND((1, ModelValue("a"))), KIND((True, ModelValue("a")))]
    found, _ = moved(both, [[], [encoded(1)]])
    assert [type(each[0]) for each in found] == [int, bool]


@pytest.mark.parametrize("most", [127, 128, 32_767, 32_768])
def test_numbers_take_as_many_bytes_as_the_largest_needs(most: int) -> None:
    shared = [[encoded(ModelValue("a"))], [encoded(each) for each in range(most + 1)]]
    layout, sender = codec(("y", "x"), [], shared)
    ends = [KIND((0, ModelValue("a"))), KIND((most, ModelValue("a")))]
    text, values = sender.encoded(layout.encode(ends))
    assert {len(each.as_py()) for each in text} == {2 * (1 + (most > 127) + 2 * (most > 32_767))}
    few, none = sender.encoded(layout.encode(ends[:1]))
    together = pa.concat_arrays([few, text, few]), pa.concat_arrays([none, values, none])
    other, receiver = codec(("y", "x"), ends, shared)
    assert [other.decode(row) for row in receiver.rows(*together).tolist()] == [ends[0], *ends, ends[0]]
    assert [other.decode(row) for row in receiver.rows(*(each[1:3] for each in together)).tolist()] == ends


def test_other_columns_are_refused() -> None:
    layout = Layout(("x", "y"), [FIRST], [])
    assert column_names(layout) == ["x", "y"]
    with pytest.raises(ValueError, match="other columns"):
        StateCodec(layout, ("x", "z"))
    assert np.array_equal(layout.encode([FIRST]), [[0, 0]])
