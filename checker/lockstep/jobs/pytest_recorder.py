"""Recording a trace in a test, which is checked when the test has passed."""

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
from lockstep.jobs.pytest_collection import own_words, said
from lockstep.systems.file_check import Judge, judge_known, judge_own
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import Choice
from lockstep.systems.trace_specs import switches_of
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines


class RecordingError(BadInputError):
    """A recorder is used in a way that gives no trace; the message says why."""


@dataclass(frozen=True, slots=True)
class Recorders:
    """What the fixture `lockstep_recorder` is: called, it returns a recorder of this test.

    `name` is that of the test, `folder` the one of its file; `new_folder` makes one for the trace; `made` are the
    recorders of the test so far.
    """

    name: str
    folder: Path
    new_folder: Callable[[], Path]
    made: list[Recorder]

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

        Arguments: `spec`, the name of a spec that lockstep knows, or the file of your own, from the
        folder of the test; `cfg`, the one beside it unless it is named; `mapping`, with which the test writes lines
        in its own words; `nodes` and `constants` of the header, where `nodes` are those of the events unless they are
        given; `switches`, as `lockstep check --switch` takes them.
        Raises BadInputError where spec, cfg, mapping or switches cannot be used, and as load_spec does.
        """
        chosen = list(switches)
        if str(spec) in SYSTEMS:
            if cfg is not None or mapping is not None:
                raise RecordingError("cfg and mapping go with a spec of your own")
            name, judge = str(spec), judge_known(switches_of(chosen))
            words = tuple(f"--switch {word}" for word in chosen)
        else:
            if chosen:
                raise RecordingError("switches are for a system that lockstep knows, not for a spec of your own")
            own = self.folder / spec
            if not own.is_file():
                raise RecordingError(f"there is no file {own}, and no spec of this name: {', '.join(SYSTEMS)}")
            own_cfg, mapped = (None if each is None else self.folder / each for each in (cfg, mapping))
            name, judge = own.stem, judge_own(own, own_cfg or own.with_suffix(".cfg"), mapped)
            words = own_words(own, own_cfg, mapped)
        file = re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_")[:80] or "test"
        path = self.new_folder() / f"{file}.{'log' if mapping is not None else 'trace.ndjson'}"
        header = Header(FORMAT, "pytest", "1", name, tuple(nodes), dict(constants or {}), scenario=self.name[:200])
        recorder = Recorder(path, judge, words, None if mapping is not None else header)
        self.made.append(recorder)
        return recorder


class Recorder:
    """A trace of a test, or with a mapping a log of its own words; events and lines may come from several threads."""

    def __init__(self, path: Path, judge: Judge, words: tuple[str, ...], header: Header | None) -> None:
        """Begin a trace with this header, or without one a log, that is to be written to `path`."""
        self.path = path
        self._judge, self._words, self._header = judge, words, header
        self._events: list[Event] = []
        self._lines: list[bytes] = []
        self._lock = threading.Lock()
        self._was_asked = False

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

        Raises RecordingError where a value is none of JSON, and where this recorder has a mapping.
        """
        if self._header is None:
            raise RecordingError("with a mapping a test writes lines in its own words: call line(), not event()")
        messages = None if sent is None else tuple(dict(each) for each in sent)
        with self._lock:
            event = Event(len(self._events), node, action, dict(args or {}), dict(shows or {}), messages)
            # What is changed later was not recorded.
            self._events.append(msgspec.json.decode(_json(event), type=Event))
            self._was_asked = False

    def line(self, **fields: Any) -> None:
        """Record a line of a log: its fields, as the mapping reads them.

        Raises RecordingError where a value is none of JSON, and where this recorder has no mapping.
        """
        if self._header is not None:
            raise RecordingError("line() writes what a mapping reads: name one, or call event()")
        line = _json(fields) + b"\n"
        with self._lock:
            self._lines.append(line)
            self._was_asked = False

    def verdict(self) -> TraceVerdict:
        """Check what was recorded so far and return the verdict, for the test to judge: it fails for it no more."""
        with self._lock:
            self._was_asked = True
            with writing_whole(self.path) as file:
                for line in self._lines if self._header is None else self._trace(self._header):
                    file.write(line)
        return self._judge(self.path)

    def _trace(self, header: Header) -> Iterable[bytes]:
        told = tuple(dict.fromkeys(event.node for event in self._events if event.node)) or ("test",)
        return trace_lines(msgspec.structs.replace(header, nodes=header.nodes or told), self._events)

    def said(self) -> str:
        """Check what was recorded, and say the verdict with the command that gives it again."""
        return said(self.verdict(), self._words)

    def fail_unless_it_holds(self) -> None:
        """Fail the test where its trace does not hold; not where the test has asked for the verdict since."""
        if self._was_asked:
            return
        found = self.verdict()
        if found.verdict is not Verdict.HOLDS:
            pytest.fail(said(found, self._words), pytrace=False)


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(f"a value cannot be written as JSON: {error}") from error
