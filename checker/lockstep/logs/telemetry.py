"""Logs and spans of OpenTelemetry in files of OTLP JSON: a line is a request of an exporter, and has many records.

A log record is one record. A span is two, where it starts and where it ends, with one for each of its events between
them. An exporter sends a span when it has ended, and its logs in another request, so the records of a file are put
into the order of their times.

Source: OpenTelemetry Protocol, JSON Protobuf Encoding; OpenTelemetry Protocol File Exporter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lockstep.trace.json_lines import TraceError, convert_line, json_object

#: A 64-bit number, which JSON has as text, for its own numbers may be of 53 bits.
_Number = str | int


class _Message(msgspec.Struct, frozen=True, rename="camel"):
    """A message of the protocol; fields that are not needed, or that a later version adds, are ignored."""


class _Array(_Message, frozen=True):
    values: list[_Value] = []


class _KeyValue(_Message, frozen=True):
    key: str
    value: _Value | None = None


class _KeyValues(_Message, frozen=True):
    values: list[_KeyValue] = []


class _Value(_Message, frozen=True):
    """AnyValue: at most one of the fields is there."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: _Number | None = None
    double_value: float | str | None = None
    bytes_value: str | None = None
    array_value: _Array | None = None
    kvlist_value: _KeyValues | None = None

    def json(self) -> Any:
        """Return the value as JSON: a number as a number, a list of keys and values as an object."""
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"a value has {' and '.join(given)}")
        if self.int_value is not None:
            return _integer(self.int_value, "intValue")
        if self.array_value is not None:
            return [each.json() for each in self.array_value.values]
        if self.kvlist_value is not None:
            return _object(self.kvlist_value.values)
        plain = (self.string_value, self.bool_value, self.double_value, self.bytes_value)
        return next((each for each in plain if each is not None), None)


class _Resource(_Message, frozen=True):
    attributes: list[_KeyValue] = []


class _InstrumentationScope(_Message, frozen=True):
    name: str = ""


class _LogRecord(_Message, frozen=True):
    time_unix_nano: _Number = 0
    observed_time_unix_nano: _Number = 0
    severity_text: str = ""
    event_name: str = ""
    body: _Value | None = None
    attributes: list[_KeyValue] = []
    trace_id: str = ""
    span_id: str = ""

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of the record; one without a time has that at which it was collected."""
        is_stamped = _integer(self.time_unix_nano, "timeUnixNano") != 0
        time = (
            _time(self.time_unix_nano, "timeUnixNano")
            if is_stamped
            else _time(self.observed_time_unix_nano, "observedTimeUnixNano")
        )
        yield {
            "record": "log",
            "time": time,
            "severityText": self.severity_text,
            "eventName": self.event_name,
            "body": None if self.body is None else self.body.json(),
            "attributes": _object(self.attributes),
            "traceId": self.trace_id,
            "spanId": self.span_id,
        }


class _Event(_Message, frozen=True):
    time_unix_nano: _Number
    name: str = ""
    attributes: list[_KeyValue] = []


class _Status(_Message, frozen=True):
    code: int | str = 0
    message: str = ""


class _SpanRecord(_Message, frozen=True):
    start_time_unix_nano: _Number
    end_time_unix_nano: _Number
    name: str = ""
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    attributes: list[_KeyValue] = []
    events: list[_Event] = []
    status: _Status = _Status()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of the start, of each event, and of the end."""
        start, end = (
            _time(self.start_time_unix_nano, "startTimeUnixNano"),
            _time(self.end_time_unix_nano, "endTimeUnixNano"),
        )
        if end < start:
            raise ValueError(f"field `endTimeUnixNano`: span {self.name[:60]!r} ends before it starts")
        span = {
            "name": self.name,
            "attributes": _object(self.attributes),
            "traceId": self.trace_id,
            "spanId": self.span_id,
            "parentSpanId": self.parent_span_id,
        }
        yield {"record": "spanStart", "time": start, **span}
        for event in self.events:
            own = {"name": event.name, "attributes": _object(event.attributes), "spanName": self.name}
            yield {"record": "spanEvent", "time": _time(event.time_unix_nano, "events.timeUnixNano"), **span, **own}
        status = {"code": self.status.code, "message": self.status.message}
        yield {"record": "spanEnd", "time": end, **span, "status": status}


