"""The store of a pipeline: its tables, and which batches of them are there.

A batch is there once Spark has written its `_SUCCESS`, which it does after all rows, and as long as its files are those
that were noted then, by number and bytes. Any other is as good as none: no reader sees it, and the next run writes it
anew. So what was killed and started again neither loses nor doubles a trace.
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
from lockstep.pipeline.file_locations import Place, literal, place
from lockstep.pipeline.store_tables import STORE_FORMAT, TABLES

_VERSION_FILE = "_lockstep.json"
_DONE = "_SUCCESS"
_FILES = "_files-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_HASH_DIGITS = 16

#: Stands between the name of a batch of lines and the hash of what it was checked with, in the name of what came of it.
_MADE_WITH = "."


@dataclass(frozen=True, order=True, slots=True)
class Batch:
    """A bounded part of a run: its variant, its name, and how many bytes its files take."""

    variant: str
    name: str
    bytes: int = 0

    @property
    def of(self) -> str:
        """The batch of lines that it was made of, or is."""
        return self.name.partition(_MADE_WITH)[0]

    @property
    def made(self) -> str:
        """The hash of all else that went in, empty where nothing did."""
        return self.name.partition(_MADE_WITH)[2]

    def made_with(self, what: str, variant: str | None = None) -> Batch:
        """Return the batch that comes of this one; `what` is the hash of all else that goes in."""
        return Batch(variant or self.variant, f"{self.of}{_MADE_WITH}{what}")


def hash_of(*parts: Any) -> str:
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
class Store:
    """A store at a place."""

    place: Place

    @classmethod
    def open(cls, uri: str, *, create: bool = False) -> Store:
        """Open the store at a URI.

        Arguments: `create`, whether to make one where there is none.
        Raises BadInputError where there is none, or one of another version; OSError where it cannot be read.
        """
        store = cls(place(uri))
        version = store.place / _VERSION_FILE
        if version.is_file:
            _refuse_other(version)
        elif not create:
            raise BadInputError(f"{uri}: there is no store ({_VERSION_FILE}) here")
        elif any(not path.startswith(_VERSION_FILE) for path, _, _ in store.place.below()):
            raise BadInputError(f"{uri}: the folder has files and no {_VERSION_FILE}: give an empty one, or a store")
        else:
            version.write(json.dumps({"format": STORE_FORMAT}).encode() + b"\n")
        return store

    # ---- Batches ----

    def runs(self) -> list[str]:
        """Name the runs of which there are inputs."""
        notes = (self.place / "_inputs").below()
        found = (path.partition("/")[0] for path, _, _ in notes if path.endswith(".json"))
        return sorted({each.removeprefix("run=") for each in found})

    def batches(self, table: str, run: str, variant: str | None = None) -> list[Batch]:
        """Return the batches of a run that are there in a table, of one variant or of all; the largest first."""
        found = self._files(table, run).items()
        return sorted(
            (
                Batch(*key, sum(files.values()))
                for key, files in found
                if variant in (None, key[0]) and _DONE in files and not _lacks(files)
            ),
            key=lambda batch: (-batch.bytes, batch),
        )

    def damaged(self, table: str, run: str) -> list[Batch]:
        """Return the batches of a run that were written, and whose files are no longer those that were."""
        return sorted(Batch(*key) for key, files in self._files(table, run).items() if _DONE in files and _lacks(files))

    def missing(self, run: str) -> int:
        """Return how many batches of lines a run is to have, and has not."""
        return len(self.expected(run) - {(each.variant, each.name) for each in self.batches("lines", run)})

    def _files(self, table: str, run: str) -> dict[tuple[str, str], dict[str, int]]:
        """Return the files of each batch, begun or finished, with their sizes."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        for path, size, _ in (self.place / table / f"run={run}").below():
            match path.split("/"):
                case [variant, batch, *name] if name and variant.startswith("variant="):
                    key = variant.removeprefix("variant="), batch.removeprefix("batch=")
                    found.setdefault(key, {})["/".join(name)] = size
        return found

    def remove(self, table: str, run: str, batch: Batch) -> None:
        """Remove a batch, finished or not."""
        self.folder(table, run, batch).remove()

    def sweep(self, table: str, run: str) -> None:
        """Remove the batches of a run that were begun and not finished, or are damaged."""
        done = {(each.variant, each.name) for each in self.batches(table, run)}
        for key in self._files(table, run).keys() - done:
            self.remove(table, run, Batch(*key))

    def folder(self, table: str, run: str, batch: Batch) -> Place:
        """Return the folder of a batch, whether it is there or not."""
        return self.place / table / f"run={run}" / f"variant={batch.variant}" / f"batch={batch.name}"

    # ---- Tables ----

    def read(self, spark: SparkSession, table: str, run: str, batches: Sequence[Batch]) -> DataFrame:
        """Return the rows of some batches of a table, with the columns run, variant and batch."""
        schema = f"{TABLES[table].ddl}, run string, variant string, batch string"
        if not batches:
            return spark.createDataFrame([], schema)
        folders = [literal(self.folder(table, run, batch).uri) for batch in batches]
        reader = spark.read.schema(schema).option("basePath", literal((self.place / table).uri))
        return reader.parquet(*folders)

    def write(self, rows: DataFrame, table: str, run: str, batch: Batch) -> None:
        """Write a batch of a table, in place of what was begun of it, and note which files that are."""
        folder = self.folder(table, run, batch)
        rows.write.mode("overwrite").parquet(folder.uri)
        (folder / _tally({path: size for path, size, _ in folder.below()})).write(b"")

    # ---- What a run is made of ----

    def put_inputs(self, run: str, stage: str, batches: Iterable[Batch], about: dict[str, Any]) -> None:
        """Note which batches of lines a run is to have, before any is written: what is missing is then known."""
        noted = {"stage": stage, "batches": [[each.variant, each.name] for each in batches], **about}
        (self.place / "_inputs" / f"run={run}" / f"{hash_of(noted)}.json").write(json.dumps(noted).encode() + b"\n")

    def inputs(self, run: str) -> Iterator[dict[str, Any]]:
        """Yield what was noted of the inputs of a run; raises BadInputError where that is torn."""
        folder = self.place / "_inputs" / f"run={run}"
        for path, _, _ in sorted(folder.below()):
            if path.endswith(".json"):
                yield _noted(folder / path)

    def expected(self, run: str) -> set[tuple[str, str]]:
        """Return the batches of lines that a run is to have, each as its variant and its name."""
        return {(variant, name) for noted in self.inputs(run) for variant, name in noted["batches"]}

    def refuse_unknown(self, run: str) -> str:
        """Return the name of a run; raises BadInputError where the store has none of this name."""
        if run not in (known := self.runs()):
            raise BadInputError(f"the store has no run {run!r}; it has {', '.join(known) or 'none'}")
        return run


def _noted(file: Place) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = json.loads(file.read())
    except ValueError as error:
        again = "remove it, and run `generate` or `ingest` again"
        raise BadInputError(f"{file.path}: this does not say what went into a run: {again}") from error
    return noted


def _tally(files: Mapping[str, int]) -> str:
    """Name how many files of rows a batch has, and how many bytes."""
    parts = [size for name, size in files.items() if name.startswith("part-")]
    return f"{_FILES}{len(parts)}-{sum(parts)}"


def _lacks(files: Mapping[str, int]) -> bool:
    """Tell whether the files of a batch are not those that were noted, or a kill left no note."""
    return {name for name in files if name.startswith(_FILES)} != {_tally(files)}


def _refuse_other(version: Place) -> None:
    try:
        found = json.loads(version.read())["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{version.path}: this is no version of a store") from error
    if found != STORE_FORMAT:
        raise BadInputError(f"{version.path}: the store is {found!r}; this program reads {STORE_FORMAT!r}")
