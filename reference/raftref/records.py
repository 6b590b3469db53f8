"""Values as JSON, and back: a dataclass is a record with the spec's names, a frozenset the spec's set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

#: The most objects of a class whose JSON is remembered.
MAX_REMEMBERED = 10_000


class MessageRecord:
    """A message, whose record begins with its kind, `request` or `response`, and its type.

    Of a request `awaited` comes last: whether its caller would still take the answer.
    """

    __slots__ = ()
    kind: ClassVar[str]


#: The metadata of a field that the record of a message lacks where it is None.
MAY_LACK = {"may_lack": True}


def spec_name(field: str) -> str:
    """Return the spec's name of a field: `last_log_index` is `lastLogIndex`."""
    first, *others = field.split("_")
    return first + "".join(each.capitalize() for each in others)


def record(value: Any) -> Any:
    """Return a value as JSON, which nobody changes: equal parts may be one object."""
    kind: Any = type(value)
    write = _writer(kind)
    return value if write is None else write(value)


@functools.cache
def _writer(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes JSON of the values of a type; None where they are JSON."""
    if issubclass(kind, StrEnum):
        return str
    if issubclass(kind, frozenset | set):
        return lambda value: {"#set": [record(each) for each in sorted(value)]}
    if issubclass(kind, tuple | list):
        return lambda value: [record(each) for each in value]
    if issubclass(kind, Mapping):
        return lambda value: {key: record(each) for key, each in value.items()}
    if issubclass(kind, MessageRecord):
        return _message_writer(kind)
    if not is_dataclass(kind):
        return None
    write, parameters = _fields_writer([each.name for each in fields(kind)]), vars(kind)["__dataclass_params__"]
    return _remembering(write) if parameters.frozen else write


def _remembering(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what makes the same JSON of the same object again: entries are shown again and again, and never change."""
    known: dict[int, tuple[Any, Any]] = {}

    def remembered(value: Any) -> Any:
        found = known.get(id(value))
        if found is None:
            if len(known) >= MAX_REMEMBERED:
                known.clear()
            found = known[id(value)] = value, write(value)  # as long as it is here no other object has its id
        return found[1]

    return remembered


def _fields_writer(names: list[str]) -> Callable[[Any], dict[str, Any]]:
    pairs = [(name, spec_name(name)) for name in names]
    return lambda value: {in_spec: record(getattr(value, name)) for name, in_spec in pairs}


def _message_writer(kind: Any) -> Callable[[Any], dict[str, Any]]:
    head, last = {"kind": kind.kind}, ["awaited"] if kind.kind == "request" else []
    names = [each.name for each in fields(kind) if each.name not in ("type", "awaited") and not each.metadata]
    write = _fields_writer(["type", *names, *last])
    lacked = [each.name for each in fields(kind) if each.metadata == MAY_LACK]
    if not lacked:
        return lambda value: head | write(value)
    return lambda value: head | write(value) | _fields_writer(_present(lacked, value))(value)


def _present(names: list[str], value: Any) -> list[str]:
    return [name for name in names if getattr(value, name) is not None]


def from_record(kind: Any, value: Any) -> Any:
    """Return the value of a type that JSON stands for, as `record` writes it.

    Raises:
        KeyError, TypeError or ValueError: It stands for none.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else from_record(parts[0], value)
    if origin is tuple:
        return tuple(from_record(parts[0], each) for each in value)
    if origin is not None and issubclass(origin, frozenset):
        return frozenset(from_record(parts[0], each) for each in value["#set"])
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return value
    return kind(
        **{
            field: from_record(hint, value[name])
            for field, name, hint, may_lack in _readers(kind)
            if not may_lack or name in value
        }
    )


@functools.cache
def _readers(kind: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (each.name, spec_name(each.name), hints[each.name], each.metadata == MAY_LACK)
        for each in fields(kind)
        if each.init
    )
