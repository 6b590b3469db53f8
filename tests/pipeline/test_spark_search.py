"""A search on Spark comes to the levels, counts and counterexamples of a search by tables on one machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.cli.model_command import command as model
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.state_search.level_expansion import _MetStates
from lockstep.pipeline.state_search.level_store import LevelStore
from lockstep.pipeline.state_search.spark_search import SparkExploration, explore_on_spark
from lockstep.systems.registry import model_named
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import explore_by_tables
from tests.support.pipeline.pipeline_runs import end_begun, started
from tests.support.pipeline.standalone import processes
from tests.support.places import SPECS
from tests.support.tla.interrupted_search import InterruptedSearchError, interrupt_at

POST = SPECS / "tables" / "Post.tla"

#: Further entries of the cfg.
QUICK = {
    "an invariant that is violated": ("INVARIANTS TypeOK NoneIsFull",),
}
OTHERS = {
    "symmetry, and a property of steps that is violated": ("SYMMETRY Symmetry", "PROPERTIES CountsUp Grows"),
    "properties that hold": ("INVARIANT TypeOK", "PROPERTIES CountsUp"),
    "a type that is violated": ("INVARIANTS TypeOK Narrow",),
    "a property of what stays as it was, violated": ("PROPERTIES Moves Answers",),
    "a deadlock": ("CHECK_DEADLOCK TRUE",),
    "constraints": ("CONSTRAINT Few", "ACTION_CONSTRAINT Slow", "INVARIANT NoneIsFull"),
    "symmetry": ("SYMMETRY Symmetry", "CONSTRAINT Few", "INVARIANT TypeOK"),
    "a view": ("VIEW Seen",),
}
COMPARED = ("distinct", "generated", "depth", "levels", "complete", "violation", "unchecked")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pipeline_session("local[2,4]") as session:
        yield session


def post(folder: Path, *lines: str, following: str = "Next", most: int = 2) -> Spec:
    """The post with two stations, and more lines of a cfg."""
    cfg = folder / "Post.cfg"
    constants = f"CONSTANT Station = {{a, b}} Most = {most}"
    cfg.write_text("\n".join([constants, "INIT Init", f"NEXT {following}", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return load_spec(POST, cfg, cache_dir=folder)


def differences(found: SparkExploration, spec: Spec) -> list[str]:
    """The results of the search by tables on one machine that differ."""
    here = explore_by_tables(spec)
    assert here.distinct > 5
    pairs = {name: (getattr(found, name), getattr(here, name)) for name in COMPARED}
    return [f"{name}: {mine}, not {theirs}" for name, (mine, theirs) in pairs.items() if mine != theirs]


@pytest.mark.parametrize("what", [*QUICK, *(pytest.param(each, marks=pytest.mark.nightly) for each in OTHERS)])
def test_spark_comes_to_what_one_machine_comes_to(what: str, spark: SparkSession, tmp_path: Path) -> None:
    spec = post(tmp_path, *(QUICK | OTHERS)[what])
    assert differences(explore_on_spark(spec, spark, str(tmp_path / "store")), spec) == []


@pytest.mark.nightly
def test_an_evaluation_that_fails_is_reported_with_the_steps_to_it(spark: SparkSession, tmp_path: Path) -> None:
    spec = post(tmp_path, "INVARIANT Odd")
    with pytest.raises(SpecFault) as here:
        explore_by_tables(spec)
    with pytest.raises(SpecFault) as there:
        explore_on_spark(spec, spark, str(tmp_path / "store"))
    assert str(there.value) == str(here.value)
    assert there.value.trace == here.value.trace != ()


SWITCHES = """---- MODULE Switches ----
EXTENDS Naturals
VARIABLE switch
Init == switch = [n \\in 1..5 |-> 0]
Next == \\E n \\in 1..5 : switch' = [switch EXCEPT ![n] = 1 - @]
====
"""


def test_a_state_that_an_earlier_level_has_is_not_found_again(spark: SparkSession, tmp_path: Path) -> None:
    """Each step can be taken back, which none can of the post."""
    (tmp_path / "Switches.tla").write_text(SWITCHES)
    (tmp_path / "Switches.cfg").write_text("INIT Init NEXT Next\n")
    spec = load_spec(tmp_path / "Switches.tla", tmp_path / "Switches.cfg", cache_dir=tmp_path)
    found = explore_on_spark(spec, spark, str(tmp_path / "store"))
    assert found.levels == [1, 5, 10, 10, 5, 1, 0]
    assert differences(found, spec) == []


GROWING = """---- MODULE Growing ----
EXTENDS Naturals
VARIABLES box, seen
Init == box = [a |-> 0] /\\ seen = {}
Count == box.a < 40 /\\ box' = [box EXCEPT !.a = @ + 1] /\\ UNCHANGED seen
Note == box.a \\notin seen /\\ box.a < 3 /\\ seen' = seen \\cup {box.a} /\\ UNCHANGED box
Grow == DOMAIN box = {"a"} /\\ box.a > 5 /\\ box' = [a |-> box.a, b |-> 0] /\\ UNCHANGED seen
Next == Count \\/ Note \\/ Grow
====
"""


def growing(folder: Path) -> Spec:
    """A record that gets another field in the eighth level, and has numbers of two digits."""
    (folder / "Growing.tla").write_text(GROWING)
    (folder / "Growing.cfg").write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    return load_spec(folder / "Growing.tla", folder / "Growing.cfg", cache_dir=folder)


@pytest.mark.nightly
def test_a_record_that_grows_lets_the_search_begin_anew_with_it_as_one_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec = growing(tmp_path)
    assert differences(explore_on_spark(spec, spark, str(tmp_path / "store")), spec) == []
    assert json.loads((tmp_path / "store" / "search.json").read_text())["whole"] != []


#: Models of both systems, by what they have: SYMMETRY, messages that are lost, a crash, flaws.
MODELS = ("ordered", "crash", "lossy", "stale_push", "raft_lossy", "raft_queue", "raft_zombies")
FLAWS = ("late_truncate_bug", "torn_vote_bug", "prior_term_commit_bug")


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*MODELS, *FLAWS])
def test_models_of_both_systems_come_to_the_same_on_spark(name: str, spark: SparkSession, tmp_path: Path) -> None:
    manifest, entry = model_named(name)
    module, cfg = manifest.files(entry)
    spec = load_spec(module, cfg)
    found = explore_on_spark(spec, spark, str(tmp_path / "store"), SearchOptions(check_deadlock=entry.deadlock))
    here = explore_by_tables(spec, SearchOptions(check_deadlock=entry.deadlock and spec.check_deadlock))
    assert [getattr(found, each) for each in COMPARED] == [getattr(here, each) for each in COMPARED]
    assert (found.violation is not None) == (name in FLAWS)


# ---- What must not go unnoticed ----


def test_a_successor_that_shares_one_fingerprint_alone_with_another_is_kept() -> None:
    met = _MetStates()
    inside = np.zeros(4, np.bool_)
    first, second = np.array([5, 6, 5, 5], np.uint64), np.array([1, 1, 2, 1], np.uint64)
    assert met.add(first, second, inside).tolist() == [0, 1, 2]
    assert met.add(first, second, np.ones(4, np.bool_)).tolist() == []
    many = np.arange(10_000, dtype=np.uint64)
    assert len(met.add(many, many, np.zeros(10_000, np.bool_))) == 10_000
    assert met.add(many, many, np.zeros(10_000, np.bool_)).tolist() == [5, 6]


@pytest.mark.nightly
def test_two_searches_of_one_session_have_tables_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        whole, narrow = post(tmp_path, "INVARIANT TypeOK"), post(tmp_path, "INVARIANTS TypeOK Narrow")
        assert explore_on_spark(whole, spark, str(tmp_path / f"whole{number}")).violation is None
        assert explore_on_spark(narrow, spark, str(tmp_path / f"narrow{number}")).violation is not None


WIDE = """---- MODULE Wide ----
EXTENDS Naturals
CONSTANT Most
VARIABLES x, y, way
Init == x \\in 0..199 /\\ y = 0 /\\ way = 0
Next == y < 2 /\\ way <= x /\\ y' = y + 1 /\\ \\E i \\in 0..199 : x' = (x * 7 + i) % 101 /\\ way' = i
Seen == <<IF x < Most THEN x ELSE way \\div 0, y>>
Kept == x < Most
Late == ~(y = 2 /\\ x = 50)
====
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("most", "lines"),
    [(300, "VIEW Seen"), (300, "VIEW Seen INVARIANT Late"), (90, "VIEW Seen CONSTRAINT Kept INVARIANT Late")],
)
def test_of_hundreds_of_successors_the_first_stands_for_those_with_the_same_view(
    most: int, lines: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Places take two bytes; where the constraint excludes a state, its VIEW has no value."""
    (tmp_path / "Wide.tla").write_text(WIDE)
    (tmp_path / "Wide.cfg").write_text(f"INIT Init NEXT Next CONSTANT Most = {most} CHECK_DEADLOCK FALSE {lines}\n")
    spec = load_spec(tmp_path / "Wide.tla", tmp_path / "Wide.cfg", cache_dir=tmp_path)
    assert differences(explore_on_spark(spec, spark, str(tmp_path / "store")), spec) == []


@pytest.mark.nightly
def test_a_view_without_a_value_is_reported_with_the_steps_to_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "Wide.tla").write_text(WIDE)
    (tmp_path / "Wide.cfg").write_text("INIT Init NEXT Next CONSTANT Most = 200 CHECK_DEADLOCK FALSE VIEW Gone\n")
    text = WIDE.replace("====", "Gone == <<IF y = 2 /\\ x = 50 THEN x \\div (y - 2) ELSE x, y>>\n====")
    (tmp_path / "Wide.tla").write_text(text)
    spec = load_spec(tmp_path / "Wide.tla", tmp_path / "Wide.cfg", cache_dir=tmp_path)
    with pytest.raises(SpecFault) as here:
        explore_by_tables(spec)
    with pytest.raises(SpecFault) as there:
        explore_on_spark(spec, spark, str(tmp_path / "store"))
    assert (str(there.value), there.value.trace) == (str(here.value), here.value.trace)


@pytest.mark.nightly
def test_a_level_that_was_not_expanded_as_a_whole_is_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = LevelStore.states
    monkeypatch.setattr(LevelStore, "states", lambda store: states(store).where("fp % 7 != 0"))
    with pytest.raises(GaveUpError, match="were expanded; the same command does the level again"):
        explore_on_spark(post(tmp_path, "INVARIANT TypeOK"), spark, str(tmp_path / "store"))


@pytest.mark.nightly
def test_a_level_has_two_stages_as_states_that_were_seen_are_not_moved(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    write = LevelStore.write

    def noting(store: LevelStore, rows: DataFrame, level: int) -> None:
        plans.append(rows._jdf.queryExecution().executedPlan().toString())
        write(store, rows, level)

    monkeypatch.setattr(LevelStore, "write", noting)
    explore_on_spark(post(tmp_path, "INVARIANTS TypeOK Narrow"), spark, str(tmp_path / "store"))
    assert len(plans) > 2
    assert [each.count("Exchange") for each in plans[1:]] == [1] * (len(plans) - 1)


# ---- What is kept ----


def test_a_search_goes_on_from_what_is_kept_and_is_refused_to_another_spec(spark: SparkSession, tmp_path: Path) -> None:
    spec, store = post(tmp_path, "INVARIANTS TypeOK NoneIsFull"), str(tmp_path / "store")
    with pytest.raises(InterruptedSearchError):
        explore_on_spark(spec, spark, store, SearchOptions(on_progress=interrupt_at(3)))
    torn = tmp_path / "store" / "states" / "level=4" / "part-00000-torn.parquet"
    torn.parent.mkdir()
    torn.write_bytes(b"PAR1")
    found = explore_on_spark(spec, spark, store)
    assert found.resumed == 3
    assert differences(found, spec) == []
    assert not torn.exists()
    assert differences(explore_on_spark(spec, spark, store), spec) == []
    other = post(tmp_path, "INVARIANTS TypeOK Narrow")
    with pytest.raises(BadInputError, match="spec: the folder is of another search"):
        explore_on_spark(other, spark, store)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["part-*.parquet", "states.parquet"])
def test_a_search_some_of_whose_files_are_lost_or_doubled_is_refused(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    spec, store = post(tmp_path, "INVARIANT TypeOK"), tmp_path / "store"
    with pytest.raises(InterruptedSearchError):
        explore_on_spark(spec, spark, str(store), SearchOptions(on_progress=interrupt_at(5)))
    level = store / "states" / "level=3"
    largest = max(level.glob("*.parquet"), key=lambda each: pq.read_table(each)["path"].null_count * -1)
    if name == "states.parquet":
        shutil.copy(largest, level / largest.name.replace("part-", "part-1"))
    else:
        largest.unlink()
    with pytest.raises(BadInputError, match=r"level 3 had 3 states, and has [24]:"):
        explore_on_spark(spec, spark, str(store))


def test_what_is_no_search_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spec, store = post(tmp_path), tmp_path / "store"
    store.mkdir()
    (store / "letter.txt").write_text("hello")
    with pytest.raises(BadInputError, match=r"has files and no search\.json"):
        explore_on_spark(spec, spark, str(store))
    (store / "search.json").write_text('{"form": "another"}')
    with pytest.raises(BadInputError, match="no search on Spark, or a damaged one"):
        explore_on_spark(spec, spark, str(store))
    temporal = post(tmp_path, "PROPERTY Ends")
    with pytest.raises(BadInputError, match="temporal properties need the steps"):
        explore_on_spark(temporal, spark, str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.nightly
def test_a_finished_search_reports_the_same_again(spark: SparkSession, tmp_path: Path) -> None:
    spec = post(tmp_path, "INVARIANT TypeOK", most=1)
    for _ in range(2):
        assert differences(explore_on_spark(spec, spark, str(tmp_path / "store")), spec) == []


@pytest.mark.nightly
def test_a_process_whose_search_another_one_took_over_ends(spark: SparkSession, tmp_path: Path) -> None:
    spec, store = post(tmp_path, "INVARIANT TypeOK"), tmp_path / "store"

    def take_over(far: SearchProgress) -> None:
        if far.depth == 3:
            (store / "owner.txt").write_text("another")

    with pytest.raises(GaveUpError, match="another process goes on with this search"):
        explore_on_spark(spec, spark, str(store), SearchOptions(on_progress=take_over))


@pytest.mark.nightly
def test_a_level_to_which_another_process_wrote_as_well_is_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, store, write = post(tmp_path, "INVARIANT TypeOK"), tmp_path / "store", LevelStore.write

    def write_twice(kept: LevelStore, rows: DataFrame, level: int) -> None:
        write(kept, rows, level)
        if level == 4:
            for each in list((store / "states" / "level=4").glob("part-*.parquet")):
                shutil.copy(each, each.with_name(each.name.replace("part-", "part-9")))

    with monkeypatch.context() as patched:
        patched.setattr(LevelStore, "write", write_twice)
        with pytest.raises(GaveUpError, match=r"level 4 has \d+ files, and 4 buckets: another process wrote them"):
            explore_on_spark(spec, spark, str(store))
    assert differences(explore_on_spark(spec, spark, str(store)), spec) == []


# ---- What dies ----


@pytest.fixture
def ended() -> Iterator[None]:
    yield
    end_begun()


#: The command, which says when a level begins.
COMMAND = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from lockstep.pipeline.state_search import spark_search
expand = spark_search._SparkSearch.expand_level

def expand_level(search):
    print(len(search.result.levels), flush=True)
    return expand(search)

spark_search._SparkSearch.expand_level = expand_level
from lockstep.cli.command_line import main
main()
"""


def command_line(folder: Path, master: str) -> list[str]:
    post(folder, "INVARIANT TypeOK", "SYMMETRY Symmetry")
    files = "--spec", str(POST), "--cfg", str(folder / "Post.cfg"), "--format", "json"
    where = "--spark", master, "--store", str(folder / "store")
    return [sys.executable, "-c", COMMAND, "model", *files, *where]


def kill_java(pids: list[int]) -> None:
    """Kill one executor."""
    executors = [pid for pid in pids if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(executors[0], signal.SIGKILL)


def kill_worker(pids: list[int]) -> None:
    """Kill all Python workers of Spark."""
    workers = [pid for pid in pids if b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.nightly
@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(("master", "die"), [("local-cluster[2,1,2048]", kill_java), ("local[2,4]", kill_worker)])
def test_a_search_survives_an_executor_and_a_worker_that_are_killed(
    master: str, die: Callable[[list[int]], None], tmp_path: Path
) -> None:
    running = started(command_line(tmp_path, master))
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(5)][-1] == b"5\n"
    die([each.pid for each in processes({running.pid})])
    output, errors = running.communicate(timeout=600)
    assert running.returncode == 0, errors
    here = explore_by_tables(post(tmp_path, "INVARIANT TypeOK", "SYMMETRY Symmetry"))
    found = json.loads(output[output.index(b"{") :])
    assert (found["distinct"], found["generated"], found["depth"]) == (here.distinct, here.generated, here.depth)


@pytest.mark.nightly
@pytest.mark.usefixtures("ended")
def test_a_search_whose_driver_was_killed_goes_on(tmp_path: Path) -> None:
    line = command_line(tmp_path, "local[2,4]")
    killed = started(line)
    assert killed.stdout is not None
    assert [killed.stdout.readline() for _ in range(5)][-1] == b"5\n"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    again = started(line)
    output, errors = again.communicate(timeout=600)
    assert again.returncode == 0, errors
    assert int(output.split()[0]) >= 5
    here = explore_by_tables(post(tmp_path, "INVARIANT TypeOK", "SYMMETRY Symmetry"))
    found = json.loads(output[output.index(b"{") :])
    assert (found["distinct"], found["generated"], found["depth"]) == (here.distinct, here.generated, here.depth)
    assert f"note: continued from level {output.split()[0].decode()}" in found["notes"]


@pytest.mark.nightly
@pytest.mark.usefixtures("ended")
def test_an_interrupt_ends_a_search_at_once_and_leaves_whole_levels(tmp_path: Path) -> None:
    running = started(command_line(tmp_path, "local[2,4]"))
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(5)][-1] == b"5\n"
    os.kill(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    assert (running.returncode, errors.decode().strip().splitlines()[-1]) == (130, "interrupted")
    assert sorted(each.name for each in (tmp_path / "store" / "levels").iterdir())[-1] == "000005.json"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--spark", "local[1]"), "--spark goes with --spec, --store"),
        (("--store", "here"), "--store, --parts and --conf go with --spark"),
        (("--spark", "local[1]", "--store", "here", "--engine", "tlc"), "no other --engine than tables"),
        (("--spark", "local[1]", "--store", "here", "--threads", "2"), "do not go with --spark"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], said: str) -> None:
    ran = CliRunner().invoke(model, ["--spec", str(POST), *words])
    assert (ran.exit_code, said in ran.output) == (2, True)
