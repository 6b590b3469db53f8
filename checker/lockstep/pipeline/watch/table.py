"""The table of verdicts: Parquet, a folder for each batch that told something, written again where the batch is."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep import __version__
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.whole_files import writing_whole
from lockstep.pipeline.watch.told import Told

#: What STORE/_lockstep.json says.
STORE_FORMAT = "lockstep-watch/1"
_VERSION_FILE, _ABOUT_FILE, _DONE = "_lockstep.json", "watch.json", "_SUCCESS"

RUN = "watch"

COLUMNS = pa.schema(
    [
        ("trace", pa.string()),
        ("source", pa.string()),
        ("spec", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("events", pa.int64()),
        ("steps", pa.int64()),
        ("observed", pa.int64()),
        ("seconds", pa.float64()),
        ("findings", pa.string()),
        ("notes", pa.string()),
        ("settled", pa.bool_()),
        ("replay", pa.string()),
    ]
)


class Store:
    """The folder of a watch: `checkpoint` is Spark's, `specs` has compiled specs, `verdicts` the table."""

    def __init__(self, folder: Path, variant: str) -> None:
        """Take the folder, which opening makes; `variant` names what replaces constants of the headers."""
        self.folder, self.checkpoint = folder, folder / "checkpoint"
        self._table = folder / "verdicts" / f"run={RUN}" / f"variant={variant}"

    @contextmanager
    def opened(self, about: dict[str, Any]) -> Iterator[None]:
        """Open the store for this process alone.

        Arguments: `about`, what a watch that goes on must have in common with the one that began.
        Raises BadInputError where another process has it, it is of another version, or another watch's.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInputError(f"{self.folder}: another watch is running with this store") from error
            self._agree(_VERSION_FILE, {"format": STORE_FORMAT})
            self._agree(_ABOUT_FILE, {"lockstep": __version__, **about})
            if next(self._table.glob("batch=*"), None) is not None and not (self.checkpoint / "metadata").exists():
                raise BadInputError(f"{self.folder}: there are verdicts and no checkpoint: name another with --store")
            yield
        finally:
            os.close(lock)

    def _agree(self, name: str, about: dict[str, Any]) -> None:
        path = self.folder / name
        if not path.exists():
            with writing_whole(path) as file:
                file.write(json.dumps(about).encode() + b"\n")
            return
        try:
            found = json.loads(path.read_bytes())
            differing = next((key for key in about if found.get(key) != about[key]), None)
        except (ValueError, AttributeError) as error:
            raise BadInputError(f"{path}: not what a store has there") from error
        if differing is not None:
            was, now = (json.dumps(each.get(differing)) for each in (found, about))
            raise BadInputError(
                f"{path}: field `{differing}`: this store was begun with {was}, not {now}; name another with --store"
            )

    def write(self, batch: int, rows: Sequence[Told], replays: Sequence[str]) -> None:
        """Write the rows of a batch, in place of those that were written when it was done before; `replays` of each."""
        folder = self._table / f"batch={batch:08d}"
        if folder.exists():
            shutil.rmtree(folder)
        if not rows:
            return
        folder.mkdir(parents=True)
        records = [{**msgspec.to_builtins(row), "replay": replay} for row, replay in zip(rows, replays, strict=True)]
        pq.write_table(
            pa.Table.from_pylist(records, schema=COLUMNS), folder / "part-0.parquet", write_page_checksum=True
        )
        (folder / _DONE).touch()

    def rows(self) -> Iterator[Told]:
        """Yield the rows of all batches, in their order; raises GaveUpError where a file of them is damaged."""
        for folder in sorted(self._table.glob("batch=*")):
            if (folder / _DONE).exists():
                yield from _rows_of(folder / "part-0.parquet")


def _rows_of(file: Path) -> list[Told]:
    try:
        table = pq.ParquetFile(file, page_checksum_verification=True)
        if table.schema_arrow != COLUMNS:
            raise ValueError("its columns are not those that were written")
        rows = table.read(columns=list(Told.__struct_fields__)).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise GaveUpError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error
    return [Told(**row) for row in rows]
