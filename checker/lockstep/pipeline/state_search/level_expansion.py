"""The work of a task of Spark: the states of a part of a level go in, their successors come out.

A Python worker keeps the tables that it has filled from task to task. No table is sent to another worker: to fill one
again takes seconds, and workers share no more than the numbers of values.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from lockstep.jobs.spark.shipped_specs import ShippedText
from lockstep.pipeline.state_search.state_codec import (
    NEW_VALUES,
    NEW_VALUES_DDL,
    SharedValues,
    StateCodec,
    column_names,
)
from lockstep.pipeline.state_search.state_paths import place_bytes
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.tables.decision_trees import Ints, TooNestedError
from lockstep.tla.tables.expander import TOO_DEEP, Expander, Level
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.fingerprints import FingerprintFunction, Fingerprints, Hashes, least_fingerprints
from lockstep.tla.tables.literal_judge import LiteralJudge
from lockstep.tla.tables.state_layout import Layout, Path, Rows, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.step_fingerprints import StepFingerprints
from lockstep.tla.tables.table_search import rare_garbage_collection
from lockstep.tla.values.function_operators import ExceptWarning
from lockstep.tla.values.value_bytes import decoded, encoded

#: The columns of a state as it is stored and as a task makes it. A row with a `tally` is no state: it is what a task
#: has counted. Its `fp` is the number of the task, and its `fp2` minus the level.
COLUMNS = ("fp", "fp2", "path", "state", "new_values", "tally")
DDL = f"fp bigint, fp2 bigint, path binary, state binary, new_values {NEW_VALUES_DDL}, tally binary"
_SCHEMA = pa.schema(
    [
        *(("fp", pa.int64()), ("fp2", pa.int64()), ("path", pa.binary()), ("state", pa.binary())),
        *(("new_values", NEW_VALUES), ("tally", pa.binary())),
    ]
)

#: The second function of fingerprints: both together have 128 bits.
_SECOND = FingerprintFunction(0x6C6F636B)


class TaskCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a task, and the first states with something wrong about them.

    Attributes:
        expanded: the number of states that were expanded.
        generated: the number of their successors, repetitions included.
        evaluations: the number of evaluations of the spec.
        new_values: whether states have values without a shared number.
        violating: the least path of a state that violates an invariant.
        wrong: the least path of a state from which something is wrong: a step, a deadlock, an evaluation that fails.
        whole: the part of a state, as bytes, that has turned out to change its domain.
        unsuited: why tables cannot go on.
        too_deep: the number of evaluations that went deeper than Python goes.
        warned: the texts of the warnings of the evaluations.
    """

    expanded: int = 0
    generated: int = 0
    evaluations: int = 0
    new_values: bool = False
    violating: bytes | None = None
    wrong: bytes | None = None
    whole: bytes | None = None
    unsuited: str = ""
    too_deep: int = 0
    warned: tuple[str, ...] = ()


def combined(tallies: Iterable[TaskCounts]) -> TaskCounts:
    """Return the tally of all tasks of a level."""
    found = TaskCounts()
    for each in tallies:
        found = TaskCounts(
            expanded=found.expanded + each.expanded,
            generated=found.generated + each.generated,
            evaluations=found.evaluations + each.evaluations,
            new_values=found.new_values or each.new_values,
            violating=_least(found.violating, each.violating),
            wrong=_least(found.wrong, each.wrong),
            whole=_least(found.whole, each.whole),
            unsuited=found.unsuited or each.unsuited,
            too_deep=found.too_deep + each.too_deep,
            warned=tuple(dict.fromkeys((*found.warned, *each.warned))),
        )
    return found


def _least(one: bytes | None, other: bytes | None) -> bytes | None:
    return min((each for each in (one, other) if each is not None), default=None)


