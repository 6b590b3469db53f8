"""One recording of what the servers of a group recorded, each in a file of its own.

Files are those of the Go recorder in traces/recorders/hashicorp, or the steps of servers of the reference; one file has
all lives of a server. One of them at least is the recorder's, whose header has the bounds. What a server that was
killed left in its stores is what its next start found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from lockstep.systems.growing_import import GrowingImport
from lockstep.systems.hashicorp.call_numbers import CallNumbers
from lockstep.systems.hashicorp.growing_recording import GrowingRecording
from lockstep.systems.hashicorp.lost_writes import FollowedStores
from lockstep.systems.hashicorp.recording_lines import RecordedConfig
from lockstep.systems.hashicorp.recording_reader import CAPTURE_FORMAT, RECORDING
from lockstep.systems.hashicorp.step_lines import StepLines
from lockstep.systems.merged_order import NodeClock, NodeLines, TimedLine, Upcoming, node_of, without
from lockstep.systems.node_files import FileRecord
from lockstep.systems.node_recorder import Fields, GroupRecording, MergeOptions, NodeRecorder
from lockstep.systems.recording_file import Name
from lockstep.systems.system import Compile
from lockstep.trace.json_lines import rephrase_error

#: What the format has of a network that a harness disturbs: none did.
NO_FAULTS = dict.fromkeys(("drop_req", "drop_resp", "dup_req", "delay_prob", "delay_max_ms", "rpc_timeout_ms"), 0)

#: The fields of the first line of a life, as the Go recorder writes it.
HEADER = "header"

#: The fields of a header that say yes or no; one that is missing says no.
OPTIONAL = ("pipeline", "fast_path", "restore_committed_logs")

#: The fields of a header that all servers have in common.
SHARED = (
    *("library_version", "prevote", *OPTIONAL),
    *("config.max_append_entries", "config.trailing_logs"),
)


class RecorderHeader(Struct, forbid_unknown_fields=True, frozen=True):
    """The first line of each life: the library, and how the server is configured."""

    kind: str
    node: Name
    at: Annotated[float, Meta(ge=0)]
    library_version: Name
    go: str
    prevote: bool
    config: RecordedConfig
    pipeline: bool = False
    fast_path: bool = False
    restore_committed_logs: bool = False
    wall_ms: int | None = None


def recognises(fields: Mapping[str, Any]) -> bool:
    """Return whether the first record of a file is one of a server of hashicorp/raft."""
    shows = fields.get("shows")
    is_recorded = fields.get("kind") == HEADER and "at" in fields
    return is_recorded or (isinstance(shows, dict) and "lastVoteTerm" in shows)


def merged_recording(
    beginnings: Sequence[Sequence[FileRecord]], options: MergeOptions, _note: Callable[[str], None]
) -> GroupRecording:
    """Return the recording of the group whose files begin like this; raises TraceError where they do not fit."""
    header = next((record for records in beginnings for record in records if _is_header(record)), None)
    if header is None:
        raise beginnings[0][0].error("no file is one of the Go recorder, whose header has the bounds of the servers")
    _checked_header(header, header)
    names: dict[str, FileRecord] = {}
    for records in beginnings:
        name = node_of(records[0])
        if name in names:
            raise records[0].error(f"field `node`: {names[name].source} is of {name}, too")
        names[name] = records[0]
    nodes = tuple(sorted(names))
    return HashicorpRecording(header, nodes, _first_voters(beginnings, nodes), is_wall=options.skew > 0)


def _is_header(record: FileRecord) -> bool:
    return record.fields.get("kind") == HEADER


def _checked_header(record: FileRecord, first: FileRecord) -> None:
    """Raise TraceError where a header is none, or says something else than the first one of what all servers share."""
    try:
        msgspec.convert(record.fields, RecorderHeader)
    except msgspec.ValidationError as error:
        raise record.error(rephrase_error(error, record.fields)) from error
    for field in SHARED:
        here, there = (_field(each, field) or False for each in (record, first))
        if here != there:
            raise record.error(f"field `{field}`: {here!r}, and {there!r} at {first.source}:{first.number}")


def _field(record: FileRecord, path: str) -> Any:
    found: Any = record.fields
    for name in path.split("."):
        found = found.get(name)
    return found


def _first_voters(beginnings: Sequence[Sequence[FileRecord]], nodes: Sequence[str]) -> int:
    """Return how many servers vote in the first configuration; all if the Go recorder wrote of none that has one.

    Raises TraceError where the names of those do not come first in order.
    """
    for start in (records[-1] for records in beginnings if not records[-1].is_step):
        RECORDING.check_node_line(without(start.fields, "at"), start.source, start.number)
        log = start.fields["persisted"]["log"]
        if log and (log[0]["i"], log[0]["type"]) == (1, "Configuration"):
            voters = sorted(log[0]["v"].split(","))
            if voters != list(nodes[: len(voters)]):  # one behind `~` has no vote, and is none of them
                problem = f"{', '.join(voters)} vote at first: their names must come first in order"
                raise start.error(f"field `persisted.log`: {problem}")
            return len(voters)
    return len(nodes)


class RecorderLines:
    """The lines of a server of Go, which the recorder wrote as the recording has them but for the numbers of calls."""

    def __init__(self, node: str, header: FileRecord, clock: NodeClock) -> None:
        """Take the server whose file it is, the first header of the group, and the server's clock."""
        self._node, self._header, self._clock = node, header, clock

    def lines(self, record: FileRecord) -> Iterator[TimedLine]:
        """Yield the line, none for a header; raises TraceError where it is none, or of another server."""
        if record.is_step or node_of(record) != self._node:
            raise record.error(f"field `node`: the lines above are of {self._node!r}")
        at = self._clock.read(record)
        if _is_header(record):
            _checked_header(record, self._header)
            return
        fields = without(record.fields, "at")
        RECORDING.check_node_line(fields, record.source, record.number)
        yield TimedLine(record, at, self._node, fields)

    def rest(self) -> tuple[TimedLine, ...]:
        """Return nothing: each line stands for itself."""
        return ()


