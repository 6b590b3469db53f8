"""Tables of records: the columns of a dataclass, in Arrow and as Spark writes them, and its instances as rows.

A field that is text, a number, a truth value or bytes is a column of that; any other is a column of JSON.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

T = TypeVar("T")

_ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}
_SPARK = {"bool": "boolean", "int64": "bigint", "double": "double", "string": "string", "binary": "binary"}


@functools.cache
def _columns(record: type) -> dict[str, tuple[Any, pa.DataType | None]]:
    """Return the type of each field, and the Arrow type of its column, None where it is JSON."""
    hints = get_type_hints(record, localns={})  # a field may be called like a type
    found = {}
    for field in fields(record):
        hint = hints[field.name]
        is_union = get_origin(hint) in (Union, types.UnionType)
        (value, *others) = [each for each in get_args(hint) if each is not type(None)] if is_union else [hint]
        is_plain = isinstance(value, type) and not others
        arrow = next((arrow for kind, arrow in _ARROW.items() if is_plain and issubclass(value, kind)), None)
        found[field.name] = hint, arrow
    return found


def schema_of(record: type) -> pa.Schema:
    """Return the columns of a dataclass."""
    return pa.schema([(name, arrow or pa.string()) for name, (_, arrow) in _columns(record).items()])


def ddl(schema: pa.Schema) -> str:
    """Return columns as Spark writes them: `name type, ...`."""
    return ", ".join(f"`{field.name}` {_SPARK[str(field.type)]}" for field in schema)


def list_ddl(record: type) -> str:
    """Return the type, as Spark writes it, of a JSON list of records."""
    return f"array<struct<{', '.join(f'`{each.name}`: {_SPARK[str(each.type)]}' for each in schema_of(record))}>>"


def row_of(record: Any) -> dict[str, Any]:
    """Return a record as a row of its table."""
    row = {}
    for name, (_, arrow) in _columns(type(record)).items():
        value = getattr(record, name)
        if arrow is None:
            value = msgspec.json.encode(value).decode()
        row[name] = str(value) if isinstance(value, str) else value  # an enum of words is none to Arrow
    return row


def record_of(record: type[T], row: Mapping[str, Any]) -> T:
    """Return the record that a row of its table stands for; columns of others are ignored."""
    values = {}
    for name, (hint, arrow) in _columns(record).items():
        decode = msgspec.json.decode if arrow is None else msgspec.convert
        values[name] = decode(row[name], type=hint)
    return record(**values)


def extended(record: type[T], base: Any, **more: Any) -> T:
    """Return a record of a class that extends that of another record, with its further fields."""
    return record(**{field.name: getattr(base, field.name) for field in fields(base)} | more)
