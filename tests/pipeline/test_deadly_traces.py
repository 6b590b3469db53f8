"""Traces whose check kills its process, or never ends, in the pipeline: all others get their verdicts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.counterexample_stage import counterexamples
from lockstep.pipeline.coverage_stage import EVENTS, NOT_COUNTED, cover
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.source_files import EACH
from lockstep.pipeline.spec_choice import AS_DECLARED, OwnSpec
from lockstep.pipeline.stage_batches import StageFailed
from lockstep.pipeline.trace_store import TraceStore
from tests.support.pipeline.cut_traces import of_events
from tests.support.pipeline.poison import poison
from tests.support.pipeline.stores import BATCH, RUN, rows_of, stored, verdict, verdicts, write
from tests.support.systems.simulated_traces import simulated

pytestmark = pytest.mark.nightly

SECONDS = 5
DEADLY = ("exits", "is_killed", "hangs")


@pytest.fixture(scope="module", params=["local[2,4]", "local[2]"])
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark that tries a task again, or does not, with workers that die of traces by their names."""
    poisoned = {"spark.executorEnv.PYTHONPATH": str(poison(tmp_path_factory.mktemp("site")))}
    with pipeline_session(request.param, poisoned) as session:
        yield session


def test_only_the_traces_that_workers_die_of_or_never_end_are_inconclusive_cut_or_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockstep.pipeline.trace_cutting.MIN_PART_EVENTS", 25)
    lines = of_events(simulated()[0], simulated()[1][:60]).lines
    names = [*DEADLY, *(f"first_{each}" for each in DEADLY), *(f"good-{each}" for each in range(4))]
    store = stored(spark, tmp_path / "store", dict.fromkeys(names, lines))
    check(spark, store, RUN, seconds=SECONDS)
    cut = {row["trace"] for row in rows_of(spark, store, "states")}
    assert cut == set(names) - {f"first_{each}" for each in DEADLY}
    died = {
        "exits": "died, as often as it was tried (exit code 7)",
        "is_killed": "died, as often as it was tried (SIGKILL)",
        "hangs": f"did not end within {SECONDS} s",
    }
    assert {trace: (row["verdict"], row["reason"]) for trace, row in verdicts(spark, store).items()} == {
        **{name: ("inconclusive", f"the check of lines 2 to 26 {how}") for name, how in died.items()},
        **{f"first_{name}": ("inconclusive", f"the check of this trace {how}") for name, how in died.items()},
        **{name: ("holds", "a behaviour of the spec; every property holds") for name in names if "good" in name},
    }


def test_a_trace_that_kills_its_count_or_minimisation_is_reported_and_the_others_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = of_events(simulated()[0], simulated()[1][:60]).lines
    died = {
        "read_exits": "died, as often as it was tried (exit code 7)",
        "read_is_killed": "died, as often as it was tried (SIGKILL)",
    }
    store = stored(spark, tmp_path / "store", dict.fromkeys([*died, "good"], lines))
    cover(spark, store, RUN)
    counted = rows_of(spark, store, "reached")
    assert {row["trace"]: row["name"] for row in counted if row["kind"] == NOT_COUNTED} == {
        name: f"the count {how}" for name, how in died.items()
    }
    assert {row["trace"] for row in counted if (row["kind"], row["name"], row["times"]) == (*EVENTS, 60)} == {"good"}
    finding = {"kind": "property", "code": "DL109", "name": "CommittedEntriesStayProp", "line": 40}
    rows = [
        verdict(each) | {"verdict": "violated", "findings": json.dumps([finding | {"action": each}])}
        for each in (*died, "good")
    ]
    write(spark, store, "verdicts", BATCH.derived(AS_DECLARED.hash()), *rows)
    counterexamples(spark, store, RUN, AS_DECLARED)
    reasons = {each["trace"]: each["reason"] for each in rows_of(spark, store, "counterexamples")}
    assert {name: reasons[name] for name in died} == {name: f"the minimisation {how}" for name, how in died.items()}
    assert "died" not in reasons["good"]


def test_a_recording_that_workers_die_of_as_they_import_it_ends_ingest_by_its_name_and_goes_on_without_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is alone in its batch, as a large one is."""
    monkeypatch.setattr("lockstep.pipeline.ingest_stage.MAX_BATCH_FILES", 1)
    recording = traces_dir() / "captured" / "hashicorp" / "raft-1.7.3-quiet.ndjson"
    folder = tmp_path / "recordings"
    folder.mkdir()
    names = ("import_exits.ndjson", "good.ndjson")
    for name in names:
        shutil.copy(recording, folder / name)
    store, files = TraceStore.open(str(tmp_path / "store"), create=True), InputFiles([str(folder)])
    died = r"import_exits\.ndjson: the import of this recording died, as often as it was tried \(exit code 7\)"
    with pytest.raises(StageFailed, match=died):
        ingest(spark, store, RUN, files)
    assert store.missing(RUN) == 1
    (folder / names[0]).unlink()
    ingest(spark, store, RUN, files)
    assert store.missing(RUN) == 0
    assert {row["trace"] for row in rows_of(spark, store, "lines")} == {"good.ndjson"}
    assert [Path(row["source"]).name for row in rows_of(spark, store, "dead_letters")] == [names[0]]


SLOW = """---- MODULE Slow ----
EXTENDS Naturals, FiniteSets
VARIABLE x
Init == x = 0
Step(n) == x' = n
Next == \\E n \\in 0..60 : Step(n)
Small == \\A S \\in SUBSET (1..x) : Cardinality(S) <= x
====
"""


def test_a_log_whose_states_take_for_ever_is_inconclusive_and_the_others_have_their_verdicts(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec, logs = tmp_path / "Slow.tla", tmp_path / "logs"
    spec.write_text(SLOW)
    spec.with_suffix(".cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Small\n")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('kind = "event"\n[lines.step]\naction = "Step"\nargs = { n = "n" }\n')
    logs.mkdir()
    for name, last in (("good", 3), ("slow", 60), ("wrong", 61)):
        (logs / f"{name}.log").write_text(f'{{"event":"step","n":2}}\n{{"event":"step","n":{last}}}\n')
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    ingest(spark, store, RUN, InputFiles([str(logs)], EACH))
    check(spark, store, RUN, OwnSpec(SpecFiles(spec, mapping=mapping)), seconds=SECONDS)
    found = verdicts(spark, store)
    assert {name: row["verdict"] for name, row in found.items()} == {
        "good.log": "holds",
        "slow.log": "inconclusive",
        "wrong.log": "violated",
    }
    assert found["slow.log"]["reason"] == f"the check of this trace did not end within {SECONDS} s"
