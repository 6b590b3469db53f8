"""Which of several causes is named first: small specs, and traces that leave them in one way that is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from lockstep.cli.check_command import command as check_command
from lockstep.trace.trace_format import Event, Header, write_trace

#: One step: its action, its arguments, and what is shown after it.
Step = tuple[str, dict[str, Any], dict[str, Any]]


def causes_of(folder: Path, body: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Write a spec and a trace of it, check it, and return the causes of its deviation."""
    (folder / "Own.tla").write_text(f"---- MODULE Own ----\nEXTENDS Integers, Sequences\n{body}\n====\n")
    (folder / "Own.cfg").write_text("INIT Init\nNEXT Next\n")
    header = Header("lockstep-trace/1", "mine", "1", "Own", ("n1",), {})
    events = [
        Event(seq=seq, node="n1", action=action, args=args, shows=shows)
        for seq, (action, args, shows) in enumerate(steps)
    ]
    write_trace(folder / "t.ndjson", header, events)
    words = ["--format", "json", "--spec", str(folder / "Own.tla"), str(folder / "t.ndjson")]
    (found,) = json.loads(CliRunner().invoke(check_command, words, standalone_mode=False).output)
    assert "diagnosis" in found, found
    causes: list[dict[str, Any]] = found["diagnosis"]["causes"]
    return causes


REFUSING = r"""
VARIABLES says, n
Init == says = "nothing" /\ n = 0
Barred(k) == k \in {0}
Full == n > 100
Ask(p) == \E k \in 1..9 : /\ n' = n + 1
                       /\ says' = IF Barred(k) THEN "no" ELSE IF k > 5 /\ Full THEN "no" ELSE "yes"
Next == \E p \in {"n1"} : Ask(p)
"""


def asked(*answers: tuple[int, str]) -> list[Step]:
    return [("Ask", {"k": k}, {"says": says}) for k, says in answers]


def test_a_condition_comes_first_that_no_other_step_speaks_against(tmp_path: Path) -> None:
    """Each of three conditions explains the refusal, but two would have refused the first question, too."""
    first, *_ = causes_of(tmp_path, REFUSING, asked((1, "yes"), (6, "no"), (2, "yes")))
    assert (first["kind"], first["what"], first.get("against", 0)) == ("formula", "n > 100", 0)


def test_a_condition_may_be_refuted_by_what_comes_after_the_deviation(tmp_path: Path) -> None:
    first, *_ = causes_of(tmp_path, REFUSING, asked((6, "no"), (2, "yes")))
    assert first["what"] == "n > 100"


def test_of_a_comparison_only_steps_with_the_same_order_count(tmp_path: Path) -> None:
    """At the boundary it is mistaken; that it was right on the one side of it says nothing."""
    body = r"""
VARIABLE says
Init == says = "nothing"
Ask(p) == \E k \in 1..9 : says' = IF k < 5 THEN "low" ELSE "high"
Next == \E p \in {"n1"} : Ask(p)
"""
    first, *_ = causes_of(tmp_path, body, asked((7, "high"), (5, "low"), (8, "high"), (2, "low")))
    assert (first["what"], first["sides"], first.get("against", 0)) == ("k < 5", ["5", "5"], 0)


def test_a_statement_that_is_not_executed_stands_for_all_updates_of_one_except(tmp_path: Path) -> None:
    body = r"""
VARIABLE r
Init == r = [term |-> 0, vote |-> 0, n |-> 0]
Voted(before, k) == [before EXCEPT !.term = k, !.vote = k + 1]
Vote(p) == \E k \in 1..9 : r' = [Voted(r, k) EXCEPT !.n = @ + 1]
Next == \E p \in {"n1"} : Vote(p)
"""
    shown = [{"r": {"term": 0, "vote": 0, "n": n}} for n in (1, 2)]
    first, *_ = causes_of(tmp_path, body, [("Vote", {"k": k}, shows) for k, shows in zip((3, 4), shown, strict=True)])
    assert (first["kind"], first["again"]) == ("updates", 1)
    assert first["what"] == "[before EXCEPT !.term = k, !.vote = k + 1]"


def test_the_use_of_an_operator_is_named_where_another_use_of_it_is_right(tmp_path: Path) -> None:
    body = r"""
VARIABLE r
Init == r = [term |-> 0, n |-> 0]
Counted(before) == [before EXCEPT !.n = @ + 1]
In(before, k) == [before EXCEPT !.term = k]
Enter(p) == \E k \in 1..9 : LET first == Counted(r) IN r' = In(first, k)
Count(p) == r' = Counted(r)
Next == \E p \in {"n1"} : Enter(p) \/ Count(p)
"""
    steps: list[Step] = [("Count", {}, {"r": {"term": 0, "n": 1}}), ("Enter", {"k": 4}, {"r": {"term": 0, "n": 2}})]
    first, *_ = causes_of(tmp_path, body, [*steps, ("Count", {}, {"r": {"n": 3}})])
    assert (first["kind"], first["what"]) == ("update", "!.term = k"), "the only update is likelier than its use"
    several = body.replace("EXCEPT !.term = k]", "EXCEPT !.term = k, !.n = @]")
    kept = several.replace("Count(p) == r' = Counted(r)", "Count(p) == LET c == Counted(r) IN r' = In(c, 0)")
    steps[0] = ("Count", {}, {"r": {"term": 0, "n": 1}})
    first, *_ = causes_of(tmp_path, kept, [("Enter", {"k": 4}, {"r": {"term": 4, "n": 1}}), *REPEATED])
    assert (first["kind"], first["what"]) == ("use", "In(c, 0)")


