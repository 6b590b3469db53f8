"""Coverage is counted by definitions of a trace's spec, and a definition that is wrong is never a pass."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.step_coverage import all_parts
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.values.kinds import TlaError

SPEC = """---- MODULE Counter ----
EXTENDS Integers, Sequences
VARIABLE x
Init == x = 0
Add(n) == n > 0 /\\ x' = x + n
Reset == x > 0 /\\ x' = 0
Next == \\E n \\in 1..3 : Add(n) \\/ Reset
Small == x < 100
%s
====
"""
CFG = "INIT Init\nNEXT Next\nINVARIANT Small\n"
MAPPING = """kind = "event"
files = "apart"
[lines.add]
action = "Add"
args = { n = "n" }
[lines.reset]
action = "Reset"
"""

DEFINITIONS = r"""
Faults == {"Reset"}
Reachable == {<<"size", "small">>, <<"size", "large">>, <<"size", "never">>, <<"run", "large again">>}
Reached(action, args, reached) ==
    (IF action = "Add" THEN {<<"size", IF args.n < 3 THEN "small" ELSE "large">>} ELSE {})
    \cup (IF action = "Add" /\ x' > 4 /\ <<"size", "large">> \in reached THEN {<<"run", "large again">>} ELSE {})
"""


def files(folder: Path, definitions: str) -> SpecFiles:
    spec, mapping = folder / "Counter.tla", folder / "counter.toml"
    spec.write_text(SPEC % definitions, encoding="utf-8")
    spec.with_suffix(".cfg").write_text(CFG, encoding="utf-8")
    mapping.write_text(MAPPING, encoding="utf-8")
    return SpecFiles(spec, mapping=mapping)


def checked(folder: Path, definitions: str, *added: int, hidden: bool = False) -> TraceVerdict:
    """The verdict on a log of these additions, 0 for a reset."""
    own = files(folder, definitions)
    if hidden:
        own.mapping.write_text(MAPPING + "[hidden]\nReset = 1\n", encoding="utf-8")  # type: ignore[union-attr]
    log = folder / "counter.log"
    lines = [{"event": "add", "n": each} if each else {"event": "reset"} for each in added]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return own_check(own, covers=True)(log)


def test_actions_faults_and_what_the_spec_says_of_steps_are_counted(tmp_path: Path) -> None:
    found = checked(tmp_path, DEFINITIONS, 1, 3, 1, 0, 3, 3)
    assert found.verdict is Verdict.HOLDS
    assert found.reached == {
        ("action", "Add"): 5,
        ("fault", "Reset"): 1,
        ("size", "small"): 2,
        ("size", "large"): 3,
        ("run", "large again"): 2,
    }
    assert found.reachable - found.reached.keys() == {("size", "never")}


def test_a_search_for_hidden_steps_counts_those_of_an_explanation(tmp_path: Path) -> None:
    found = checked(tmp_path, DEFINITIONS, 3, 3, hidden=True)
    assert found.verdict is Verdict.HOLDS
    assert found.reached is not None
    assert (found.reached["action", "Add"], found.reached["size", "large"]) == (2, 2)


def test_the_steps_between_states_that_are_given_are_counted(tmp_path: Path) -> None:
    own = files(tmp_path, DEFINITIONS)
    states = tmp_path / "counter.itf.json"
    states.write_text(json.dumps({"vars": ["x"], "states": [{"x": x} for x in (0, 3, 3, 0)]}), encoding="utf-8")
    found = own_check(replace(own, mapping=None), covers=True)(states)
    assert found.verdict is Verdict.HOLDS
    assert found.reached == {("action", "Add"): 1, ("size", "large"): 1, ("fault", "Reset"): 1}


def test_a_definition_may_take_the_action_with_its_arguments_or_nothing(tmp_path: Path) -> None:
    of_action = 'Reached(action, args) == {<<"of", action>>} \\cup {<<"has", name>> : name \\in DOMAIN args}'
    assert checked(tmp_path, of_action, 1).reached == {("action", "Add"): 1, ("of", "Add"): 1, ("has", "n"): 1}
    of_step = 'Reached == IF x\' > x THEN {<<"x", "grows">>} ELSE {}'
    assert checked(tmp_path, of_step, 1, 0).reached == {("action", "Add"): 1, ("action", "Reset"): 1, ("x", "grows"): 1}


def test_a_spec_without_these_definitions_has_its_actions_as_parts(tmp_path: Path) -> None:
    found = checked(tmp_path, "", 1, 2)
    assert found.reached == {("action", "Add"): 2}
    assert found.reachable == {("action", "Add"), ("action", "Reset")}


def test_what_is_counted_ends_where_the_log_leaves_the_spec(tmp_path: Path) -> None:
    found = checked(tmp_path, DEFINITIONS, 1, 0, 0, 3)
    assert found.verdict is Verdict.VIOLATED
    assert found.reached == {("action", "Add"): 1, ("fault", "Reset"): 1, ("size", "small"): 1}


def test_nothing_is_counted_unless_it_is_asked_for(tmp_path: Path) -> None:
    own = files(tmp_path, "Reached(action, args) == 1 \\div 0")
    log = tmp_path / "counter.log"
    log.write_text('{"event": "reset"}\n', encoding="utf-8")
    assert own_check(own)(log).reached is None


# ---- Mistakes ----

LINE = SPEC[: SPEC.index("%s")].count("\n") + 1


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        (
            'Reached(action, args) == {<<"div", action>> : k \\in {1 \\div (x - x)}}',
            r"Reached of Add\(n = 2\): the second argument of .* is 0",
        ),
        ("Reached(action, args) == {args.m}", "m"),
        ('Reached(action, args) == IF x > 1 THEN {"large"} ELSE {}', 'has "large", which is no <<kind, name>>'),
        ("Reached(action, args) == x", "is no set that can be listed"),
        ("Reached(action) == {}", r"takes 1 arguments, not \(action, args, reached\)"),
        (
            'Reachable == {<<"a", "b">>} Reached(action, args) == {<<"a", "c">>}',
            'has <<"a", "c">>, which is not in Reachable',
        ),
        ('Faults == {"Rest"} Reached(action, args) == {}', 'has "Rest", which is no action'),
        ("Faults(a) == {} Reached(action, args) == {}", "takes arguments, and must be a set"),
        ("Reachable == {<<x, x>>} Reached(action, args) == {}", "must be a constant set"),
    ],
)
def test_a_definition_that_is_wrong_is_named_with_its_file_and_line_and_is_no_pass(
    tmp_path: Path, definition: str, problem: str
) -> None:
    found = checked(tmp_path, definition, 2, 2)
    assert found.verdict is Verdict.MALFORMED
    assert found.fault is not None
    assert re.search(rf"Counter\.tla:{LINE}:\d+: LS603 .*{problem}", found.reason), found.reason


def test_all_parts_of_a_wrong_definition_are_refused(tmp_path: Path) -> None:
    own = files(tmp_path, 'Reached(action, args) == {} Reachable == {"a"}')
    with pytest.raises(TlaError, match=f"Counter.tla:{LINE}:.*no <<kind, name>>"):
        all_parts(load_spec(own.module, own.cfg, cache_dir=tmp_path))
