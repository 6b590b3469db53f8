"""The store of a pipeline: its tables, and which batches of them are there.

A batch is there once Spark has written its `_SUCCESS`, which it does after all rows, and as long as its files are those
that were noted then, by number and bytes. Readers ignore any other, and the next run writes it again, so a run that is
killed and started again neither loses nor doubles a trace.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.pipeline.file_locations import FileLocation, literal, location
from lockstep.pipeline.store_tables import STORE_FORMAT, TABLES

_FORMAT_FILE = "_lockstep.json"
_DONE = "_SUCCESS"
_TALLY = "_files-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_HASH_DIGITS = 16


@dataclass(frozen=True, order=True, slots=True)
class Batch:
    """A bounded part of a run: its variant, its name, and how many bytes its files take.

    The name of a derived batch is that of its batch of lines, a dot, and the hash of its other inputs.
    """

    variant: str
    name: str
    bytes: int = 0

    @property
    def lines(self) -> str:
        """The name of the batch of lines that it was derived from, or is."""
        return self.name.partition(".")[0]

    @property
    def derivation(self) -> str:
        """The hash of its other inputs, empty for a batch of lines."""
        return self.name.partition(".")[2]

    def derived(self, derivation: str, variant: str | None = None) -> Batch:
        """Return the batch that is derived from this one with other inputs of this hash."""
        return Batch(variant or self.variant, f"{self.lines}.{derivation}")


def short_hash(*parts: Any) -> str:
    """Return a short hash of what JSON can hold, such as the inputs that name a batch."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_HASH_DIGITS]


def checked_name(name: str, what: str) -> str:
    """Return the name of a run or a variant; raises BadInputError where it cannot be that of a folder."""
    if not _NAME.fullmatch(name):
        raise BadInputError(
            f"{name!r} is no name of a {what}: letters, digits and ._+- make one, a letter or digit first"
        )
    return name