class HashicorpRecording:
    """The recording that is made: it numbers calls and lives, and adds how each life ended that nobody wrote of."""

    def __init__(self, header: FileRecord, nodes: tuple[str, ...], voters: int, *, is_wall: bool) -> None:
        """Begin with servers; the first `voters` of them vote at first; `is_wall`, whether clocks are wall clocks."""
        self._header, self._nodes, self._voters, self._is_wall = header, nodes, voters, is_wall
        self._numbers = CallNumbers()
        self._lives: Counter[str] = Counter()
        #: The stores of each server that has not stopped since it started.
        self._stores: dict[str, FollowedStores] = {}

    @property
    def header(self) -> Fields:
        """The fields of the first line."""
        kept = {name: self._header.fields[name] for name in ("library_version", "go", "prevote", "config")}
        fixed = {"schema": CAPTURE_FORMAT, "impl": "hashicorp/raft (Go)", "capture": "recorded", "note": ""}
        return {
            "kind": "header", **kept, **fixed, "nodes": self._nodes, "seed": 0,
            **{name: self._header.fields.get(name, False) for name in OPTIONAL}, "faults": NO_FAULTS,
        }  # fmt: skip

    def end(self, counts: Counter[str]) -> Fields:
        """Return the fields of the last line, which counts all lines."""
        return {"kind": "end", "events": sum(counts.values()) + 1}

    def node_lines(self, beginning: Sequence[FileRecord]) -> NodeLines:
        """Return what makes lines of a file of the Go recorder, or of a server of the reference."""
        node = node_of(beginning[0])
        clock = NodeClock(is_wall=self._is_wall, field="at", unit=10**9)
        if beginning[0].is_step:
            return StepLines(node, self._nodes, self._voters, self._header, clock)
        return RecorderLines(node, self._header, clock)

    def lacks(self, line: TimedLine) -> str | None:
        """Return what a line receives that nobody has sent yet; None where there is no such thing."""
        return self._numbers.lacks(line)

    def is_early(self, line: TimedLine) -> bool:
        """Return whether a line receives a request: what was sent before it shows which call that is of."""
        return bool(line.fields["kind"] == "recv")

    def note(self, line: TimedLine, upcoming: Upcoming) -> None:
        """Take a line for the next one, and put the number of its call into it."""
        self._numbers.note(line, upcoming)

    def was_guessed(self, line: TimedLine) -> bool:
        """Return whether the answer that a line receives may have been given to a call that says the same."""
        return self._numbers.was_guessed(line)

    def lines(self, line: TimedLine) -> Iterator[Fields]:
        """Yield the line as the recording has it, and before it how the life before ended, if no line is of that."""
        node, fields = line.node, line.fields
        if fields["kind"] == "start":
            if node in self._stores:
                found = fields["persisted"]
                stopped = {"kind": "stopped", "persisted": found}
                for each in [*self._stores[node].lost_writes(found), stopped]:
                    yield {**each, "node": node, "inc": self._lives[node]}
            self._lives[node] += 1
            self._stores[node] = FollowedStores(fields["persisted"])
        elif fields["kind"] == "stopped":
            self._stores.pop(node, None)
        elif node in self._stores:
            self._stores[node].read(fields)
        yield {**fields, "inc": self._lives[node]}


def _growing(source: str, compile_: Compile) -> GrowingImport:
    """Return the import of a recording that is still written."""
    return GrowingRecording(source, compile_)


RECORDER = NodeRecorder(recognises, merged_recording, _growing)
