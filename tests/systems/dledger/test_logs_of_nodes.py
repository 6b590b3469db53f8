"""Nodes that write a log each, whose loggers' patterns leave out the node, the process, parts of a second."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.log_import import UnexplainedError, import_log
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import TraceError
from tests.scripts.malformed import CAPTURED
from tests.support.logs.logger_lines import ELECTED, checked, imported, logged, split_by_node, written
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled
from tests.support.systems.dledger_lines import HARNESS_RECORDINGS

LOGS = sorted(CAPTURED.glob("*.log"))
PARTITION = CAPTURED / "dledger-0.2.7-leader_partition.log"
FOLLOWS = "[n1] [n1][ChangeRoleToFollower] from term: 1 leaderId: n0 and currTerm: 1"


def of_nodes(paths: list[Path], version: str = "0.2.7", skew: int = 0) -> Imported:
    return import_log(paths, version, trace_spec, skew=skew)


SPLIT = [(path.name, pattern) for path in LOGS for pattern in ("log4j2", "logback")]


@pytest.mark.parametrize(("name", "pattern"), sampled(SPLIT, [SPLIT[0]]))
def test_a_log_is_explained_as_well_where_each_node_wrote_its_own(name: str, pattern: str, tmp_path: Path) -> None:
    """DLedger's own log4j2.xml, and logback's default: neither has the node, or the process."""
    version, text = name.split("-")[1], (CAPTURED / name).read_text()
    merged = imported(text, tmp_path, version)
    apart = of_nodes(split_by_node(text, pattern, tmp_path), version)
    assert apart.summary.refuted is None
    assert apart.summary.actions == merged.summary.actions
    assert apart.summary.actions.get("Restart", 0) == len(set(re.findall(r"\[n\d/[2-9]\]", text)))
    found, expected = checked(apart, tmp_path), checked(merged, tmp_path)
    assert found.verdict is expected.verdict
    assert found.violations.keys() == expected.violations.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("order", ["012", "021", "102", "120", "201", "210"])
def test_stamps_of_whole_seconds_leave_the_order_open_and_a_behaviour_is_found(order: str, tmp_path: Path) -> None:
    """RocketMQ's logback files have `%d{yyy-MM-dd HH:mm:ss,GMT+8} %p %t - %m%n`."""
    paths = split_by_node(PARTITION.read_text(), "rocketmq", tmp_path)
    explanation = of_nodes([paths[int(number)] for number in order])
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    "name",
    sampled([path.name for path in HARNESS_RECORDINGS], ["dledger-0.2.7-truncate_restart.ndjson"]),
)
def test_what_was_recorded_is_explained_where_stamps_are_of_whole_seconds(name: str, tmp_path: Path) -> None:
    """Which of many steps of a second came first is open, but for what leads to what."""
    version = name.split("-")[1]
    text = logged(CAPTURED / name, 4000)
    explanation = of_nodes(split_by_node(text, "rocketmq", tmp_path), version)
    assert explanation.summary.refuted is None
    expected = imported(text, tmp_path, version)
    assert checked(explanation, tmp_path).violations.keys() == checked(expected, tmp_path).violations.keys()


@pytest.mark.nightly
def test_clocks_may_differ_by_the_given_skew_and_by_no_more(tmp_path: Path) -> None:
    paths = split_by_node(PARTITION.read_text(), "log4j2", tmp_path)
    late = next(path for path in paths if "n1" in path.name)
    late.write_text(re.sub(r"(?<=:\d\d,)\d{3}", lambda ms: f"{min(999, int(ms[0]) + 30):03d}", late.read_text()))
    with pytest.raises(UnexplainedError):
        of_nodes(paths)
    assert checked(of_nodes(paths, skew=30_000_000), tmp_path).verdict is Verdict.HOLDS


def test_a_follower_of_a_leader_that_only_another_log_elects_is_no_contradiction(tmp_path: Path) -> None:
    """The clock of the leader may be late: its line may have come before."""
    paths = split_by_node(written(*ELECTED[:-1], FOLLOWS, ELECTED[-1]), "log4j2", tmp_path)
    with pytest.raises(UnexplainedError, match="follower of n1"):
        of_nodes(paths)
    assert of_nodes(paths, skew=10_000_000).summary.refuted is None
    nobody = split_by_node(written(*ELECTED[:-1], FOLLOWS), "log4j2", tmp_path)
    assert of_nodes(nobody, skew=10_000_000).summary.refuted == 2


def test_a_process_that_may_be_another_one_is_not_refuted_by_the_role_of_the_last(tmp_path: Path) -> None:
    """A process that finds no files writes nothing when it starts: only [NODE/INCARNATION] would show it."""
    lines = (*ELECTED, "[n0] n0_[INCREASE_TERM] from 1 to 2")
    assert imported(written(*lines), tmp_path).summary.refuted == len(lines)
    with pytest.raises(UnexplainedError, match="next_term of n0"):
        of_nodes(split_by_node(written(*lines), "log4j2", tmp_path))


