"""The store of a pipeline: its tables, and which batches of them are there.

A batch is there once Spark has written its `_SUCCESS`, which it does last. Any other is as good as none: no reader sees
it, and the next run writes it anew. So what was killed and started again neither loses nor doubles a trace.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.pipeline.store.place import Place, literal, place
from lockstep.pipeline.store.schema import STORE_FORMAT, TABLES, ddl

_VERSION_FILE = "_lockstep.json"
_DONE = "_SUCCESS"
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
        found = (path.partition("/")[0] for path, _, _ in (self.place / "_inputs").below())
        return sorted({each.removeprefix("run=") for each in found})

    def batches(self, table: str, run: str, variant: str | None = None) -> list[Batch]:
        """Return the batches of a run that are there in a table, of one variant or of all; the largest first."""
        sizes: dict[tuple[str, str], int] = {}
        done: set[tuple[str, str]] = set()
        for path, size, _ in (self.place / table / f"run={run}").below():
            folders = path.split("/")
            if len(folders) != 3 or not folders[0].startswith("variant="):
                continue
            key = folders[0].removeprefix("variant="), folders[1].removeprefix("batch=")
            sizes[key] = sizes.get(key, 0) + size
            if folders[2] == _DONE:
                done.add(key)
        found = [Batch(*key, sizes[key]) for key in done if variant in (None, key[0])]
        return sorted(found, key=lambda batch: (-batch.bytes, batch))

    def remove(self, table: str, run: str, batch: Batch) -> None:
        """Remove a batch, finished or not."""
        self.folder(table, run, batch).remove()

    def sweep(self, table: str, run: str) -> None:
        """Remove the batches of a run that were begun and not finished."""
        done = {(each.variant, each.name) for each in self.batches(table, run)}
        top = self.place / table / f"run={run}"
        begun = {tuple(path.split("/")[:2]) for path, _, _ in top.below() if path.count("/") >= 2}
        for variant, name in begun:
            key = variant.removeprefix("variant="), name.removeprefix("batch=")
            if key not in done:
                (top / f"{variant}/{name}").remove()

    def folder(self, table: str, run: str, batch: Batch) -> Place:
        """Return the folder of a batch, whether it is there or not."""
        return self.place / table / f"run={run}" / f"variant={batch.variant}" / f"batch={batch.name}"

    # ---- Tables ----

    def read(self, spark: SparkSession, table: str, run: str, batches: Sequence[Batch]) -> DataFrame:
        """Return the rows of some batches of a table, with the columns run, variant and batch."""
        schema = f"{ddl(TABLES[table])}, run string, variant string, batch string"
        if not batches:
            return spark.createDataFrame([], schema)
        folders = [literal(self.folder(table, run, batch).uri) for batch in batches]
        reader = spark.read.schema(schema).option("basePath", literal((self.place / table).uri))
        return reader.parquet(*folders)

    def write(self, rows: DataFrame, table: str, run: str, batch: Batch) -> None:
        """Write a batch of a table, in place of what was begun of it; its `_SUCCESS` comes last."""
        rows.write.mode("overwrite").parquet(self.folder(table, run, batch).uri)

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

    def expected(self, run: str) -> set[Batch]:
        """Return the batches of lines that a run is to have."""
        return {Batch(*each) for noted in self.inputs(run) for each in noted["batches"]}

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


def _refuse_other(version: Place) -> None:
    try:
        found = json.loads(version.read())["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{version.path}: this is no version of a store") from error
    if found != STORE_FORMAT:
        raise BadInputError(f"{version.path}: the store is {found!r}; this program reads {STORE_FORMAT!r}")
