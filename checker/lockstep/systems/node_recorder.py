"""The form of a system's recorders: what they write of each node, and how that becomes one recording of the group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.systems.growing_import import GrowingImport
from lockstep.systems.merged_order import Delivery, NodeLines, TimedLine
from lockstep.systems.node_files import FileRecord
from lockstep.systems.system import Compile

#: The fields of a line of a recording.
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Facts that the files of the nodes may lack: the version of the system, and the difference of their clocks.

    Clocks may differ by `skew` nanoseconds; if that is not 0, the nodes ran on several hosts.
    """

    version: str | None = None
    skew: int = 0


class GroupRecording(Delivery, Protocol):
    """The recording of one group, made while the lines of its nodes come in their order."""

    @property
    def header(self) -> Fields:
        """The fields of the first line."""

    def node_lines(self, beginning: Sequence[FileRecord]) -> NodeLines:
        """Return what makes lines of the file that begins like this."""

    def lines(self, line: TimedLine) -> Iterable[Fields]:
        """Return the lines of the recording for the next one: itself, and before it a death that nobody wrote of."""

    def end(self, counts: Counter[str]) -> Fields:
        """Return the fields of the last line; `counts` are the lines before it by kind."""


@dataclass(frozen=True, slots=True)
class NodeRecorder:
    """Recorders of a system's nodes, and those of its reference.

    `recognises` takes the fields of the first record of a file; `group` makes the recording of a group, given the
    records of each file up to its first start. It raises TraceError where these do not fit together, and calls its last
    argument with what is to be known of the recording. `growing` imports that recording while it is written; its first
    argument names it in messages.
    """

    recognises: Callable[[Mapping[str, Any]], bool]
    group: Callable[[Sequence[Sequence[FileRecord]], MergeOptions, Callable[[str], None]], GroupRecording]
    growing: Callable[[str, Compile], GrowingImport]
