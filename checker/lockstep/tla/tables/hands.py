"""Who expands the states of a level: this process alone, or several, each with tables of its own.

A level has an order, that in which TLC finds its states, and is expanded in pieces of so many places. Of each piece the
search is told the successors that may be new, in their order, decides which are, and says so; they make the next level,
where they were found. So no count and no counterexample depends on how many processes there are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeAlias

import numpy as np

from lockstep.base.errors import GaveUpError
from lockstep.tla.tables.answers.trees import Ints
from lockstep.tla.tables.expand import Expanded, Expander, Level
from lockstep.tla.tables.states.content import Hashes, first_ones
from lockstep.tla.tables.states.layout import Layout, Rows
from lockstep.tla.tables.states.room import Array, Room, resident
from lockstep.tla.tables.states.seen import Seen
from lockstep.tla.values.kinds import Value

__all__ = ["Alone", "Crew", "Found", "Hands", "Part"]

#: Some states of a level: their places, and their rows.
Part: TypeAlias = tuple[Ints, Rows]
_SUMS = ("count", "evaluations", "looked_up", "too_deep", "memory", "mapped")
_DIED = "a process of the search has died"
#: So many states more than another process has make a process give some away.
_UNEVEN = 256


@dataclass(frozen=True, slots=True)
class Found:
    """What expanding a piece of a level came to.

    Attributes:
        parents: of each successor that may be new the place of its state, in order.
        places: its place among the successors of that.
        hashes: its fingerprint.
        wrong: the places of states of which something is wrong.
        count: how many successors were generated.
        evaluations: how many evaluations there were, since the beginning.
        looked_up: how many answers were asked for, since the beginning.
        too_deep: how many evaluations went deeper than Python goes, since the beginning.
        memory: the bytes of tables and states in memory, about.
        mapped: those of files.
    """

    parents: Ints
    places: Ints
    hashes: Hashes
    wrong: Ints
    count: int
    evaluations: int
    looked_up: int
    too_deep: int
    memory: int
    mapped: int


class Hands(Protocol):
    """Expands states."""

    def start(self, parts: Iterable[Part]) -> int:
        """Take the states of a level, in one part at least; answer how many they are."""

    def parts(self) -> Iterator[Part]:
        """List the states of the level, which is not begun yet, part by part."""

    def expand(self, begin: int, end: int) -> Found:
        """Expand the states at some places."""

    def take(self, new: Ints, first: int) -> Ints:
        """Take in those that are new, by their number in what was found; the first is at a place of the next level.

        Returns:
            The places of states with a new successor that violates something.
        """

    def counted(self, place: int) -> int:
        """Answer how many successors the states before a place have, in the piece that was expanded."""

    def turn(self) -> None:
        """Let the states that were taken in be the ones to expand."""

    def stop(self) -> None:
        """Expand no more."""


class Alone:
    """This process.

    Attributes:
        level: the states to expand.
        part: those that were expanded last.
        expanded: what expanding them came to.
        taken: the new states, of each piece.
    """

    def __init__(self, expander: Expander, seen: Seen, room: Room) -> None:
        """Take the tables, the set of fingerprints that need not be told again, and the room for states."""
        self._expander, self._seen, self._room = expander, seen, room
        self.level: Level
        self.expanded: Expanded
        self.taken: list[Level] = []
        self.part: Level
        self._told: Ints = np.zeros(0, np.int64)

    def start(self, parts: Iterable[Part]) -> int:
        """Take the states of a level, or some of them; answer how many they are."""
        self.level = Level.joined([self._expander.begin(rows, where) for where, rows in parts])
        return len(self.level.where)

    def parts(self) -> Iterator[Part]:
        """List the states of the level, part by part."""
        for begin in range(0, len(self.level.where), self._expander.size):
            part = self.level.part(begin, begin + self._expander.size)
            yield part.where, part.rows

    def expand(self, begin: int, end: int) -> Found:
        """Expand the states at some places."""
        first, last = np.searchsorted(self.level.where, (begin, end))
        part = self.part = self.level.part(int(first), int(last))
        expanded = self.expanded = self._expander.expand(part)
        candidates = np.flatnonzero(~expanded.outside & ~self._seen.has(expanded.least))
        told = self._told = candidates[first_ones(expanded.least[:, candidates])]
        generated, trees = expanded.generated, self._expander.trees
        memory = trees.nbytes + sum(resident(_arrays(each)) for each in (self.level, *self.taken))
        return Found(
            part.where[generated.rows[told]],
            generated.places[told],
            expanded.least[:, told],
            part.where[expanded.wrong],
            len(generated.rows),
            trees.evaluations,
            trees.looked_up,
            self._expander.too_deep,
            memory,
            self._room.mapped,
        )

    def take(self, new: Ints, first: int) -> Ints:
        """Take in those that are new; see Hands."""
        return self.take_at(new, np.arange(first, first + len(new)))

    def take_at(self, new: Ints, where: Ints) -> Ints:
        """Take in those that are new, at these places of the next level."""
        found, wrong = self._expander.take(self.part, self.expanded, self._told[new], where)
        self.taken.append(_of_arrays(list(map(self._room.kept, _arrays(found))), found.width))
        return self.part.where[wrong]

    def counted(self, place: int) -> int:
        """Answer how many successors the states before a place have."""
        return int(np.searchsorted(self.part.where[self.expanded.generated.rows], place))

    def turn(self) -> None:
        """Let the states that were taken in be the ones to expand."""
        parts, self.taken = [each for each in self.taken if len(each.where)] or [self.level.part(0, 0)], []
        if all(resident([each.full]) or not each.full.size for each in parts):
            self.level = Level.joined(parts)
        else:
            self.level = _put_together(parts, self._room)

    def stop(self) -> None:
        """Expand no more."""


def _arrays(level: Level) -> tuple[Array, ...]:
    return level.where, level.full, level.hashes, level.answers, level.patterns


def _of_arrays(arrays: Sequence[Array], width: int) -> Level:
    where, full, hashes, answers, patterns = arrays
    return Level(where, full, width, hashes, answers, patterns)


def _put_together(parts: list[Level], room: Room) -> Level:
    """Put parts of a level together that are in order, and do not fit into memory."""
    where, rows, hashes, answers, patterns = zip(*map(_arrays, parts), strict=True)
    lines = [_one_after_the_other(each, room) for each in (where, rows, hashes, answers, patterns)]
    return _of_arrays(lines, parts[0].width)


def _one_after_the_other(arrays: Sequence[Array], room: Room) -> Array:
    count = sum(map(len, arrays))
    made = room.zeros((count, *arrays[0].shape[1:]), np.result_type(*arrays))
    end = 0
    for each in arrays:
        made[end : end + len(each)] = each
        end += len(each)
    return made


# ---- Several processes ----


@dataclass(frozen=True, slots=True)
class _Packed:
    """States on their way to a process whose numbers of values are others."""

    where: Ints
    values: list[list[Value]]
    rows: Rows


def _packed(layout: Layout, rows: Rows, where: Ints) -> _Packed:
    values, columns = [], np.empty(rows.shape, np.int32)
    for slot in range(rows.shape[1]):
        numbers, columns[:, slot] = np.unique(rows[:, slot], return_inverse=True)
        values.append([layout.values[slot][number] for number in numbers.tolist()])
    return _Packed(where, values, columns)


def _unpacked(layout: Layout, packed: _Packed) -> Rows:
    rows = np.empty(packed.rows.shape, np.int32)
    for slot, values in enumerate(packed.values):
        numbers = np.array([layout.number(slot, value) for value in values], np.int32)
        rows[:, slot] = numbers[packed.rows[:, slot]]
    return layout.narrow(rows)


class _Worker:
    """What a process does of what it is told."""

    def __init__(self, expander: Expander, room: Room) -> None:
        self._expander, self._seen, self._room = expander, Seen(expander.words, room=room), room
        self._alone = Alone(expander, self._seen, room)
        self._sent: Hashes = np.zeros((expander.words, 0), np.uint64)

    def start(self, packed: _Packed) -> None:
        self._alone.start([self._part(packed)])

    def _part(self, packed: _Packed) -> Part:
        return packed.where, _unpacked(self._expander.layout, packed)

    def show(self, begin: int) -> _Packed:
        part = self._alone.level.part(begin, begin + self._expander.size)
        return _packed(self._expander.layout, part.rows, part.where)

    def expand(self, begin: int, end: int) -> Found:
        found = self._alone.expand(begin, end)
        self._sent = found.hashes
        memory = self._room.used = found.memory + self._seen.nbytes
        return replace(found, memory=memory)

    def take(self, new: Ints, where: Ints) -> Ints:
        self._seen.add(self._sent)  # by now all of them are known
        return self._alone.take_at(new, where)

    def counted(self, place: int) -> int:
        return self._alone.counted(place)

    def turn(self) -> int:
        self._alone.turn()
        return len(self._alone.level.rows)

    def give(self, count: int) -> _Packed:
        level = self._alone.level
        left = len(level.rows) - count
        self._alone.level = level.part(0, left)
        given = level.part(left, len(level.rows))
        return _packed(self._expander.layout, given.rows, given.where)

    def receive(self, packed: _Packed) -> None:
        mine = self._alone.level
        self._alone.start([self._part(packed)])
        self._alone.level = Level.joined([mine, self._alone.level])


def _work(connection: Connection, others: Sequence[Connection], make: Callable[[], Expander], room: Room) -> None:
    import signal

    for each in others:  # or the end of who started this one would not be heard of
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this one ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as may whoever ends all of a group of processes
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            worker = _Worker(make(), room)
            connection.send((True, None, []))
            while True:
                name, args = connection.recv()
                answer = getattr(worker, name)(*args)
                connection.send((True, answer, [each.message for each in warned]))
                warned.clear()
    except (EOFError, ConnectionError):
        pass  # who started this one is gone, or wants no more answers
    except Exception as error:  # it is for the search to say
        with contextlib.suppress(ConnectionError):
            connection.send((False, error, []))


class Crew:
    """Several processes, each with tables of its own and with some of the states of each level."""

    def __init__(self, make: Callable[[], Expander], layout: Layout, count: int, room: Room) -> None:
        """Start so many processes, each of which makes its tables and has room of its own, as much as is told."""
        context = multiprocessing.get_context("fork")
        self._layout = layout
        self._ends: list[Connection] = []
        self._processes = []
        self._warned: set[str] = set()
        self._owner: Ints = np.zeros(0, np.int64)
        self._at: Ints = np.zeros(0, np.int64)
        for _ in range(count):
            mine, theirs = context.Pipe()
            self._ends.append(mine)
            process = context.Process(target=_work, args=(theirs, tuple(self._ends), make, room), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
        self._answers()

    def _tell(self, which: int, name: str, *args: object) -> None:
        try:
            self._ends[which].send((name, args))
        except ConnectionError as error:
            raise GaveUpError(_DIED) from error

    def _answers(self, which: Sequence[int] | None = None) -> list[Any]:
        return [self._answer(each) for each in (range(len(self._ends)) if which is None else which)]

    def _answer(self, which: int) -> Any:
        try:
            done, answer, warned = self._ends[which].recv()
        except (EOFError, ConnectionError) as error:
            raise GaveUpError(_DIED) from error
        for warning in warned:
            if str(warning) not in self._warned:
                self._warned.add(str(warning))
                warnings.warn(warning, stacklevel=2)
        if not done:
            raise answer
        return answer

    def start(self, parts: Iterable[Part]) -> int:
        """Take the states of a level, about as many of each part in each process; answer how many they are."""
        name, count = "start", 0
        for where, rows in parts:
            for which, mine in enumerate(np.array_split(np.arange(len(rows)), len(self._ends))):
                self._tell(which, name, _packed(self._layout, rows[mine], where[mine]))
            self._answers()
            name, count = "receive", count + len(where)
        return count

    def parts(self) -> Iterator[Part]:
        """List the states of the level, part by part, each of one process."""
        for which in range(len(self._ends)):
            begin = 0
            while len((packed := self._shown(which, begin)).where):
                yield packed.where, _unpacked(self._layout, packed)
                begin += len(packed.where)

    def _shown(self, which: int, begin: int) -> _Packed:
        self._tell(which, "show", begin)
        packed: _Packed = self._answer(which)
        return packed

    def expand(self, begin: int, end: int) -> Found:
        """Expand the states at some places."""
        for which in range(len(self._ends)):
            self._tell(which, "expand", begin, end)
        each: list[Found] = self._answers()
        parents, places = (np.concatenate([getattr(found, name) for found in each]) for name in ("parents", "places"))
        order = np.lexsort((places, parents))
        self._owner = np.repeat(np.arange(len(each)), [len(found.parents) for found in each])[order]
        self._at = np.concatenate([np.arange(len(found.parents)) for found in each])[order]
        return Found(
            parents[order],
            places[order],
            np.concatenate([found.hashes for found in each], axis=1)[:, order],
            np.sort(np.concatenate([found.wrong for found in each])),
            *(sum(getattr(found, name) for found in each) for name in _SUMS),
        )

    def take(self, new: Ints, first: int) -> Ints:
        """Take in those that are new; see Hands."""
        owner, where = self._owner[new], np.arange(first, first + len(new))
        for which in range(len(self._ends)):
            mine = np.flatnonzero(owner == which)
            self._tell(which, "take", self._at[new[mine]], where[mine])
        return np.concatenate(self._answers())

    def counted(self, place: int) -> int:
        """Answer how many successors the states before a place have."""
        for which in range(len(self._ends)):
            self._tell(which, "counted", place)
        return sum(self._answers())

    def turn(self) -> None:
        """Let the states that were taken in be the ones to expand, about as many in each process."""
        for which in range(len(self._ends)):
            self._tell(which, "turn")
        counts = np.array(self._answers())
        while counts.max() - counts.min() > max(_UNEVEN, counts.sum() // (8 * len(counts))):
            rich, poor = int(counts.argmax()), int(counts.argmin())
            moved = int(counts[rich] - counts[poor]) // 2
            self._tell(rich, "give", moved)
            self._tell(poor, "receive", self._answer(rich))
            self._answer(poor)
            counts[rich] -= moved
            counts[poor] += moved

    def stop(self) -> None:
        """End the processes."""
        for end in self._ends:
            end.close()
        for process in self._processes:
            process.join(timeout=2)
            if process.is_alive():
                process.kill()
                process.join()
