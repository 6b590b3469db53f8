"""Traces that are cut into parts, and their parts put together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.pipeline.part_check import PartVerdict, check_part
from lockstep.pipeline.part_verdicts import combined
from lockstep.pipeline.trace_cutting import states_along
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import TracePart

SOURCE = "t"

#: By the line of an event the state after it.
States = dict[int, State]


class Cut:
    """A trace whose parts can be checked alone; `states` are those that a pass over it finds after each event."""

    def __init__(self, lines: Sequence[bytes], spec: Spec | None = None, interface: Interface | None = None) -> None:
        self.lines = list(lines)
        self.trace = opened(self.lines, SOURCE)
        self.spec = spec or trace_spec(self.trace.header, SOURCE)
        self.interface = interface or system_of(self.trace.header, SOURCE).interface(self.spec)
        events = list(enumerate(self.lines, 1))[1:]
        self.states: States = dict(states_along(events, SOURCE, self.spec, self.interface, every=1))

    @functools.cached_property
    def whole(self) -> dict[str, Any]:
        """The verdict of one check of the whole trace."""
        return without_time(check_trace(opened(self.lines, SOURCE), self.spec, self.interface))

    @property
    def places(self) -> list[int]:
        """The lines behind which the trace can be cut: there is a state, and a line besides."""
        return [line for line in self.states if line < len(self.lines)]

    def parts(self, cuts: Iterable[int], states: States | None = None) -> list[PartVerdict]:
        """Check the parts of the trace that is cut behind these lines."""
        known = self.states if states is None else states
        ends = [1, *cuts, len(self.lines)]
        return [self.part(begin, end, known.get(begin)) for begin, end in pairwise(ends)]

    def part(self, begin: int, end: int, state: State | None) -> PartVerdict:
        """Check the part that has the lines behind `begin` up to `end`."""
        part = TracePart(
            self.trace.header,
            [(number, self.lines[number - 1]) for number in range(begin + 1, end + 1)],
            SOURCE,
            before=begin,
            is_last=end == len(self.lines),
            least_integer=self.trace.least_integer,
        )
        return check_part(part, self.spec, self.interface, state)

    def together(self, cuts: Iterable[int], states: States | None = None) -> dict[str, Any]:
        """The verdict that the parts make together."""
        return without_time(combined(SOURCE, self.parts(cuts, states)))


def without_time(verdict: TraceVerdict) -> dict[str, Any]:
    """All of a verdict but the time that it took."""
    return {**asdict(verdict), "seconds": 0.0}


def of_events(header: Header, events: Iterable[Event], spec: Spec | None = None) -> Cut:
    return Cut(list(trace_lines(header, events)), spec)


def of_file(path: Path) -> Cut:
    return Cut(path.read_bytes().splitlines(keepends=True))


def changed(cut: Cut, line: int, change: Callable[[bytes], bytes]) -> Cut:
    """The trace with one line changed."""
    lines = list(cut.lines)
    lines[line - 1] = change(lines[line - 1])
    assert lines != cut.lines
    return Cut(lines, cut.spec, cut.interface)
