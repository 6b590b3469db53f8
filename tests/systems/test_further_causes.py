"""Which expressions are causes: what a spec says more than once, what other steps speak against, and what is chosen."""

from __future__ import annotations

from pathlib import Path

from tests.support.systems.own_diagnoses import diagnosed, first


def test_a_number_that_a_definition_computes_twice_is_mistaken_once(tmp_path: Path) -> None:
    """Code has one variable for it: both are one less, or none."""
    spec = r"""
VARIABLES n, low, high
Init == n = 0 /\ low = 0 /\ high = 0
Up == n' = n + 1 /\ low' = (n + 5) * 2 /\ high' = (n + 5) * 3
Next == Up
"""
    steps = [("Up", {"n": n + 1, "low": (n + 4) * 2, "high": (n + 4) * 3}) for n in range(3)]
    cause = first(tmp_path, spec, steps)
    assert (cause.what, cause.came_to, cause.would_be, cause.evaluation) == ("n + 5", "5", "4", "each of 2")
    assert (cause.again, cause.whole) == (2, True)


def test_a_number_that_two_definitions_compute_is_not_mistaken_in_both(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, low, high
Low == (n + 5) * 2
High == (n + 5) * 3
Init == n = 0 /\ low = 0 /\ high = 0
Up == n' = n + 1 /\ low' = Low /\ high' = High
Next == Up
"""
    found = diagnosed(tmp_path, spec, [("Up", {"n": 1, "low": 8, "high": 12})])
    assert [cause.accepts for cause in found.causes] == [0]


def test_the_same_text_with_names_that_are_bound_otherwise_is_not_the_same_computation(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, low, high
Init == n = 0 /\ low = 0 /\ high = 0
Up == n' = n + 1 /\ (\E k \in {n} : low' = (k + 5) * 2) /\ (\E k \in {10} : high' = (k + 5) * 3)
Next == Up
"""
    found = diagnosed(tmp_path, spec, [("Up", {"n": 1, "low": 8, "high": 42})])
    assert [cause.accepts for cause in found.causes] == [0]


def test_numbers_of_a_module_that_is_used_by_name_are_not_mistaken_together(tmp_path: Path) -> None:
    (tmp_path / "Sub.tla").write_text(
        "---- MODULE Sub ----\nEXTENDS Integers\nLow(n) == (n + 5) * 2\nHigh(n) == (n + 5) * 3\n===="
    )
    spec = r"""
VARIABLES n, low, high
S == INSTANCE Sub
Init == n = 0 /\ low = 0 /\ high = 0
Up == n' = n + 1 /\ low' = S!Low(n) /\ high' = S!High(n)
Next == Up
"""
    found = diagnosed(tmp_path, spec, [("Up", {"n": 1, "low": 8, "high": 12})])
    assert [cause.accepts for cause in found.causes] == [0]


def test_a_step_that_evaluates_one_of_several_places_speaks_against_them_all(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, low, high
Init == n = 0 /\ low = 0 /\ high = 0
Up == /\ n' = n + 1
      /\ low' = IF n > 0 THEN (n + 5) * 2 ELSE 0
      /\ high' = (n + 5) * 3
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"high": 15, "low": 0}), ("Up", {"high": 15, "low": 10})])
    assert (cause.what, cause.evaluation, cause.against) == ("n + 5", "each of 2", 1)


def test_a_value_that_is_written_down_is_no_cause_where_other_steps_speak_against_it(tmp_path: Path) -> None:
    spec = r"""
VARIABLE n
Init == n = 0
Up == IF TRUE THEN n' = n + 1 ELSE n' = 100
Next == Up
"""
    assert first(tmp_path, spec, [("Up", {"n": 100})]).what == "TRUE"
    found = diagnosed(tmp_path, spec, [("Up", {"n": 1}), ("Up", {"n": 2}), ("Up", {"n": 100})]).causes
    assert [(cause.kind, cause.what) for cause in found] == [("rule", "Up")]


