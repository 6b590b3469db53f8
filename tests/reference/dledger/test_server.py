"""A whole node: its life as a process, what it shows, and that its actions are the spec's."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import raftref
from raftref.action import NotEnabled, trace_name
from raftref.dledger.choices import FINE, PUBLISHED, VOTES, Config, Flaw
from raftref.dledger.messages import Entry, HeartBeat, Index, PushType, Term
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.state import Role
from raftref.dledger.steps import Abandoned
from raftref.records import record
from tests.support.places import ROOT

SPEC = ROOT / "spec" / "dledger"
PACKAGE = Path(raftref.__file__).parent
MEMBERS = ("n1", "n2", "n3")


def definition(name: str) -> str:
    """The text of an operator of one node in the spec, up to the next empty line."""
    chapters = (chapter.read_text() for chapter in SPEC.glob("*.tla"))
    (found,) = (
        each for text in chapters for each in re.findall(rf"^{name}\(n\) ==\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    )
    return str(found)


def spec_actions() -> set[str]:
    """The actions in the spec's Next."""
    (next_,) = re.findall(r"^Next ==\n(.*?)\n\n", (SPEC / "DLedger.tla").read_text(), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"\\E n \\in Node : (\w+)\(n\)", next_))


def test_the_actions_are_those_of_the_spec_but_for_the_environments() -> None:
    assert spec_actions() == set(ACTIONS) | {"ElectLeader", "Lose", "Duplicate"}


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_an_actions_parameters_are_the_specs_bound_variables(name: str) -> None:
    quantifiers = re.match(r"\s*(\\E \w+ \\in [^:]+:\s*)*", definition(name))
    assert quantifiers is not None
    assert ACTIONS[name].parameters == tuple(re.findall(r"\\E (\w+) \\in", quantifiers.group()))


def test_an_actions_name_is_that_of_its_method() -> None:
    for name, action in ACTIONS.items():
        assert trace_name(action.perform.__name__) == name
        assert getattr(Server, action.perform.__name__) is action.perform


def test_what_a_node_shows_are_the_fields_of_the_specs_observe() -> None:
    fields = re.findall(r"(\w+) +\|->", definition("Observe"))
    fields.remove("acknowledged")  # not of a node alone: the cluster shows it
    node = Server("n1", MEMBERS, Config(FINE | VOTES))
    assert list(node.observe()) == fields
    assert set(node.observe(with_log=False)) == set(fields) - {"log"}
    queues = {"writeRequestMap", "compareOrTruncateRequests"}
    assert set(Server("n1", MEMBERS).observe()) == set(fields) - {"election"} - queues


def test_what_a_node_shows_is_json() -> None:
    node = Server("n1", MEMBERS)
    node.ledger_store.append(Entry(Term(2), "v"))
    shown = node.observe()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["log"] == [{"term": 2, "value": "v"}]
    assert shown["currVoteFor"] is None
    assert shown["peerWaterMarks"] == {"n1": -1, "n2": -1, "n3": -1}
    assert shown["dispatchers"]["n2"] == {
        "type": "COMPARE",
        "term": -1,
        "compareIndex": -1,
        "truncateIndex": -1,
        "writeIndex": -1,
        "pendings": {"#set": []},
        "awaiting": "NOTHING",
    }


def running_leader(config: Config = PUBLISHED) -> Server:
    node = Server("n1", MEMBERS, config)
    node.member_state.curr_vote_for = "n1"
    node.member_state.votes = {"n1", "n2"}
    node.change_to_leader()
    for value in ("a", "b"):
        node.append_as_leader(value)
    node.ledger_store.committed_index = Index(1)
    return node