class SearchTables:
    """The tables of a search in one process, and the translation of its states.

    Attributes:
        bits: the bits of a fingerprint; the values of a VIEW have one of 64.
    """

    def __init__(
        self,
        spec: Spec,
        initial: list[State],
        *,
        check_deadlock: bool,
        whole: Iterable[Path],
        columns: list[str] | None,
    ) -> None:
        """Prepare for a specification; `columns` are their names in the shared order, None for this process's own.

        Raises:
            UnsuitedError, ShapeChangedError: as a search by tables does.
        """
        self.layout = Layout(spec.variables, initial, whole)
        self.initial_rows = self.layout.encode(initial)
        self.expander = Expander(spec, self.layout, check_deadlock=check_deadlock, function=FingerprintFunction())
        self.expander.groups.drop_empty(self.initial_rows)
        self.codec = StateCodec(self.layout, column_names(self.layout) if columns is None else columns)
        self.bits = 128 if spec.view is None else 64
        self._second = Fingerprints(self.layout, state_equivalence(spec).images, _SECOND)
        self._second_after = StepFingerprints(self._second, self.expander.evaluator.steps, self.expander.trees.threads)

    def fingerprints(self, rows: Rows) -> tuple[Hashes, Hashes]:
        """Return the fingerprints of states by both functions."""
        first = self.expander.fingerprints(rows)
        return first, first if self.bits == 64 else least_fingerprints(self._second.of_rows(rows))

    def second_after(self, level: Level, sources: Ints, steps: Ints, first: Hashes) -> Hashes:
        """Return the fingerprints of the states after steps by the second function, given those by the first."""
        if self.bits == 64:
            return first
        self._second.add_values()
        return self._second_after.after(level.full, self._second.of_rows(level.rows), sources, steps)

    def batch(self, paths: list[bytes], rows: Rows, fingerprints: tuple[Hashes, Hashes]) -> pa.RecordBatch:
        """Return states as a batch of rows."""
        states, new_values = self.codec.encoded(rows)
        numbers = [pa.array(each.view(np.int64)) for each in fingerprints]
        arrays = *numbers, pa.array(paths, pa.binary()), states, new_values, pa.nulls(len(paths), pa.binary())
        return pa.RecordBatch.from_arrays(list(arrays), schema=_SCHEMA)


@dataclass(frozen=True, slots=True)
class LevelWork:
    """All that the tasks of a level have in common.

    Attributes:
        search: the name of the search in this session, by which a worker knows its tables.
        text: the compiled spec, as a broadcast of a :class:`ShippedText`.
        whole: the parts of a state that are not taken apart, as bytes.
        columns: the names of the columns of a state, in the shared order.
        values: the shared numbers of values, as a broadcast of :data:`SharedValues`.
        level: the number of the level; its states are expanded.
    """

    search: str
    text: Any
    check_deadlock: bool
    whole: tuple[bytes, ...]
    columns: tuple[str, ...]
    values: Any
    level: int

    def tables(self) -> SearchTables:
        """Return the tables of this process."""
        if (known := _tables.get(self.search)) is None:
            shipped: ShippedText = self.text.value
            spec = shipped.spec()
            initial, _, _ = LiteralJudge(spec, SearchOptions()).start()
            whole = [tuple(decoded(each)) for each in self.whole]
            columns = list(self.columns)
            known = SearchTables(spec, initial, check_deadlock=self.check_deadlock, whole=whole, columns=columns)
            _tables.clear()  # those of another search are not used again
            _tables[self.search] = known
        values: SharedValues = self.values.value
        known.codec.learn(values)
        return known


#: The tables of this worker, by the name of the search.
_tables: dict[str, SearchTables] = {}


