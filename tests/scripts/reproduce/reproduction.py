"""A script that shows a flaw, and the story of its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class NotSeenError(Exception):
    """The loss of a script did not happen."""


class InconclusiveError(Exception):
    """A run says nothing: what it asked did not answer."""


class Group(Protocol):
    """A group of real processes behind links, recorded."""

    #: What clients did, and what they were answered, in order.
    story: Story

    def __enter__(self) -> Group: ...

    def __exit__(self, *error: Any) -> None: ...

    def recording(self) -> Path | None:
        """Stop what runs, merge what was recorded, and return the recording; None where nothing was."""
        ...


class Story:
    """The events of a run that a reader of the report must know, a sentence for each."""

    def __init__(self) -> None:
        self._counted: list[tuple[str, int]] = []

    def add(self, line: str) -> None:
        """Add a sentence; one that is there already, in the last place, is counted."""
        if self._counted and self._counted[-1][0] == line:
            self._counted[-1] = line, self._counted[-1][1] + 1
        else:
            self._counted.append((line, 1))

    @property
    def lines(self) -> tuple[str, ...]:
        """All sentences."""
        return tuple(line if count == 1 else f"{line} ({count} times)" for line, count in self._counted)


@dataclass(frozen=True)
class Reproduction:
    """A flaw, and the script that shows it.

    `flaw` is the spec's name. `group` makes a group of a version, `play` takes it through the script and returns what
    was lost, in one sentence; it raises AssertionError where that does not happen. `violates` is the property that
    the recording violates by the spec with the flaw, None for a flaw of liveness; `refused` the action that the spec
    refuses with this flaw alone repaired; both are None where no recording is made.
    """

    flaw: str
    versions: tuple[str, ...]
    group: Callable[[Path, str], Group]
    play: Callable[[Any], str]
    violates: str | None
    refused: str | None
