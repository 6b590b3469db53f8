"""Which files become which traces, and that a run reads its lines in one way; without Spark."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from backup_service import EXAMPLE
from lockstep.base.errors import BadInputError
from lockstep.pipeline.against import AS_TOLD, Against, OwnSpec
from lockstep.pipeline.sources import EACH, TOGETHER
from lockstep.pipeline.stages.check import check
from lockstep.pipeline.stages.ingest import Files, ingest
from lockstep.pipeline.store.store import Batch, Store

#: What is refused is refused before Spark is asked for anything.
NO_SPARK = cast(SparkSession, None)

#: A mapping of the logs of one system.
OF_ONE_SYSTEM = OwnSpec(EXAMPLE / "PrimaryBackup.tla", EXAMPLE / "PrimaryBackup.cfg", EXAMPLE / "mapping.toml")


def run_of(tmp_path: Path, logs: str) -> tuple[Store, Files]:
    """A run `r` that has read a log, as far as its inputs are noted."""
    store = Store.open(str(tmp_path / "store"), create=True)
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "p.log").write_text("{}\n")
    files = Files([str(tmp_path / "sys")], logs)
    about = {"traces": 1, "files": [[astuple(each) for each in files.listed()]], "logs": logs, "version": None}
    store.put_inputs("r", "ingest", [Batch("told", "b")], about)
    return store, files


@pytest.mark.parametrize("logs", ["", EACH, TOGETHER])
def test_lines_are_checked_only_against_what_they_were_ingested_for(tmp_path: Path, logs: str) -> None:
    store, _ = run_of(tmp_path, logs)
    mapping = tmp_path / "apart.toml"
    mapping.write_text('kind = "event"\n[lines.put]\naction = "Put"\n')
    kinds: dict[str, Against] = {"": AS_TOLD, EACH: replace(OF_ONE_SYSTEM, mapping=mapping), TOGETHER: OF_ONE_SYSTEM}
    for needed, against in kinds.items():
        assert against.logs == needed
        if needed != logs:
            with pytest.raises(BadInputError, match=r"the run 'r' was ingested with.*, and this needs it with"):
                check(NO_SPARK, store, "r", against)


def test_a_run_that_has_read_a_file_does_not_read_it_in_another_way(tmp_path: Path) -> None:
    store, files = run_of(tmp_path, EACH)
    with pytest.raises(BadInputError, match="ingested with --logs each, and this needs it with --logs together"):
        ingest(NO_SPARK, store, "r", replace(files, logs=TOGETHER))
    with pytest.raises(BadInputError, match="the run read it with --logged-version none"):
        ingest(NO_SPARK, store, "r", replace(files, version="0.2.6"))


def test_two_folders_of_one_name_are_not_the_logs_of_one_system(tmp_path: Path) -> None:
    for folder, name in (("a", "p.log"), ("b", "q.log")):
        (tmp_path / folder / "sys").mkdir(parents=True)
        (tmp_path / folder / "sys" / name).write_text("{}\n")
    words = [str(tmp_path / folder / "sys") for folder in ("a", "b")]
    with pytest.raises(BadInputError, match=r"a/sys and .*b/sys would both be the trace 'sys'"):
        Files(words, TOGETHER).listed()
    assert [each.trace for each in Files([str(tmp_path)], TOGETHER).listed()] == ["a/sys", "b/sys"]