@dataclass(frozen=True, slots=True)
class TraceStore:
    """A store at a location."""

    location: FileLocation

    @classmethod
    def open(cls, uri: str, *, create: bool = False) -> TraceStore:
        """Open the store at a URI.

        Arguments: `create`, whether to make one where there is none.
        Raises BadInputError where there is none, or one of another version; OSError where it cannot be read.
        """
        store = cls(location(uri))
        file = store.location / _FORMAT_FILE
        if file.is_file:
            _refuse_other_format(file)
        elif not create:
            raise BadInputError(f"{uri}: there is no store ({_FORMAT_FILE}) here")
        elif any(not path.startswith(_FORMAT_FILE) for path, _, _ in store.location.below()):
            raise BadInputError(f"{uri}: the folder has files and no {_FORMAT_FILE}: give an empty one, or a store")
        else:
            file.write(json.dumps({"format": STORE_FORMAT}).encode() + b"\n")
        return store

    # ---- Batches ----

    def runs(self) -> list[str]:
        """Return the names of the runs that have inputs."""
        notes = (self.location / "_inputs").below()
        folders = (path.partition("/")[0] for path, _, _ in notes if path.endswith(".json"))
        return sorted({each.removeprefix("run=") for each in folders})

    def batches(self, table: str, run: str, variant: str | None = None) -> list[Batch]:
        """Return the batches of a run that are there in a table, of one variant or of all; the largest first."""
        whole = [
            Batch(*key, sum(files.values()))
            for key, files in self._files(table, run).items()
            if variant in (None, key[0]) and _DONE in files and not _is_damaged(files)
        ]
        return sorted(whole, key=lambda batch: (-batch.bytes, batch))

    def damaged(self, table: str, run: str) -> list[Batch]:
        """Return the batches of a run that were written, and whose files are no longer those that were."""
        files = self._files(table, run).items()
        return sorted(Batch(*key) for key, each in files if _DONE in each and _is_damaged(each))

    def missing(self, run: str) -> int:
        """Return how many batches of lines a run is to have, and has not."""
        return len(self.expected(run) - {(each.variant, each.name) for each in self.batches("lines", run)})

    def _files(self, table: str, run: str) -> dict[tuple[str, str], dict[str, int]]:
        """Return the files of each batch, begun or finished, with their sizes."""
        files: dict[tuple[str, str], dict[str, int]] = {}
        for path, size, _ in (self.location / table / f"run={run}").below():
            match path.split("/"):
                case [variant, batch, *name] if name and variant.startswith("variant="):
                    key = variant.removeprefix("variant="), batch.removeprefix("batch=")
                    files.setdefault(key, {})["/".join(name)] = size
        return files

    def remove(self, table: str, run: str, batch: Batch) -> None:
        """Remove a batch, finished or not."""
        self.folder(table, run, batch).remove()

    def sweep(self, table: str, run: str) -> None:
        """Remove the batches of a run that were begun and not finished, or are damaged."""
        whole = {(each.variant, each.name) for each in self.batches(table, run)}
        for key in self._files(table, run).keys() - whole:
            self.remove(table, run, Batch(*key))

    def folder(self, table: str, run: str, batch: Batch) -> FileLocation:
        """Return the folder of a batch, whether it is there or not."""
        return self.location / table / f"run={run}" / f"variant={batch.variant}" / f"batch={batch.name}"

    # ---- Tables ----

    def read(self, spark: SparkSession, table: str, run: str, batches: Sequence[Batch]) -> DataFrame:
        """Return the rows of some batches of a table, with the columns run, variant and batch."""
        schema = f"{TABLES[table].ddl}, run string, variant string, batch string"
        if not batches:
            return spark.createDataFrame([], schema)
        folders = [literal(self.folder(table, run, batch).uri) for batch in batches]
        reader = spark.read.schema(schema).option("basePath", literal((self.location / table).uri))
        return reader.parquet(*folders)

    def write(self, rows: DataFrame, table: str, run: str, batch: Batch) -> None:
        """Write a batch of a table, replacing one that was begun, and note its files."""
        folder = self.folder(table, run, batch)
        rows.write.mode("overwrite").parquet(folder.uri)
        (folder / _tally({path: size for path, size, _ in folder.below()})).write(b"")

    # ---- The inputs of a run ----

    def put_inputs(self, run: str, stage: str, batches: Iterable[Batch], about: dict[str, Any]) -> None:
        """Note which batches of lines a run is to have, before any is written, so that a missing one is known."""
        noted = {"stage": stage, "batches": [[each.variant, each.name] for each in batches], **about}
        file = self.location / "_inputs" / f"run={run}" / f"{short_hash(noted)}.json"
        file.write(json.dumps(noted).encode() + b"\n")

    def inputs(self, run: str) -> Iterator[dict[str, Any]]:
        """Yield the notes of the inputs of a run; raises BadInputError where one is torn."""
        folder = self.location / "_inputs" / f"run={run}"
        for path, _, _ in sorted(folder.below()):
            if path.endswith(".json"):
                yield _read_note(folder / path)

    def expected(self, run: str) -> set[tuple[str, str]]:
        """Return the batches of lines that a run is to have, each as its variant and its name."""
        return {(variant, name) for noted in self.inputs(run) for variant, name in noted["batches"]}

    def refuse_unknown(self, run: str) -> str:
        """Return the name of a run; raises BadInputError where the store has none of this name."""
        if run not in (known := self.runs()):
            raise BadInputError(f"the store has no run {run!r}; it has {', '.join(known) or 'none'}")
        return run


def _read_note(file: FileLocation) -> dict[str, Any]:
    try:
        note: dict[str, Any] = json.loads(file.read())
    except ValueError as error:
        again = "remove it, and run `generate` or `ingest` again"
        raise BadInputError(f"{file.path}: these are not the inputs of a run: {again}") from error
    return note


def _tally(files: Mapping[str, int]) -> str:
    """Return the name of a file that notes how many files of rows a batch has, and how many bytes."""
    parts = [size for name, size in files.items() if name.startswith("part-")]
    return f"{_TALLY}{len(parts)}-{sum(parts)}"


def _is_damaged(files: Mapping[str, int]) -> bool:
    """Return whether the files of a batch are not those that were noted, or a kill left no note."""
    return {name for name in files if name.startswith(_TALLY)} != {_tally(files)}


def _refuse_other_format(file: FileLocation) -> None:
    try:
        found = json.loads(file.read())["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{file.path}: this is no version of a store") from error
    if found != STORE_FORMAT:
        raise BadInputError(f"{file.path}: the store is {found!r}; this program reads {STORE_FORMAT!r}")
