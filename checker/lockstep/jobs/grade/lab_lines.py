"""The output of a program that solves a lab: the tests in it, and the lines of each that its servers printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.base.spelling import did_you_mean
from lockstep.jobs.grade.lab import Lab
from lockstep.logs.log_records import Record, log_bytes
from lockstep.logs.mapping_rules import Rules
from lockstep.logs.text_formats import line_splitter
from lockstep.trace.json_lines import TraceError, source_name

#: How many characters of a line a message has.
MAX_TEXT = 80

_GROUP = re.compile(r"\(\?P<(\w+)>([^()]*)\)")


@dataclass(slots=True)
class LabTest:
    """One test of a file: its name, and its lines by their numbers.

    `others` counts lines that no server printed, `late` those of processes that had been replaced. `is_cut` is whether
    the file ends within a line, which may be half of one and is not graded.
    """

    source: str
    name: str
    lines: dict[int, str] = field(default_factory=dict)
    others: int = 0
    late: int = 0
    is_cut: bool = False

    def write(self, path: Path) -> None:
        """Write its lines into a file, each with the number that it has in its own."""
        text, above = [], 0
        for number, line in self.lines.items():
            text.append("\n" * (number - above - 1) + f"{line}\n")
            above = number
        path.write_text("".join(text), encoding="utf-8")


def lab_tests(path: Path, lab: Lab) -> list[LabTest]:
    """Return the tests of a file.

    Lines above the first test are of one with the file's name. A last line that does not end is only noted.
    Raises TraceError where a line of a server is malformed, UnreadableError where the file cannot be read.
    """
    reader = _LabReader(source_name(path), lab)
    for number, raw in enumerate(log_bytes(path), start=1):
        if raw.endswith(b"\n"):
            reader.add(number, raw.decode("utf-8", "replace").rstrip("\r\n"))
        elif raw.strip():
            reader.current().is_cut = True
    return reader.tests or [reader.current()]


class _LabReader:
    """Reader of the lines of a file: `newest` is the last process of each server, `booted` those of the test,
    `above` the number of other lines above it."""

    def __init__(self, source: str, lab: Lab) -> None:
        self.source, self.lab, self.rules = source, lab, Rules(lab.mapping)
        self.mark, self.test = re.compile(lab.text.mark), re.compile(lab.text.test)
        (text,) = lab.mapping.texts()
        self.pattern, self.split = text.pattern or "", line_splitter(text)
        self.tests: list[LabTest] = []
        self.newest: dict[Any, int] = {}
        self.booted: set[Any] = set()
        self.above = 0

    def add(self, number: int, text: str) -> None:
        """Add a line; raises TraceError where it is a malformed one of a server."""
        if (begins := self.test.match(text)) is not None:
            self.begin(begins["name"])
        elif self.mark.search(text):
            self.add_step(number, text)
        elif text.strip() and self.tests:
            self.current().others += 1
        elif text.strip():
            self.above += 1

    def begin(self, name: str) -> None:
        """Begin a test."""
        self.tests.append(LabTest(self.source, name, others=self.above))
        self.booted.clear()
        self.above = 0

    def current(self) -> LabTest:
        """Return the test that the lines are of."""
        if not self.tests:
            self.begin(Path(self.source).name)
        return self.tests[-1]

    def add_step(self, number: int, text: str) -> None:
        fields = self.split(text)
        if fields is None:
            raise self.error(number, misfit(self.pattern, text))
        self.refuse_unknown(Record(self.source, number, text, fields))
        server, life = fields[self.lab.text.server], int(fields[self.lab.text.life])
        test = self.current()
        if fields["event"] == self.lab.text.first:
            self.newest[server] = life
            self.booted.add(server)
        elif life > self.newest.get(server, -1):
            first = self.lab.text.first
            raise self.error(number, f"field `{self.lab.text.life}`: process {life} of S{server} has no line `{first}`")
        elif life < self.newest[server] or server not in self.booted:
            test.late += 1
            return
        test.lines[number] = text

    def refuse_unknown(self, record: Record) -> None:
        """Raise TraceError where a line is of no event, or its arguments are not those of its event."""
        event = record.fields["event"]
        if event not in self.lab.mapping.lines:
            known = self.lab.mapping.lines
            raise self.error(record.number, f"field `event`: there is no {event!r}{did_you_mean(event, known)}")
        forms = [rule.match["rest"] for kind, _, rule in self.lab.mapping.rules() if kind == event]
        if not any(re.search(form, record.fields["rest"]) for form in forms):
            raise self.error(record.number, misfit(forms[-1], record.fields["rest"]))

    def error(self, number: int, problem: str) -> TraceError:
        return TraceError(self.source, number, f"{problem}; {self.lab.text.lines} has the form of each line")


def misfit(pattern: str, text: str) -> str:
    """Return which field of a text is the first that a pattern of words does not allow."""
    parts, words = pattern.removeprefix("^").removesuffix("$").split(" "), text.split(" ")
    for count in range(1, len(parts) + 1):
        if re.match(" ".join(parts[:count]) + r"(?= |$)", text) is None:
            part = parts[count - 1]
            names = ", ".join(f"`{name}`" for name, _ in _GROUP.findall(part)) or repr(part)
            found, form = words[count - 1] if count <= len(words) else "", _GROUP.sub(r"\2", part)
            return f"field {names}: expected {form}, not {found[:MAX_TEXT]!r}"
    return f"more than the line should have: {text[:MAX_TEXT]!r}"
