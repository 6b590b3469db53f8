"""One recording of what the nodes of a DLedger group recorded, each in files of its own.

A node of Java writes its lines by the agent in traces/recorders/dledger, a node of the reference its steps. A node may
have been of either kind at different times, and have a file of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lockstep.systems.dledger.push_numbers import PushNumbers
from lockstep.systems.dledger.recording_import import VERSIONS, GrowingRecording
from lockstep.systems.dledger.recording_reader import CAPTURE_FORMAT, RECORDING
from lockstep.systems.dledger.roles_in_order import RolesInOrder
from lockstep.systems.dledger.step_lines import StepLines
from lockstep.systems.dledger.unwritten_stores import UnwrittenStores
from lockstep.systems.growing_import import GrowingImport
from lockstep.systems.merged_order import NodeClock, NodeLines, TimedLine, Upcoming, node_of, without
from lockstep.systems.node_files import FileRecord
from lockstep.systems.node_recorder import Fields, GroupRecording, MergeOptions, NodeRecorder
from lockstep.systems.system import Compile
from raftref.choices import REPAIRED
from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.runtime.driver import RUNNING

#: Versions that are recorded and imported as another one.
IMPORTED_AS = {"0.3.2": "0.3.1.2"}

#: The fields of a line of a start that the recording has in its header.
OF_THE_GROUP = ("version", "batches", "members", "wall_ms")

#: The fields that name pushes, which become numbers.
NAMES = ("mid", "lost")


def recognises(fields: Mapping[str, Any]) -> bool:
    """Return whether the first record of a file is one of a node of DLedger."""
    shows = fields.get("shows")
    is_recorded = fields.get("kind") == "start" and "t" in fields
    return is_recorded or (isinstance(shows, dict) and "ledgerEndIndex" in shows)


def merged_recording(
    beginnings: Sequence[Sequence[FileRecord]], options: MergeOptions, note: Callable[[str], None]
) -> GroupRecording:
    """Return the recording of the group whose files begin like this.

    Arguments: `options`, whose version counts where no file has one; `note` gets a message where the recording is
    checked as that of another version. Raises TraceError where the files do not fit together.
    """
    agents = [records[-1] for records in beginnings if not records[-1].is_step]
    version = _agreed(agents, "version", options.version)
    batches = _agreed(agents, "batches", default=False)
    if version is None:
        first = beginnings[0][-1]
        raise first.error("field `version`: missing, and --recorded-version names none")
    if version in IMPORTED_AS:
        note(f"{version} is checked as {IMPORTED_AS[version]}, the last version that the import knows")
        version = IMPORTED_AS[version]
    if version not in VERSIONS:
        known = ", ".join([*VERSIONS, *IMPORTED_AS])
        raise beginnings[0][-1].error(f"field `version`: {version!r} is none of {known}")
    named = {node_of(records[0]) for records in beginnings}
    members = {each for record in agents for each in _members(record)}
    if missing := sorted(members - named):
        listed = f"{', '.join(missing)} {'is a member' if len(missing) == 1 else 'are members'}"
        raise agents[0].error(
            f"field `members`: {listed} of the group, and no file is of {'it' if len(missing) == 1 else 'them'}"
        )
    return DLedgerRecording(tuple(sorted(named)), str(version), batches=bool(batches), is_wall=options.skew > 0)


def _agreed(records: Sequence[FileRecord], field: str, default: Any = None) -> Any:
    """Return what the starts of the nodes say, the default where none does; raises TraceError where they differ."""
    said = [record for record in records if field in record.fields]
    for record in said[1:]:
        first = said[0]
        if record.fields[field] != first.fields[field]:
            where = f"{first.source}:{first.number}"
            raise record.error(f"field `{field}`: {record.fields[field]!r}, and {first.fields[field]!r} at {where}")
    return said[0].fields[field] if said else default


def _members(record: FileRecord) -> list[str]:
    members = record.fields.get("members", [])
    if not isinstance(members, list) or not all(isinstance(each, str) for each in members):
        raise record.error(f"field `members`: {members!r} is no list of nodes")
    return members


class AgentLines:
    """The lines of a node of Java, which the agent wrote as the recording has them but for the numbers of pushes."""

    def __init__(self, node: str, clock: NodeClock) -> None:
        """Take the node whose file it is, and its clock."""
        self._node, self._clock = node, clock

    def lines(self, record: FileRecord) -> Iterator[TimedLine]:
        """Yield the line; raises TraceError where it is none of a recording, or of another node."""
        if record.is_step or node_of(record) != self._node:
            raise record.error(f"field `node`: the lines above are of {self._node!r}")
        at = self._clock.read(record)
        fields = without(record.fields, "t", *(OF_THE_GROUP if record.is_start else ()))
        given = without(fields, *NAMES) | self._numbered(record)
        if record.is_start:
            given["why"] = "boot"
        RECORDING.check_node_line(given, record.source, record.number)
        yield TimedLine(record, at, self._node, fields)

    def rest(self) -> tuple[TimedLine, ...]:
        """Return nothing: each line stands for itself."""
        return ()

    @staticmethod
    def _numbered(record: FileRecord) -> Fields:
        """Return what stands for the names of pushes until they have numbers; raises TraceError where one is none."""
        found: Fields = {}
        if "mid" in record.fields:
            _check_name(record, "mid", record.fields["mid"])
            found["mid"] = 0
        if "lost" in record.fields:
            lost = record.fields["lost"]
            if not isinstance(lost, list) or not all(isinstance(each, list) and len(each) == 2 for each in lost):
                raise record.error("field `lost`: it is no list of indexes with names of pushes")
            for number, (_, name) in enumerate(lost):
                _check_name(record, f"lost[{number}]", name)
            found["lost"] = [[index, 0] for index, _ in lost]
        return found


def _check_name(record: FileRecord, field: str, name: Any) -> None:
    if not isinstance(name, str):
        raise record.error(f"field `{field}`: {name!r} is no name of a push")


class DLedgerRecording:
    """The recording that is made: it numbers pushes and lives, and adds the deaths that nobody wrote."""

    def __init__(self, nodes: tuple[str, ...], version: str, *, batches: bool, is_wall: bool) -> None:
        """Begin with nodes of a version, whose leaders may push batches; `is_wall`, whether clocks are wall clocks."""
        self._nodes, self._version, self._batches, self._is_wall = nodes, version, batches, is_wall
        self._numbers = PushNumbers()
        self._lives: Counter[str] = Counter()
        self._up: dict[str, Fields] = {}
        #: The committed index in the checkpoint of each node, and those since, with the end of its log at the time.
        self._saved: dict[str, int] = {}
        self._unsaved: dict[str, dict[int, int]] = {}
        #: The lines of a start that wait for what the node recovers.
        self._starting: dict[str, list[Fields]] = {}
        self._roles = RolesInOrder(len(nodes))
        self._unwritten = UnwrittenStores()

    @property
    def header(self) -> Fields:
        """The fields of the first line."""
        return {
            "kind": "header", "format": CAPTURE_FORMAT, "version": self._version, "scenario": "merged",
            "nodes": self._nodes, "client": "c0", "seed": 0, "faults": "none",
            "config": {"enableBatchPush": self._batches}, "java": "not recorded",
            "fields": "see traces/captured/dledger/README.md",
        }  # fmt: skip

    def end(self, counts: Counter[str]) -> Fields:
        """Return the fields of the last line, which counts the lines before it by kind."""
        return {"kind": "end", "counts": dict(counts)}

    def node_lines(self, beginning: Sequence[FileRecord]) -> NodeLines:
        """Return what makes lines of a file of a node of Java, or of the reference."""
        first = beginning[-1]
        node = node_of(first)
        if first.is_step:
            return StepLines(node, self._nodes, self._config, NodeClock(is_wall=self._is_wall, field="at", unit=10**9))
        return AgentLines(node, NodeClock(is_wall=self._is_wall, field="t", unit=1))

    @property
    def _config(self) -> Config:
        """The features and flaws of a node of the reference in this group."""
        changed = VERSIONS[self._version]
        features = {Feature(name) for name, value in changed.items() if value is True}
        repaired = {Flaw(name) for name, value in changed.items() if value == REPAIRED}
        batches = {Feature.BATCHES} if self._batches else set()
        return Config(RUNNING | features | batches, IN_0_2_7 - repaired)

    # ---- The order ----

    def lacks(self, line: TimedLine) -> str | None:
        """Return what a line receives that nobody has sent yet; None where there is no such thing."""
        return self._numbers.lacks(line)

    def is_early(self, line: TimedLine) -> bool:
        """Return whether a line follows from a message of another node that cannot have sent it yet."""
        return self._roles.is_early(line) or self._numbers.is_early(line)

    def note(self, line: TimedLine, _upcoming: Upcoming) -> None:
        """Take a line for the next one, and put the numbers of pushes into it."""
        self._numbers.note(line)
        self._roles.note(line)

    def was_guessed(self, _line: TimedLine) -> bool:
        """Return that it was not: pushes have names, and those that say the same are one to the spec."""
        return False

    # ---- The lines ----

    def lines(self, line: TimedLine) -> Iterator[Fields]:
        """Yield the line as the recording has it.

        The lines of a start wait for what the node recovers: it shows whether the life before wrote a checkpoint, or
        stored an entry, whose line it did not live to write. A life that recovers nothing does nothing.
        """
        node, fields = line.node, line.fields
        if fields["kind"] == "start":
            self._starting[node] = []
        if node in self._starting:
            self._starting[node].append(fields)
            if fields["kind"] == "recovered":
                yield from self._begin_life(node, self._starting.pop(node), fields)
        elif not self._lives[node]:
            raise line.record.error(f"field `kind`: {node} has not started")
        else:
            self._follow(node, fields)
            self._unwritten.follow(fields)
            yield {**fields, "inc": self._lives[node]}

    def _begin_life(self, node: str, lines: list[Fields], recovered: Fields) -> Iterator[Fields]:
        """Yield how the life before ended, if no line is of that, and the lines of the next one."""
        shown, life = self._up.pop(node, None), {"node": node, "inc": self._lives[node]}
        committed = recovered["st"]["committed"]
        unsaved = self._unsaved.pop(node, {})
        if committed in unsaved and committed != self._saved[node]:
            yield {"kind": "checkpoint", **life, "endIndex": unsaved[committed], "committedIndex": committed}
        if shown is not None:
            for unwritten in self._unwritten.unwritten(recovered, shown):
                shown |= unwritten.get("st", {})
                yield {**unwritten, **life}
            yield {"kind": "crash", **life, "st": shown}
        self._unwritten.begin(recovered)
        self._lives[node] += 1
        why = "boot" if self._lives[node] == 1 else "restart"
        self._up[node], self._saved[node], self._unsaved[node] = dict(recovered["st"]), committed, {}
        for fields in lines:
            yield {**fields, "inc": self._lives[node], **({"why": why} if fields["kind"] == "start" else {})}

    def _follow(self, node: str, fields: Fields) -> None:
        """Follow what a node would show if it died now, and the committed indexes that a checkpoint may have had."""
        if node not in self._up:  # it has stopped
            return
        match fields["kind"]:
            case "role":
                self._up[node] |= {"role": fields["role"], "term": fields["term"], "leader": fields["leaderId"]}
            case "store":
                self._up[node] |= fields["st"]
                self._unsaved[node][fields["st"]["committed"]] = fields["st"]["end"]
            case "checkpoint":
                saved = self._saved[node] = fields["committedIndex"]
                self._unsaved[node] = {at: end for at, end in self._unsaved[node].items() if at > saved}
            case "stop":
                del self._up[node]


def _growing(source: str, _compile: Compile) -> GrowingImport:
    """Return the import of a recording that is still written."""
    return GrowingRecording(source)


RECORDER = NodeRecorder(recognises, merged_recording, _growing)
