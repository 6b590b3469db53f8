"""A step computes once what it uses several times, and uses the spec's own object in place of an equal argument."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Fcn
from lockstep.tlc import TlcOptions, run_tlc
from tests.support.sampling import sampled

BODY = r"""
EXTENDS Naturals
VARIABLES x, y
Costly(v) == [a |-> v + 1, b |-> v + 2]
Take(r) == x' = r.a /\ y' = r.b
Passed(r) == Take(r)
TakeOf(k, r) == x' = r.a /\ y' = r.b + k
InTurn(p) == \E i \in {1, 2} : x' = x + i /\ y' = p + p
OfNext(v) == LET w == v' IN \E i \in {1, 2} : x' = 5 + i /\ y' = w + w
NextOf(v) == v'
ByName(v) == LET w == NextOf(v) IN \E i \in {1, 2} : x' = 7 + i /\ y' = w + w
Again(p) == x' = p /\ \E k \in {1, 2} : y' = p + p + k
Init == x = 0 /\ y = 0
Argument == Take(Costly(x))
PassedOn == Passed(Costly(x))
Let == LET r == Costly(x) IN Take(r)
LetOfLet == LET r == Costly(x) IN LET q == r IN Take(q)
OfOne(k) == TakeOf(k, Costly(x + k))
LetOfOne(k) == LET r == Costly(x + k) IN TakeOf(k, r)
Waiting(p) == LET r == Costly(p) IN x' = r.a /\ y' = r.b
LetOfArgument == Waiting(x + x)
After == InTurn(x')
AfterLet == OfNext(x)
AfterName == ByName(x)
Both == Again(x + 1)
Next == \/ Argument \/ PassedOn \/ Let \/ LetOfLet \/ \E k \in 1..2 : OfOne(k) \/ LetOfOne(k)
        \/ LetOfArgument \/ After \/ AfterLet \/ AfterName \/ Both
"""


def load(folder: Path, body: str, cfg: str = "INIT Init\nNEXT Next\n") -> Spec:
    path = folder / "Once.tla"
    path.write_text(f"---- MODULE Once ----\n{body}\n====\n")
    path.with_suffix(".cfg").write_text(cfg)
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=folder / "cache")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    return load(tmp_path_factory.mktemp("once"), BODY)


def counted(spec: Spec, name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    function: Callable[..., Any] = spec._module[name]

    def count(*args: Any) -> Any:
        calls.append(args)
        return function(*args)

    monkeypatch.setitem(spec._module, name, count)
    return calls


@pytest.mark.parametrize("action", ["Argument", "PassedOn", "Let", "LetOfLet", "OfOne", "LetOfOne", "LetOfArgument"])
def test_an_argument_and_a_let_of_an_action_are_computed_once(
    spec: Spec, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(spec, "Costly", monkeypatch)
    state = spec.state({"x": 3, "y": 0})
    more = 2 if action in ("OfOne", "LetOfOne") else 0
    after = spec.step(state, action, {"k": more} if more else {})
    start = 6 if action == "LetOfArgument" else 3 + more
    assert after == spec.state({"x": start + 1, "y": start + 2 + more})
    assert calls == [(start,)]


def test_a_search_computes_them_once_for_each_successor(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(spec, "Costly", monkeypatch)
    list(spec.successors(spec.state({"x": 3, "y": 0})))
    assert sorted(calls) == [(3,), (3,), (3,), (3,), (4,), (4,), (5,), (5,), (6,)]


@pytest.mark.parametrize(
    ("action", "found"),
    [
        ("After", [(4, 8), (5, 10)]),
        ("AfterLet", [(6, 12), (7, 14)]),
        ("AfterName", [(8, 16), (9, 18)]),
        ("Both", [(4, 9), (4, 10)]),
    ],
)
def test_a_formula_that_reads_the_next_state_is_computed_where_that_is_known(
    spec: Spec, action: str, found: list[tuple[int, int]]
) -> None:
    state = spec.state({"x": 3, "y": 0})
    assert [tuple(each) for name, _, each in spec.successors(state) if name == action] == found
    assert list(map(tuple, spec.steps(state, action, {}))) == found


@pytest.mark.parametrize(
    ("action", "times"), sampled([("OfOne", 1), ("LetOfOne", 1), ("LetOfArgument", 2)], [("LetOfArgument", 2)])
)
def test_a_formula_that_prints_is_computed_as_often_as_by_tlc(
    action: str, times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TLC computes an argument once, and a LET of an action at each of its two uses."""
    body = BODY.replace("EXTENDS Naturals", "EXTENDS Naturals, TLC").replace(
        "[a |-> v + 1", '[a |-> IF PrintT("printed") THEN v + 1 ELSE 0'
    )
    alone = f"{body}Few == x = 0\nAlone == \\E k \\in {{1}} : {action}{'(k)' if 'One' in action else ''}\n"
    printing = load(tmp_path, alone, "INIT Init\nNEXT Alone\nCONSTRAINT Few\n")
    files = tmp_path / "Once.tla", tmp_path / "Once.cfg"
    by_tlc = run_tlc(*files, TlcOptions(is_short=True, deadlock_check=False))
    assert [line for line in by_tlc.user_output if "printed" in line] == ['"printed"'] * times
    capsys.readouterr()
    list(printing.successors(printing.state({"x": 0, "y": 0})))
    assert capsys.readouterr().err.count("printed") == times


MESSAGES = r"""
VARIABLES sent, got
Init == sent = {[id |-> 1, entry |-> [term |-> 1]], [id |-> 2, entry |-> [term |-> 1]]} /\ got = <<>>
Take == \E m \in sent : got' = m.entry /\ UNCHANGED sent
Next == Take
"""


def test_a_message_that_is_given_is_the_one_that_was_sent(tmp_path: Path) -> None:
    spec = load(tmp_path, MESSAGES)
    (state,) = spec.initial_states()
    sent = {each.d["id"]: each for each in state["sent"]}
    for number in (1, 2):
        given = Fcn({"id": number, "entry": Fcn({"term": 1})})
        after = spec.step(state, "Take", {"m": given})
        assert after is not None
        assert after["got"] is sent[number].d["entry"]
    assert spec.step(state, "Take", {"m": Fcn({"id": 3, "entry": Fcn({"term": 1})})}) is None
