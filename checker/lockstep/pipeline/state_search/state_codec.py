"""States as bytes that all tasks of a search read alike.

Each process numbers the values of a column as it meets them. The driver gives the values that a level brought a shared
number, once the level is there, and tasks translate. A value that has no shared number yet travels beside the state,
in the bytes of :func:`lockstep.tla.values.value_bytes.encoded`; in the state stands its place among these, as a
negative number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.state_layout import Layout, Rows
from lockstep.tla.values.kinds import format_value
from lockstep.tla.values.value_bytes import decoded, encoded

#: The values with a shared number: of each column their bytes, by number.
SharedValues: TypeAlias = Sequence[Sequence[bytes]]

#: The type of the column of values without a shared number, for Arrow and as Spark writes it.
NEW_VALUES = pa.list_(pa.struct([("column", pa.int32()), ("value", pa.binary())]))
NEW_VALUES_DDL = "array<struct<column: int, value: binary>>"

_KINDS = (np.int8, np.int16, np.int32)


def column_names(layout: Layout) -> list[str]:
    """Return where each column of a state is, as text; their order may be another in another process."""
    return [" ".join([str(path[0]), *map(format_value, path[1:])]) for path in layout.paths]


class StateCodec:
    """The translation between the rows of one process and the bytes that all read.

    Attributes:
        met_new: the number of values without a shared number in the states that were encoded, repetitions included.
    """

    def __init__(self, layout: Layout, columns: Sequence[str]) -> None:
        """Translate for a layout whose columns have these names in the shared order.

        Raises:
            ValueError: if they are others.
        """
        mine = column_names(layout)
        if sorted(mine) != sorted(columns):
            raise ValueError("the states have other columns")
        self._layout, self._slots, self.met_new = layout, [mine.index(each) for each in columns], 0
        self._to_own: list[list[int]] = [[] for _ in columns]
        self._to_shared: list[Ints] = [np.zeros(0, np.int32) for _ in columns]
        self._bytes: dict[tuple[int, int], bytes] = {}

    def learn(self, values: SharedValues) -> None:
        """Take over the shared numbers that were given since the last time."""
        for column, (slot, shared) in enumerate(zip(self._slots, values, strict=True)):
            own = self._to_own[column]
            for text in shared[len(own) :]:
                own.append(self._layout.number(slot, decoded(text)))
            table = np.full(len(self._layout.values[slot]), -1, np.int32)
            table[own] = np.arange(len(own))
            self._to_shared[column] = table

    def rows(self, states: pa.Array, new_values: pa.Array) -> Rows:
        """Return the rows of states."""
        shared = self._shared(states)
        own = np.empty(shared.shape, np.int32)
        tables = [np.array([*each, -1], np.int32) for each in self._to_own]
        for column, slot in enumerate(self._slots):
            own[:, slot] = tables[column][np.maximum(shared[:, column], -1)]
        brought = new_values.to_pylist()
        for row in np.flatnonzero((shared < 0).any(axis=1)).tolist():
            for column in np.flatnonzero(shared[row] < 0).tolist():
                slot, value = self._slots[column], brought[row][-1 - shared[row, column]]["value"]
                own[row, slot] = self._layout.number(slot, decoded(value))
        return self._layout.narrow(own)

    def _shared(self, states: pa.Array) -> npt.NDArray[np.int32]:
        """Return the shared numbers of states; those of one task have the same width, those of another maybe not."""
        _, offset_buffer, data = states.buffers()
        ends = np.frombuffer(offset_buffer, np.int32)[states.offset : states.offset + len(states) + 1]
        lengths, text, width = np.diff(ends), np.frombuffer(data, np.uint8), len(self._slots)
        shared = np.empty((len(states), width), np.int32)
        for length in np.unique(lengths).tolist():
            which = np.flatnonzero(lengths == length)
            kind = next(each for each in _KINDS if each().itemsize * width == length)
            if len(which) == len(states):
                return text[ends[0] : ends[-1]].view(kind).reshape(shared.shape).astype(np.int32)
            shared[which] = text[ends[which, np.newaxis] + np.arange(length)].view(kind)
        return shared

    def encoded(self, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """Return the bytes of states, and for each the values without a shared number, None where it has none."""
        shared = np.empty((len(rows), len(self._slots)), np.int32)
        for column, slot in enumerate(self._slots):
            shared[:, column] = self._shared_numbers(column, slot)[rows[:, slot]]
        brought: list[list[dict[str, Any]] | None] = [None] * len(rows)
        for row in np.flatnonzero((shared < 0).any(axis=1)).tolist():
            brought[row] = own = []
            for column in np.flatnonzero(shared[row] < 0).tolist():
                slot = self._slots[column]
                own.append({"column": column, "value": self._value_bytes(slot, int(rows[row, slot]))})
                shared[row, column] = -len(own)
            self.met_new += len(own)
        low, high = shared.min(initial=0), shared.max(initial=0)
        kind = next(each for each in _KINDS if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * (shared.shape[1] * kind().itemsize)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(shared, kind))]
        return pa.Array.from_buffers(pa.binary(), len(rows), buffers), pa.array(brought, NEW_VALUES)

    def _shared_numbers(self, column: int, slot: int) -> Ints:
        """Return the shared number of each value of a column, -1 where it has none."""
        table, lacking = self._to_shared[column], len(self._layout.values[slot]) - len(self._to_shared[column])
        if lacking > 0:
            table = self._to_shared[column] = np.concatenate([table, np.full(lacking, -1, np.int32)])
        return table

    def _value_bytes(self, slot: int, number: int) -> bytes:
        if (slot, number) not in self._bytes:
            self._bytes[slot, number] = encoded(self._layout.values[slot][number])
        return self._bytes[slot, number]