class TestCrashAndRestart:
    """kill -9; DLedgerMmapFileStore.recover."""

    def test_term_vote_log_and_checkpoint_survive(self) -> None:
        node = running_leader()
        node.persist_check_point()
        log = node.ledger_store.log
        node.crash()
        node.restart(0)
        state, store = node.member_state, node.ledger_store
        assert (state.role, state.curr_vote_for) == (Role.CANDIDATE, "n1")
        assert (store.log, store.check_point, store.committed_index) == (log, 1, 1)

    def test_votes_leader_dispatchers_and_watermarks_do_not_survive(self) -> None:
        node = running_leader()
        node.do_compare("n2")
        node.crash()
        fresh = Server("n1", MEMBERS)
        assert node.member_state.votes == set()
        assert node.member_state.leader_id is None
        assert node.dispatchers == fresh.dispatchers
        assert node.peer_water_marks == fresh.peer_water_marks
        assert node.last_quorum_index == -1

    def test_the_committed_index_shows_its_last_value_while_the_node_is_down(self) -> None:
        node = running_leader()
        node.crash()
        assert node.observe()["committedIndex"] == 1
        node.restart(0)
        assert node.observe()["committedIndex"] == -1

    def test_nobody_at_a_crashed_node_waits_for_an_answer(self) -> None:
        assert running_leader().crash().abandoned == Abandoned(None, None)

    def test_what_truncate_cut_may_come_back(self) -> None:
        node = running_leader()
        node.ledger_store.truncate(Index(0), Entry(Term(0), "a"))
        node.crash()
        assert node.can_restart(0)
        node.restart(1)
        assert [entry.value for entry in node.ledger_store.log] == ["a", "b"]

    def test_no_more_comes_back_than_was_cut(self) -> None:
        node = running_leader()
        node.crash()
        with pytest.raises(NotEnabled):
            node.restart(1)

    def test_only_a_running_node_crashes_and_only_a_crashed_one_restarts(self) -> None:
        node = running_leader()
        assert not node.can_restart(0)
        node.crash()
        assert not node.can_crash()
        assert not node.can_persist_check_point()


class TestShutdown:
    def test_a_stop_in_good_order_forces_the_file_and_writes_the_checkpoint(self) -> None:
        """DLedgerMmapFileStore.shutdown."""
        node = running_leader()
        assert not node.ledger_store.is_forced
        node.shutdown()
        assert node.ledger_store.is_forced
        assert node.ledger_store.check_point == 1
        assert node.member_state.role is Role.DOWN


class TestLosePower:
    """AsyncFlush: acknowledged is not forced."""

    def test_what_was_not_forced_is_lost(self) -> None:
        node = running_leader()
        node.lose_power(0)
        assert node.ledger_store.log == ()

    def test_what_was_forced_stays(self) -> None:
        node = running_leader()
        node.flush_data_service()
        log = node.ledger_store.log
        node.lose_power(0)
        assert node.ledger_store.log == log

    def test_the_first_entries_may_have_reached_the_disk_unforced(self) -> None:
        node = running_leader()
        log = node.ledger_store.log
        node.lose_power(1)
        assert node.ledger_store.log == log[:1]
        assert node.ledger_store.committed_index == 0

    def test_a_repaired_node_forces_every_entry_before_it_is_acknowledged(self) -> None:
        node = running_leader(PUBLISHED.without(Flaw.ASYNC_FLUSH))
        node.append_as_leader("more")
        log = node.ledger_store.log
        assert node.ledger_store.is_forced
        node.lose_power(0)
        assert node.ledger_store.log == log

    def test_an_entry_written_over_a_forced_one_and_lost_leaves_the_forced_one(self) -> None:
        node = running_leader()
        node.flush_data_service()
        before = node.ledger_store.log
        node.ledger_store.truncate(Index(1), Entry(Term(1), "other"))
        node.lose_power(0)
        assert node.ledger_store.log == before


