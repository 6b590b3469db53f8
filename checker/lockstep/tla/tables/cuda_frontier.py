"""The frontier of a search by tables whose states are expanded on a graphics card.

It finds what :class:`lockstep.tla.tables.frontier.Frontier` finds, in the same order. What the tables lack is evaluated
by the expander, on the processor, in states that met it; then the same states are done again. So the card never
evaluates, and the processor seldom expands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables import cuda_kernels as kernels
from lockstep.tla.tables.cuda_device import Device
from lockstep.tla.tables.cuda_fingerprint_set import CudaFingerprintSet
from lockstep.tla.tables.cuda_pieces import ROW_KINDS, CudaPiece, Shape
from lockstep.tla.tables.cuda_tables import CudaTables
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.definition_columns import UNKNOWN
from lockstep.tla.tables.evaluator import LeakError
from lockstep.tla.tables.expander import Expander, Level
from lockstep.tla.tables.fingerprints import Hashes
from lockstep.tla.tables.frontier import NewStates
from lockstep.tla.tables.state_layout import Rows

#: The most states that are expanded at once, and with constraints or a VIEW, where each successor is made.
MAX_STATES, MAX_STATES_WITH_SUCCESSORS = 1 << 20, 1 << 17
#: The successors that a state may have at first; then twice as many, and so on.
_SUCCESSORS = 16
#: The most bytes for the successors of states that are expanded at once.
_MAX_SCRATCH = 8 << 30
#: The most times that the same states are done again.
_MAX_ROUNDS = 10_000


class CudaFrontier:
    """A level of states in pieces, and the pieces of the next, as they are expanded on a card."""

    def __init__(
        self,
        expander: Expander,
        seen: CudaFingerprintSet,
        device: Device,
        *,
        counts_orbits: bool,
        max_states: int | None,
    ) -> None:
        """Begin without states.

        Args:
            seen: the fingerprints of all states that were found.
            counts_orbits: whether the images of all states are counted.
            max_states: the most states that are expanded at once, if fewer than usual.
        """
        self._expander, self._seen, self._device = expander, seen, device
        self._needs_successors = expander.is_constrained or expander.view is not None
        self._tables = CudaTables(expander, device)
        most = MAX_STATES_WITH_SUCCESSORS if self._needs_successors else MAX_STATES
        states = most if max_states is None else min(most, max_states)
        self._shape = Shape(
            states, expander.evaluator.span, max(1, len(expander.groups)), expander.images, ROW_KINDS[0]
        )
        self._most = _SUCCESSORS
        self._scratch = _Scratch(device, self._needs_successors)
        self._status = device.empty(kernels.STATUS_COUNT, np.int64)
        self._misses = device.empty(kernels.MISS_PLACES, np.int64)
        self._owners = device.empty(kernels.MISS_PLACES, np.int64)
        self._forget_misses()
        self._level: list[CudaPiece] = []
        self._next: list[CudaPiece] = []
        self._spare: list[CudaPiece] = []
        self._staged: tuple[int, CudaPiece] | None = None
        self._begin = 0
        self._counts: Any = None
        self._expanded = 0
        self._new_orbits = self._generated_orbits = 0
        self._counts_orbits = counts_orbits

    # ---- The interface of a frontier ----

    @property
    def nbytes(self) -> int:
        """The bytes of states in the memory of the processor."""
        return sum(each.nbytes for each in (*self._level, *self._next) if not each.on_device)

    @property
    def device_bytes(self) -> int:
        """The bytes that everything but the fingerprints takes in the memory of the card."""
        staged = () if self._staged is None else (self._staged[1],)
        pieces = (*self._level, *self._next, *self._spare, *staged)
        of_states: int = sum(each.nbytes for each in pieces if each.on_device)
        return of_states + self._scratch.nbytes + self._tables.nbytes

    def start(self, parts: Iterable[Rows]) -> int:
        """Take the states of a level; return their number."""
        self._level = []
        for rows in parts:
            level = self._expander.begin(rows)
            self._tables.refresh()
            self._widen_if_needed()
            self._add(level)
        if not self._level:
            self._level = [self._piece()]
        return sum(each.count for each in self._level)

    def _add(self, level: Level) -> None:
        """Add states to the level."""
        begin, count = 0, len(level.full)
        while begin < count:
            if not self._level or not self._level[-1].free:
                self._level.append(self._piece())
            piece = self._level[-1]
            end = min(count, begin + piece.free)
            rows = np.where(level.full[begin:end] == UNKNOWN, self._shape.unknown, level.full[begin:end])
            piece.put(piece.count, [rows, level.results[begin:end], level.hashes[begin:end], level.patterns[begin:end]])
            piece.count += end - begin
            begin = end

    def parts(self) -> Iterator[Rows]:
        """Yield the states of the level, part by part."""
        for piece in self._level:
            yield self._expander.layout.narrow(piece.fetch()[0][:, : self._expander.layout.width].astype(np.int32))

    def sample(self, size: int) -> list[list[int]]:
        """Return some of the states of the level."""
        rows = next(self.parts())
        found: list[list[int]] = rows[:: max(1, len(rows) // size)][:size].tolist()
        return found

    def chunks(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the places of states that are expanded together, where the level has a number of them."""
        first = 0
        for piece in self._level:
            begin = 0
            while begin < piece.count:
                end = min(piece.count, begin + self._size())
                yield first + begin, first + end
                begin = end
            first += piece.count
        assert first == count

    def _size(self) -> int:
        """The number of states to expand at once, as their successors take memory."""
        return max(1, min(self._shape.states, _MAX_SCRATCH // self._scratch.state_bytes(self._shape, self._most)))

    def expand(self, begin: int, end: int) -> NewStates:
        """Expand the states at some places of the level, and accept their new successors for the next.

        Where something is wrong about a state, or a new successor of it, only those before the first such state are
        expanded.

        Raises:
            DeviceFullError: if the memory of the card does not suffice.
        """
        count = end - begin
        piece, place = self._piece_at(begin)
        self._begin, self._expanded = begin, 0
        self._new_orbits = self._generated_orbits = 0
        found, wrong = self._attempt(piece, place, count), None
        while isinstance(found, int):
            wrong, count = found, found
            found = self._attempt(piece, place, count)
        sources, hashes, generated = found
        self._spill()
        first_wrong = [] if wrong is None else [begin + wrong]
        return NewStates(begin + sources.astype(np.int64), hashes, np.array(first_wrong, np.int64), generated)

    def keep(self, kept: int) -> None:
        """Add the first of the new states to the set of those seen: all were added, and if not all count it ends."""

    def generated_before(self, place: int) -> int:
        """Count the successors of the expanded states before a place."""
        count = min(place - self._begin, self._expanded)
        return int(self._counts[:count].copy_to_host().sum()) if count > 0 else 0

    def orbits(self, kept: int) -> tuple[int, int]:
        """Count the images of the new states, and of all that were generated."""
        return self._new_orbits, self._generated_orbits

    def advance(self) -> None:
        """Make the accepted states the level to expand."""
        self._spare += [each for each in self._level if each.on_device]
        self._spare = self._spare[:2]
        self._level, self._next, self._staged = self._next or [self._piece()], [], None

    # ---- Pieces ----

    def _piece(self) -> CudaPiece:
        """Return an empty piece in the memory of the card."""
        while self._spare:
            piece = self._spare.pop()
            if piece.shape == self._shape:
                piece.count = 0
                return piece
        return CudaPiece(self._shape, self._device)

    def _piece_at(self, begin: int) -> tuple[CudaPiece, int]:
        """Return the piece with the state at a place, in the memory of the card, and the place in the piece."""
        for number, piece in enumerate(self._level):
            if begin < piece.count:
                if piece.on_device:
                    return piece, begin
                if self._staged is None or self._staged[0] != number:
                    into = self._piece() if self._staged is None else self._staged[1]
                    self._staged = number, piece.enter_device(into)
                return self._staged[1], begin
            begin -= piece.count
        raise IndexError(begin)

    def _spill(self) -> None:
        """Move states of the next level into the memory of the processor as long as too much of the card's is taken.

        The table of fingerprints will need as much again as it has, and half of that, when it grows.
        """
        budget = self._device.budget - 3 * self._seen.device_bytes
        for piece in self._next[:-1]:
            if self.device_bytes + 2 * self._piece_bytes() <= budget:
                return
            if piece.on_device:
                piece.leave_device()

    def _piece_bytes(self) -> int:
        return self._shape.states * self._shape.state_bytes

    def _widen_if_needed(self) -> None:
        """Make rows of wider numbers where a column has more values than they can stand for."""
        while self._tables.longest >= self._shape.unknown:
            kind = ROW_KINDS[ROW_KINDS.index(self._shape.row_kind) + 1]
            self._shape = replace(self._shape, row_kind=kind)
        for piece in (*self._level, *self._next, *([] if self._staged is None else [self._staged[1]])):
            if piece.shape != self._shape:
                piece.widened(self._shape)

    # ---- Expanding ----

    def _attempt(self, piece: CudaPiece, place: int, count: int) -> tuple[Ints, Hashes, int] | int:
        """Expand states; return the new successors, their fingerprints, the number of all; or the first wrong state."""
        if not count:
            return np.zeros(0, np.int32), np.zeros(0, np.uint64), 0
        status = self._generate_all(piece, place, count)
        if (wrong := int(status[kernels.WRONG])) < count:
            return wrong
        generated = int(status[kernels.GENERATED])
        self._seen.reserve(generated, self.device_bytes + self._piece_bytes())
        new = self._insert(count)
        mark = len(self._next), self._next[-1].count if self._next else 0
        wrong = self._accept(piece, place, count, new)
        if wrong < count:
            self._seen.remove_last(self._scratch.new_places, new)
            self._roll_back(*mark)
            return wrong
        self._seen.count_added(new)
        scratch, self._expanded, self._counts = self._scratch, count, self._scratch.counts
        return scratch.sources[:new].copy_to_host(), scratch.new_found[:new].copy_to_host(), generated

    def _roll_back(self, pieces: int, count: int) -> None:
        self._spare += self._next[pieces:]
        del self._next[pieces:]
        if self._next:
            self._next[-1].count = count

    def _generate_all(self, piece: CudaPiece, place: int, count: int) -> npt.NDArray[np.int64]:
        """Generate the successors of states, and their fingerprints, until nothing is missing; return the status."""
        for _ in range(_MAX_ROUNDS):
            self._scratch.reserve(self._shape, count, self._most)
            self._reset()
            self._generate(piece, place, count)
            status = self._read_status()
            if status[kernels.LONGEST] > self._most:
                while status[kernels.LONGEST] > self._most:
                    self._most *= 2
            elif not status[kernels.MISSED]:
                return status
            if status[kernels.MISSED]:
                self._evaluate(piece, place, count)
        raise LeakError(f"after {_MAX_ROUNDS:,} evaluations something is missing in tables all the same")

    def _generate(self, piece: CudaPiece, place: int, count: int) -> None:
        tables, shape, most, scratch = self._tables, self._shape, self._most, self._scratch
        rows, results, hashes, patterns = piece.part(place, place + count)
        wide, unknown, missing = shape.wide, shape.unknown, (self._misses, self._owners, self._status)
        ints, at, launch, lanes = tables.ints, tables.at, self._device.launch, self._device.lanes
        launch(
            kernels.look_up, count * lanes, count, lanes, ints, at, rows, wide, results, shape.trees, patterns, unknown,
            *missing,
        )  # fmt: skip
        launch(
            kernels.generate, count, count, most, tables.groups, ints, at, rows, wide, results, shape.trees, unknown,
            scratch.steps, scratch.counts, *missing,
        )  # fmt: skip
        every = count * most
        if self._expander.check_deadlock:
            launch(kernels.find_deadlocks, count, count, scratch.counts, self._status)
        of_steps = scratch.steps, scratch.counts
        if len(self._expander.step_properties):
            launch(kernels.judge_steps, every, count, most, ints, at, rows, wide, wide, *of_steps, *missing)
        if self._needs_successors:
            self._make_successors(rows, count)
        if self._expander.view is None:
            sums = tables.sums, tables.added, shape.images
            launch(
                kernels.fingerprint, every, count, most, ints, at, *sums, rows, wide, hashes, *of_steps, scratch.found
            )  # fmt: skip
        else:
            launch(
                kernels.fingerprint_view, every, count, most, self._expander.view.root, tables.views, ints, at,
                scratch.after, wide, unknown, scratch.counts, scratch.places, scratch.found, *missing,
            )  # fmt: skip

    def _make_successors(self, rows: Any, count: int) -> None:
        """Make the rows of all successors, and find out which of them the constraints exclude."""
        tables, most, scratch, expander = self._tables, self._most, self._scratch, self._expander
        wide, unknown, every = self._shape.wide, self._shape.unknown, count * most
        ints, at, of_steps = tables.ints, tables.at, (scratch.steps, scratch.counts)
        self._device.launch(
            kernels.make_successors, every, count, most, ints, at, rows, wide, unknown, *of_steps, scratch.after
        )  # fmt: skip
        self._device.launch(
            kernels.constrain, every, count, most, len(expander.constraints), len(expander.invariants), ints, at, rows,
            wide, wide, unknown, *of_steps, scratch.after, scratch.places, self._misses, self._owners, self._status,
        )  # fmt: skip

    def _insert(self, count: int) -> int:
        """Put the fingerprints of successors into the set, and list those that are new; return how many these are."""
        most, scratch, seen, launch = self._most, self._scratch, self._seen, self._device.launch
        every, counts, places = count * most, scratch.counts, scratch.places
        launch(
            kernels.insert, every, count, most, self._needs_successors, counts, scratch.found, places, seen.keys,
            seen.firsts,
        )  # fmt: skip
        launch(kernels.count_new, count, count, most, counts, places, seen.firsts, scratch.new)
        self._start(scratch.new, count, scratch.starts, 0)
        new = int(self._read_status()[kernels.NEW])
        scratch.reserve_new(new)
        launch(
            kernels.list_new, count, count, most, counts, places, scratch.found, scratch.steps, seen.firsts,
            scratch.starts, scratch.sources, scratch.new_steps, scratch.new_found, scratch.new_places,
        )  # fmt: skip
        return new

    def _start(self, numbers: Any, count: int, starts: Any, depth: int) -> None:
        """Compute where the things of each number begin; the sum of all is in the status."""
        if count <= kernels.SCAN_WIDTH:
            self._device.launch(kernels.start_all, 1, count, numbers, starts, self._status)
            return
        parts = -(-count // kernels.SCAN_WIDTH)
        sums, firsts = self._scratch.parts(depth, parts)
        self._device.launch(kernels.sum_parts, parts, count, numbers, sums)
        self._start(sums, parts, firsts, depth + 1)
        self._device.launch(kernels.start_parts, parts, count, numbers, firsts, starts)

    def _accept(self, piece: CudaPiece, place: int, count: int, new: int) -> int:
        """Add new states to the next level; return the first state with a wrong one, or else `count`."""
        rows, results, hashes, _ = piece.part(place, place + count)
        shape, tables, scratch, launch = self._shape, self._tables, self._scratch, self._device.launch
        first = 0
        if self._counts_orbits:
            self._count_orbits(hashes, count, 0, kernels.ORBITS_GENERATED)
        while first < new:
            if not self._next or not self._next[-1].free:
                self._next.append(self._piece())
            into = self._next[-1]
            more, to = min(new - first, into.free), into.count
            launch(
                kernels.copy_rows, more * shape.wide, more, shape.wide, scratch.sources, first, rows, into.arrays[0], to
            )
            launch(
                kernels.copy_rows, more * shape.trees, more, shape.trees, scratch.sources, first, results,
                into.arrays[1], to,
            )  # fmt: skip
            launch(
                kernels.write_new, more, more, first, to, self._expander.view is not None, tables.ints, tables.at,
                tables.sums, tables.added, shape.images, shape.wide, shape.unknown, scratch.sources, scratch.new_steps,
                scratch.new_found, hashes, into.arrays[0], into.arrays[2], into.arrays[3],
            )  # fmt: skip
            into.count += more
            if (wrong := self._check(into, first, to, more)) < count:
                return wrong
            if self._counts_orbits:
                self._count_orbits(into.arrays[2], more, to, kernels.ORBITS_NEW)
            shape, tables = self._shape, self._tables  # an evaluation may have made rows wider
            rows = piece.part(place, place + count)[0]
            first += more
        return count

    def _check(self, into: CudaPiece, first: int, to: int, count: int) -> int:
        """Check the invariants of new states; return the first state with a wrong one, or a large number."""
        lanes, tables = self._device.lanes, self._tables
        if not len(self._expander.invariants):
            return np.iinfo(np.int64).max
        for _ in range(_MAX_ROUNDS):
            self._reset()
            self._device.launch(
                kernels.check, count * lanes, count, lanes, first, to, tables.ints, tables.at, self._scratch.sources,
                into.arrays[0], self._shape.wide, into.arrays[3], self._shape.unknown, self._misses, self._owners,
                self._status,
            )  # fmt: skip
            status = self._read_status()
            if not status[kernels.MISSED]:
                return int(status[kernels.WRONG])
            rows, _, _, patterns = self._fetch(into, 0, self._missing_states())
            self._expander.invariants.verdicts_after(rows, patterns, self._expander.evaluator.steps.masks)
            self._refresh()
        raise LeakError(f"after {_MAX_ROUNDS:,} evaluations something is missing in invariants all the same")

    def _count_orbits(self, hashes: Any, count: int, first: int, place: int) -> None:
        """Count the images of states, those from `first` on: of new ones, or of the expanded for each successor."""
        self._reset()
        weighted, counts = place == kernels.ORBITS_GENERATED, self._scratch.counts
        images = self._shape.images
        self._device.launch(
            kernels.count_orbits, count, count, first, images, hashes, weighted, counts, place, self._status
        )  # fmt: skip
        found = int(self._read_status()[place])
        if weighted:
            self._generated_orbits = found
        else:
            self._new_orbits += found

    # ---- What is missing in the tables ----

    def _evaluate(self, piece: CudaPiece, place: int, count: int) -> None:
        """Expand some of the states in which something is missing on the processor, which evaluates it."""
        states = self._missing_states()
        size, width = self._expander.size, self._expander.layout.width
        for begin in range(0, len(states), size):
            rows, results, hashes, patterns = self._fetch(piece, place, states[begin : begin + size])
            self._expander.expand(Level(rows, width, hashes, results, patterns))
        self._refresh()

    def _missing_states(self) -> Ints:
        """Return the states that met what is missing, and forget that."""
        keys, owners = self._misses.copy_to_host(), self._owners.copy_to_host()
        self._forget_misses()
        states = np.unique(owners[keys != 0])
        if not len(states):
            raise LeakError("something is missing in tables, and no state has met it")
        return states

    def _fetch(self, piece: CudaPiece, place: int, states: Ints) -> tuple[Rows, Ints, Hashes, Ints]:
        """Return the rows, results, fingerprints and patterns of some states, as the expander has them."""
        count, sources = len(states), self._device.put(states.astype(np.int32))
        found: list[Any] = []
        for array in piece.part(place, piece.count):
            wide = int(array.size) // (piece.count - place)
            into = self._device.empty(count * wide, array.dtype)
            self._device.launch(kernels.copy_rows, count * wide, count, wide, sources, 0, array, into, 0)
            found.append(into.copy_to_host().reshape(count, wide))
        rows = found[0].astype(np.int32)
        rows[found[0] == self._shape.unknown] = UNKNOWN
        results = found[1][:, : len(self._expander.groups)]
        return self._expander.layout.narrow(rows), results, found[2], found[3].reshape(-1).astype(np.int64)

    def _refresh(self) -> None:
        self._tables.refresh()
        self._widen_if_needed()

    def _forget_misses(self) -> None:
        count = kernels.MISS_PLACES
        self._device.launch(kernels.fill, count, count, np.int64(0), self._misses)
        self._device.launch(kernels.fill, count, count, np.int64(np.iinfo(np.int64).max), self._owners)

    def _reset(self) -> None:
        status = np.zeros(kernels.STATUS_COUNT, np.int64)
        status[kernels.WRONG] = np.iinfo(np.int64).max
        self._status.copy_to_device(status)

    def _read_status(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = self._status.copy_to_host()
        return found


class _Scratch:
    """The arrays of the states that are expanded together: their steps, and the new states of these."""

    def __init__(self, device: Device, needs_successors: bool) -> None:
        self._device, self._needs_successors = device, needs_successors
        self._room: tuple[int, int, Shape | None] = (0, 0, None)
        self._new_room = 0
        self._parts: dict[int, tuple[int, Any, Any]] = {}
        self.steps: Any = None
        self.places: Any = None
        self.found: Any = None
        self.after: Any = None
        self.counts: Any = None
        self.new: Any = None
        self.starts: Any = None
        self.sources: Any = None
        self.new_steps: Any = None
        self.new_found: Any = None
        self.new_places: Any = None
        self.reserve_new(1)

    def state_bytes(self, shape: Shape, most: int) -> int:
        """The bytes of a state that has a number of successors at most."""
        row = shape.wide * np.dtype(shape.row_kind).itemsize if self._needs_successors else 0
        return most * (20 + row)

    @property
    def nbytes(self) -> int:
        """The size of all arrays."""
        states, most, shape = self._room
        of_states = 0 if shape is None else states * (self.state_bytes(shape, most) + 16)
        return of_states + 24 * self._new_room

    def reserve(self, shape: Shape, states: int, most: int) -> None:
        """Make arrays for some states, each with a number of successors at most."""
        known, known_most, known_shape = self._room
        if known >= states and known_most == most and known_shape == shape:
            return
        states = min(shape.states, 1 << (states - 1).bit_length())
        self._room, empty = (states, most, shape), self._device.empty
        self.steps = self.places = self.found = self.after = None  # so that their memory is free
        self.steps, self.places = empty(states * most, np.int32), empty(states * most, np.int64)
        self.found = empty(states * most, np.uint64)
        if self._needs_successors:
            self.after = empty(states * most * shape.wide, shape.row_kind)
        self.counts, self.new, self.starts = empty(states, np.int32), empty(states, np.int32), empty(states, np.int64)

    def reserve_new(self, count: int) -> None:
        """Make arrays for new states."""
        if count <= self._new_room:
            return
        self._new_room, empty = max(count, 2 * self._new_room), self._device.empty
        self.sources, self.new_steps = empty(self._new_room, np.int32), empty(self._new_room, np.int32)
        self.new_found, self.new_places = empty(self._new_room, np.uint64), empty(self._new_room, np.int64)

    def parts(self, depth: int, count: int) -> tuple[Any, Any]:
        """Return arrays for sums, and for where these begin."""
        known = self._parts.get(depth)
        if known is None or known[0] < count:
            known = self._parts[depth] = count, self._device.empty(count, np.int64), self._device.empty(count, np.int64)
        return known[1], known[2]
