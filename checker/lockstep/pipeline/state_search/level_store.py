"""The folder of a search on Spark: the states of each level, and what is known once a level is there.

`search.json` says which search it is, and in how many parts its states lie, `owner.txt` which process goes on with it;
`levels/NNNNNN.json` is written after all states of a level, so that a level without it was begun and not finished, and
is made anew. The states are a table of
Parquet files, in buckets by their fingerprints: Spark finds the states that were seen before without moving them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.jobs.spark.spark_session import SPARK_ERRORS
from lockstep.pipeline.file_locations import location
from lockstep.pipeline.state_search.level_expansion import COLUMNS, DDL

_FORM = "lockstep search on Spark, form 1"
_SEARCH, _OWNER, _LEVELS, _STATES = "search.json", "owner.txt", "levels", "states"


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """A level that is there, with the counts until then.

    Attributes:
        level: its number; the initial states are the first.
        states: the number of its states.
        generated: the number of all states that were generated until it was there.
        evaluations: the number of evaluations of the spec in all tasks until then.
        values: the values of each column that its states brought, as bytes; their shared numbers follow on those of the
            levels before.
    """

    level: int
    states: int
    generated: int
    evaluations: int
    values: list[list[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """A search as `search.json` describes it.

    Attributes:
        identity: what another search would have otherwise: the spec, and what is checked.
        buckets: the number of parts that the states lie in.
        whole: the parts of a state that are not taken apart, as bytes.
        columns: the names of the columns of a state, in the shared order.
    """

    identity: dict[str, Any]
    buckets: int
    whole: list[bytes]
    columns: list[str]
    form: str = _FORM


class LevelStore:
    """The folder of one search, at a location that Spark and pyarrow read."""

    def __init__(self, uri: str, spark: SparkSession) -> None:
        """Raises BadInputError where there is no such file system."""
        self._spark, self._folder = spark, location(uri)
        self.uri = self._folder.uri
        self._table = f"lockstep_{hashlib.sha256(self._folder.uri.encode()).hexdigest()[:16]}"
        self._owner, self._buckets = uuid.uuid4().hex, 0

    # ---- Which search it is ----

    def load(self, identity: Mapping[str, Any]) -> tuple[SearchRecord, list[LevelRecord]] | None:
        """Return the search that is kept here, and its levels; None where there is none yet.

        Raises:
            BadInputError: if there is something else, or another search.
        """
        file = self._folder / _SEARCH
        if not file.is_file:
            if any(True for _ in self._folder.below()):
                raise BadInputError(f"{self.uri}: the folder has files and no {_SEARCH}: give an empty one")
            return None
        try:
            saved = msgspec.json.decode(file.read(), type=SearchRecord)
            if saved.form != _FORM:
                raise ValueError(saved.form)
            levels = self._levels()
        except (ValueError, msgspec.DecodeError) as error:
            raise BadInputError(f"{self.uri}: this is no search on Spark, or a damaged one") from error
        for name, mine in identity.items():
            if (other := saved.identity.get(name)) != mine:
                raise BadInputError(f"{self.uri}: {name}: the folder is of another search ({other}, not {mine})")
        return saved, levels

    def _levels(self) -> list[LevelRecord]:
        names = sorted(name for name, _, _ in (self._folder / _LEVELS).below() if name.endswith(".json"))
        if names != [_record_name(each) for each in range(1, len(names) + 1)]:
            raise ValueError("a level is missing")
        return [self.record(each) for each in range(1, len(names) + 1)]

    def begin(self, saved: SearchRecord) -> None:
        """Begin a search; where this process has begun another one here, forget that."""
        if (self._folder / _SEARCH).is_file:
            self.refuse_another_owner()
        (self._folder / _LEVELS).remove()
        (self._folder / _STATES).remove()
        (self._folder / _SEARCH).write(msgspec.json.encode(saved) + b"\n")

    def open(self, saved: SearchRecord, levels: int) -> None:
        """Open the table of states, which has some levels; one that was begun and not finished is removed."""
        self._buckets = saved.buckets
        (self._folder / _OWNER).write(self._owner.encode())
        states = self._folder / _STATES
        for name in {path.partition("/")[0] for path, _, _ in states.below()}:
            if name not in {f"level={each}" for each in range(1, levels + 1)}:
                (states / name).remove()
        self.close()
        place = (states.uri).replace("\\", "\\\\").replace("'", "\\'")
        self._spark.sql(
            f"CREATE TABLE {self._table} ({DDL}, level int) USING parquet PARTITIONED BY (level) "
            f"CLUSTERED BY (fp, fp2) INTO {saved.buckets} BUCKETS LOCATION '{place}'"
        )
        for each in range(1, levels + 1):
            self._spark.sql(f"ALTER TABLE {self._table} ADD IF NOT EXISTS PARTITION (level = {each})")

    def close(self) -> None:
        """Let Spark forget the table; its files stay."""
        self._spark.sql(f"DROP TABLE IF EXISTS {self._table}")

    # ---- States ----

    def rows(self) -> DataFrame:
        """Return all rows, those of tallies among them."""
        return self._spark.table(self._table)

    def states(self) -> DataFrame:
        """Return the states of all levels."""
        return self.rows().where(sql.col("tally").isNull())

    def write(self, rows: DataFrame, level: int) -> None:
        """Write the rows of a level that has none yet."""
        self.refuse_another_owner()
        view = f"{self._table}_level"
        rows.createOrReplaceTempView(view)
        names = ", ".join(COLUMNS)
        try:
            self._spark.sql(f"INSERT INTO {self._table} PARTITION (level = {level}) SELECT {names} FROM {view}")
        except SPARK_ERRORS:
            self.refuse_another_owner()  # which removes what a level that is not whole has
            raise
        self._spark.catalog.dropTempView(view)

    def refuse_foreign_files(self, level: int) -> None:
        """Raise GaveUpError where a level has more files than buckets.

        A process whose search was taken over may still have written to it as this one did.
        """
        files = [name for name, _, _ in (self._folder / _STATES / f"level={level}").below() if name.startswith("part-")]
        if len(files) > self._buckets:
            counts = f"level {level} has {len(files)} files, and {self._buckets} buckets"
            raise GaveUpError(
                f"{self.uri}: {counts}: another process wrote them; the same command does the level again"
            )

    def finish(self, record: LevelRecord) -> None:
        """Record that a level is there."""
        self.refuse_another_owner()
        (self._folder / _LEVELS / _record_name(record.level)).write(msgspec.json.encode(record) + b"\n")

    def record(self, level: int) -> LevelRecord:
        """Return the record of a level that is there."""
        return msgspec.json.decode((self._folder / _LEVELS / _record_name(level)).read(), type=LevelRecord)

    def refuse_another_owner(self) -> None:
        """Raise GaveUpError where another process has taken the search over since."""
        try:
            owner = (self._folder / _OWNER).read()
        except FileNotFoundError:  # it is being replaced
            owner = b""
        if owner != self._owner.encode():
            raise GaveUpError(f"{self.uri}: another process goes on with this search")

    @property
    def nbytes(self) -> int:
        """The bytes of all files."""
        return sum(size for _, size, _ in self._folder.below())


def _record_name(level: int) -> str:
    return f"{level:06}.json"
