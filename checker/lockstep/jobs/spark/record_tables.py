"""Tables of records: the columns of a dataclass, in Arrow and as Spark writes them, and its instances as rows.

A field that is text, a number, a truth value or bytes is a column of that; any other is a column of JSON.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

T = TypeVar("T")

_ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}
_SPARK = {"bool": "boolean", "int64": "bigint", "double": "double", "string": "string", "binary": "binary"}


class RecordTable(Generic[T]):
    """A table of instances of a dataclass: `schema` has its columns, `ddl` the same as Spark writes them."""

    def __init__(self, record: type[T]) -> None:
        """Derive the columns from the fields."""
        self._record = record
        hints = get_type_hints(record, localns={})  # a field may be called like a type
        self._types = {field.name: hints[field.name] for field in fields(record)}  # type: ignore[arg-type]  # any dataclass
        columns = {name: _arrow_type(hint) for name, hint in self._types.items()}
        self._as_json = {name for name, arrow in columns.items() if arrow is None}
        self.schema = pa.schema([(name, arrow or pa.string()) for name, arrow in columns.items()])
        self.ddl = ddl(self.schema)

    @property
    def list_ddl(self) -> str:
        """The type, as Spark writes it, of a list of records in JSON."""
        return f"array<struct<{ddl(self.schema).replace('` ', '`: ')}>>"

    def row(self, record: T) -> dict[str, Any]:
        """Return the row of a record."""
        row = {name: getattr(record, name) for name in self._types}
        for name in self._as_json:
            row[name] = msgspec.json.encode(row[name]).decode()
        return {name: str(value) if isinstance(value, str) else value for name, value in row.items()}  # enums too

    def batch(self, records: Iterable[T]) -> pa.RecordBatch:
        """Return records as a batch of rows."""
        return pa.RecordBatch.from_pylist([self.row(record) for record in records], schema=self.schema)

    def record(self, row: Mapping[str, Any]) -> T:
        """Return the record of a row; columns of others are ignored."""
        values = {}
        for name, hint in self._types.items():
            decode = msgspec.json.decode if name in self._as_json else msgspec.convert
            values[name] = decode(row[name], type=hint)
        return self._record(**values)


def _arrow_type(hint: Any) -> pa.DataType | None:
    """Return the type of the column of a field, None where that is JSON."""
    is_union = get_origin(hint) in (Union, types.UnionType)
    (kind, *others) = (each for each in get_args(hint) if each is not types.NoneType) if is_union else (hint,)
    is_plain = isinstance(kind, type) and not others
    return next((arrow for plain, arrow in _ARROW.items() if is_plain and issubclass(kind, plain)), None)


def ddl(schema: pa.Schema) -> str:
    """Return columns as Spark writes them: `name type, ...`."""
    return ", ".join(f"`{field.name}` {_SPARK[str(field.type)]}" for field in schema)


def extended(record: type[T], base: Any, **more: Any) -> T:
    """Return a record of a class that extends that of another record, with its further fields."""
    return record(**{field.name: getattr(base, field.name) for field in fields(base)} | more)


def column_rows(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a partition, with the columns of these names alone."""
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
