"""The parts that a step reaches of hashicorp/raft, by the definitions of spec/hashicorp/Reached.tla."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.conformance.step_coverage import all_parts, fault_actions
from lockstep.systems.hashicorp.picture import PICTURE
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, Value
from tests.support.systems.fleets import covering_spec

SPEC = covering_spec("raft_whole")
(BEGIN,) = SPEC.initial_states()
DONE = Fcn({"result": "DONE", "write": 0})
ENTRY = BEGIN["node"].d["n1"].d["log"][0]
NEWER = Fcn({**ENTRY.d, "term": 2})


def with_fields(record: Value, **fields: Any) -> Fcn:
    assert isinstance(record, Fcn)
    return Fcn({**record.d, **fields})


def state(**fields: Any) -> State:
    """The initial state with other fields of n1."""
    values = BEGIN.as_dict()
    values["node"] = with_fields(values["node"], n1=with_fields(values["node"].d["n1"], **fields))
    return SPEC.state(values)


def reached(
    before: State, after: State, action: str = "X", before_that: tuple[tuple[str, str], ...] = (), **args: Any
) -> set[str]:
    found = SPEC.evaluate("Reached", before, action, Fcn({"n": "n1", **args}), frozenset(before_that), after=after)
    return {name for _, name in found}


def test_every_action_that_writes_may_fail_or_be_the_last_and_no_other() -> None:
    writing = {name for name, action in SPEC.actions.items() if "outcome" in action.params}
    outcomes = {("outcome", f"{name} {result}") for name in writing for result in ("FAIL", "CRASH")}
    assert outcomes == {part for part in all_parts(SPEC) if part[0] == "outcome"}


def test_what_loses_or_doubles_messages_is_a_fault() -> None:
    assert PICTURE.loses | PICTURE.doubles <= fault_actions(SPEC)


def test_an_outcome_is_reached_where_a_write_fails_or_is_the_last() -> None:
    failed = Fcn({"result": "FAIL", "write": 1})
    assert reached(BEGIN, BEGIN, "ElectSelf", outcome=failed) == {"ElectSelf FAIL"}
    assert reached(BEGIN, BEGIN, "ElectSelf", outcome=DONE) == set()


@pytest.mark.parametrize("term", [2, 3])
def test_a_leader_is_another_one_if_one_was_elected_before_whatever_the_term(term: int) -> None:
    elected = state(role="Candidate", currentTerm=term), state(role="Leader", currentTerm=term)
    both = {"Candidate -> Leader", "leader elected"}
    assert reached(*elected) == both
    assert reached(*elected, before_that=(("role", "Candidate -> Leader"),)) == both
    assert reached(*elected, before_that=(("log", "leader elected"),)) == {*both, "another leader"}


def test_a_leader_that_loses_its_leadership_is_no_leader_elected() -> None:
    deposed = state(role="Leader"), state(role="Follower")
    assert reached(*deposed, before_that=(("log", "leader elected"),)) == {"Leader -> Follower"}


@pytest.mark.parametrize(
    ("index", "role", "is_back"), [(3, "Follower", True), (5, "Follower", False), (0, "Shutdown", False)]
)
def test_an_fsm_is_set_back_by_a_snapshot_but_not_by_the_end_of_its_process(
    index: int, role: str, is_back: bool
) -> None:
    fsm = BEGIN["node"].d["n1"].d["fsm"]
    before = state(fsm=with_fields(fsm, index=5))
    found = reached(before, state(fsm=with_fields(fsm, index=index), role=role), "InstallSnapshot", outcome=DONE)
    assert ("FSM set back" in found) == is_back


def test_a_log_is_cut_compacted_or_has_a_gap() -> None:
    def log(**entries: Fcn) -> State:
        return state(log=Fcn({int(index[1:]): entry for index, entry in entries.items()}))

    whole = log(i1=ENTRY, i2=ENTRY, i3=ENTRY)
    append = {"action": "AppendEntries", "outcome": DONE}
    assert reached(whole, log(i1=ENTRY, i2=ENTRY), **append) == {"entries cut"}
    assert reached(whole, log(i1=ENTRY, i2=ENTRY, i3=NEWER), **append) == {"entries cut"}
    assert reached(whole, log(i1=ENTRY, i2=ENTRY, i3=ENTRY, i4=NEWER), **append) == set()
    assert reached(whole, log(i3=ENTRY), "CompactLogs", outcome=DONE) == {"log compacted"}
    assert reached(whole, log(i1=ENTRY, i2=ENTRY, i3=ENTRY, i5=NEWER), **append) == {"gap in a log"}


def test_a_vote_is_torn_where_one_of_its_two_keys_is_of_an_earlier_vote() -> None:
    m = Fcn({"src": "n2"})
    before = state(lastVoteTerm=1, lastVoteCand="n3")
    torn, whole = state(lastVoteTerm=2, lastVoteCand="n3"), state(lastVoteTerm=2, lastVoteCand="n2")
    assert reached(before, torn, "RequestVote", m=m, outcome=DONE) == {"vote torn"}
    assert reached(before, whole, "RequestVote", m=m, outcome=DONE) == set()
    own = state(lastVoteTerm=2, lastVoteCand="n1")
    assert reached(before, own, "ElectSelf", outcome=DONE) == set()


def test_a_leader_that_is_asked_who_leads_is_verified_or_refuted() -> None:
    leads, follows = state(role="Leader"), state(role="Follower")
    assert reached(leads, leads, "HandleVerify") == {"leader verified"}
    assert reached(leads, follows, "HandleVerify") == {"leader refuted", "Leader -> Follower"}
    assert reached(leads, follows, "ProcessLogs") == {"leader removed", "Leader -> Follower"}
