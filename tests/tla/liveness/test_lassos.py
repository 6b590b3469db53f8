"""A violated temporal property: its behaviour in every form of output, and the properties that are refused instead."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.base.errors import BadInputError
from lockstep.cli.command_line import cli
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.exploration import Exploration, Violation
from lockstep.tla.explore import explore
from lockstep.tla.liveness import temporal_check
from lockstep.tla.liveness.lasso_search import Lasso
from lockstep.tla.liveness.temporal_check import LassoContradictedError, LivenessRefusedError
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import TlaError
from tests.support.places import SPECS
from tests.support.sampling import sampled

LOCK = SPECS / "liveness" / "Lock.tla"
COUNTER = SPECS / "liveness" / "Counter.tla"


def cfg(folder: Path, *lines: str) -> Path:
    path = folder / "Some.cfg"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def lock(folder: Path, *lines: str) -> Spec:
    return load_spec(LOCK, cfg(folder, "CONSTANT Client = {a, b}", *lines))


def counter(folder: Path, *lines: str) -> Spec:
    return load_spec(COUNTER, cfg(folder, *lines))


def own(folder: Path, body: str, *lines: str) -> Exploration:
    module = folder / "Own.tla"
    module.write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{body}\n====\n")
    return explore(load_spec(module, cfg(folder, "CHECK_DEADLOCK FALSE", *lines), cache_dir=folder / "cache"))


def violation(found: Exploration) -> Violation:
    assert found.violation is not None
    return found.violation


def behaviour(found: Violation) -> tuple[list[str | None], int | None]:
    return [step.action for step in found.trace], found.back_to


# ---- Lassos ----


@pytest.mark.parametrize(
    ("assumed", "name", "is_violated"),
    [
        ("Unfair", "Freed", True),
        ("Weak", "Freed", False),
        ("Weak", "AllServed", True),
        ("Some", "AllServed", True),
        ("Some", "AnyServed", False),
        ("Strong", "AllServed", False),
        ("Strong", "Patient", False),
        ("Weak", "Turns", True),
        ("Weak", "BareSpec", False),
        ("Unfair", "BareSpec", True),
        ("Weak", "BareTaken", True),
    ],
)
def test_a_lock_is_as_fair_as_its_clients_and_what_it_refines_is_checked_with_its_fairness(
    assumed: str, name: str, is_violated: bool, tmp_path: Path
) -> None:
    found = explore(lock(tmp_path, f"SPECIFICATION {assumed}", f"PROPERTY {name}"))
    assert (found.violation is not None, found.unchecked, found.complete) == (is_violated, (), True)


#: A refinement that holds, one that does not, and a liveness property that is violated; the second in every run.
ASKED = (("Weak", "BareSpec"), ("Unfair", "BareSpec"), ("Some", "AllServed"))


@pytest.mark.parametrize(("assumed", "name"), sampled(ASKED, ASKED[1:2]))
def test_tlc_agrees_on_the_liveness_of_the_lock(assumed: str, name: str, tmp_path: Path) -> None:
    lines = ("CONSTANT Client = {a, b}", f"SPECIFICATION {assumed}", f"PROPERTY {name}")
    asked = explore_spec(SpecFiles(LOCK, cfg(tmp_path, *lines)), Engine.TLC)
    found = explore(load_spec(LOCK, cfg(tmp_path, *lines)))
    assert (asked.verdict == "violated") is (found.violation is not None)
    assert (asked.distinct, asked.generated) == (found.distinct, found.generated)


def test_a_client_that_waits_is_passed_over_for_ever_where_fairness_is_weak(tmp_path: Path) -> None:
    found = violation(explore(lock(tmp_path, "SPECIFICATION Weak", "PROPERTY AllServed")))
    assert (found.kind, found.name) == ("temporal property", "AllServed")
    assert found.back_to is not None
    cycle = found.trace[found.back_to :]
    (undeclared_names,) = frozenset.intersection(*(step.state.waiting for step in cycle))
    assert undeclared_names not in {step.state.owner for step in cycle}
    assert {met.condition.partition(" with ")[0] for met in found.fairness} == {"WF_vars(Free(c))", "WF_vars(Take(c))"}
    starved = [met for met in found.fairness if met.condition == f"WF_vars(Take(c)) with c = {undeclared_names.name}"]
    assert [met.how for met in starved] == ["not enabled"]


def test_without_fairness_the_behaviour_stops_in_its_last_state(tmp_path: Path) -> None:
    found = violation(explore(lock(tmp_path, "SPECIFICATION Unfair", "PROPERTY Freed")))
    assert behaviour(found) == ([None, "Ask", "Take"], 2)
    assert found.fairness == ()


def test_a_deadlock_is_found_before_liveness_is_asked_for(tmp_path: Path) -> None:
    body = "VARIABLE x\nInit == x = 0\nNext == x = 0 /\\ x' = 1\nSpec == Init /\\ [][Next]_x\nLive == <>(x = 2)"
    module = tmp_path / "Own.tla"
    module.write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{body}\n====\n")
    spec = load_spec(module, cfg(tmp_path, "SPECIFICATION Spec", "PROPERTY Live"), cache_dir=tmp_path / "cache")
    assert violation(explore(spec)).kind == "deadlock"
    assert behaviour(violation(explore(spec, SearchOptions(check_deadlock=False)))) == ([None], 0)


def test_a_search_that_gives_up_says_nothing_of_liveness(tmp_path: Path) -> None:
    found = explore(lock(tmp_path, "SPECIFICATION Unfair", "PROPERTY Freed"), SearchOptions(max_states=3))
    assert (found.complete, found.violation) == (False, None)


def test_each_initial_state_begins_a_behaviour(tmp_path: Path) -> None:
    body = "VARIABLE x\nInit == x \\in {1, 2}\nNext == x' = 3\nSpec == Init /\\ [][Next]_x /\\ WF_x(Next)"
    lines = ("SPECIFICATION Spec", "PROPERTY Live")
    assert own(tmp_path, body + "\nLive == <>(x = 3)", *lines).violation is None
    found = violation(own(tmp_path, body + "\nLive == <>[](x = 3) /\\ (x = 2 => []~(x = 3))", *lines))
    assert found.trace[0].state.x == 2


# ---- Laziness, ENABLED, constraints ----


def test_a_formula_that_a_guard_excludes_is_not_evaluated(tmp_path: Path) -> None:
    body = "VARIABLE x\nInit == x \\in {0, 1}\nNext == x' = x\nSpec == Init /\\ [][Next]_x"
    lines = ("SPECIFICATION Spec", "PROPERTY Live")
    guarded = body + "\nLive == x # 0 => <>(1 \\div x = 1)"
    assert own(tmp_path, guarded, *lines).violation is None
    with pytest.raises(TlaError, match=r"argument of .* is 0"):
        own(tmp_path, body + "\nLive == <>(1 \\div x = 1)", *lines)


FAULTY = """VARIABLE x
Init == x = 0
Next == (x < 3000 /\\ x' = x + 1) \\/ (x = 4 /\\ x' = 2)
One == 1 \\div (IF x < 9 THEN 0 ELSE 1) = 1
"""


def test_a_formula_that_fails_in_an_early_state_is_not_left_until_all_states_are_there(tmp_path: Path) -> None:
    """As in TLC, which evaluates it for each state that it finds."""
    for formula, assumed in (("[](LET y == One IN y)", "TRUE"), ("(x = 3 /\\ One) ~> x = 5", "[]<>(x = 3)")):
        body = FAULTY + f"Spec == Init /\\ [][Next]_x /\\ {assumed}\nFails == TRUE /\\ LET z == 1 IN {formula}"
        module = tmp_path / "Own.tla"
        module.write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{body}\n====\n")
        spec = load_spec(module, cfg(tmp_path, "SPECIFICATION Spec", "PROPERTY Fails"), cache_dir=tmp_path / "cache")
        levels: list[int] = []
        with pytest.raises(SpecFault, match=r"Own\.tla:\d+:\d+: LS603 Fails: .* is 0") as raised:
            explore(spec, SearchOptions(check_deadlock=False, on_progress=levels.append))
        assert 3 < len(levels) < 300
        assert len(raised.value.trace) < 9


def test_a_fault_that_no_behaviour_meets_is_none_however_early_it_is_seen(tmp_path: Path) -> None:
    for formula, assumed in (("[](x < 0 => <>One)", "TRUE"), ("<>[](x > 8 => One)", "[]<>(x > 20)")):
        body = FAULTY.replace("3000", "40") + f"Spec == Init /\\ [][Next]_x /\\ {assumed}\nHolds == {formula}"
        found = own(tmp_path, body, "SPECIFICATION Spec", "PROPERTY Holds")
        assert (found.violation, found.distinct, found.complete) == (None, 41, True)


def test_a_violation_has_the_counts_of_all_states_though_a_fault_is_looked_for(tmp_path: Path) -> None:
    body = FAULTY.replace("3000", "40") + "Spec == Init /\\ [][Next]_x\nArrives == (x < 0 => <>One) /\\ <>(x = 40)"
    found = own(tmp_path, body, "SPECIFICATION Spec", "PROPERTY Arrives")
    assert (violation(found).name, found.distinct, found.complete) == ("Arrives", 41, True)


def test_enabled_is_of_the_action_and_not_of_the_steps_of_next(tmp_path: Path) -> None:
    """No step makes x two, so that a behaviour in which that is possible for ever is not fair."""
    body = "VARIABLE x\nInit == x = 0\nNext == x' = 1 - x\nSpec == Init /\\ [][Next]_x /\\ WF_x(x = 0 /\\ x' = 2)"
    lines = ("SPECIFICATION Spec", "PROPERTY Live")
    assert own(tmp_path, body + "\nLive == <>(x = 1)", *lines).violation is None
    assert behaviour(violation(own(tmp_path, body + "\nLive == [](x = 0) \\/ <>(x = 2)", *lines))) == (
        [None, "Next"],
        1,
    )


def test_a_step_that_leaves_the_subscript_as_it_is_does_not_count(tmp_path: Path) -> None:
    body = (
        "VARIABLES x, y\nInit == x = 0 /\\ y = 0\nA == x' = x /\\ y' = 1 - y\nB == x' = 1 /\\ y' = y\nNext == A \\/ B\n"
    )
    body += "Spec == Init /\\ [][Next]_<<x, y>> /\\ "
    lines = ("SPECIFICATION Spec", "PROPERTY Live")
    live = "\nLive == <>(x = 1)"
    assert own(tmp_path, body + "WF_x(Next)" + live, *lines).violation is None
    assert own(tmp_path, body + "WF_<<x, y>>(Next)" + live, *lines).violation is not None


CONSTRAINED = (
    ("Plain", "CONSTRAINT Low", "Arrives", True),
    ("WeakUp", "CONSTRAINT Low", "Arrives", False),
    ("WeakUp", "ACTION_CONSTRAINT NoReset", "StaysOff", False),
)


@pytest.mark.parametrize(("assumed", "constraint", "name", "is_violated"), sampled(CONSTRAINED, CONSTRAINED[2:]))
def test_behaviours_are_those_that_the_constraints_leave(
    assumed: str, constraint: str, name: str, is_violated: bool, tmp_path: Path
) -> None:
    """Up and Reset stay enabled where a constraint takes their steps away; TLC says the same."""
    lines = (f"SPECIFICATION {assumed}", constraint, f"PROPERTY {name}")
    found = explore(counter(tmp_path, *lines), SearchOptions(check_deadlock=False))
    asked = explore_spec(SpecFiles(COUNTER, cfg(tmp_path, *lines)), Engine.TLC, SearchOptions(check_deadlock=False))
    assert (found.violation is not None) is is_violated
    assert (asked.verdict == "violated") is (found.violation is not None)
    assert (asked.distinct, asked.generated) == (found.distinct, found.generated)


# ---- What is refused ----


@pytest.mark.parametrize("entry", ["SYMMETRY Same", "VIEW Seen"])
def test_liveness_under_symmetry_or_a_view_is_refused_in_a_line_that_names_it(entry: str, tmp_path: Path) -> None:
    spec = lock(tmp_path, "SPECIFICATION Strong", "PROPERTY AllServed", entry)
    with pytest.raises(LivenessRefusedError, match=f"LS602 the {entry} .* AllServed; remove it$"):
        explore(spec)
    words = ["model", "--spec", str(LOCK), "--cfg", str(tmp_path / "Some.cfg"), "--engine", "compiled"]
    refused = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert isinstance(refused, BadInputError)
    assert explore(lock(tmp_path, "SPECIFICATION Strong", entry)).violation is None


@pytest.mark.parametrize("lasso", [Lasso((0,), 0), Lasso((0, 3), 1), Lasso((1, 1), 1)])
def test_a_behaviour_that_does_not_stand_is_an_internal_error(
    lasso: Lasso, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal_check, "find_violation", lambda *_: lasso)
    with pytest.raises(LassoContradictedError, match=r"^AllServed: the behaviour found "):
        explore(lock(tmp_path, "SPECIFICATION Strong", "PROPERTY AllServed"))


# ---- What is printed ----


def run(tmp_path: Path, *words: object) -> str:
    found = CliRunner().invoke(
        cli, [*map(str, words), "--spec", str(LOCK), "--cfg", str(tmp_path / "Some.cfg")], standalone_mode=False
    )
    assert found.exception is None
    return found.stdout


@pytest.fixture
def starving(tmp_path: Path) -> Path:
    cfg(tmp_path, "CONSTANT Client = {a, b}", "SPECIFICATION Weak", "PROPERTY AllServed")
    return tmp_path


def test_text_shows_where_a_behaviour_goes_back_to_and_why_it_is_fair(starving: Path) -> None:
    said = run(starving, "model", "--engine", "compiled")
    assert "temporal property AllServed" in said
    assert re.search(r"\n       and back to step \d by (Take|Free)\(c = [ab]\), for ever\n", said)
    by_tlc = run(starving, "model")
    assert re.search(r"\n       and back to step \d by (Take|Free)\(c = [ab]\), for ever\n", by_tlc)
    assert "\n       which is fair:\n         WF_vars(Free(c)) with c = a: " in said


def test_json_and_itf_have_the_loop_and_the_conditions_of_fairness(starving: Path) -> None:
    path = starving / "found.itf.json"
    said = json.loads(run(starving, "model", "--engine", "compiled", "--format", "json", "--itf", path))
    assert (said["verdict"], said["property"]) == ("violated", "AllServed")
    assert {each["met"] for each in said["fairness"]} <= {"taken", "not enabled", "never enabled"}
    assert len(said["fairness"]) == 4
    assert said["back_by"]["action"] in ("Take", "Free")
    assert said["back_by"]["args"].keys() == {"c"}
    tree = json.loads(path.read_text())
    assert tree["loop"] + 1 == said["back_to"]
    assert len(tree["states"]) == len(said["counterexample"]) > said["back_to"]
    assert len(tree["#meta"]["fairness"]) == 4


def test_a_picture_has_an_edge_back(starving: Path) -> None:
    picture = starving / "g.svg"
    said = run(starving, "graph", "-o", picture)
    assert "AllServed is violated by going back from step " in said
    assert 'marker-end="url(#back)"' in picture.read_text()
    cfg(starving, "CONSTANT Client = {a, b}", "SPECIFICATION Unfair", "PROPERTY Freed")
    assert "Freed is violated by staying in step 3 for ever" in run(starving, "graph", "-o", picture)


# ---- Refinements ----

ABSTRACT = """---- MODULE Abstract ----
VARIABLE done
Finish == ~done /\\ done' = TRUE
Spec == done = FALSE /\\ [][Finish]_done /\\ WF_done(Finish)
====
"""
COUNTING = """---- MODULE Counting ----
EXTENDS Naturals
VARIABLE n
A == INSTANCE Abstract WITH done <- (n = 2)
Up == n < 2 /\\ n' = n + 1
Spec == n = 0 /\\ [][Up]_n /\\ WF_n(Up)
Refines == A!Spec
Incomplete == <>ENABLED (n' > 0)
====
"""


def counting(folder: Path, name: str) -> Spec:
    (folder / "Abstract.tla").write_text(ABSTRACT)
    (folder / "Counting.tla").write_text(COUNTING)
    return load_spec(folder / "Counting.tla", cfg(folder, "SPECIFICATION Spec", f"PROPERTY {name}"))


def test_enabled_of_an_action_that_leaves_a_variable_open_is_named_as_unchecked(
    tmp_path: Path,
) -> None:
    found = explore(counting(tmp_path, "Incomplete"), SearchOptions(check_deadlock=False))
    assert (found.violation, found.complete, found.unchecked) == (None, True, ("Incomplete",))


def test_a_refinement_that_puts_an_expression_for_a_variable_is_checked_with_its_fairness(tmp_path: Path) -> None:
    """Finish is enabled while n is not 2: that asks for values of done alone, and no n is looked for."""
    found = explore(counting(tmp_path, "Refines"), SearchOptions(check_deadlock=False))
    assert (found.violation, found.complete, found.unchecked) == (None, True, ())


def test_an_assumption_that_cannot_be_evaluated_is_a_mistake_and_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "Open.tla"
    path.write_text("""---- MODULE Open ----
EXTENDS Naturals
VARIABLE n
Up == n < 2 /\\ n' = n + 1
Spec == n = 0 /\\ [][Up]_n /\\ WF_n(n' > 0)
Arrives == <>(n = 2)
====
""")
    with pytest.raises(TlaError, match=r"Open\.tla:5:\d+: LS60\d Arrives: "):
        explore(
            load_spec(path, cfg(tmp_path, "SPECIFICATION Spec", "PROPERTY Arrives")),
            SearchOptions(check_deadlock=False),
        )


def test_a_cycle_that_stutters_where_it_closes_begins_where_the_behaviour_enters_it(tmp_path: Path) -> None:
    """The first state of the cycle, here the initial one, belongs to the behaviour."""
    body = """VARIABLES x, y
vars == <<x, y>>
Init == x \\in 0..1 /\\ y = 1
Take == UNCHANGED x /\\ y # x /\\ y' = x
Turn == x' = 0 /\\ y' = (y + 1) % 3
Put(c) == x # c /\\ x' = c /\\ y' = y
Next == Take \\/ Turn \\/ \\E c \\in 0..1 : Put(c)
Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next) /\\ ((y = 1 => x = 2) ~> x + y > 0)
Never == (~WF_x(Take)) /\\ ([]<>(((y = 0) ~> (y = 1))))"""
    found = violation(own(tmp_path, body, "SPECIFICATION Spec", "PROPERTY Never"))
    assert (found.name, found.trace[0].state["y"], found.trace[0].action) == ("Never", 1, None)


def test_a_let_around_a_quantifier_may_speak_of_the_state(tmp_path: Path) -> None:
    """The set of the quantifier is constant, and uses only the constant part of the LET."""
    body = """VARIABLE x
Init == x = 0
Go(c) == x # c /\\ x' = c
Next == \\E c \\in 0..2 : Go(c)
Spec == Init /\\ [][Next]_x /\\ \\A c \\in 0..2 : WF_x(Go(c))
Each == LET P == x = 0
            Can == ENABLED <<Go(1)>>_x
            N == 1
            Set(n) == {0, n}
        IN  \\A c \\in Set(N) : LET Q == x = c IN (Q => <>(x # c)) /\\ (Can => []<>(Can \\/ P))
One == LET P == x = 0 IN \\E c \\in 1..2 : <>[](x = c \\/ P)"""
    assert own(tmp_path, body, "SPECIFICATION Spec", "PROPERTY Each").violation is None
    assert violation(own(tmp_path, body, "SPECIFICATION Spec", "PROPERTY One")).name == "One"


def test_definitions_that_use_each_other_many_times_are_read_once_each(tmp_path: Path) -> None:
    """Thirty levels of two uses each are a thousand million ways down."""
    levels = "".join(f"A{k} == A{k - 1} /\\ B{k - 1}\nB{k} == A{k - 1} \\/ B{k - 1}\n" for k in range(1, 31))
    path = tmp_path / "Deep.tla"
    text = f"VARIABLE n\nA0 == n = 0\nB0 == n = 1\n{levels}Spec == n = 0 /\\ [][n' = 1]_n\nLater == <>A30"
    path.write_text(f"---- MODULE Deep ----\nEXTENDS Naturals\n{text}\n====\n")
    assert load_spec(path, cfg(tmp_path, "SPECIFICATION Spec", "PROPERTY Later")).temporal
