"""Lines with a part of a value, and with a step that the spec takes several times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.mapping import MappingError, read_mapping
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from tests.support.places import ROOT

#: A node learns a later term from a letter first, and handles the letter in a further step.
POST = """---- MODULE Post ----
EXTENDS Naturals, Sequences, FiniteSets, Bags
CONSTANT Node
VARIABLES term, letters, got
vars == <<term, letters, got>>
Init == term = [n \\in Node |-> 0] /\\ letters = EmptyBag /\\ got = [n \\in Node |-> <<>>]
Send(from, to, at, k) ==
    /\\ letters' = letters (+) SetToBag({[from |-> from, to |-> to, term |-> at, body |-> [i \\in 1..k |-> i]]})
    /\\ UNCHANGED <<term, got>>
Learn(m) == /\\ m.term > term[m.to]
            /\\ term' = [term EXCEPT ![m.to] = m.term]
            /\\ UNCHANGED <<letters, got>>
Handle(m) == /\\ m.term = term[m.to]
             /\\ got' = [got EXCEPT ![m.to] = Append(@, m.from)]
             /\\ letters' = letters (-) SetToBag({m})
             /\\ UNCHANGED term
Receive(m) == Learn(m) \\/ Handle(m)
Next == \\/ \\E from, to \\in Node : \\E at \\in 0..3, k \\in 0..2 : Send(from, to, at, k)
        \\/ \\E m \\in DOMAIN letters : Receive(m)
