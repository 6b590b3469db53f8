"""Which layer finds which flaw: the bench keeps to its budgets, and its table and picture show what it measured."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts.hunts import names
from tests.scripts.kill_matrix import (
    FAST,
    LATER,
    LAYERS,
    MISSED,
    NOTHING,
    RESULTS,
    SOON,
    MatrixCell,
    add,
    picture,
    read,
    table,
)
from tests.support.places import ROOT

#: A flaw of each system: what found it or did not, after how many seconds, in the order of LAYERS.
ROWS = {
    ("dledger", "VoteFile"): ("A 3.4", "B 0.96", "- 15.2", "C 9.4", "D 9.6", "E 0.2", ""),
    ("hashicorp", "StaleInstall"): ("A 1.0", "- 0.4", "B<& 12.0", "C 2.0", "D 2.0", "E 2.0", "F 0.9"),
}


def cells() -> list[MatrixCell]:
    made = []
    for (system, flaw), row in ROWS.items():
        for layer, words in zip(LAYERS, row, strict=True):
            found, _, seconds = words.partition(" ")
            why = "" if words else "no lemma"
            made.append(MatrixCell(system, flaw, layer, float(seconds or 0), found.removeprefix("-"), why))
    return made


def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kill_matrix_bench", ROOT / "bench" / "kill_matrix.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def script(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_cells_that_were_added_are_read_again_with_a_tenth_of_a_second(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    add(file, cells()[: len(LAYERS)])
    add(file, cells()[len(LAYERS) :])
    assert read(file) == [each._replace(seconds=round(each.seconds, 1)) for each in cells()]
    assert file.read_text(encoding="utf-8").splitlines()[0] == "system,flaw,layer,seconds,found,why"


def test_the_table_has_what_each_layer_found_and_the_seconds_or_why_there_was_nothing() -> None:
    assert list(table(cells()))[2:] == [
        "| `VoteFile` | A (3 s) | B (<1 s) | - (15 s) | C (9 s) | D (10 s) | E (<1 s) | - (no lemma) |",
        "| `StaleInstall` | A (1 s) | - (<1 s) | B<& (12 s) | C (2 s) | D (2 s) | E (2 s) | F (<1 s) |",
    ]


def test_the_picture_has_the_same_cells_in_colours_that_agree_with_their_seconds() -> None:
    svg = ET.fromstring("\n".join(picture(cells())))
    shown = [(each.get("fill"), each[0].text) for each in svg.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    assert [text for _, text in shown] == [each.text for each in cells()]
    assert [colour for colour, _ in shown] == [
        *(SOON, FAST, MISSED, SOON, LATER, FAST, NOTHING),
        *(SOON, MISSED, LATER, SOON, SOON, SOON, FAST),
    ]
    texts = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("<1") == sum(colour == FAST for colour, _ in shown)
    assert {"DLedger", "hashicorp/raft", "VoteFile", "StaleInstall", *LAYERS} <= set(texts)


def test_the_page_and_the_picture_are_made_of_the_results_and_these_have_every_flaw() -> None:
    """`python -m tests.scripts.kill_matrix table` and `... picture` print them."""
    measured = read(RESULTS)
    assert sorted((each.flaw, each.layer) for each in measured) == sorted(itertools.product(names(), LAYERS))
    page = (ROOT / "docs" / "measured" / "kill_matrix.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("|")] == list(table(measured))
    drawn = (ROOT / "docs" / "pictures" / "kill_matrix.svg").read_text(encoding="utf-8")
    assert drawn.splitlines() == list(picture(measured))


@pytest.mark.parametrize("form", ["table", "picture"])
def test_without_results_there_is_no_table_and_no_picture(form: str, tmp_path: Path) -> None:
    done = script("-m", "tests.scripts.kill_matrix", form, tmp_path / "missing.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing.csv" in done.stderr


def test_the_bench_refuses_a_misspelt_flaw(tmp_path: Path) -> None:
    done = script("bench/kill_matrix.py", tmp_path / "results.csv", "VoteFil")
    assert done.returncode == 2
    assert "VoteFil: not one of" in done.stderr


@pytest.mark.nightly
def test_a_command_that_takes_more_processor_time_than_it_was_given_is_ended_and_its_tlc_is_counted() -> None:
    """Python alone takes less than 2 s before TLC starts; the model takes TLC 10 s."""
    matrix = bench()
    begin = matrix.spent()
    assert matrix.command("model", "replication", "--engine", "tlc", seconds=4.0) is None
    assert matrix.spent() - begin > 4.0


def test_a_result_that_took_more_processor_time_than_it_was_given_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No look falls into the time of the command, so that it comes to its end."""
    matrix = bench()
    monkeypatch.setattr(matrix, "LOOK_SECONDS", 600.0)
    assert matrix.command("prove", "quorums_intersect_any_size", seconds=0.1) is None
    assert matrix.command("prove", "quorums_intersect_any_size", seconds=60.0)[0]["verdict"] == "proved"
