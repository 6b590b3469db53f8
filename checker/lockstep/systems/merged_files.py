"""The files of a group's nodes as one recording, whole or while they grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.systems.merged_order import MILLISECOND, MergedOrder, TimedLine
from lockstep.systems.node_files import FileRecord, NodeFile
from lockstep.systems.node_recorder import Fields, GroupRecording, MergeOptions, NodeRecorder
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import System

#: The time of a line in milliseconds has this many decimal places.
DECIMALS = 3


class MergedFiles:
    """The recording of a group, made of its nodes' files as far as they are written.

    `count` are its lines so far, `counts` those by kind; `system` and `recorder` are known once all files have a line.
    """

    def __init__(
        self, paths: Sequence[Path], options: MergeOptions, note: Callable[[str], None], say: Say = silent
    ) -> None:
        """Prepare to merge files, each one of a node.

        Arguments: `options`, what the files may lack; `note` gets messages about what is left out; `say`, the progress.
        Raises BadInputError where a file is named twice.
        """
        for number, path in enumerate(paths):
            if path in paths[:number]:
                raise BadInputError(f"{path}: this file is named twice")
        self._files = [NodeFile(path, note) for path in paths]
        self._options, self._note, self._say = options, note, say
        self._group: GroupRecording | None = None
        self._order: MergedOrder | None = None
        self._begin = self._passed = 0
        self.system: System | None = None
        self.recorder: NodeRecorder | None = None
        self.counts: Counter[str] = Counter()
        self.count = 0

    @property
    def passed_ms(self) -> float:
        """The time of the last line, in milliseconds since the first one."""
        return self._passed / MILLISECOND

    def lines(self, *, is_over: bool) -> Iterator[bytes]:
        """Yield the lines of the recording that are known now, after those yielded before.

        Arguments: `is_over`, whether nothing more is written to the files: then the last line is the end line.
        Raises TraceError, naming file, line and field, where a file is damaged or the files do not fit together;
        ClockError where the lines have no order; LateLineError where one stands before a line that was yielded;
        BadInputError where the files are of no system, or of several.
        """
        if self._group is None and not self._open(is_over=is_over):
            return
        assert self._group is not None
        assert self._order is not None
        for line in self._order.lines(is_over=is_over):
            yield from self._recorded(line, self._group)
        if is_over:
            yield self._encoded(self._group.end(self.counts))

    def _recorded(self, line: TimedLine, group: GroupRecording) -> Iterator[bytes]:
        if not self.counts:
            self._begin = line.at
            yield self._encoded(group.header)
        self._passed = max(self._passed, line.at - self._begin)
        for fields in group.lines(line):
            yield self._encoded(fields)

    def _encoded(self, fields: Fields) -> bytes:
        number, self.count = self.count, self.count + 1
        self.counts[fields["kind"]] += 1
        if number % REPORT_INTERVAL == 0:
            self._say(f"line {number:,}")
        passed = round(self.passed_ms, DECIMALS)
        return msgspec.json.encode({"seq": number, "t_ms": passed, **fields}) + b"\n"

    def _open(self, *, is_over: bool) -> bool:
        """Read how the files begin; return whether all of them are written that far."""
        beginnings = []
        for file in self._files:
            found = file.beginning(is_over=is_over)
            if found is None:
                return False
            beginnings.append(found)
        self.system, self.recorder = _recorder_of(beginnings)
        group = self.recorder.group(beginnings, self._options, self._note)
        sources = [(file, group.node_lines(begin)) for file, begin in zip(self._files, beginnings, strict=True)]
        self._group = group
        self._order = MergedOrder(sources, group, self._options.skew)
        return True


def _recorder_of(beginnings: Sequence[Sequence[FileRecord]]) -> tuple[System, NodeRecorder]:
    """Return the system whose recorder wrote the files; raises BadInputError where it is not the same for all."""
    found: dict[str, FileRecord] = {}
    for records in beginnings:
        system = next((name for name, each in SYSTEMS.items() if _recognises(each, records)), None)
        if system is None:
            known = ", ".join(each.title for each in SYSTEMS.values() if each.recorder is not None)
            raise records[0].error(f"no line of a recorder of {known}")
        found.setdefault(system, records[0])
    if len(found) > 1:
        places = " and ".join(f"{SYSTEMS[name].title} ({record.source})" for name, record in found.items())
        raise BadInputError(f"the files are of {places}: one recording is of one group")
    chosen = SYSTEMS[next(iter(found))]
    assert chosen.recorder is not None
    return chosen, chosen.recorder()


def _recognises(system: System, records: Sequence[FileRecord]) -> bool:
    return system.recorder is not None and system.recorder().recognises(records[0].fields)