def test_earlier_steps_are_looked_at_where_others_speak_against_what_explains_most(tmp_path: Path) -> None:
    """At the deviation `n + 1` explains less, and ends no search; at the boundary `k >= 5` was mistaken before."""
    spec = r"""
VARIABLES k, mode, n, c
Init == k = 9 /\ mode = "a" /\ n = 0 /\ c = 0
Pick == mode' = (IF k >= 5 THEN "a" ELSE "b") /\ k' = 5 /\ UNCHANGED <<n, c>>
Use == LET slow == mode = "a" IN
       /\ n' = IF slow THEN n + 1 ELSE n + 3 * (c + 1)
       /\ c' = IF slow THEN c ELSE c + 1
       /\ UNCHANGED <<k, mode>>
Next == Pick \/ Use
"""
    shown = [("Pick", 0), ("Use", 1), ("Use", 2), ("Pick", 2), ("Use", 5), ("Use", 11)]
    cause = first(tmp_path, spec, [(action, {"n": n}) for action, n in shown])
    assert (cause.what, cause.line, cause.sides, cause.against) == ("k >= 5", 5, ("5", "5"), 0)


def test_a_choice_of_the_configuration_is_not_blamed_but_its_use(tmp_path: Path) -> None:
    """A trace is of one configuration, in all its steps."""
    spec = r"""
CONSTANT Features
VARIABLE n
Slow == "Slow" \in Features
Init == n = 0
Up == IF Slow THEN n' = n + 1 ELSE n' = n + 10
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"n": 1}), ("Up", {"n": 11}), ("Up", {"n": 12})])
    assert (cause.kind, cause.what, cause.place) == ("formula", "Slow", "Own.tla:7:10")


def test_a_choice_at_the_end_of_an_action_may_be_blamed(tmp_path: Path) -> None:
    spec = r"""
CONSTANT Features
VARIABLE n
Init == n = 0
Up == n' = n + 1 /\ "Fast" \in Features
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"n": 1}), ("Up", {"n": 2})])
    assert (cause.kind, cause.what, cause.whole) == ("formula", '"Fast" \\in Features', True)


SHARED = r"""
VARIABLES n, log
Kept(before, k) == [before EXCEPT !.last = k]
Init == n = 0 /\ log = [last |-> 0, first |-> 0]
Put(k) == [log EXCEPT !.last = k]
Add == n' = n + 1 /\ log' = Put(n + 1)
Sub == n' = n - 1 /\ log' = Put(n - 1)
Next == Add \/ Sub
"""


#: Add and Sub store what the update that they share gives; then both leave it out.
STORING = [("Add", {"n": 1, "log": {"last": 1}}), ("Sub", {"n": 0, "log": {"last": 0}})]
LEAVING_OUT = [
    ("Add", {"n": 1, "log": {"last": 0}}),
    ("Add", {"n": 2, "log": {"last": 0}}),
    ("Sub", {"n": 1, "log": {"last": 0}}),
    ("Sub", {"n": 0, "log": {"last": 0}}),
]


def test_a_rule_that_more_steps_speak_against_explains_no_more_than_its_own_action(tmp_path: Path) -> None:
    cause = first(tmp_path, SHARED, [*STORING * 2, *LEAVING_OUT])
    assert (cause.what, cause.again, cause.accepts, cause.against) == ("!.last = k", 1, 2, 4)


def test_a_rule_that_as_many_steps_need_explains_other_actions_too(tmp_path: Path) -> None:
    cause = first(tmp_path, SHARED, [*STORING, *LEAVING_OUT])
    assert (cause.what, cause.again, cause.accepts, cause.against) == ("!.last = k", 2, 4, 2)