@dataclass(frozen=True, slots=True)
class ExpandLevel:
    """Expands states in a task: rows of COLUMNS, in the order of their paths -> their successors, and a tally.

    Of successors that are the same, the first is kept. A task ends with the first state that violates an invariant.
    With `counts_only` there is nothing but the tally; with `checks_only` invariants alone are checked.
    """

    work: LevelWork
    counts_only: bool = False
    checks_only: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what comes out, batch by batch."""
        with rare_garbage_collection():
            expansion = _TaskExpansion(self)
            yield from expansion.run(batches)
            yield expansion.tally_batch()


class _MetStates:
    """The successors that a task has met, by both fingerprints."""

    def __init__(self) -> None:
        self._first, self._second, self._count = FingerprintSet(numbered=True), np.zeros(1 << 10, np.uint64), 0

    def add(self, first: Hashes, second: Hashes, outside: npt.NDArray[np.bool_]) -> Ints:
        """Add successors; return the numbers of those that were not met before.

        One that has only the first fingerprint of another in common is not added, and counts as not met.

        Arguments: `outside`, those that the constraints exclude, which are left out.
        """
        is_new = self._first.add(first, outside)
        new = np.flatnonzero(is_new)
        if self._count + len(new) > len(self._second):
            self._second = np.concatenate([self._second, np.zeros(max(len(new), len(self._second)), np.uint64)])
        self._second[self._count : self._count + len(new)] = second[new]
        self._count += len(new)
        again = np.flatnonzero(~is_new & ~outside)
        differ = self._second[self._first.numbers(first[again])] != second[again]
        is_new[again[differ]] = True
        return np.flatnonzero(is_new)


@dataclass(slots=True)
class _TaskExpansion:
    """The expansion of the states of one task."""

    what: ExpandLevel
    tally: TaskCounts = field(default_factory=TaskCounts)
    met: _MetStates = field(default_factory=_MetStates)
    tables: SearchTables = field(init=False)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the successors of states."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ExceptWarning)
            yield from self._run(batches)
        self._count(warned=tuple(str(each.message) for each in warned if each.category is ExceptWarning))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            self.tables = tables = self.what.work.tables()
            before, met_new, deep = tables.expander.trees.evaluations, tables.codec.met_new, tables.expander.too_deep
            for batch in batches:
                if self.tally.violating is None:
                    yield from self._expand_batch(batch)
            evaluations, too_deep = tables.expander.trees.evaluations - before, tables.expander.too_deep - deep
            self._count(evaluations=evaluations, too_deep=too_deep, new_values=tables.codec.met_new > met_new)
        except ShapeChangedError as error:
            self._count(whole=encoded(error.path))
        except UnsuitedError as error:
            self._count(unsuited=str(error))
        except TooNestedError:
            self._count(unsuited=TOO_DEEP)

    def tally_batch(self) -> pa.RecordBatch:
        """Return the row of the tally."""
        context = TaskContext.get()
        assert context is not None
        row = {"fp": context.partitionId(), "fp2": -self.what.work.level, "tally": msgspec.msgpack.encode(self.tally)}
        return pa.RecordBatch.from_pylist([dict.fromkeys(COLUMNS) | row], schema=_SCHEMA)

    def _count(self, **more: Any) -> None:
        self.tally = combined([self.tally, TaskCounts(**more)])

    def _expand_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        expander = self.tables.expander
        rows = self.tables.codec.rows(batch.column("state"), batch.column("new_values"))
        paths = batch.column("path").to_pylist()
        for begin in range(0, len(rows), expander.size):
            part = slice(begin, begin + expander.size)
            violating = expander.violating(rows[part])
            if len(violating):
                self._count(violating=paths[part][int(violating[0])])
                return
            if not self.what.checks_only:
                yield from self._expand(expander.level(rows[part]), paths[part])

    def _expand(self, level: Level, paths: list[bytes]) -> Iterator[pa.RecordBatch]:
        """Expand states, no more than an expander takes at once."""
        expanded = self.tables.expander.expand(level)
        generated = expanded.generated
        wrong = paths[int(expanded.wrong[0])] if len(expanded.wrong) else None
        self._count(expanded=len(paths), generated=len(generated.rows), wrong=wrong)
        if self.what.counts_only:
            return
        second = self.tables.second_after(level, generated.rows, generated.steps, expanded.least)
        new = self.met.add(expanded.least, second, expanded.outside)
        if len(new):
            rows = self.tables.expander.successor_rows(level, generated, new)
            first = np.searchsorted(generated.rows, generated.rows[new])
            places = [place_bytes(each) for each in range(int((new - first).max()) + 1)]
            sources, steps = generated.rows[new].tolist(), (new - first).tolist()
            found = [paths[source] + places[step] for source, step in zip(sources, steps, strict=True)]
            yield self.tables.batch(found, rows, (expanded.least[new], second[new]))
