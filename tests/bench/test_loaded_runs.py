"""The outcomes of runs of a loaded group: tests.scripts.loaded_runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripts.loaded_runs import DIED, LEFT_OUT, LOST, Loaded, LostError, Run, outcome_of, run, summary
from tests.support.systems.dledger_lines import FAULT_FREE
from tests.support.systems.split_recordings import Line, split


def ended(
    folder: Path, outcome: str, reason: str = "", changed: Callable[[list[Line]], None] = lambda _: None
) -> tuple[Run, bool]:
    """Return what became of a run that recorded a real group, and whether its folder is kept."""

    def load(_: int, place: Path) -> Loaded:
        return Loaded("three", ("leader killed",), 34, split(FAULT_FREE, place, changed=changed), outcome, reason)

    found = run(load, 7, folder)
    return found, (folder / "7").exists()


def lose(lines: list[Line]) -> None:
    """Let a node answer that its log ends one entry below where it does."""
    answer = [line for line in lines if line["kind"] == "resp_push" and line["endIndex"] > 3][-1]
    answer["endIndex"] -= 1


def test_a_run_that_went_through_and_holds_leaves_nothing(tmp_path: Path) -> None:
    found, is_kept = ended(tmp_path, "")
    assert (found.outcome, found.confirmed, found.done, is_kept) == ("holds", 34, ("leader killed",), False)
    assert found.events > 100


@pytest.mark.parametrize("outcome", [LEFT_OUT, LOST, DIED])
def test_a_run_that_did_not_go_through_says_so_though_its_recording_holds(outcome: str, tmp_path: Path) -> None:
    found, is_kept = ended(tmp_path, outcome, "no leader")
    assert (found.outcome, found.reason, found.done, is_kept) == (outcome, "no leader", ("leader killed",), True)


@pytest.mark.parametrize("outcome", ["", LEFT_OUT, DIED])
def test_a_recording_that_does_not_hold_is_reported_though_the_run_was_left_out(outcome: str, tmp_path: Path) -> None:
    found, is_kept = ended(tmp_path, outcome, "no leader", lose)
    assert found.outcome == "malformed"
    assert "no leader" in found.reason
    assert is_kept


def killed_at_once(records: list[Path], count: int) -> list[Path]:
    """Let the processes of the first nodes be killed before their first line is whole."""
    for path in records[:count]:
        path.write_bytes(path.read_bytes()[:20])
    return records


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("outcome", "becomes"), [(LEFT_OUT, LEFT_OUT), (DIED, DIED), ("", "refused")])
def test_a_run_some_of_whose_nodes_recorded_nothing_is_left_out_where_it_did_not_go_through(
    outcome: str, becomes: str, count: int, tmp_path: Path
) -> None:
    def load(_: int, place: Path) -> Loaded:
        return Loaded("three", (), 0, killed_at_once(split(FAULT_FREE, place), count), outcome, "no leader")

    found = run(load, 7, tmp_path)
    assert found.outcome == becomes
    assert "no leader" in found.reason
    assert "n0" in found.reason
    assert (tmp_path / "7").exists()


def test_a_run_that_recorded_nothing_is_left_out(tmp_path: Path) -> None:
    found = run(lambda _, __: Loaded("three", (), 0, [], LEFT_OUT, "no process came up"), 7, tmp_path)
    assert (found.outcome, found.reason) == (LEFT_OUT, "no process came up; no line in any file")


def test_a_process_that_ended_by_itself_and_a_lost_append_are_not_left_out() -> None:
    errors = (LostError("x"), AssertionError("n1 ended by itself: panic"), AssertionError("no leader"))
    assert [outcome_of(error) for error in errors] == [LOST, DIED, LEFT_OUT]


def test_the_row_of_a_fault_has_each_run_with_it() -> None:
    runs = [Run(1, "", ("leader cut",), 0, 0, LEFT_OUT, ""), Run(2, "", ("leader cut", "link cut"), 9, 99, "holds", "")]
    rows = [line.split() for line in summary(runs, ["leader cut", "link cut"]).splitlines()[1:]]
    assert rows == [["leader", "cut", "1", "1"], ["link", "cut", "1", "0"], ["any", "1", "1"]]
