"""The parts that a step reaches of DLedger, by the definitions of spec/dledger/Reached.tla."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lockstep.conformance.step_coverage import all_parts, fault_actions
from lockstep.systems.dledger.picture import PICTURE
from lockstep.tla.state import State
from lockstep.tla.values.constructed_sets import RcdSet
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.lazy_set_algebra import BinaryUnion
from tests.support.systems.fleets import covering_spec

SPEC = covering_spec("whole")
(BEGIN,) = SPEC.initial_states()
#: The sets of messages in the spec that have answers.
MESSAGES = ("ResponseMessage", "BatchResponseMessage", "ElectionMessage")

ENTRY, OTHER = Fcn({"term": 1, "value": "v1"}), Fcn({"term": 0, "value": "v1"})


def with_fields(record: Value, **fields: Any) -> Fcn:
    assert isinstance(record, Fcn)
    return Fcn({**record.d, **fields})


def state(**fields: Any) -> State:
    """The initial state with other fields of n1, and other messages from n1 to n2."""
    values = BEGIN.as_dict()
    sent = fields.pop("sent", None)
    values["node"] = with_fields(values["node"], n1=with_fields(values["node"].d["n1"], **fields))
    if sent is not None:
        network = values["network"]
        values["network"] = with_fields(network, n1=with_fields(network.d["n1"], n2=sent))
    return SPEC.state(values)


def reached(
    before: State, after: State, action: str = "X", before_that: tuple[tuple[str, str], ...] = (), **args: Any
) -> set[str]:
    found = SPEC.evaluate("Reached", before, action, Fcn({"n": "n1", **args}), frozenset(before_that), after=after)
    return {name for _, name in found}


def log(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple(("log", name) for name in names)


# ---- All that there is ----


def record_sets(messages: Value) -> Iterator[RcdSet]:
    if isinstance(messages, BinaryUnion):
        for part in messages.parts:
            yield from record_sets(part)
    else:
        assert isinstance(messages, RcdSet)
        yield messages


def test_every_answer_that_the_messages_of_the_spec_have_is_reachable_and_no_other() -> None:
    answers = {
        ("answer", f"{type_} {code}")
        for name in MESSAGES
        for records in record_sets(SPEC.evaluate(name))
        if records.fields["kind"] == frozenset({"response"})
        for type_ in records.fields["type"]
        for code in records.fields["code"]
    }
    assert answers == {part for part in all_parts(SPEC) if part[0] == "answer"}


def test_every_change_between_the_states_of_a_dispatcher_is_reachable() -> None:
    states = SPEC.evaluate("Dispatcher").fields["type"]
    changes = {("dispatcher", f"{one} -> {other}") for one in states for other in states if one != other}
    assert changes == {part for part in all_parts(SPEC) if part[0] == "dispatcher"}


def test_every_refusal_that_a_client_can_get_is_reachable() -> None:
    refusals = {args["code"] for args in SPEC.arguments(BEGIN, "RefuseAppend")}
    clients = {name for kind, name in all_parts(SPEC) if kind == "client"}
    assert clients - refusals == {"SUCCESS", "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT"}


def test_what_loses_or_doubles_messages_is_a_fault() -> None:
    assert PICTURE.loses | PICTURE.doubles <= fault_actions(SPEC)


# ---- Steps ----


def test_an_answer_is_reached_where_a_step_sends_it_and_so_is_a_copy_of_one_under_way() -> None:
    answer = Fcn({"kind": "response", "type": "APPEND", "code": "SUCCESS", "index": 1})
    request = Fcn({"kind": "request", "type": "COMPARE", "index": 1})
    nothing, one, two = Fcn({}), Fcn({answer: 1}), Fcn({answer: 2})
    assert reached(state(sent=nothing), state(sent=one)) == {"APPEND SUCCESS"}
    assert reached(state(sent=one), state(sent=two)) == {"APPEND SUCCESS"}
    assert reached(state(sent=one), state(sent=Fcn({answer: 1, request: 1}))) == set()
    assert reached(state(sent=two), state(sent=one)) == set()


def test_a_dispatchers_change_of_state_is_reached() -> None:
    def with_dispatcher(kind: str) -> State:
        dispatchers = BEGIN["node"].d["n1"].d["dispatchers"]
        return state(dispatchers=with_fields(dispatchers, n2=with_fields(dispatchers.d["n2"], type=kind)))

    assert reached(with_dispatcher("COMPARE"), with_dispatcher("TRUNCATE")) == {"COMPARE -> TRUNCATE"}
    assert reached(with_dispatcher("TRUNCATE"), with_dispatcher("TRUNCATE")) == set()


def test_a_log_that_truncate_shortens_is_cut_and_one_it_lengthens_is_not() -> None:
    m = Fcn({"index": 7, "entry": ENTRY, "src": "n3", "term": 1})
    short, long = state(log=(OTHER,)), state(log=(OTHER,) * 3)
    assert reached(long, short, "HandleDoTruncate", m=m) == {"entries cut"}
    assert reached(short, long, "HandleDoTruncate", m=m) == set()
    assert reached(long, short, "LosePower") == set()


def test_a_leader_change_and_a_cut_are_reached_together_whichever_comes_first() -> None:
    m = Fcn({"index": 7, "entry": ENTRY, "src": "n3", "term": 1})
    cut = state(log=(OTHER,) * 3), state(log=(OTHER,)), "HandleDoTruncate"
    elected = state(role="CANDIDATE"), state(role="LEADER"), "ChangeToLeader"
    assert reached(*elected) == {"leader elected"}
    assert reached(*elected, log("leader elected")) == {"leader elected", "another leader"}
    both = log("leader elected", "entries cut")
    assert reached(*elected, both) == {"leader elected", "another leader", "leader change and cut"}
    assert reached(*cut, log("leader elected", "another leader"), m=m) == {"entries cut", "leader change and cut"}
    assert reached(*cut, log("leader elected"), m=m) == {"entries cut"}
    assert reached(*cut, (("log", "leader elected"), ("client", "another leader")), m=m) == {"entries cut"}


def test_a_restart_that_lengthens_a_log_brings_cut_entries_back() -> None:
    one, two = state(log=(OTHER,)), state(log=(OTHER,) * 2)
    assert reached(one, two, "Restart") == {"cut entries back"}
    assert reached(one, one, "Restart") == set()
    assert reached(one, two, "AppendAsLeader") == set()


@pytest.mark.parametrize(("end", "names"), [(0, {"entries cut", "late TRUNCATE cuts"}), (2, {"late TRUNCATE passes"})])
def test_a_truncate_behind_whose_entry_its_leader_appended_comes_late(end: int, names: set[str]) -> None:
    m = Fcn({"index": 0, "entry": ENTRY, "src": "n3", "term": 1})
    held = {"leaderId": "n3", "currTerm": 1, "log": (ENTRY,) * 3}
    after = state(**{**held, "log": (ENTRY,) * (end + 1)})
    assert reached(state(**held), after, "HandleDoTruncate", m=m) == names
    of_another = {**held, "leaderId": "n2"}
    assert "late" not in str(reached(state(**of_another), after, "HandleDoTruncate", m=m))


def test_commits_differ_by_who_commits_and_where_the_log_ends() -> None:
    def committed(index: int, end: int = 1) -> State:
        return state(committedIndex=index, log=(OTHER,) * (end + 1))

    assert reached(committed(0), committed(1), "QuorumAckChecker") == {"entries committed"}
    assert reached(committed(0), committed(1), "HandleDoCommit") == {"commit learnt"}
    assert reached(committed(1), committed(1), "HandleDoCommit") == set()
    assert reached(committed(-1), committed(1), "Restart") == set()
    assert reached(committed(1), committed(1, end=0)) == {"commit past the end"}


def test_the_answers_to_clients_are_read_off_the_futures_and_what_is_acknowledged() -> None:
    waits = frozenset({Fcn({"index": 0, "entry": ENTRY, "done": False})})
    same, later = state(currTerm=1, futures=waits), state(currTerm=2, futures=waits)
    assert reached(same, same, "QuorumAckChecker") == set()
    assert reached(later, state(currTerm=2), "QuorumAckChecker") == {"TERM_CHANGED"}
    acknowledged = SPEC.state({**BEGIN.as_dict(), "acknowledged": frozenset({Fcn({"index": 0, "entry": ENTRY})})})
    assert reached(BEGIN, acknowledged, "ActOnQuorumIndex") == {"SUCCESS"}
    assert reached(BEGIN, BEGIN, "RefuseAppend", code="NOT_LEADER") == {"NOT_LEADER"}
    assert reached(BEGIN, BEGIN, "CheckResponseFuturesTimeout") == {"WAIT_QUORUM_ACK_TIMEOUT"}
