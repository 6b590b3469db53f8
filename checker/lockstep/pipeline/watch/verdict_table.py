"""The table of a watch: a row for each batch in which something was found in a trace, and one that settles it.

Each finding is in one row, and the last row of a trace has its verdict. The table is Parquet, with a folder for each
batch that found something, which is written again where the batch is done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep import __version__
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.jobs.spark.record_tables import RecordTable

#: The format in STORE/_lockstep.json.
STORE_FORMAT = "lockstep-watch/1"
_FORMAT_FILE, _OPTIONS_FILE, _DONE = "_lockstep.json", "watch.json", "_SUCCESS"

RUN = "watch"


@dataclass(slots=True, kw_only=True)
class WatchVerdict(TraceVerdict):
    """The verdict on a trace so far, with the findings that are new.

    `trace` is its path in the folder, `source` as messages name it; `spec` is the SHA-256 of the compiled spec;
    `settled`: no more of the trace is checked; `replay` is the command that checks the file again.
    """

    trace: str
    spec: str
    settled: bool
    replay: str = ""

    def record(self) -> dict[str, Any]:
        """Return the row as JSON can hold it, its findings with ids that stay the same over restarts."""
        found = [{"id": finding_id(self.trace, each), **msgspec.to_builtins(each)} for each in self.findings]
        return {**msgspec.to_builtins(self), "findings": found}


def finding_id(trace: str, finding: Finding) -> str:
    """Return the id of a finding: what it is and where, not when it was found."""
    parts = trace, finding.kind, finding.code, finding.name, finding.line, finding.seq
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


VERDICTS = RecordTable(WatchVerdict)


class WatchStore:
    """The folder of a watch: `checkpoint` is Spark's, `specs` has compiled specs, `verdicts` the table."""

    def __init__(self, folder: Path, variant: str) -> None:
        """Take the folder, which opening makes; `variant` names what replaces constants of the headers."""
        self.folder, self.checkpoint = folder, folder / "checkpoint"
        self._table = folder / "verdicts" / f"run={RUN}" / f"variant={variant}"

    @contextmanager
    def opened(self, options: dict[str, Any]) -> Iterator[None]:
        """Open the store for this process alone.

        Arguments: `options`, which a watch that goes on must have in common with the one that began.
        Raises BadInputError where another process has it, it is of another version, or another watch's.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInputError(f"{self.folder}: another watch is running with this store") from error
            self._agree(_FORMAT_FILE, {"format": STORE_FORMAT})
            self._agree(_OPTIONS_FILE, {"lockstep": __version__, **options})
            if next(self._table.glob("batch=*"), None) is not None and not (self.checkpoint / "metadata").exists():
                raise BadInputError(f"{self.folder}: there are verdicts and no checkpoint: name another with --store")
            yield
        finally:
            os.close(lock)

    def _agree(self, name: str, options: dict[str, Any]) -> None:
        path = self.folder / name
        if not path.exists():
            with writing_whole(path) as file:
                file.write(json.dumps(options).encode() + b"\n")
            return
        try:
            found = json.loads(path.read_bytes())
            differing = next((key for key in options if found.get(key) != options[key]), None)
        except (ValueError, AttributeError) as error:
            raise BadInputError(f"{path}: not what a store has there") from error
        if differing is not None:
            was, now = (json.dumps(each.get(differing)) for each in (found, options))
            raise BadInputError(
                f"{path}: field `{differing}`: this store was begun with {was}, not {now}; name another with --store"
            )

    def write(self, batch: int, rows: Sequence[WatchVerdict]) -> None:
        """Write the rows of a batch, in place of those that were written when it was done before."""
        folder = self._table / f"batch={batch:08d}"
        if folder.exists():
            shutil.rmtree(folder)
        if not rows:
            return
        folder.mkdir(parents=True)
        table = pa.Table.from_pylist(list(map(VERDICTS.row, rows)), schema=VERDICTS.schema)
        pq.write_table(table, folder / "part-0.parquet", write_page_checksum=True)
        (folder / _DONE).touch()

    def rows(self) -> Iterator[WatchVerdict]:
        """Yield the rows of all batches, in their order; raises GaveUpError where a file of them is damaged."""
        for folder in sorted(self._table.glob("batch=*")):
            if (folder / _DONE).exists():
                yield from _rows_in(folder / "part-0.parquet")


def _rows_in(file: Path) -> list[WatchVerdict]:
    try:
        table = pq.ParquetFile(file, page_checksum_verification=True)
        if table.schema_arrow != VERDICTS.schema:
            raise ValueError("its columns are not those that were written")
        return [VERDICTS.record(row) for row in table.read().to_pylist()]
    except (pa.ArrowException, msgspec.MsgspecError, OSError, ValueError) as error:
        raise GaveUpError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error
