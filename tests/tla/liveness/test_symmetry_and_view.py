"""SYMMETRY and VIEW with temporal properties: TLC's result may be wrong, and neither engine makes it a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tlc import TlcOptions, run_tlc
from tests.support.programs.lockstep_command import lockstep

#: The token is handed on for ever, so that it stays nowhere.
TOKEN = """---- MODULE Token ----
EXTENDS TLC
CONSTANT Node
VARIABLES at
Init == at \\in Node
Pass(n) == at' = n
Next == \\E n \\in Node : Pass(n)
Spec == Init /\\ [][Next]_at /\\ \\A n \\in Node : WF_at(Pass(n))
Same == Permutations(Node)
Nothing == at \\in Node
Stays == \\E n \\in Node : <>[](at = n)
Here == [][at' \\in Node]_at
====
"""
SYMMETRY = "SYMMETRY Same\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Token.tla").write_text(TOKEN)
    return tmp_path


def model(folder: Path, cfg: str, *options: str) -> tuple[int, str]:
    (folder / "Token.cfg").write_text("SPECIFICATION Spec\nCONSTANT Node = {a, b, c}\n" + cfg)
    found = lockstep("model", "--spec", "Token.tla", *options, cwd=folder)
    return found.returncode, found.stdout + found.stderr


def test_a_temporal_property_that_tlc_passes_under_a_symmetry_is_inconclusive(folder: Path) -> None:
    code, said = model(folder, "PROPERTY Stays\n", "--engine", "compiled")
    assert (code, "temporal property Stays is violated" in said) == (1, True)
    code, said = model(folder, "PROPERTY Stays\n" + SYMMETRY, "--format", "json")
    assert run_tlc(folder / "Token.tla", folder / "Token.cfg", TlcOptions()).verdict is Verdict.HOLDS
    result = json.loads(said)
    words = "the SYMMETRY Same leaves too few behaviours to check Stays; remove it"
    assert (code, result["verdict"], result["reason"].endswith(f", but {words}")) == (3, "inconclusive", True)
    (note,) = result["notes"]
    assert note.startswith(f"Token.cfg:4:10: LS602 note: {words}: TLC misses violations")


@pytest.mark.parametrize(
    ("entries", "place", "words"),
    [
        (SYMMETRY, "4:10", "the SYMMETRY Same leaves too few behaviours to check Stays; remove it"),
        ("VIEW Nothing\n", "4:6", "the VIEW Nothing leaves too few behaviours to check Stays; remove it"),
        (
            "VIEW Nothing\n" + SYMMETRY,
            "5:10",
            "the SYMMETRY Same and the VIEW Nothing leave too few behaviours to check Stays; remove them",
        ),
    ],
    ids=["SYMMETRY", "VIEW", "both"],
)
@pytest.mark.parametrize(
    "command", [("--engine", "compiled"), pytest.param((), marks=pytest.mark.nightly)], ids=["compiled", "tlc"]
)
def test_each_engine_names_what_to_remove(
    entries: str, place: str, words: str, command: tuple[str, ...], folder: Path
) -> None:
    code, said = model(folder, "PROPERTY Stays\n" + entries, *command)
    if command:
        assert (code, said) == (2, f"lockstep: Token.cfg:{place}: LS602 {words}\n")
    else:
        assert code in (1, 3)
        assert f"\nToken.cfg:{place}: LS602 note: {words}: " in said


@pytest.mark.parametrize("engine", ["tlc", "compiled"])
def test_a_property_of_steps_goes_with_a_symmetry(engine: str, folder: Path) -> None:
    code, said = model(folder, "PROPERTY Here\n" + SYMMETRY, "--engine", engine)
    assert (code, "note" in said) == (0, False)
