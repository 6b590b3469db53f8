"""Recordings on Spark: what one entry of the manifest repairs, another one of the same file keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.package_data import traces_dir
from lockstep.jobs.recordings_check import check_recordings
from lockstep.jobs.recordings_manifest import Departure, Recording, mismatches
from lockstep.jobs.spark.spark_session import spark_session

FIGURE_8 = "captured/dledger/dledger-0.2.7-figure8.ndjson"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", "lockstep-test") as session:
        yield session


def test_a_recording_is_checked_with_the_switches_of_each_entry(spark: SparkSession, tmp_path: Path) -> None:
    published = Recording("published", FIGURE_8, "violated", violates={"LeaderCompleteness": 1062})
    commits = Departure("ActOnQuorumIndex", 934)
    repaired = Recording("repaired", FIGURE_8, "violated", variant="repaired", leaves=commits)
    rows = list(check_recordings(spark, traces_dir(), tmp_path, [repaired, published, repaired]))
    assert [recording.name for recording, _, _ in rows] == ["repaired", "published", "repaired"]
    assert [summary.explained for _, summary, _ in rows] == [352] * 3
    for recording, _, verdict in (rows[0], rows[2]):
        assert mismatches(recording, verdict) == []
    assert rows[1][2].deviation is None
    assert rows[1][2].violations["LeaderCompleteness"].recorded_line == 1062


def test_a_recording_that_cannot_be_imported_is_named_with_its_line(spark: SparkSession, tmp_path: Path) -> None:
    lines = (traces_dir() / FIGURE_8).read_bytes().splitlines(keepends=True)
    (tmp_path / "damaged.ndjson").write_bytes(b"".join([*lines[:6], b"{\n", *lines[7:]]))
    with pytest.raises(BadInputError, match=r"damaged\.ndjson:7: "):
        list(check_recordings(spark, tmp_path, tmp_path, [Recording("damaged", "damaged.ndjson", "holds")]))
