"""The rules of the leader in z3's terms, in the lemma on the order of the indexes, are the spec's rules.

Each small state is given to both: the machine of the lemma with numbers for variables, and the compiled spec.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator

import pytest
import z3

from lockstep.models.proofs.quorum_rules_equal import element, middle
from lockstep.systems.dledger.index_order_inductive import ACTIONS, CheckerVariant, Leader, branches
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn
from lockstep.trace.trace_format import FORMAT, Header

NODES = ("n1", "n2", "n3")
LEADER = "n1"
TERM = 1
Indexes = tuple[tuple[int, ...], int, int, int, int]
"""Watermarks (the leader's own first), begin, end, committedIndex, lastQuorumIndex."""


@functools.cache
def spec() -> Spec:
    constants: dict[str, bool | str | int] = {
        "StepwiseElections": False,
        "Fifo": True,
        "PriorTermCommit": "published",
        "TruncatedTail": "published",
        "PushTermCheck": "published",
    }
    return trace_spec(Header(FORMAT, "test", "1", "DLedger", NODES, constants), "test")


def states() -> Iterator[Indexes]:
    """All states with two entries at most."""
    for marks in itertools.product(range(-1, 2), repeat=3):
        for end, committed in itertools.product(range(-1, 2), repeat=2):
            yield marks, min(end, 0), end, committed, -1


def of_spec(indexes: Indexes) -> State:
    marks, _, end, committed, last_quorum = indexes
    initial = next(iter(spec().initial_states()))
    entry = Fcn({"term": TERM, "value": "v"})
    leader = initial["node"].d[LEADER].d | {
        "role": "LEADER",
        "currTerm": TERM,
        "log": (entry,) * (end + 1),
        "peerWaterMarks": Fcn(dict(zip(NODES, marks, strict=True))),
        "committedIndex": committed,
        "lastQuorumIndex": last_quorum,
    }
    return initial.replace(node=Fcn({**initial["node"].d, LEADER: Fcn(leader)}))


def by_spec(indexes: Indexes, action: str, **args: object) -> Indexes:
    after = spec().step(of_spec(indexes), action, {"n": LEADER, **args})
    assert after is not None
    leader = after["node"].d[LEADER].d
    marks = tuple(leader["peerWaterMarks"].d[node] for node in NODES)
    begin, end = (spec().evaluate(name, None, leader["log"]) for name in ("BeginIndex", "EndIndex"))
    return marks, begin, end, leader["committedIndex"], leader["lastQuorumIndex"]


def by_lemma(indexes: Indexes, action: str, **choices: int) -> Indexes:
    marks, begin, end, committed, last_quorum = indexes
    now = Leader(
        watermarks=[z3.IntVal(mark) for mark in marks],
        begin=z3.IntVal(begin),
        end=z3.IntVal(end),
        committed=z3.IntVal(committed),
        last_quorum=z3.IntVal(last_quorum),
        is_writing=z3.BoolVal(False),
        quorum=z3.IntVal(-1),
    )
    chosen = [(z3.Int(f"{name}@0"), z3.IntVal(value)) for name, value in choices.items()]

    def number(term: z3.ExprRef) -> int:
        value = z3.simplify(z3.substitute(term, *chosen))
        assert isinstance(value, z3.IntNumRef)
        return int(value.as_long())

    guard, after = list(branches(now, 0, CheckerVariant(is_pass_atomic=True)))[ACTIONS.index(action)]
    assert z3.is_true(z3.simplify(z3.substitute(guard, *chosen)))
    return (
        tuple(map(number, after.watermarks)),
        number(after.begin),
        number(after.end),
        number(after.committed),
        number(after.last_quorum),
    )


def test_the_lemma_s_pass_of_the_quorum_checker_is_the_spec_s() -> None:
    for indexes in states():
        assert by_lemma(indexes, "firstWrite") == by_spec(indexes, "QuorumAckChecker"), indexes


def test_the_lemma_s_append_is_the_spec_s_where_the_own_watermark_is_within_the_log() -> None:
    """A watermark only grows; the lemma writes the end over it, which is the same while none is past the end."""
    for indexes in states():
        marks, _, end, *_ = indexes
        if max(marks) <= end:
            assert by_lemma(indexes, "append") == by_spec(indexes, "AppendAsLeader", value="v"), indexes


@pytest.mark.parametrize(("peer", "index"), [(1, 0), (1, 1), (2, 0), (2, 1)])
def test_the_lemma_s_ack_is_the_spec_s(peer: int, index: int) -> None:
    for indexes in states():
        end = indexes[2]
        if index > end:
            continue
        answer = Fcn(
            {
                "kind": "response",
                "type": "APPEND",
                "src": NODES[peer],
                "dst": LEADER,
                "term": TERM,
                "index": index,
                "code": "SUCCESS",
                "beginIndex": 0,
                "endIndex": index,
            }
        )
        before = of_spec(indexes)
        channels = before["network"].d[NODES[peer]].d | {LEADER: (answer,)}
        network = Fcn({**before["network"].d, NODES[peer]: Fcn(channels)})
        after = spec().step(before.replace(network=network), "HandleAppendResponse", {"n": LEADER, "m": answer})
        assert after is not None
        found = tuple(after["node"].d[LEADER].d["peerWaterMarks"].d[node] for node in NODES)
        assert found == by_lemma(indexes, "ack", peer=peer, index=index)[0], indexes


def test_the_lemma_s_quorum_index_is_the_spec_s_for_groups_of_every_size() -> None:
    for size in range(1, 6):
        for marks in itertools.product(range(-1, 2), repeat=size):
            by_node = Fcn({f"n{number}": mark for number, mark in enumerate(marks)})
            term = element([z3.IntVal(m) for m in marks], middle(size))
            assert z3.simplify(term).as_long() == spec().evaluate("QuorumIndexBySorting", None, by_node), marks


Rule = Callable[[Leader, z3.ArithRef, int, CheckerVariant], z3.ArithRef]

DRIFTED: dict[str, Rule] = {
    "without the clamp": lambda now, index, *_: z3.If(index <= now.committed, now.committed, index),
    "without the floor": lambda now, index, *_: z3.If(index > now.end, now.end, index),
    "an equal index is clamped": lambda now, index, *_: z3.If(
        z3.Or(index == -1, now.end == -1, index < now.committed),
        now.committed,
        z3.If(index > now.end, now.end, index),
    ),
}


@pytest.mark.parametrize("rule", DRIFTED.values(), ids=DRIFTED)
def test_a_rule_that_is_no_longer_the_spec_s_is_noticed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[branches.__module__], "_updated", rule)
    assert any(by_lemma(indexes, "firstWrite") != by_spec(indexes, "QuorumAckChecker") for indexes in states())
