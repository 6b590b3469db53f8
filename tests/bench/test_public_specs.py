"""The rows of public specs: the results of both engines for each model of a checkout, compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT

CLOCK = """---- MODULE Clock ----
EXTENDS Integers
CONSTANT Hours
VARIABLE hour
Init == hour = 0
Tick == hour' = (hour + 1) % Hours
Spec == Init /\\ [][Tick]_hour
Below == hour < 2
====
"""
DICE = """---- MODULE Dice ----
EXTENDS TLC
VARIABLE face
Spec == face = RandomElement({1, 2}) /\\ [][FALSE]_face
====
"""
SEARCH = {"mode": "exhaustive search", "result": "success"}


def checkout(folder: Path) -> Path:
    """Write a checkout like that of the examples: specs in folders, each with a manifest."""
    clock = folder / "specifications" / "Clock"
    clock.mkdir(parents=True)
    (clock / "Clock.tla").write_text(CLOCK)
    (clock / "Dice.tla").write_text(DICE)
    (clock / "Clock.cfg").write_text("SPECIFICATION Spec\nCONSTANT Hours = 12\n")
    (clock / "Broken.cfg").write_text("SPECIFICATION Spec\nCONSTANT Hours = 12\nINVARIANT Below\n")
    (clock / "Dice.cfg").write_text("SPECIFICATION Spec\n")
    models = [
        {"path": "specifications/Clock/Clock.cfg", **SEARCH, "distinctStates": 12},
        {"path": "specifications/Clock/Broken.cfg", **SEARCH},
        {"path": "specifications/Clock/Large.cfg", **SEARCH, "distinctStates": 10**9},
        {"path": "specifications/Clock/Symbolic.cfg", "mode": "symbolic", "result": "success"},
    ]
    dice = [{"path": "specifications/Clock/Dice.cfg", **SEARCH}]
    modules: list[dict[str, Any]] = [
        {"path": "specifications/Clock/Clock.tla", "models": models},
        {"path": "specifications/Clock/Dice.tla", "models": dice},
        {"path": "specifications/Clock/Bare.tla", "models": []},
    ]
    (clock / "manifest.json").write_text(json.dumps({"modules": modules}))
    return folder


def public_specs(*arguments: object) -> str:
    command = [sys.executable, ROOT / "bench" / "public_specs.py", *arguments]
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ["literal", "tables"])
def test_each_model_of_a_checkout_gets_a_row_and_those_known_are_not_run_again(engine: str, tmp_path: Path) -> None:
    kept = tmp_path / "rows.ndjson"
    printed = public_specs(checkout(tmp_path), "--engine", engine, "--output", kept)
    rows = {row["name"]: row for row in map(json.loads, kept.read_text().splitlines())}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "Clock/Clock": "equal",
        "Clock/Broken": "equal",
        "Clock/Dice": "refused",
        "Clock/Large": "not run",
        "Clock/Symbolic": "not run",
    }
    for said_by in ("compiled", "tlc"):
        clock, broken = rows["Clock/Clock"][said_by], rows["Clock/Broken"][said_by]
        assert clock["counts"] == {"distinct": 12, "generated": 13, "depth": 12}
        assert (broken["verdict"], broken["said"], broken["note"]) == ("violated", "Below", "")
    assert "Dice.tla:4: RandomElement" in rows["Clock/Dice"]["reason"]
    assert "of 2 models" in printed
    assert "Of the modules 1 have no model" in printed
    before = kept.read_bytes()
    assert "| Clock/Clock | equal | 12 | 13 | 12 | holds |" in public_specs(tmp_path, "--output", kept, "--table")
    public_specs(tmp_path, "--output", kept)
    assert kept.read_bytes() == before


@pytest.mark.nightly
def test_a_row_names_the_reason_why_a_model_was_not_explored_by_tables(tmp_path: Path) -> None:
    (tmp_path / "Prints.tla").write_text(CLOCK.replace("Clock", "Prints").replace("Integers", "Integers, TLC"))
    text = (tmp_path / "Prints.tla").read_text().replace("Tick ==", 'Tick == PrintT("tick") /\\')
    (tmp_path / "Prints.tla").write_text(text)
    (tmp_path / "Prints.cfg").write_text("SPECIFICATION Spec\nCONSTANT Hours = 3\n")
    printed = public_specs(tmp_path, "--engine", "tables")
    assert re.search(r"^Prints +equal +3  4  3  holds .*state by state: Print shows every evaluation$", printed, re.M)
    assert re.search(r"^ +1  of these explored state by state", printed, re.M)


@pytest.mark.nightly
def test_each_cfg_beside_its_module_is_a_model_in_a_folder_without_manifests(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Clock.tla").write_text(CLOCK)
    (tmp_path / "deep" / "Clock.cfg").write_text("SPECIFICATION Spec\nCONSTANT Hours = 3\n")
    (tmp_path / "Alone.cfg").write_text("SPECIFICATION Spec\n")
    (tmp_path / "Nothing.tla").write_text("---- MODULE Nothing ----\n====\n")
    (tmp_path / "Nothing.cfg").write_text("\n")
    printed = public_specs(tmp_path)
    assert re.findall(r"^(\S+) +equal +(\d+ +\d+ +\d+)", printed, re.M) == [
        ("deep/Clock", "3  4  3"),
        ("Nothing", "0  0  1"),
    ]
    assert re.search(r"^ +2  models$", printed, re.M)


def test_a_folder_without_models_is_reported_as_such(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        public_specs(tmp_path)
    assert "nor a cfg beside the module of its name" in caught.value.stderr


@pytest.mark.nightly
def test_a_row_names_files_without_the_folder_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Lost.tla").write_text("---- MODULE Lost ----\nEXTENDS Nowhere\n====\n")
    (tmp_path / "deep" / "Lost.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "deep" / "Clock.tla").write_text(CLOCK)
    (tmp_path / "deep" / "Clock.cfg").write_text("INIT Init\nINIT Init\n")
    public_specs(".", "--output", "rows.ndjson")
    rows = list(map(json.loads, (tmp_path / "rows.ndjson").read_text().splitlines()))
    assert sorted(row["name"] for row in rows) == ["deep/Clock", "deep/Lost"]
    for row in rows:
        assert "LS60" in row["reason"], row
        assert str(tmp_path) not in json.dumps(row)


def test_engines_with_different_results_are_reported_as_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from public_models import Counts
    from public_rows import Found, Outcome, compared

    counts = Counts(12, 13, 12)
    found = Found("holds", "", counts)
    died = Found("unfinished", "killed")
    liveness = Found("holds", "", counts, unchecked=("Goes",))
    for ours, theirs, manifest, outcome in (
        (found, found, Counts(), Outcome.EQUAL),
        (found, Found("holds", "", Counts(12, 14, 12)), Counts(), Outcome.DIFFERENT),
        (found, Found("violated", "Below", counts), Counts(), Outcome.DIFFERENT),
        (Found("violated", "Above", counts), Found("violated", "Below", counts), Counts(), Outcome.DIFFERENT),
        (found, Found("liveness violated", "", counts), Counts(), Outcome.DIFFERENT),
        (liveness, Found("liveness violated", "", counts), Counts(), Outcome.EQUAL_SAFETY),
        (liveness, found, Counts(), Outcome.EQUAL_SAFETY),
        (found, died, counts, Outcome.EQUAL),
        (found, died, Counts(12, 14, 12), Outcome.DIFFERENT),
        (found, died, Counts(), Outcome.UNFINISHED),
        (died, found, counts, Outcome.UNFINISHED),
        (Found("internal error", "KeyError"), found, counts, Outcome.INTERNAL),
    ):
        assert compared("m", ours, theirs, manifest).outcome is outcome, (ours, theirs)
