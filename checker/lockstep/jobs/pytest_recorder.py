"""Recorders for tests: a test records a trace, which is checked when the test has passed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.pytest_collection import PlannedCheck
from lockstep.models.search_result import SpecFiles
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import Choice
from lockstep.systems.trace_opening import SpecOptions
from lockstep.systems.trace_specs import switches_of
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines


class RecordingError(BadInputError):
    """A recorder is used wrongly; the message says why."""


@dataclass(frozen=True, slots=True)
class RecorderFactory:
    """The fixture `lockstep_recorder`: a call returns a recorder of this test.

    `name` is that of the test, `folder` the one of its file; `new_folder` makes one for the trace; `recorders` are
    those of the test so far.
    """

    name: str
    folder: Path
    new_folder: Callable[[], Path]
    recorders: list[Recorder]

    def __call__(
        self,
        spec: str | Path,
        *,
        cfg: str | Path | None = None,
        mapping: str | Path | None = None,
        nodes: Sequence[str] = (),
        constants: Mapping[str, Choice] | None = None,
        switches: Iterable[str] = (),
    ) -> Recorder:
        """Return a recorder.

        Arguments: `spec`, the name of a spec that lockstep knows, or a file of your own, relative to the folder of the
        test; `cfg`, by default the file beside it; `mapping`, with which the test writes lines of a log; `nodes` and
        `constants` of the header, `nodes` by default those of the events; `switches`, as of `lockstep check`.
        Raises BadInputError where spec, cfg, mapping or switches cannot be used, and as load_spec does.
        """
        chosen = list(switches)
        if str(spec) in SYSTEMS:
            if cfg is not None or mapping is not None:
                raise RecordingError("cfg and mapping go with a spec of your own")
            name, options = str(spec), SpecOptions(switches_of(chosen))
        else:
            if chosen:
                raise RecordingError("switches are for a system that lockstep knows, not for a spec of your own")
            own = self.folder / spec
            if not own.is_file():
                raise RecordingError(f"there is no file {own}, and no spec of this name: {', '.join(SYSTEMS)}")
            own_cfg, mapped = (None if each is None else self.folder / each for each in (cfg, mapping))
            name, options = own.stem, SpecOptions(own=SpecFiles(own, own_cfg, mapping=mapped))
        check = PlannedCheck.prepare(options)
        file = re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_")[:80] or "test"
        path = self.new_folder() / f"{file}.{'log' if mapping is not None else 'trace.ndjson'}"
        header = Header(FORMAT, "pytest", "1", name, tuple(nodes), dict(constants or {}), scenario=self.name[:200])
        recorder = Recorder(path, check, None if mapping is not None else header)
        self.recorders.append(recorder)
        return recorder


class Recorder:
    """Records a trace of a test, or with a mapping a log; events and lines may come from several threads."""

    def __init__(self, path: Path, check: PlannedCheck, header: Header | None) -> None:
        """Start a trace with this header, or without one a log, that will be written to `path`."""
        self.path = path
        self._check, self._header = check, header
        self._events: list[Event] = []
        self._lines: list[bytes] = []
        self._lock = threading.Lock()
        self._is_judged = False

    def event(
        self,
        action: str,
        *,
        node: str = "",
        args: Mapping[str, Any] | None = None,
        shows: Mapping[str, Any] | None = None,
        sent: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        """Record a step: its action, node and other arguments, what the node shows after it, and what it sent.

        Raises RecordingError where JSON cannot represent a value, and where this recorder has a mapping.
        """
        if self._header is None:
            raise RecordingError("with a mapping a test records lines: call line(), not event()")
        messages = None if sent is None else tuple(dict(each) for each in sent)
        with self._lock:
            event = Event(len(self._events), node, action, dict(args or {}), dict(shows or {}), messages)
            # A copy: later changes of the arguments are not recorded.
            self._events.append(msgspec.json.decode(_json(event), type=Event))
            self._is_judged = False

    def line(self, **fields: Any) -> None:
        """Record a line of a log: its fields, as the mapping reads them.

        Raises RecordingError where JSON cannot represent a value, and where this recorder has no mapping.
        """
        if self._header is not None:
            raise RecordingError("line() needs a mapping: name one, or call event()")
        line = _json(fields) + b"\n"
        with self._lock:
            self._lines.append(line)
            self._is_judged = False

    def verdict(self) -> TraceVerdict:
        """Check what was recorded so far and return the verdict, which the test then judges itself."""
        with self._lock:
            self._is_judged = True
            with writing_whole(self.path) as file:
                for line in self._lines if self._header is None else self._trace(self._header):
                    file.write(line)
        return self._check.judge(self.path)

    def _trace(self, header: Header) -> Iterable[bytes]:
        nodes = tuple(dict.fromkeys(event.node for event in self._events if event.node)) or ("test",)
        return trace_lines(msgspec.structs.replace(header, nodes=header.nodes or nodes), self._events)

    def verdict_text(self) -> str:
        """Check what was recorded; return the verdict with the command that repeats the check."""
        return self._check.failure_text(self.verdict())

    def fail_unless_it_holds(self) -> None:
        """Fail the test unless its trace holds, or the test has judged the verdict since the last record."""
        if self._is_judged:
            return
        found = self.verdict()
        if found.verdict is not Verdict.HOLDS:
            pytest.fail(self._check.failure_text(found), pytrace=False)


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(f"a value cannot be written as JSON: {error}") from error