#: A count that leaves the term alone, which the spec sets to 0.
REPEATED: list[Step] = [("Count", {}, {"r": {"term": 4, "n": 2}}), ("Enter", {"k": 5}, {"r": {"term": 5, "n": 3}})]


def test_two_conditions_that_are_false_one_behind_the_other_are_named_together(tmp_path: Path) -> None:
    body = r"""
VARIABLES n, m
Init == n = 0 /\ m = 0
Up(p) == n > 0 /\ m > 0 /\ n' = n + 1 /\ m' = m
Next == \E p \in {"n1"} : Up(p)
"""
    first, *_ = causes_of(tmp_path, body, [("Up", {}, {"n": 1, "m": 0})])
    assert (first["what"], first["came_to"]) == ("n > 0", "FALSE")
    assert first["besides"] == "Own.tla:6:19: m > 0"


def test_of_such_pairs_the_one_with_the_condition_that_the_check_found_comes_first(tmp_path: Path) -> None:
    """The condition within the operator is evaluated before, and explains as much."""
    body = r"""
VARIABLES n, m
Init == n = 0 /\ m = 0
Code(k) == IF k > 0 THEN "yes" ELSE "no"
Up(p) == Code(n) = "yes" /\ m > 0 /\ n' = n + 1 /\ m' = m
Next == \E p \in {"n1"} : Up(p)
"""
    first, *_ = causes_of(tmp_path, body, [("Up", {}, {"n": 1, "m": 0})])
    assert (first["what"], first["place"]) == ('Code(n) = "yes"', "Own.tla:7:10")


def test_the_action_is_named_that_leaves_alone_what_differs(tmp_path: Path) -> None:
    body = r"""
VARIABLES n, m
Init == n = 0 /\ m = "a"
Up(p) == n' = n + 1 /\ UNCHANGED m
Next == \E p \in {"n1"} : Up(p)
"""
    (only,) = causes_of(tmp_path, body, [("Up", {}, {"n": 1, "m": "b"})])
    assert (only["kind"], only["what"], only["place"]) == ("rule", "Up", "Own.tla:6:1")


def test_a_truth_value_that_is_written_down_may_be_the_other_one(tmp_path: Path) -> None:
    body = r"""
VARIABLE r
Init == r = [up |-> FALSE, n |-> 0]
Fall(p) == r' = [r EXCEPT !.up = FALSE, !.n = @ + 1]
Rise(p) == r' = [r EXCEPT !.up = TRUE, !.n = @ + 1]
Next == \E p \in {"n1"} : Fall(p) \/ Rise(p)
"""
    steps: list[Step] = [("Fall", {}, {"r": {"up": True, "n": n}}) for n in (1, 2)]
    first, *_ = causes_of(tmp_path, body, steps)
    assert (first["kind"], first["what"], first["came_to"]) == ("formula", "FALSE", "FALSE")


def test_a_difference_may_stand_for_a_sum(tmp_path: Path) -> None:
    body = r"""
VARIABLE n
Init == n = 50
Add(p) == \E k \in 1..20 : n' = n + k
Next == \E p \in {"n1"} : Add(p)
"""
    first, *_ = causes_of(tmp_path, body, [("Add", {"k": 9}, {"n": 41}), ("Add", {"k": 5}, {"n": 46})])
    assert (first["what"], first["came_to"], first["would_be"]) == ("n + k", "59", "41")


# ---- Steps further back ----

SENDING = r"""
VARIABLES calls, n
Init == calls = << >> /\ n = 0
Call(p) == calls' = Append(calls, n) /\ UNCHANGED n
Stop(p) == /\ n' = n + 1
        /\ calls' = IF n > 90 THEN calls ELSE << >>
Pass(p) == \E k \in 1..9 : UNCHANGED <<calls, n>>
Next == \E p \in {"n1"} : Call(p) \/ Stop(p) \/ Pass(p)
"""


def test_the_step_that_last_changed_what_differs_is_looked_at_however_far_back_it_is(tmp_path: Path) -> None:
    steps: list[Step] = [("Call", {}, {}), ("Stop", {}, {"n": 1}), *[("Pass", {"k": 1}, {"n": 1})] * 30]
    steps += [("Pass", {"k": 2}, {"calls": [0]}), ("Pass", {"k": 1}, {"calls": [0]})]
    first, *_ = causes_of(tmp_path, SENDING, steps)
    assert (first["what"], first["line"]) == ("n > 90", 3)


# ---- Lines ----

KEEPING = r"""
VARIABLES log, n
Init == log = << >> /\ n = 0
Add(p) == \E word \in STRING : log' = Append(log, word) /\ UNCHANGED n
Count(p) == n' = n + 1 /\ UNCHANGED log
Next == \E p \in {"n1"} : Add(p) \/ Count(p)
"""


def test_a_step_that_is_missing_may_have_an_argument_that_only_later_events_name(tmp_path: Path) -> None:
    steps: list[Step] = [("Count", {}, {"n": 1}), ("Count", {}, {"n": 2, "log": ["mine"]}), ("Count", {}, {"n": 3})]
    first, *_ = causes_of(tmp_path, KEEPING, steps)
    assert (first["kind"], first["what"]) == ("step", 'Add(p = "n1", word = "mine")')


def test_a_line_is_named_where_nothing_else_is_found_and_all_that_follows_agrees(tmp_path: Path) -> None:
    steps: list[Step] = [("Add", {"word": "a"}, {}), ("Count", {}, {"log": ["b"]}), ("Count", {}, {"n": 2})]
    assert [cause["kind"] for cause in causes_of(tmp_path, KEEPING, steps)] == ["value"]
    last = causes_of(tmp_path, KEEPING, steps[:2])
    assert [cause["kind"] for cause in last] == ["rule"], "nothing follows, so nothing speaks for the line alone"
