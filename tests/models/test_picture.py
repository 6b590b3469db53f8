"""The shortest violation of any spec is drawn: under SYMMETRY, outside a constraint, from any initial state."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.cli.command_line import cli
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec

#: A lock that must be free before another client takes it, but is handed over directly.
HANDED_OVER = """
EXTENDS TLC
CONSTANT Client
VARIABLE owner
Init == owner = "nobody"
Take(c) == owner = "nobody" /\\ owner' = c
HandOver(c) == owner \\in Client \\ {c} /\\ owner' = c
Next == \\E c \\in Client : Take(c) \\/ HandOver(c)
Freed == [][(owner \\in Client) => owner' = "nobody"]_owner
Same == Permutations(Client)
"""
HANDED_OVER_CFG = "CONSTANT Client = {a, b}\nINIT Init\nNEXT Next\nSYMMETRY Same\nPROPERTY Freed\n"

#: A number that counts up: from one of two initial states, and past the constraint.
COUNTED = """
EXTENDS Integers
VARIABLE x
Init == x \\in {0, 10}
Up == x' = x + 1
Next == Up
Few == x \\notin {3, 12}
Low == x # %s
"""
COUNTED_CFG = "INIT Init\nNEXT Next\nCONSTRAINT Few\nINVARIANT Low\n"


def own(folder: Path, name: str, body: str, cfg: str) -> Path:
    spec = folder / f"{name}.tla"
    spec.write_text(f"---- MODULE {name} ----{body}====\n")
    spec.with_suffix(".cfg").write_text(cfg)
    return spec


def drawn(spec: Path) -> tuple[Result, list[str]]:
    """Return the result of `lockstep graph` for a spec, and the texts of its picture."""
    picture = spec.with_suffix(".svg")
    said = CliRunner().invoke(cli, ["graph", "--spec", str(spec), "-o", str(picture)], standalone_mode=False)
    assert said.exception is None
    return said, [(each.text or "").strip() for each in ElementTree.parse(picture).iter()]


def test_a_violation_under_symmetry_is_drawn(tmp_path: Path) -> None:
    """Its last state is the image of one that was found before, and is itself no state of the search."""
    said, texts = drawn(own(tmp_path, "Lock", HANDED_OVER, HANDED_OVER_CFG))
    assert "Freed is violated in step 3, 2 states explored" in said.output
    assert "3  HandOver(b)" in texts


@pytest.mark.parametrize(("wrong", "steps"), [(3, 3), (12, 2), (10, 0)])
def test_a_violation_is_drawn_wherever_it_is(wrong: int, steps: int, tmp_path: Path) -> None:
    """3 and 12 are outside the constraint, and 12 is reached from the second initial state alone, which is 10."""
    said, texts = drawn(own(tmp_path, "Count", COUNTED % wrong, COUNTED_CFG))
    assert f"Low is violated in step {steps + 1}" in said.output
    assert f"{steps + 1}  {'Up()' if steps else 'Init'}" in texts


def test_a_deadlock_is_drawn(tmp_path: Path) -> None:
    said, texts = drawn(own(tmp_path, "Stop", COUNTED.replace("x' =", "x < 2 /\\ x' =") % 99, COUNTED_CFG))
    assert "deadlock is violated in step 1" in said.output
    assert "Stop: the shortest way to violate deadlock" in texts


def test_a_property_that_no_search_checks_is_not_passed_over(tmp_path: Path) -> None:
    """If another property is violated, that violation is drawn."""
    body = COUNTED + "Reaches == \\EE z : [](z = x)\n"
    spec = own(tmp_path, "Count", body % 99, f"{COUNTED_CFG}PROPERTY Reaches\n")
    words = ["graph", "--spec", str(spec), "-o", str(tmp_path / "none.svg")]
    error = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert isinstance(error, GaveUpError)
    assert str(error) == "Count: no violation was found, but no search checks Reaches"
    searched = explore_spec(SpecFiles(spec, spec.with_suffix(".cfg")), Engine.COMPILED)
    assert (searched.verdict, searched.reason) == (Verdict.INCONCLUSIVE, "not checked by this engine: Reaches")
    said, _ = drawn(own(tmp_path, "Count", body % 3, f"{COUNTED_CFG}PROPERTY Reaches\n"))
    assert "Low is violated in step 4" in said.output


def test_a_spec_that_an_assume_excludes_is_not_drawn(tmp_path: Path) -> None:
    spec = own(tmp_path, "Count", f"{COUNTED % 3}ASSUME 1 = 2\n", COUNTED_CFG)
    words = ["graph", "--spec", str(spec), "-o", str(tmp_path / "none.svg")]
    error = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert isinstance(error, BadInputError)
    assert str(error) == "the ASSUME at Count.tla:9:1 is false"
    searched = explore_spec(SpecFiles(spec, spec.with_suffix(".cfg")), Engine.COMPILED)
    assert (searched.verdict, searched.reason) == (Verdict.VIOLATED, "the ASSUME at Count.tla:9:1 is false")


def test_every_state_is_counted_at_one_level(tmp_path: Path) -> None:
    spec = own(tmp_path, "Count", COUNTED % 99, COUNTED_CFG)
    found = explore(load_spec(spec, spec.with_suffix(".cfg")))
    assert found.levels == [2, 2, 1, 0]
    assert sum(found.levels) == found.distinct