def test_an_operator_that_is_given_the_record_of_a_node_may_not_have_been_used(tmp_path: Path) -> None:
    """Both what the node is and what it says come of it."""
    spec = r"""
VARIABLES node, says
Nodes == {"n1", "n2"}
Raised(before) == [term |-> before.term + 1, votes |-> before.votes + 1]
Init == node = [p \in Nodes |-> [term |-> 0, votes |-> 0]] /\ says = 0
Take(p, handled) == node' = [node EXCEPT ![p] = handled] /\ says' = says + 5 * handled.term + handled.votes
Up == \E p \in Nodes : Take(p, Raised(node[p]))
Next == Up
"""
    steps = [("Up", {"says": 0, "node": {"n1": {"term": 0, "votes": 0}}})]
    cause = first(tmp_path, spec, steps)
    assert (cause.kind, cause.what) == ("use", "Raised(node[p])")
    for other in ("Raised(node[CHOOSE q \\in {p} : TRUE])", "Raised(Start[p])"):
        changed = f'Start == [p \\in {{"n1", "n2"}} |-> [term |-> 0, votes |-> 0]]\n{spec}'
        found = diagnosed(tmp_path, changed.replace("Raised(node[p])", other), steps)
        assert [cause.what for cause in found.causes if cause.kind == "use"] == [], "it would be evaluated twice"


def test_a_choice_may_be_mistaken_where_an_action_names_it(tmp_path: Path) -> None:
    spec = r"""
CONSTANT Features
VARIABLE n
Init == n = 0
Up == IF "Slow" \in Features THEN n' = n + 1 ELSE n' = n + 10
Next == Up
"""
    assert first(tmp_path, spec, [("Up", {"n": 10})]).what == '"Slow" \\in Features'


def test_what_a_variable_holds_is_no_choice_of_the_configuration(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, seen
Init == n = 0 /\ seen = {}
Slow == "Slow" \in seen
Up == n' = (IF Slow /\ n < 5 THEN n + 1 ELSE n + 10) /\ UNCHANGED seen
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"n": 1})])
    assert cause.what == '"Slow" \\in seen'


def test_what_many_specs_share_is_no_cause_where_other_steps_speak_against_it(tmp_path: Path) -> None:
    spec = r"""
INSTANCE Quorum
VARIABLES n, marks
Init == n = 0 /\ marks = <<7, 70, 700>>
Up == n' = QuorumIndexBySorting(marks) /\ UNCHANGED marks
Next == Up
"""
    assert first(tmp_path, spec, [("Up", {"n": 700})]).place.startswith("Quorum.tla:")
    found = diagnosed(tmp_path, spec, [("Up", {"n": 70}), ("Up", {"n": 700})])
    assert [cause.place for cause in found.causes if cause.accepts] == []


def test_what_explains_as_much_as_a_rule_that_is_cut_short_is_held_against_other_steps_too(tmp_path: Path) -> None:
    """Both explain the two steps of Add, and `!.last = k` that of Sub as well."""
    spec = SHARED.replace("log' = Put(n + 1)", "log' = IF n < 100 THEN Put(n + 1) ELSE log")
    found = diagnosed(tmp_path, spec, [*STORING * 2, *LEAVING_OUT[:3]])
    assert {cause.what: (cause.accepts, cause.against) for cause in found.causes}["n < 100"] == (2, 2)


def test_a_rule_that_is_cut_short_before_the_deviation_explains_nothing(tmp_path: Path) -> None:
    """Had the second Add left it out, Sub would have to, and neither did before."""
    spec = r"""
VARIABLES h, x
Put(before, k) == [before EXCEPT !.last = k]
Init == h = [last |-> 0, first |-> 0] /\ x = 0
Add == h' = Put(h, 5) /\ UNCHANGED x
Sub == h' = Put(h, -5) /\ x' = h.last + Put(h, -5).last
Reset == h' = [last |-> 0, first |-> 0] /\ UNCHANGED x
Look == UNCHANGED <<h, x>>
Next == Add \/ Sub \/ Reset \/ Look
"""
    held = [("Add", {"h": {"last": 5}}), ("Sub", {"h": {"last": -5}}), ("Reset", {"x": 0})]
    found = diagnosed(tmp_path, spec, [*held, ("Add", {}), ("Sub", {"x": 0}), ("Look", {"h": {"last": 0}})])
    assert [(cause.kind, cause.line) for cause in found.causes] == [("rule", 7)]
