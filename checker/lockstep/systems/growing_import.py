"""The form of an import of a recording that is still written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lockstep.trace.trace_format import Event, Header


class ContradictedError(Exception):
    """A line places a step before one that had its place: what came of the lines above may be wrong."""


class GrowingImport(Protocol):
    """Makes a trace of a recording line by line.

    An event is final once the lines of a while after its own are known. A line that contradicts it all the same raises
    ContradictedError, or leaves an event that the spec refuses; an import of all lines then decides.
    """

    @property
    def header(self) -> Header | None:
        """The header of the trace, None until the lines show it."""

    def add(self, text: bytes) -> None:
        """Read the next line; raises TraceError where it is none, or contradicts the lines above."""

    def events(self, until_ms: float) -> Sequence[Event]:
        """Return the events, after those that were returned, of the lines up to a moment of the recording."""
