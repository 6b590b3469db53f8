"""Logs and spans of OpenTelemetry as lines of a log.

Source: OpenTelemetry Protocol, JSON Protobuf Encoding; OpenTelemetry Protocol File Exporter.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.mapping import MappingError, read_mapping
from lockstep.logs.telemetry import request_records
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import OwnTraceCheck, own_check
from lockstep.trace.json_lines import TraceError
from tests.support.logs.backup_service import EXAMPLE
from tests.support.sampling import sampled

TELEMETRY = EXAMPLE / "telemetry"
RIGHT, HASTY = TELEMETRY / "right.otlp.jsonl", TELEMETRY / "hasty.otlp.jsonl"


@pytest.fixture(scope="module")
def primary_backup() -> OwnTraceCheck:
    return own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=TELEMETRY / "mapping.toml"))


def written(tmp_path: Path, lines: list[str]) -> list[Path]:
    path = tmp_path / "some.otlp.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    return [path]


def summary(found: TraceVerdict) -> tuple[Verdict, int, int]:
    return found.verdict, found.events, found.steps


def test_the_spans_and_logs_of_a_run_are_explained(primary_backup: OwnTraceCheck) -> None:
    """Eight entries: a span that starts and ends for each, and two backups that log it."""
    found = primary_backup.check_logs([RIGHT])
    assert (found.verdict, found.events) == (Verdict.HOLDS, 8 * (2 + 2))
    assert found.steps > found.events


def test_a_span_that_ends_too_early_is_refuted_with_the_line_of_its_request(primary_backup: OwnTraceCheck) -> None:
    found = primary_backup.check_logs([HASTY])
    assert found.verdict is Verdict.VIOLATED
    (finding,) = found.findings
    assert '"record":"spanEnd"' in finding.details[0]
    line = HASTY.read_text().splitlines()[finding.line - 1]
    assert "resourceSpans" in line


@pytest.mark.parametrize("path", sampled([RIGHT, HASTY], [RIGHT]), ids=lambda path: path.stem)
def test_the_order_of_requests_says_nothing(path: Path, primary_backup: OwnTraceCheck, tmp_path: Path) -> None:
    lines = path.read_text().splitlines()
    random.Random(1).shuffle(lines)
    assert summary(primary_backup.check_logs(written(tmp_path, lines))) == summary(primary_backup.check_logs([path]))


def test_lines_of_other_signals_are_noise(primary_backup: OwnTraceCheck, tmp_path: Path) -> None:
    lines = ['{"resourceMetrics": []}', *RIGHT.read_text().splitlines()]
    found = primary_backup.check_logs(written(tmp_path, lines))
    assert found.verdict is Verdict.HOLDS
    assert any("1 line" in note for note in found.notes), found.notes


def test_records_of_a_node_with_the_same_time_refute_nothing(primary_backup: OwnTraceCheck, tmp_path: Path) -> None:
    """Two entries that the primary writes in one nanosecond, in two requests; no backup ever has them."""
    spans = [span for line in RIGHT.read_text().splitlines() for span in spans_of(json.loads(line))]
    first, second = (dict(span, startTimeUnixNano="1000", endTimeUnixNano="9000") for span in spans[:2])
    requests = [primary_request(span) for span in (first, second)]
    for lines in (requests, requests[::-1]):
        found = primary_backup.check_logs(written(tmp_path, lines))
        assert found.verdict is Verdict.INCONCLUSIVE, found.reason
        assert "in one order of several: two records of " in found.reason


def spans_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span
        for resource in request.get("resourceSpans", [])
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def primary_request(span: dict[str, Any]) -> str:
    resource = {"attributes": [{"key": "service.instance.id", "value": {"stringValue": "p"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]})


# ---- What a record has ----


def records(request: dict[str, Any]) -> list[dict[str, Any]]:
    return request_records(json.dumps(request).encode(), "r", 1) or []


def logged(**fields: Any) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "5", **fields}]}]}]}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"stringValue": "a"}, "a"),
        ({"boolValue": False}, False),
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": -3}, -3),
        ({"doubleValue": 0.5}, 0.5),
        ({"bytesValue": "aGk="}, "aGk="),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"kvlistValue": {"values": [{"key": "a.b", "value": {"boolValue": True}}]}}, {"a.b": True}),
        ({}, None),
    ],
)
def test_a_value_of_each_type_is_read(value: dict[str, Any], read: Any) -> None:
    (log,) = records(logged(body=value, attributes=[{"key": "k", "value": value}]))
    assert (log["body"], log["attributes"]) == (read, {"k": read})


def test_a_span_is_its_start_its_events_and_its_end() -> None:
    event = {"timeUnixNano": "7", "name": "acked", "attributes": [{"key": "by", "value": {"stringValue": "b1"}}]}
    times = {"startTimeUnixNano": "6", "endTimeUnixNano": "9"}
    span = {"name": "put", "spanId": "0a", **times, "events": [event], "status": {"code": 2, "message": "late"}}
    resource = {"attributes": [{"key": "host", "value": {"stringValue": "h"}}]}
    found = records(
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}]}
    )
    shown = [(each["record"], each["time"], each["name"], each["attributes"]) for each in found]
    assert shown == [("spanStart", 6, "put", {}), ("spanEvent", 7, "acked", {"by": "b1"}), ("spanEnd", 9, "put", {})]
    assert found[2]["status"] == {"code": 2, "message": "late"}
    assert {(each["spanId"], each["scope"], each["resource"]["host"]) for each in found} == {("0a", "s", "h")}


def test_a_log_record_without_a_time_has_that_at_which_it_was_collected() -> None:
    (log,) = records(logged(timeUnixNano="0", observedTimeUnixNano="8"))
    assert log["time"] == 8


# ---- What is refused ----

SPAN = {"name": "put", "startTimeUnixNano": "6", "endTimeUnixNano": "9"}


def spanned(**fields: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN | fields]}]}]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"entry": 1}, "it is no OTLP: it has neither `resourceLogs` nor `resourceSpans`"),
        (logged(timeUnixNano="0"), "field `observedTimeUnixNano`: there is no time"),
        (logged(timeUnixNano="1e9"), "field `timeUnixNano`: '1e9' is no 64-bit integer"),
        (logged(timeUnixNano="9" * 5000), "is no 64-bit integer"),
        (logged(body={"intValue": "many"}), "field `intValue`: 'many' is no 64-bit integer"),
        (logged(attributes=[{"key": "k"}, {"key": "k"}]), "field `attributes`: `k` is there twice"),
        (
            logged(attributes=[{"value": {}}]),
            r"field `resourceLogs\[0\].scopeLogs\[0\].logRecords\[0\].attributes\[0\].key`",
        ),
        (logged(timeUnixNano="--5"), "field `timeUnixNano`: '--5' is no 64-bit integer"),
        (logged(timeUnixNano=str(2**64)), "field `timeUnixNano`: '18446744073709551616' is no 64-bit integer"),
        (logged(body={"stringValue": "a", "intValue": "1"}), "a value has string_value and int_value"),
        ({"resourceLogs": [{"scope_logs": []}]}, r"field `resourceLogs\[0\].scopeLogs`: missing"),
        ({"resourceSpans": [{"instrumentationLibrarySpans": []}]}, r"field `resourceSpans\[0\].scopeSpans`: missing"),
        (spanned(endTimeUnixNano="0"), "field `endTimeUnixNano`: there is no time"),
        (spanned(endTimeUnixNano="5"), "field `endTimeUnixNano`: span 'put' ends before it starts"),
        (spanned(endTimeUnixNano=[]), r"field `resourceSpans\[0\].scopeSpans\[0\].spans\[0\].endTimeUnixNano`"),
        ({"resourceSpans": {}}, "field `resourceSpans`: expected `array`, got `object`"),
    ],
    ids=str,
)
def test_a_request_that_is_none_is_named_with_its_line_and_field(line: dict[str, Any], said: str) -> None:
    with pytest.raises(TraceError, match=rf"^r:3: .*{said}"):
        request_records(json.dumps(line).encode(), "r", 3)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    deep = '{"arrayValue":{"values":[' * 3000 + "]}}" * 3000
    with pytest.raises(TraceError, match=r"^r:1: "):
        request_records(b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":%s}]}]}]}' % deep.encode(), "r", 1)


@pytest.mark.parametrize(
    ("replaced", "by", "said"),
    [
        ('time = { field = "time", unit = "ns" }\nskew = "1 ms" ', "#", "field `time`: the records of OTLP"),
        ('order = "node"', "", "field `order`: an exporter does not write records in the order of the steps"),
        (
            'order = "node"',
            'order = "node"\ntext = { format = "logfmt" }',
            "field `text`: the records of OTLP are no lines",
        ),
    ],
)
def test_a_mapping_that_cannot_read_them_is_refused(tmp_path: Path, replaced: str, by: str, said: str) -> None:
    path = tmp_path / "mapping.toml"
    path.write_text((TELEMETRY / "mapping.toml").read_text().replace(replaced, by))
    with pytest.raises(MappingError, match=said):
        read_mapping(path)