def test_a_second_line_of_a_start_is_of_another_process(tmp_path: Path) -> None:
    """DLedger.main writes it; a process whose files hold no entry does not say that it recovers them."""
    started = "[n0] [n0] group g start ok with config {}"
    voted = "[n0] n0_[INCREASE_TERM] from 1 to 2"
    twice = of_nodes(split_by_node(written(started, *ELECTED, started, voted), "log4j2", tmp_path))
    assert twice.summary.actions["Restart"] == 1
    assert checked(twice, tmp_path).verdict is Verdict.HOLDS
    with pytest.raises(UnexplainedError, match="next_term of n0"):
        of_nodes(split_by_node(written(*ELECTED, started, voted), "log4j2", tmp_path))


def test_recovery_and_the_line_of_a_start_after_it_are_of_one_process(tmp_path: Path) -> None:
    """Its threads may write before that."""
    text = (CAPTURED / "dledger-0.2.7-figure8.log").read_text()
    lines, processes = [], set[str]()
    for line in text.splitlines(keepends=True):
        lines.append(line)
        head = re.match(r"(?P<time>\S+) seq<\d+ \[(?P<process>(?P<node>n\d)/\d)\].*GetVoteResponse", line)
        if head and head["process"] not in processes:
            processes.add(head["process"])
            said = f"INFO [main] DLedger - [{head['node']}] group g start ok with config {{}}"
            lines.append(f"{head['time']} seq<0 [{head['process']}] {said}\n")
    apart = of_nodes(split_by_node("".join(lines), "log4j2", tmp_path))
    assert len(processes) > 3
    assert apart.summary.actions == imported(text, tmp_path).summary.actions


def test_hidden_steps_of_several_logs_have_no_line_and_entries_are_named_by_leader_term_and_index(
    tmp_path: Path,
) -> None:
    paths = split_by_node(PARTITION.read_text(), "log4j2", tmp_path)
    for number, path in enumerate(paths):  # each machine has a file of this name
        (tmp_path / str(number)).mkdir()
        paths[number] = path.rename(tmp_path / str(number) / "store.log")
    explanation = of_nodes(paths)
    values = [event.args["value"] for event in explanation if event.action == "AppendAsLeader"]
    assert len(values) == len(set(values))
    assert all(re.fullmatch(r"\?n[012]\.\d+\.\d+", value) for value in values)
    assert all(event.line is None for event in explanation if event.action == "AppendAsLeader")
    assert all(event.line for event in explanation if event.action == "NextTerm")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (("[n0] n0_[INCREASE_TERM] from 0 to 1", "[n1] n1_[INCREASE_TERM] from 0 to 1"), "the log is of n0 and n1"),
        (("[n0] hello",), "no line is of a node"),
        (("[n0] hello\n999999999999999 INFO - hello",), "no time in ms"),
        (("[n0] [Push-n1]Change state from COMPARE to APPEND, matchIndex: 3, writeIndex: 4",), "DLedger 0.4.0"),
    ],
)
def test_a_log_without_nodes_in_brackets_is_of_the_node_that_its_lines_name(
    lines: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    untagged = re.sub(r"seq<\d+ \[n\d/1\] ", "", written(*lines))
    with pytest.raises(TraceError, match=problem):
        imported(untagged, tmp_path)


@pytest.mark.nightly
def test_rotated_and_gzipped_files_are_one_log_and_a_last_line_without_an_end_is_reported(tmp_path: Path) -> None:
    paths = split_by_node(PARTITION.read_text(), "log4j2", tmp_path)
    lines = paths[0].read_text().splitlines(keepends=True)
    with gzip.open(paths[0].with_name(f"{paths[0].name}.1.gz"), "wt") as older:
        older.writelines(lines[:40])
    paths[0].write_text("".join([*lines[40:], "2026-11-21 09:00:12,9"]))
    files = [paths[0].with_name(f"{paths[0].name}.1.gz"), *paths]
    done = lockstep("import", *(path.name for path in files), "-o", "t.ndjson", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(
        f"note: {paths[0].name}:{len(lines) - 39}: the last line does not end, and is left out\n"
    )
    whole = lockstep("import", str(PARTITION), "-o", "w.ndjson", cwd=tmp_path)
    assert done.stdout.partition(": ")[2].startswith(whole.stdout.partition(": ")[2].partition(" events")[0])
    assert lockstep("check", "t.ndjson", cwd=tmp_path).returncode == 0


def test_a_recording_is_imported_alone_and_a_skew_is_a_time(tmp_path: Path) -> None:
    recording = str(PARTITION.with_suffix(".ndjson"))
    several = lockstep("import", recording, recording, "-o", "t.ndjson", cwd=tmp_path)
    assert several.returncode == 2
    assert "is a recording, which is imported alone" in several.stderr
    skewed = lockstep("import", str(PARTITION), "--skew", "5", "-o", "t.ndjson", cwd=tmp_path)
    assert skewed.returncode == 2
    assert "'5' is no time such as '5 ms'" in skewed.stderr
    assert not (tmp_path / "t.ndjson").exists()