class TestCrashInPersistTerm:
    """VoteFile: MemberState.persistTerm removes the old file before the new one has its name."""

    def test_the_node_comes_back_in_term_0_without_a_vote(self) -> None:
        node = Server("n1", MEMBERS)
        node.next_term(Term(1), heard=[])
        node.set_curr_vote_for("n1", request=node.vote_request("n1"))
        node.crash_in_persist_term(requests=[])
        node.restart(0)
        assert (node.member_state.curr_term, node.member_state.curr_vote_for) == (0, None)

    def test_a_follower_writes_when_it_gives_its_vote_and_no_other_time(self) -> None:
        candidate, node = Server("n2", MEMBERS), Server("n1", MEMBERS)
        node.change_to_follower("n3", heart_beat=HeartBeat("n3", Term(0)))
        assert not node.can_crash_in_persist_term(requests=[])
        assert node.can_crash_in_persist_term(requests=[candidate.vote_request("n1")])

    def test_a_repaired_node_replaces_the_file_in_one_step(self) -> None:
        node = Server("n1", MEMBERS, PUBLISHED.without(Flaw.VOTE_FILE))
        assert not node.can_crash_in_persist_term(requests=[])


def test_a_process_that_dies_while_it_replaces_its_checkpoint_comes_back_without_one() -> None:
    """VoteFile: IOUtils.string2File."""
    for config in (PUBLISHED, PUBLISHED.without(Flaw.VOTE_FILE)):
        node = running_leader(config)
        node.persist_check_point()
        assert node.can_crash_in_persist_check_point() is config.has(Flaw.VOTE_FILE)
        if config.has(Flaw.VOTE_FILE):
            node.crash_in_persist_check_point()
            node.restart(0)
            assert (node.ledger_store.check_point, node.ledger_store.committed_index) == (-1, -1)


def test_a_node_that_is_down_takes_no_action_but_restart() -> None:
    node = running_leader()
    node.crash()
    for name, action in ACTIONS.items():
        if action.parameters in ((), ("peer",), ("kept",)):
            carried = {"requests": []} if name == "CrashInPersistTerm" else {}
            arguments = ["n2" if each == "peer" else 0 for each in action.parameters]
            assert not action.enabled(node, *arguments, **carried), name


def test_an_action_that_is_not_enabled_changes_nothing() -> None:
    node = Server("n1", MEMBERS)
    before = node.observe()
    for name, action in ACTIONS.items():
        if action.parameters == ("peer",):
            with pytest.raises(NotEnabled, match=name):
                action.perform(node, "n2")
    assert node.observe() == before


def test_a_node_must_be_a_member_and_members_are_named_once() -> None:
    for members in [("n2", "n3"), ("n1", "n2", "n2")]:
        with pytest.raises(ValueError, match="members"):
            Server("n1", members)


def test_a_commit_has_neither_index_nor_entry_and_is_never_awaited() -> None:
    node = running_leader()
    node.dispatchers["n2"] = node.dispatchers["n2"].fresh(Term(0), keeps_compare_index=False).to_append(Index(1))
    (commit,) = (record(m) for m in node.do_commit("n2").sent)
    assert commit == {
        "kind": "request",
        "type": PushType.COMMIT.value,
        "src": "n1",
        "dst": "n2",
        "term": 0,
        "commitIndex": 1,
        "awaited": False,
    }


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_the_reference_needs_nothing_but_the_standard_library_and_itself(file: Path) -> None:
    for module in imported(file):
        assert module.split(".")[0] in {"raftref", *sys.stdlib_module_names}, module


@pytest.mark.parametrize("file", sorted((PACKAGE / "dledger").glob("*.py")), ids=lambda f: f.name)
def test_the_core_knows_no_time_no_chance_and_no_input_or_output(file: Path) -> None:
    pure = {"__future__", "collections", "dataclasses", "enum", "functools", "inspect", "itertools", "typing"}
    pure |= {"base64", "json"}  # the encodings of the wire
    for module in imported(file):
        assert module.split(".")[0] in {"raftref", *pure}, module
        assert not module.startswith("raftref.dledger.simulation")
