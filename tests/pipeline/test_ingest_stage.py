"""Files and the traces that they become; a run reads lines in one way only. Without Spark."""

from __future__ import annotations

import os
from dataclasses import astuple, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.file_locations import location
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.source_files import EACH, TOGETHER, SourceFile
from lockstep.pipeline.spec_choice import AS_DECLARED, OwnSpec, OwnSpecChecker, SpecChoice
from lockstep.pipeline.task_traces import TraceLines
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.systems.file_check import own_check
from tests.support.logs.backup_service import EXAMPLE, service

#: Refusals come before Spark is used.
NO_SPARK = cast(SparkSession, None)

#: A mapping of the logs of one system.
OF_ONE_SYSTEM = OwnSpec(
    SpecFiles(EXAMPLE / "PrimaryBackup.tla", EXAMPLE / "PrimaryBackup.cfg", mapping=EXAMPLE / "mapping.toml")
)


def run_of(tmp_path: Path, logs: str) -> tuple[TraceStore, InputFiles]:
    """A run `r` that has read a log, as far as its inputs are noted."""
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "p.log").write_text("{}\n")
    files = InputFiles([str(tmp_path / "sys")], logs)
    about = {"traces": 1, "files": [[astuple(each) for each in files.listed()]], "logs": logs, "version": None}
    store.put_inputs("r", "ingest", [Batch(DECLARED, "b")], about)
    return store, files


@pytest.mark.parametrize("logs", ["", EACH, TOGETHER])
def test_lines_are_checked_only_against_what_they_were_ingested_for(tmp_path: Path, logs: str) -> None:
    store, _ = run_of(tmp_path, logs)
    mapping = tmp_path / "apart.toml"
    mapping.write_text('kind = "event"\n[lines.put]\naction = "Put"\n')
    kinds: dict[str, SpecChoice] = {
        "": AS_DECLARED,
        EACH: OwnSpec(replace(OF_ONE_SYSTEM.files, mapping=mapping)),
        TOGETHER: OF_ONE_SYSTEM,
    }
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


def test_unfinished_files_of_a_run_are_not_read_in_another_form(tmp_path: Path) -> None:
    """Other files of the run are asked for: what is not finished of the first would be read with them."""
    store, _ = run_of(tmp_path, EACH)
    (tmp_path / "sys" / "p.log").write_text("{}\n{}\n")
    (tmp_path / "other.log").write_text("{}\n")
    with pytest.raises(BadInputError, match=r"p\.log: the file has changed since the run read it"):
        ingest(NO_SPARK, store, "r", InputFiles([str(tmp_path / "other.log")], EACH))


def test_two_folders_of_one_name_are_not_the_logs_of_one_system(tmp_path: Path) -> None:
    for folder, name in (("a", "p.log"), ("b", "q.log")):
        (tmp_path / folder / "sys").mkdir(parents=True)
        (tmp_path / folder / "sys" / name).write_text("{}\n")
    words = [str(tmp_path / folder / "sys") for folder in ("a", "b")]
    with pytest.raises(BadInputError, match=r"a/sys and .*b/sys would both be the trace 'sys'"):
        InputFiles(words, TOGETHER).listed()
    assert [each.trace for each in InputFiles([str(tmp_path)], TOGETHER).listed()] == ["a/sys", "b/sys"]


# ---- Names ----


def test_a_file_whose_name_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.ndjson")).write_text("{}\n")
    for word in (tmp_path, tmp_path / os.fsdecode(b"bad\xff.ndjson")):
        with pytest.raises(BadInputError, match=r"bad\?\.ndjson: this name is not UTF-8"):
            InputFiles([str(word)]).listed()


def test_links_to_folders_are_followed_but_not_in_circles_and_one_to_no_file_is_reported(tmp_path: Path) -> None:
    for name in ("a", "b", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "x.ndjson").write_text("{}\n")
    (tmp_path / "elsewhere" / "y.ndjson").write_text("{}\n")
    (tmp_path / "a" / "self").symlink_to(".")
    (tmp_path / "a" / "to-b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "to-a").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "there").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a" / "gone.ndjson").symlink_to("nowhere")
    listed = InputFiles([str(tmp_path / "a")]).listed()
    assert [each.trace for each in listed] == ["gone.ndjson", "there/y.ndjson", "x.ndjson"]
    file = SourceFile(listed[0].uri, "gone.ndjson", "gone.ndjson")
    (row,) = file.rows()
    assert "No such file" in (row.reason or "")


@pytest.mark.parametrize("uri", ["/data/x", "file:/data/x", "file:///data/x"])
def test_a_path_of_this_machine_may_be_written_as_spark_takes_it(uri: str) -> None:
    assert location(uri).uri == "file:///data/x"


def test_no_character_of_a_name_elsewhere_is_taken_for_a_quoted_one() -> None:
    assert (
        location("mock:///a b/%41#.ndjson").path == (location("mock:///a b") / "%41#.ndjson").path == "a b/%41#.ndjson"
    )


# ---- Rotated logs ----


def test_a_rotated_file_that_no_mapping_reads_is_refused_and_never_passed_over(tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text("{}\n")
    (tmp_path / "p.log.1").write_text("{}\n")
    with pytest.raises(BadInputError, match=r"p\.log\.1: it was rotated"):
        InputFiles([str(tmp_path)]).listed()


@pytest.mark.parametrize("logs", [EACH, TOGETHER])
def test_the_files_of_a_rotated_log_are_joined(tmp_path: Path, logs: str) -> None:
    folder = tmp_path / "sys"
    for path in service(folder, 1):
        lines = path.read_bytes().splitlines(keepends=True)
        path.with_name(f"{path.name}.1").write_bytes(b"".join(lines[:3]))
        path.write_bytes(b"".join(lines[3:]))
    listed = InputFiles([str(folder)], logs).listed()
    traces = {"sys"} if logs == TOGETHER else {"b1.log", "b2.log", "p.log"}
    assert {each.trace for each in listed} == traces
    assert len(listed) == 6
    own = OF_ONE_SYSTEM
    if logs == EACH:
        own = OwnSpec(replace(own.files, mapping=tmp_path / "apart.toml"))
        text = (EXAMPLE / "mapping.toml").read_text().replace('files = "together"', 'files = "apart"')
        (tmp_path / "apart.toml").write_text(text)
    judge = own_check(own.files)
    for trace in traces:
        files = [location(each.uri).path for each in listed if each.trace == trace]
        rows = [(line, file) for file in files for line in Path(file).read_bytes().splitlines(keepends=True)]
        numbered = ((seq, *row) for seq, row in enumerate(rows))
        found, _ = OwnSpecChecker(SimpleNamespace(value=judge), "")(TraceLines(trace, files[0], numbered))
        alone = judge.check_logs([Path(file) for file in files])
        assert (found.verdict, found.reason, found.events) == (alone.verdict, alone.reason, alone.events)
        assert logs == EACH or found.verdict is Verdict.HOLDS
