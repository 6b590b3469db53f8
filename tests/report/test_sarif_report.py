"""Verdicts as SARIF 2.1.0, read back with the objects of the standard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from lockstep.base.characters import visible
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict, malformed
from lockstep.report.code_explanation import rule
from lockstep.report.sarif_report import sarif_log
from tests.support.programs.ci_traces import HOSTILE, hostile_verdict, write_traces
from tests.support.programs.lockstep_command import lockstep

# ---- SARIF: the objects that lockstep writes, as the standard has them; an unknown field is an error


class Message(Struct, forbid_unknown_fields=True):
    """§3.11: a message has at least text or id."""

    text: Annotated[str, Meta(min_length=1)]


class ArtifactLocation(Struct, forbid_unknown_fields=True):
    """§3.4: uri is a URI reference; uriBaseId is there only where that is relative (§3.4.4)."""

    uri: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$")]
    uriBaseId: Literal["%SRCROOT%", "SPEC"] | None = None  # noqa: N815 - the standard's name


class Region(Struct, forbid_unknown_fields=True):
    """§3.30: lines and columns begin with 1."""

    startLine: Annotated[int, Meta(ge=1)]  # noqa: N815
    startColumn: Annotated[int, Meta(ge=1)] = 1  # noqa: N815


class PhysicalLocation(Struct, forbid_unknown_fields=True):
    artifactLocation: ArtifactLocation  # noqa: N815
    region: Region


class LogicalLocation(Struct, forbid_unknown_fields=True):
    name: str
    fullyQualifiedName: str  # noqa: N815
    kind: Literal["function"]


class Location(Struct, forbid_unknown_fields=True):
    physicalLocation: PhysicalLocation  # noqa: N815
    id: Annotated[int, Meta(ge=0)] | None = None
    message: Message | None = None
    logicalLocations: list[LogicalLocation] = []  # noqa: N815


class Step(Struct, forbid_unknown_fields=True):
    """§3.38: the order of execution is a number from 0 on, or from 1; importance has three values."""

    location: Location
    executionOrder: Annotated[int, Meta(ge=0)]  # noqa: N815
    importance: Literal["important", "essential", "unimportant"] = "important"


class ThreadFlow(Struct, forbid_unknown_fields=True):
    locations: Annotated[list[Step], Meta(min_length=1)]


class CodeFlow(Struct, forbid_unknown_fields=True):
    threadFlows: Annotated[list[ThreadFlow], Meta(min_length=1)]  # noqa: N815
    message: Message


class Result(Struct, forbid_unknown_fields=True):
    """§3.27.9, §3.27.10: where kind is not fail, level is none."""

    ruleId: str  # noqa: N815
    ruleIndex: Annotated[int, Meta(ge=0)]  # noqa: N815
    level: Literal["none", "note", "warning", "error"]
    message: Message
    locations: list[Location]
    partialFingerprints: dict[str, str]  # noqa: N815
    kind: Literal["fail", "open", "pass"] = "fail"
    relatedLocations: list[Location] = []  # noqa: N815
    codeFlows: list[CodeFlow] = []  # noqa: N815


class Rule(Struct, forbid_unknown_fields=True):
    id: str
    shortDescription: Message  # noqa: N815
    fullDescription: Message  # noqa: N815
    help: Message


class Driver(Struct, forbid_unknown_fields=True):
    name: str
    version: str
    rules: list[Rule]


class Tool(Struct, forbid_unknown_fields=True):
    driver: Driver


class Notification(Struct, forbid_unknown_fields=True):
    level: Literal["none", "note", "warning", "error"]
    message: Message


class Invocation(Struct, forbid_unknown_fields=True):
    executionSuccessful: bool  # noqa: N815
    toolExecutionNotifications: list[Notification]  # noqa: N815


class Run(Struct, forbid_unknown_fields=True):
    tool: Tool
    columnKind: Literal["utf16CodeUnits", "unicodeCodePoints"]  # noqa: N815
    originalUriBaseIds: dict[str, dict[str, Message]]  # noqa: N815
    invocations: list[Invocation]
    results: list[Result]


class Log(Struct, forbid_unknown_fields=True, rename={"schema": "$schema"}):
    schema: str
    version: Literal["2.1.0"]
    runs: Annotated[list[Run], Meta(min_length=1, max_length=1)]


def read(text: str | bytes) -> Run:
    """Read a log, strictly; each rule that a result names is there."""
    run = msgspec.json.decode(text, type=Log).runs[0]
    for result in run.results:
        assert run.tool.driver.rules[result.ruleIndex].id == result.ruleId
        assert (result.kind == "fail") or result.level == "none"
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_traces(tmp_path_factory.mktemp("sarif"))


def check(folder: Path, *words: str) -> Run:
    done = lockstep("check", "--spec", "specs/LockService.tla", "--sarif", "v.sarif", *words, cwd=folder)
    assert done.stderr == ""
    return read((folder / "v.sarif").read_bytes())


@pytest.fixture(scope="module")
def whole(folder: Path) -> Run:
    """The log of a check of all the traces."""
    return check(folder, "wrong trace.ndjson", "good.ndjson", "empty.ndjson", "cut.ndjson", "nowhere.ndjson")


def test_a_finding_is_a_result_at_its_line_with_the_events_before_it(folder: Path, whole: Run) -> None:
    result = whole.results[0]
    place = result.locations[0].physicalLocation
    assert (place.artifactLocation.uri, place.artifactLocation.uriBaseId) == ("wrong%20trace.ndjson", "%SRCROOT%")
    assert (result.ruleId, result.level, place.region.startLine) == ("LS202", "error", 3)
    assert "token: the trace shows 5, the spec says 1" in result.message.text
    (related,) = result.relatedLocations
    assert related.physicalLocation.artifactLocation.uri == "specs/LockService.tla"
    spec = (folder / "specs" / "LockService.tla").read_text().splitlines()
    assert spec[related.physicalLocation.region.startLine - 1].startswith("Unlock(")
    steps = result.codeFlows[0].threadFlows[0].locations
    assert [step.location.physicalLocation.region.startLine for step in steps] == [2, 3]
    assert [each.fullyQualifiedName for step in steps for each in step.location.logicalLocations] == [
        "LockService!Lock",
        "LockService!Unlock",
    ]


def test_the_rules_are_the_codes_with_the_texts_of_explain(whole: Run) -> None:
    rules = whole.tool.driver.rules
    assert [each.id for each in rules] == ["LS202", "LS401", "LS301"]
    for each in rules:
        assert (each.shortDescription.text, each.help.text) == (rule(each.id).title, rule(each.id).text)


def test_a_finding_has_the_same_fingerprint_in_every_run_and_at_another_line(folder: Path) -> None:
    first = check(folder, "wrong trace.ndjson")
    assert first.invocations == [Invocation(True, [])]
    fingerprint = first.results[0].partialFingerprints
    before = (folder / "wrong trace.ndjson").read_text()
    lines = before.splitlines(keepends=True)
    seen = '{"kind":"event","node":"a","seq":0,"action":"Observe","shows":{"token":0}}\n'
    moved = "".join([lines[0], seen, *lines[1:-1]]).replace('"seq": 1', '"seq": 2').replace('"seq": 0', '"seq": 1')
    (folder / "wrong trace.ndjson").write_text(moved + '{"kind":"end","events":3}\n')
    again = check(folder, "wrong trace.ndjson").results[0]
    (folder / "wrong trace.ndjson").write_text(before)
    assert again.locations[0].physicalLocation.region.startLine == 4
    assert again.partialFingerprints == fingerprint
    assert len(fingerprint) == 1


def test_a_trace_without_a_verdict_is_a_result_and_makes_the_run_unsuccessful(whole: Run) -> None:
    assert [(each.ruleId, each.kind, each.level) for each in whole.results[1:]] == [
        ("LS401", "open", "none"),
        ("LS301", "fail", "error"),
        ("LS301", "fail", "error"),
    ]
    assert whole.results[2].locations[0].physicalLocation.region.startLine == 3
    assert not whole.invocations[0].executionSuccessful
    assert len(whole.invocations[0].toolExecutionNotifications) == 3
    internal = read(sarif_log([TraceVerdict("t", Verdict.INTERNAL, "")]))
    assert [(each.ruleId, each.level) for each in internal.results] == [("LS501", "error")]


@pytest.mark.parametrize("word", ["good.ndjson", ".", "g*.ndjson"])
def test_no_report_overwrites_a_trace(word: str, folder: Path) -> None:
    before = (folder / "good.ndjson").read_bytes()
    refused = lockstep("check", "--spec", "specs/LockService.tla", "--sarif", "good.ndjson", word, cwd=folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (folder / "good.ndjson").read_bytes() == before


def test_a_log_with_hostile_text_is_well_formed() -> None:
    run = read(sarif_log([hostile_verdict(), malformed(HOSTILE, HOSTILE)]))
    assert visible(HOSTILE) in run.results[0].message.text
    assert len(run.results) == 2
