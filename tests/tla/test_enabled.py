"""ENABLED within an INSTANCE is about the module's own variables (Specifying Systems, 17.8), as in TLC."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.values.kinds import format_value
from lockstep.tlc import TlcOptions, run_tlc

#: Actions of the instanced module; ENABLED is evaluated of each, directly and through a definition.
ACTIONS = {
    "Sets": "x' = 0 /\\ y' = 1",
    "Grows": "x' = x + 1 /\\ UNCHANGED y",
    "Rests": "UNCHANGED vars",
    "Apart": "x # y /\\ x' = 0 /\\ y' = 1",
    "Square": "[x' = 7 /\\ y' = 8]_vars",
    "Angle": "<<x' = x /\\ y' = y>>_vars",
    "Moved": "<<x' = x /\\ y' = y + 1>>_vars",
    "Chosen": "\\E k \\in {x, 5} : x' = k /\\ y' = x' + 1",
    "Chained": "x' = 1 /\\ y' \\in {x', 2} /\\ y' # x'",
    "Passed": "To(x, 3) /\\ y' = 4",
    "Within": "LET after == x + 1  sets == x' = after IN sets /\\ y' = 0",
    "Inside": "x' = 1 /\\ ENABLED (y' = 2 /\\ x' = 3) /\\ y' = 5",
    "Below": "K!Both /\\ y' = 9",
    "Never": "x' = 1 /\\ x' = 2 /\\ y' = 0",
    "Fixed": "Given /\\ x' = 3 /\\ y' = 4",
}
#: Actions that read what they have assigned; TLC cannot evaluate these if an expression stands for the variable.
READING = {"Below", "Square", "Angle", "Moved", "Chosen", "Chained"}
INNER = """---- MODULE Inner ----
EXTENDS Naturals
CONSTANT Given
VARIABLES x, y
vars == <<x, y>>
Sum == x + y
To(a, b) == x' = a + b
K == INSTANCE Leaf WITH a <- x, b <- x
{actions}
LetAsked == LET set == x' = 1 /\\ y' = 2  is == ENABLED set IN is
Any(A) == ENABLED A
Asked == <<{asked}, LetAsked>>
Few == <<{few}>>
===="""
LEAF = """---- MODULE Leaf ----
EXTENDS Naturals
VARIABLES a, b
Both == a' = 2 /\\ b' = 2
===="""
MIDDLE = """---- MODULE Middle ----
EXTENDS Naturals
VARIABLES p
M == INSTANCE Inner WITH x <- p, y <- p + 1, Given <- FALSE
===="""
INSTANCES = {
    "One": "INSTANCE Inner WITH x <- z, y <- z, Given <- TRUE",
    "Two": "INSTANCE Inner WITH x <- z, y <- w, Given <- TRUE",
    "Plus": "INSTANCE Inner WITH x <- z + w, y <- z, Given <- 1 = 1",
    "Fix": "INSTANCE Inner WITH x <- z, y <- 4, Given <- FALSE",
}
ROOT = """---- MODULE Root ----
EXTENDS Naturals, TLC
VARIABLES z, w
{instances}
Of(q) == INSTANCE Inner WITH x <- z + q, y <- w, Given <- TRUE
Deep == INSTANCE Middle WITH p <- z
OfFamily == Of(2)!Few
OfDeep == Deep!M!Few
Next == z' = 3 - z /\\ w' = z
Init == z = 1 /\\ w = 0
Spec == Init /\\ [][Next]_<<z, w>>
Outside == <<ENABLED One!Sets, ENABLED Two!Sets, One!Any(Next), Two!Any(z' = 1 /\\ w' = 1)>>
Inv == {printed}
===="""
SHOWN = [*(f"Of{name}" for name in INSTANCES), "OfFamily", "OfDeep", "Outside"]


def asked_of(instance: str) -> str:
    return "Asked" if re.search(r"x <- \w+, y <- [a-z],", instance) else "Few"


def write(folder: Path) -> Path:
    actions = "\n".join(f"{name} == {body}\n{name}Asked == ENABLED ({body})" for name, body in ACTIONS.items())
    asked = ", ".join(f"ENABLED {name}, {name}Asked" for name in ACTIONS)
    few = ", ".join(f"ENABLED {name}, {name}Asked" for name in ACTIONS if name not in READING)
    (folder / "Inner.tla").write_text(INNER.format(actions=actions, asked=asked, few=few))
    (folder / "Leaf.tla").write_text(LEAF)
    (folder / "Middle.tla").write_text(MIDDLE)
    instances = "\n".join(f"{name} == {body}\nOf{name} == {name}!{asked_of(body)}" for name, body in INSTANCES.items())
    printed = " /\\ ".join(f'PrintT(<<"{name}", {name}>>)' for name in SHOWN)
    (folder / "Root.tla").write_text(ROOT.format(instances=instances, printed=printed))
    (folder / "Root.cfg").write_text("SPECIFICATION Spec\nINVARIANT Inv\n")
    return folder / "Root.tla"


def plain(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_enabled_within_an_instance_is_of_the_instance_s_own_variables(tmp_path: Path) -> None:
    root = write(tmp_path)
    printed = "\n".join(run_tlc(root, root.with_suffix(".cfg"), TlcOptions(is_short=True)).user_output)
    theirs = re.findall(r'<<\s*"([^"]+)",\s*(<<[^>]*>>)\s*>>', printed)
    spec = load_spec(root, cache_dir=tmp_path / "cache")
    states = explore(spec).states
    ours = [(name, format_value(spec.evaluate(name, state))) for state in states for name in SHOWN]
    assert [(name, plain(text)) for name, text in theirs] == [(name, plain(text)) for name, text in ours]
    assert {"TRUE", "FALSE"} <= set(re.findall(r"\w+", dict(ours)["OfOne"]))


@pytest.mark.nightly
def test_fairness_of_an_instance_s_action_is_decided_where_expressions_stand_for_variables(tmp_path: Path) -> None:
    (tmp_path / "Clock.tla").write_text(
        "---- MODULE Clock ----\nEXTENDS Naturals\nVARIABLES h, m\nTick == h' = (h + 1) % 3 /\\ m' = 0\n"
        "Never == h' = 5 /\\ m' = 6\nGoes == WF_<<h, m>>(Tick)\nStuck == SF_<<h, m>>(Never)\n===="
    )
    (tmp_path / "Root.tla").write_text(
        "---- MODULE Root ----\nEXTENDS Naturals\nVARIABLE z\nC == INSTANCE Clock WITH h <- z \\div 2, m <- 0\n"
        "Init == z = 0\nNext == z' = (z + 1) % 6\nSpec == Init /\\ [][Next]_z /\\ WF_z(Next)\n"
        "Goes == C!Goes\nStuck == C!Stuck\n===="
    )
    for name, verdict in (("Goes", "holds"), ("Stuck", "violated")):
        cfg = tmp_path / f"{name}.cfg"
        cfg.write_text(f"SPECIFICATION Spec\nPROPERTY {name}\n")
        assert explore_spec(SpecFiles(tmp_path / "Root.tla", cfg), Engine.TLC).verdict == verdict
        assert explore_spec(SpecFiles(tmp_path / "Root.tla", cfg), Engine.COMPILED).verdict == verdict
