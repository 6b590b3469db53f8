"""The trace format refuses what is no trace, naming the file, the line and the field."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import FORMAT, Event, Header, json_schema, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace, read_trace

HEADER = Header(format=FORMAT, system="s", version="1", spec="DLedger", nodes=("n1", "n2"), constants={"Fifo": True})
EVENTS = [
    Event(seq=0, node="n1", action="Crash", shows={"role": "DOWN"}),
    Event(seq=4, node="n2", action="Lose", args={"m": {"kind": "request", "index": -1}}, t_ms=1.5, line=9),
]
DEEP = '{"a":' * 40 + "1" + "}" * 40
HEAD, FIRST, SECOND, END = trace_lines(HEADER, EVENTS)


def refusal(*lines: bytes) -> str:
    with pytest.raises(TraceError) as raised:
        list(Trace(lines, "f"))
    return str(raised.value)


def event(text: str) -> bytes:
    return b'{"kind":"event",' + text.encode() + b"}\n"


def test_a_trace_that_was_written_is_read_again() -> None:
    trace = Trace([HEAD, FIRST, SECOND, END], "f")
    assert trace.header == HEADER
    assert list(trace) == [(2, EVENTS[0]), (3, EVENTS[1])]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "f:1: the file is empty"),
        ([FIRST, END], "f:1: field `kind`: the first line must be a header"),
        ([HEAD.replace(b"trace/1", b"trace/9"), END], "f:1: field `format`: 'lockstep-trace/9' is not"),
        ([HEAD.replace(b'"n2"', b'"n1"'), END], "f:1: field `nodes`: a node is named twice"),
        ([HEAD, FIRST[:30]], "f:2: the file is truncated: this line does not end"),
        ([HEAD, FIRST[:30] + b"\n"], "f:2: not a line of a trace"),
        ([HEAD, FIRST], "f:2: the file is truncated: it has no end line"),
        ([HEAD], "f:1: the file is truncated: it has no end line"),
        ([HEAD, FIRST, END], "f:3: field `events`: the end line counts 2 events, the file has 1"),
        ([HEAD, FIRST, SECOND, END, FIRST], "f:5: there is more after the end line"),
        ([HEAD, HEAD, END], "f:2: field `kind`: a second header"),
        ([HEAD, FIRST, FIRST, END], "f:3: field `seq`: 0 does not rise above 0"),
        ([HEAD, FIRST.replace(b'"n1"', b'"n7"'), END], "f:2: field `node`: 'n7' is not in the header"),
        ([HEAD, event('"seq":1,"node":"n1","action":"A","colour":1'), END], "f:2: field `colour`: unknown field"),
        ([HEAD, event('"seq":1,"node":"n1"'), END], "f:2: field `action`: missing"),
        ([HEAD, event('"seq":"1","node":"n1","action":"A"'), END], "f:2: field `seq`: expected `int`, got `str`"),
        ([HEAD, event('"seq":-1,"node":"n1","action":"A"'), END], "f:2: field `seq`: expected `int` >= 0"),
        (
            [HEAD, event('"seq":1,"node":"n1","action":"A","shows":{"a":[0,99999999999999999999]}'), END],
            "f:2: field `shows.a[1]`: ",
        ),
        ([HEAD, event('"seq":1,"node":"n1","action":"A","args":{"a":1.5}'), END], "f:2: field `args.a`: 1.5"),
        (
            [HEAD, event('"seq":1,"node":"n1","action":"A","args":' + '{"a":' * 40 + "1" + "}" * 40), END],
            "nested deeper",
        ),
        ([HEAD, b'{"kind":"event","node":"\xff\xfe"}\n', END], "f:2: not a line of a trace"),
        ([HEAD, b"null\n", END], "f:2: not a line of a trace"),
        ([HEAD, b'{"kind":"other"}\n', END], "f:2: field `kind`: invalid value 'other'"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_file_line_and_field(lines: list[bytes], said: str) -> None:
    assert said in refusal(*lines)


def test_an_integer_below_the_least_of_the_system_is_refused() -> None:
    """A spec of the reader's own may count below zero; DLedger's indexes begin at -1."""
    lines = [HEAD, event('"seq":1,"node":"n1","action":"A","args":{"a":-2}'), b'{"kind":"end","events":1}\n']
    assert [item.args for _, item in Trace(lines, "f")] == [{"a": -2}]
    trace = Trace(lines, "f")
    trace.least_integer = -1
    with pytest.raises(TraceError, match=r"f:2: field `args\.a`: -2 is not between -1 and "):
        list(trace)


def test_an_event_that_is_silent_on_messages_differs_from_one_that_sent_none() -> None:
    unknown, nothing = Event(seq=0, node="n1", action="A"), Event(seq=1, node="n1", action="A", sent=())
    lines = list(trace_lines(HEADER, [unknown, nothing]))
    assert [b'"sent"' in line for line in lines] == [False, False, True, False]
    assert [item.sent for _, item in Trace(lines, "f")] == [None, ()]


def test_deep_nesting_ends_in_an_error_not_in_a_crash() -> None:
    deep = event('"seq":1,"node":"n1","action":"A","args":{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    assert refusal(HEAD, deep, END).startswith("f:2: ")


def test_a_trace_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"

    def failing() -> object:
        yield EVENTS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_trace(path, HEADER, failing())  # type: ignore[arg-type]  # a generator of events
    assert list(tmp_path.iterdir()) == []
    assert write_trace(path, HEADER, EVENTS) == 2
    assert [item for _, item in read_trace(path)] == EVENTS


def test_the_schema_knows_every_field_and_names_those_that_are_not_compared() -> None:
    schema = json_schema()
    for kind, cls in (("Header", Header), ("Event", Event)):
        fields = {field.encode_name for field in msgspec.structs.fields(cls)}
        assert set(schema["$defs"][kind]["properties"]) == fields | {"kind"}
        assert schema["$defs"][kind]["additionalProperties"] is False
    for name in ("t_ms", "line", "seq", "version", "spec_hash", "origin", "scenario"):
        assert name in schema["description"]


def test_the_schema_lets_an_event_be_silent_on_what_was_sent_and_says_what_it_means_otherwise() -> None:
    schema = json_schema()
    event = schema["$defs"]["Event"]
    assert "sent" not in event["required"]
    assert {each.get("type") for each in event["properties"]["sent"]["anyOf"]} == {"array", "null"}
    assert "sent, which then lists every message that the step sent" in schema["description"]
