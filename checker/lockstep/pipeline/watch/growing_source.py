"""The streaming source of a watch: the lines of files that only grow, each once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from lockstep.jobs.spark.record_tables import ddl
from lockstep.pipeline.watch.growing_files import BatchPlanner, Notice, Piece, ReadOffset, read_piece
from lockstep.pipeline.watch.source_status import StatusFolder
from lockstep.pipeline.watch.spec_cache import SpecCache

FORMAT = "lockstep-growing-traces"

#: A row is a block of complete lines of a trace, the first of them line `number`, or a notice of the time `number`.
ROWS = pa.schema([("trace", pa.string()), ("kind", pa.string()), ("number", pa.int64()), ("data", pa.binary())])

#: The kind of a row that has lines.
LINES = "lines"

#: Tasks that read the pieces of a batch, at most: more gain nothing, as all of a batch is small.
MAX_TASKS = 4

_OPTIONS = ("folder", "shown", "store", "status", "patience", "timeout", "switches")


class GrowingTraces(DataSource):
    """The data source by its name; its options are those of GrowingReader."""

    @classmethod
    def name(cls) -> str:
        """Return the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns."""
        return ddl(ROWS)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what reads the stream."""
        return GrowingReader({name: self.options[name] for name in _OPTIONS})


class GrowingReader(DataSourceStreamReader):
    """Plans batches on the driver, and reads their pieces in tasks.

    Options: `folder`, where the traces are, and `shown`, how messages name it; `store`, where compiled specs are kept;
    `status`, a folder of the driver's machine for a StatusFolder; `patience`, and `timeout` of what compiles a spec, in
    seconds; `switches`, as JSON.
    """

    def __init__(self, options: dict[str, str]) -> None:
        """Take the options; nothing is read yet."""
        self.folder, self.options = Path(options["folder"]), options
        self._planner: BatchPlanner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first batch."""
        return ReadOffset().tree()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        """Return the offset after the next batch; `start` itself where nothing is new."""
        if self._planner is None:
            seconds = float(self.options["timeout"])
            specs = SpecCache(Path(self.options["store"]), json.loads(self.options["switches"]), seconds)
            patience, shown = float(self.options["patience"]), self.options["shown"]
            self._planner = BatchPlanner(self.folder, patience, shown, specs.compile)
        status, before = StatusFolder(Path(self.options["status"])), ReadOffset.from_tree(start)
        after = self._planner.next(before, status.due())
        status.report(before, after, self._planner)
        return start if after is before else after.tree()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a batch: its pieces and notices."""
        if start == end:
            return []
        after = ReadOffset.from_tree(end)
        if after.number != start["number"] + 1:
            raise ValueError(f"batch {after.number} does not follow batch {start['number']}")
        work = [*after.pieces, *after.notices]
        return [InputPartition(work[task::MAX_TASKS]) for task in range(min(MAX_TASKS, len(work)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        for each in partition.value:
            row = source_row(self.folder, each, self.options["shown"])
            yield pa.record_batch([[cell] for cell in row], schema=ROWS)


def source_row(folder: Path, work: Piece | Notice, shown: str) -> tuple[str, str, int, bytes]:
    """Return the row of a piece or a notice; a piece whose file is gone since it was planned becomes a notice.

    Raises NotGrowingError where the file has other bytes than it had when the piece was planned.
    """
    if isinstance(work, Notice):
        return work.trace, work.kind, work.at, work.text.encode()
    try:
        return work.trace, LINES, work.line, read_piece(folder, work, shown)
    except OSError as error:
        name = Path(shown) / work.trace
        return work.trace, "gone", 0, f"{name}: line {work.line} cannot be read: {error.strerror or error}".encode()
