"""States of a trace, every so many events, found in one pass that takes the steps and does nothing else.

Nothing that is shown or sent is compared, and no property is evaluated: the parts do that, and they find out whether
the states are right. Where the events show every variable of the spec, no step has to be taken either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.conformance.json_values import to_value
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event

__all__ = ["Checkpoint", "checkpoints"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after an event; `line` is that of the event."""

    line: int
    state: State


class _Told(msgspec.Struct, tag="event", tag_field="kind"):
    """What the pass reads of an event; what else there is, is passed over."""

    action: str
    node: str = ""
    args: dict[str, Any] = {}


class _Shown(msgspec.Struct, tag="event", tag_field="kind"):
    """What an event shows."""

    shows: dict[str, Any] = {}


_told = msgspec.json.Decoder(_Told)
_shown = msgspec.json.Decoder(_Shown)

#: What ends the pass: no spec, and no reader, can do anything with such a line.
_NO_STEP = (BadInputError, msgspec.MsgspecError, ValueError, RecursionError)


def checkpoints(
    lines: Iterable[tuple[int, bytes]], source: str, spec: Spec, interface: Interface, every: int
) -> Iterator[Checkpoint]:
    """Yield the state after every so many events of a trace, as far as it can be followed.

    Arguments: `lines` behind the header, with their numbers from 2 on; `source`, the trace's file; `spec` and
    `interface`, of the trace; `every`, the number of events.
    A line that is malformed, or no step of the spec, ends the pass: the check of the part that it is in will say so.
    """
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    told = _chained(first, rest)
    if _state_shown(first[1], spec, interface) is not None:
        yield from _by_showing(told, spec, interface, every)
    else:
        yield from _by_stepping(told, source, spec, interface, every)


def _chained(first: tuple[int, bytes], rest: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    yield first
    yield from rest


def _by_stepping(
    lines: Iterable[tuple[int, bytes]], source: str, spec: Spec, interface: Interface, every: int
) -> Iterator[Checkpoint]:
    check = TraceCheck(_Nothing(source), spec, interface)
    try:
        state: State | None = check.initial()
        for line, text in lines:
            told = _told.decode(text)
            event = Event(seq=0, node=told.node, action=told.action, args=told.args)
            if not check.reading.is_observation(event):
                assert state is not None
                state = spec.step(state, event.action, check.reading.arguments(line, event))
            if state is None:
                return
            if (line - 1) % every == 0:
                yield Checkpoint(line, state)
    except _NO_STEP:
        return


def _by_showing(
    lines: Iterable[tuple[int, bytes]], spec: Spec, interface: Interface, every: int
) -> Iterator[Checkpoint]:
    due = every
    for line, text in lines:
        if line - 1 < due:
            continue
        state = _state_shown(text, spec, interface)
        if state is not None:
            yield Checkpoint(line, state)
            due = line - 1 + every


def _state_shown(text: bytes, spec: Spec, interface: Interface) -> State | None:
    """Return the state that an event shows in full, None where it does not."""
    if interface.observe in spec.definitions:
        return None  # it shows what a definition says of a node, not the variables
    try:
        shows = _shown.decode(text).shows
        if shows.keys() != set(spec.variables):
            return None
        return spec.state({name: to_value(tree, interface.words) for name, tree in shows.items()})
    except _NO_STEP:
        return None


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A trace of which nothing is read here."""

    source: str

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        return iter(())
