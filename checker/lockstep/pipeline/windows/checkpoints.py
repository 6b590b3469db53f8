"""States of a trace, every so many events, found in one pass that takes the steps and does nothing else.

Nothing that is shown or sent is compared, and no property is evaluated: the parts do that, and they find out whether
the states are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.conformance.check import TraceCheck
from lockstep.conformance.interface import Interface
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.format import Event

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


_told = msgspec.json.Decoder(_Told)

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


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A trace of which nothing is read here."""

    source: str

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        return iter(())