class _ScopeLogs(_Message, frozen=True):
    log_records: list[_LogRecord]
    scope: _InstrumentationScope = _InstrumentationScope()


class _ScopeSpans(_Message, frozen=True):
    spans: list[_SpanRecord]
    scope: _InstrumentationScope = _InstrumentationScope()


class _ResourceLogs(_Message, frozen=True):
    """`scope_logs` is required here: under another name, as in old versions, the records would be lost unnoticed."""

    scope_logs: list[_ScopeLogs]
    resource: _Resource = _Resource()


class _ResourceSpans(_Message, frozen=True):
    scope_spans: list[_ScopeSpans]
    resource: _Resource = _Resource()


class _Request(_Message, frozen=True):
    resource_logs: list[_ResourceLogs] = []
    resource_spans: list[_ResourceSpans] = []

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of each record, with the attributes of its resource and the name of its scope."""
        for logs in self.resource_logs:
            for of_scope in logs.scope_logs:
                for log in of_scope.log_records:
                    yield from _with_origin(log.records(), logs.resource, of_scope.scope)
        for spans in self.resource_spans:
            for in_scope in spans.scope_spans:
                for span in in_scope.spans:
                    yield from _with_origin(span.records(), spans.resource, in_scope.scope)


#: A line has one of these keys at least. The other signals have no steps, and their lines are noise.
_SIGNALS = ("resourceLogs", "resourceSpans")
_OTHER_SIGNALS = ("resourceMetrics", "resourceProfiles")


def request_records(raw: bytes, source: str, number: int) -> list[dict[str, Any]] | None:
    """Return the fields of the records of a request, None where it has another signal.

    Arguments: `raw`, a line of OTLP JSON; `source` and `number` of the line.
    Raises TraceError, with the line and the field, where it is no request with logs or spans.
    """
    tree = json_object(raw if raw.endswith(b"\n") else raw + b"\n", source, number, "log")
    if not any(key in tree for key in _SIGNALS):
        if any(key in tree for key in _OTHER_SIGNALS):
            return None
        raise TraceError(source, number, f"it is no OTLP: it has neither `{'` nor `'.join(_SIGNALS)}`")
    try:
        request: _Request = convert_line(tree, _Request, source, number)
        return list(request.records())
    except (ValueError, RecursionError) as error:
        raise TraceError(source, number, str(error)) from error


def _with_origin(
    found: Iterable[dict[str, Any]], resource: _Resource, scope: _InstrumentationScope
) -> Iterator[dict[str, Any]]:
    for fields in found:
        yield {**fields, "resource": _object(resource.attributes), "scope": scope.name}


def _object(pairs: Iterable[_KeyValue]) -> dict[str, Any]:
    """Return keys and values as an object; a key that is there twice is refused, as the protocol does."""
    found: dict[str, Any] = {}
    for pair in pairs:
        if pair.key in found:
            raise ValueError(f"field `attributes`: `{pair.key[:60]}` is there twice")
        found[pair.key] = None if pair.value is None else pair.value.json()
    return found


_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1


def _integer(number: _Number, name: str) -> int:
    """Return a 64-bit number, signed or not; raises ValueError, naming the field, where it is none."""
    text = str(number)
    if _DECIMAL.fullmatch(text) is None or not _MIN_INTEGER <= int(text) <= _MAX_INTEGER:
        raise ValueError(f"field `{name}`: {text[:60]!r} is no 64-bit integer")
    return int(text)


def _time(number: _Number, name: str) -> int:
    """Return a time in nanoseconds; 0 stands for none."""
    if (time := _integer(number, name)) <= 0:
        raise ValueError(f"field `{name}`: there is no time")
    return time
