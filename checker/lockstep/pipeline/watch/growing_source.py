"""The streaming source: the lines of files that grow, each once, whatever becomes of the files' names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from lockstep.pipeline.watch.growing_files import Offset, Piece, Planner, Said, bytes_between, crc_of, seen_files
from lockstep.pipeline.watch.source_status import Control
from lockstep.pipeline.watch.spec_cache import Specs

NAME = "lockstep-growing-traces"

#: A row is a block of complete lines of a trace, the first of them `line`, or what else is said of it (`kind`).
ROWS = pa.schema([("trace", pa.string()), ("kind", pa.string()), ("line", pa.int64()), ("block", pa.binary())])
DDL = "trace string, kind string, line bigint, block binary"

#: The kind of a row that has lines.
LINES = "lines"


class GrowingTraces(DataSource):
    """The data source by its name; its options are those of Reader."""

    @classmethod
    def name(cls) -> str:
        """Return the format."""
        return NAME

    def schema(self) -> str:
        """Return the columns."""
        return DDL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what reads the stream."""
        return Reader({name: self.options[name] for name in _OPTIONS})


_OPTIONS = ("folder", "shown", "store", "control", "patience", "timeout", "switches")


class Reader(DataSourceStreamReader):
    """Plans batches on the driver, and reads their pieces in tasks.

    Options: `folder`, where the traces are, and `shown`, how messages name it; `store`, where compiled specs are kept;
    `control`, a folder of the driver's machine, where it tells how far it is; `patience`, and `timeout` of what
    compiles a spec, in seconds; `switches`, as JSON.
    """

    def __init__(self, options: dict[str, str]) -> None:
        """Take the options; nothing is read yet."""
        self.folder, self.options = Path(options["folder"]), options
        self._planner: Planner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first batch."""
        return Offset().tree()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        """Return the offset after the next batch; `start` itself where nothing is new."""
        planner, control = self._plans(), Control(Path(self.options["control"]))
        before = Offset.of(start)
        after = planner.next(before, control.due())
        control.tell_source(before, after, planner)
        return start if after is before else after.tree()

    def _plans(self) -> Planner:
        if self._planner is None:
            seconds = float(self.options["timeout"])
            specs = Specs(Path(self.options["store"]), json.loads(self.options["switches"]), seconds)
            self._planner = Planner(self.folder, float(self.options["patience"]), self.options["shown"], specs.compile)
        return self._planner

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a batch: what is said of traces, and pieces of files."""
        if start == end:
            return []
        after = Offset.of(end)
        if after.number != start["number"] + 1:
            raise ValueError(f"batch {after.number} does not follow batch {start['number']}")
        tasks: list[list[Piece | Said]] = [[] for _ in range(min(_TASKS, len(after.pieces) + bool(after.said)))]
        work: list[Piece | Said] = [*after.pieces, *after.said]
        for number, each in enumerate(work):
            tasks[number % len(tasks)].append(each)
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        for each in partition.value:
            if isinstance(each, Said):
                rows = [(each.trace, each.kind, each.at, each.text.encode())]
            else:
                rows = list(blocks(self.folder, each, self.options["shown"]))
            yield pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in _columns(rows)], schema=ROWS)


#: So many tasks read the pieces of a batch: more than there are cores gain nothing, as all of a batch is small.
_TASKS = 4


def _columns(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    return zip(zip(*rows, strict=True), ROWS.types, strict=True)


def blocks(folder: Path, piece: Piece, shown: str) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield the rows of a piece: its lines, or that they are not there any more.

    Where a batch is done again after the program was killed its file may have another name, or be a copy.
    """
    data = _again(folder, piece)
    if data is None:
        text = (
            f"{Path(shown) / piece.path}: the file is gone, or was written anew, before line {piece.line} was checked"
        )
        yield piece.trace, "lost", 0, text.encode()
    else:
        yield piece.trace, LINES, piece.line, data


def _again(folder: Path, piece: Piece) -> bytes | None:
    found = _read(folder / piece.path, piece.packed, piece)
    if found is not None:
        return found
    same_series = [each for each in seen_files(folder) if each.series == piece.series]
    same_series.sort(key=lambda each: (each.dev, each.ino) != (piece.dev, piece.ino))
    return next(
        (data for each in same_series if (data := _read(folder / each.path, each.packed, piece)) is not None), None
    )


def _read(path: Path, packed: bool, piece: Piece) -> bytes | None:
    """Return the bytes of a piece from a file, None where it has others."""
    try:
        data = bytes_between(path, packed, piece.begin, piece.end)
    except OSError:
        return None
    return data if crc_of(data, piece.crc) == piece.crc_after else None
