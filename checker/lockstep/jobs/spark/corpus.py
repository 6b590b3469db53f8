"""From NDJSON to Parquet: the lines of many traces in one table, numbered.

Nothing is decoded here. A line that is no line of a trace reaches the check as it is and gets its verdict there,
and a file without any line has a row of its own, so that no trace can drop out unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lockstep.trace.json_lines import MAX_LINE_BYTES, UnreadableError

SCHEMA = pa.schema(
    [
        pa.field("trace", pa.string(), nullable=False),
        pa.field("line", pa.int64(), nullable=False),
        pa.field("bytes", pa.binary()),
    ]
)
_BATCH_LINES = 10_000


def write_corpus(sources: Iterable[Path], path: Path) -> int:
    """Write the lines of the traces `sources` to the Parquet file `path`; return how many traces there are.

    `line` counts from 1; the one row of an empty file has line 0 and no bytes. Raises UnreadableError where a trace
    cannot be read, OSError where the table cannot be written.
    """
    count = 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for source in sources:
            count += 1
            for batch in _batches(source):
                writer.write_batch(batch)
    return count


def _batches(source: Path) -> Iterator[pa.RecordBatch]:
    lines: list[bytes] = []
    first = 1
    for line in _lines(source):
        lines.append(line)
        if len(lines) == _BATCH_LINES:
            yield _batch(source, first, lines)
            first, lines = first + len(lines), []
    if lines:
        yield _batch(source, first, lines)
    elif first == 1:
        yield pa.record_batch([[str(source)], [0], [None]], schema=SCHEMA)


def _lines(source: Path) -> Iterator[bytes]:
    try:
        with source.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                yield line
    except OSError as error:
        raise UnreadableError(str(source), error) from error


def _batch(source: Path, first: int, lines: list[bytes]) -> pa.RecordBatch:
    numbers = range(first, first + len(lines))
    return pa.record_batch([[str(source)] * len(lines), list(numbers), lines], schema=SCHEMA)