Observe == [term |-> term, letters |-> letters, got |-> got, known |-> {n \\in Node : term[n] > 0}]
====
"""
POST_CFG = 'CONSTANT Node = {"a", "b"}\nINIT Init\nNEXT Next\n'

LETTER = 'from = "from", to = "to", term = "term"'
MAPPING = f"""kind = "kind"
[lines.sent]
action = "Send"
args = {{ from = "from", to = "to", at = {{ field = "term" }}, k = {{ field = "last", plus = ["first", -1] }} }}
shows = {{ letters = {{ has = {{ {LETTER}, body = {{ size = "size" }} }} }} }}
[[lines.received]]
when = {{ to = {{ field = "from" }} }}
ignore = true
[[lines.received]]
action = "Receive"
args = {{ m = {{ parts = {{ {LETTER} }} }} }}
repeat = 2
shows = {{ got = {{ parts = {{ b = {{ size = "count" }} }} }} }}
[lines.seen]
shows = {{ known = {{ field = "nodes.0", as = "set" }}, letters = {{ size = "letters" }} }}
"""


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TraceVerdict]:
    folder = tmp_path_factory.mktemp("post")
    (folder / "Post.tla").write_text(POST)
    (folder / "Post.cfg").write_text(POST_CFG)

    def check(*lines: dict[str, Any], mapping: str = MAPPING) -> TraceVerdict:
        (folder / "mapping.toml").write_text(mapping)
        log = folder / "post.log"
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return own_check(SpecFiles(folder / "Post.tla", mapping=folder / "mapping.toml"))(log)

    return check


def sent(**changes: Any) -> dict[str, Any]:
    return {"kind": "sent", "from": "a", "to": "b", "term": 1, "first": 1, "last": 2, "size": 2, **changes}


def received(**changes: Any) -> dict[str, Any]:
    return {"kind": "received", "from": "a", "to": "b", "term": 1, "count": 1, **changes}


def seen(*nodes: str, letters: int) -> dict[str, Any]:
    return {"kind": "seen", "nodes": [list(nodes)], "letters": letters}


def test_one_line_may_be_a_step_that_is_taken_again_with_the_same_arguments(post: Callable[..., TraceVerdict]) -> None:
    found = post(sent(), received(), seen("b", letters=0))
    assert (found.verdict, found.steps, found.events) == (Verdict.HOLDS, 3, 3), found.reason
    again = post(sent(), received(), sent(), received(count=2), seen("b", letters=0))
    assert (again.verdict, again.steps) == (Verdict.HOLDS, 5)
    once = post(sent(), received(), seen("b", letters=0), mapping=MAPPING.replace("repeat = 2\n", ""))
    assert once.verdict is Verdict.VIOLATED


def test_the_step_is_not_taken_again_with_another_message(post: Callable[..., TraceVerdict]) -> None:
    two = [sent(), sent(last=1, size=1), received(count=0), received(count=1), received(count=2)]
    assert post(*two[:2], received(count=2)).verdict is Verdict.VIOLATED
    assert post(*two).verdict is Verdict.HOLDS
    learnt = [sent(), received(), sent(), sent(last=1, size=1)]
    assert post(*learnt, received(count=2)).verdict is Verdict.HOLDS
    assert post(*learnt, received(count=3)).verdict is Verdict.VIOLATED  # it would be one of each


def test_an_element_with_the_parts_that_a_line_has_must_be_there(post: Callable[..., TraceVerdict]) -> None:
    wrong = post(sent(size=1))
    assert wrong.verdict is Verdict.VIOLATED
    said = "\n".join(wrong.findings[0].details)
    assert 'an element of letters: the line shows [body |-> "of size 1", from |-> "a", term |-> 1, to |-> "b"]' in said


def test_a_sum_of_fields_is_an_argument(post: Callable[..., TraceVerdict]) -> None:
    assert post(sent(first=2, last=1)).verdict is Verdict.HOLDS  # 1 + 2 - 1
    assert post(sent(first=1, last=1)).verdict is Verdict.VIOLATED  # one entry, and the line has two
    less = MAPPING.replace('plus = ["first", -1]', 'minus = ["first", 1]')
    assert post(sent(first=1, last=4), mapping=less).verdict is Verdict.HOLDS  # 4 - 1 - 1
    assert post(sent(first=0, last=4), mapping=less).verdict is Verdict.VIOLATED
    found = post(sent(first="one"))
    assert (found.verdict, found.reason.partition("post.log:")[2]) == (
        Verdict.MALFORMED,
        "1: field `first`: 'one' is no integer",
    )


def test_a_rule_may_ask_whether_two_fields_are_equal(post: Callable[..., TraceVerdict]) -> None:
    assert post(sent(), received(to="a"), received()).events == 2
    assert post(sent(), received(to="a")).verdict is Verdict.HOLDS


def test_an_array_may_stand_for_a_set_and_be_one_of_an_array(post: Callable[..., TraceVerdict]) -> None:
    assert post(sent(), received(), sent(to="a"), received(to="a", **{"from": "b"}), seen("b", letters=1)).verdict is (
        Verdict.VIOLATED
    )
    assert post(sent(), seen(letters=1)).verdict is Verdict.HOLDS
    assert post(sent(), seen("a", letters=1)).verdict is Verdict.VIOLATED
    assert post(sent(), seen(letters=2)).verdict is Verdict.VIOLATED
    found = post({"kind": "seen", "nodes": ["a"], "letters": 1})
    assert (found.verdict, "field `nodes.0`: 'a' is no set" in found.reason) == (Verdict.MALFORMED, True)
    found = post({"kind": "seen", "nodes": [], "letters": 1})
    assert (found.verdict, "field `nodes.0`: missing" in found.reason) == (Verdict.MALFORMED, True)
    found = post({"kind": "seen", "nodes": [[]], "letters": -1})
    assert (found.verdict, "field `letters`: '-1' is no size" in found.reason) == (Verdict.MALFORMED, True)


def test_a_value_without_elements_is_malformed_and_no_violation(post: Callable[..., TraceVerdict]) -> None:
    mapping = MAPPING + '[lines.odd]\nshows = { term = { parts = { b = { size = "n" } } } }\n'
    found = post(sent(), {"kind": "odd", "n": 1}, mapping=mapping)
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.endswith("field `shows.term.b`: 0 is no set, sequence or function")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("repeat = 2", "repeat = 0", "it should be an integer from 1 to 100, not 0"),
        ('{ size = "size" }', '{ size = "size", field = "x" }', "give one of `field`, `value`, `file`,"),
        ('plus = ["first", -1]', "plus = 1.5", "it should be an integer, a string or a list, not 1.5"),
        ('{ to = { field = "from" } }', '{ to = { fields = "from" } }', "unknown field"),
    ],
)
def test_a_mistake_in_parts_or_repeats_is_reported(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in MAPPING
    path = tmp_path / "m.toml"
    path.write_text(MAPPING.replace(old, new))
    with pytest.raises(MappingError, match=re.escape(problem)):
        read_mapping(path)


# ---- The mappings of the logs of others ----

OTHERS = ROOT / "docs" / "own_logs" / "others"

REQUESTS = ("AppendEntriesRequest", "AppendEntriesResponse", "RequestVoteRequest", "RequestVoteResponse")

#: The kinds of lines that etcd-io/raft's state_trace.go names, but for the two that it never writes.
ETCD = frozenset(
    {
        *("InitState", "BecomeCandidate", "BecomeFollower", "BecomeLeader", "Commit", "Replicate", "ChangeConf"),
        *("ApplyConfChange", "Ready"),
        *(f"{way}{kind}" for way in ("Send", "Receive") for kind in REQUESTS),
    }
)

#: The kinds of lines of CCF's trace of its raft driver, as Traceccfraft.tla has them.
CCF = frozenset(
    {
        *("add_configuration", "become_candidate", "become_follower", "become_leader", "replicate", "commit"),
        *("execute_append_entries_sync", "send_append_entries", "send_append_entries_response", "send_request_vote"),
        *("recv_append_entries", "recv_append_entries_response", "recv_request_vote", "recv_request_vote_response"),
    }
)


@pytest.mark.parametrize(("name", "kinds"), [("etcd", ETCD), ("ccf", CCF)])
def test_a_mapping_of_published_traces_has_every_kind_of_line(name: str, kinds: frozenset[str]) -> None:
    assert set(read_mapping(OTHERS / f"{name}.toml").lines) == kinds
