"""The lemmas of hashicorp/raft state rules of the spec and the reference, and are refuted for a wrong rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import z3

from lockstep.conformance.json_values import to_value
from lockstep.models.proofs.lemmas import Proof, ProofVerdict
from lockstep.models.proofs.quorum_rules_equal import majority
from lockstep.models.proofs.z3_questions import one_step
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.applied_order_inductive import (
    ACTIONS,
    LEMMA,
    RANGES,
    SNAPSHOT_REGRESS,
    ServerIndexes,
    ServerVariant,
    applied_order_inductive,
    are_indexes,
    branches,
    in_order,
    in_range,
)
from lockstep.systems.hashicorp.plans import SIMULATOR
from lockstep.systems.hashicorp.quorum_match_index import lower_middle, quorum_match_index, quorum_match_index_any_size
from lockstep.systems.registry import manifest
from lockstep.trace.trace_format import Event
from raftref.hashicorp.state import Commitment
from raftref.hashicorp.values import Index
from tests.scripts.hashicorp_traces import spec_of

# ---- What a majority stores ----


def found(proof: Proof) -> Any:
    assert proof.verdict is ProofVerdict.REFUTED, proof
    assert proof.counterexample is not None
    return proof.counterexample


def reached_by(matched: list[int], count: int) -> int:
    """Return the largest index that `count` voters have reached."""
    return max(index for index in matched if sum(other >= index for other in matched) >= count)


def by_reference(matched: tuple[int, ...], half_commits: bool) -> int:
    names = [f"n{nth}" for nth in range(len(matched))]
    marks = {name: Index(mark) for name, mark in zip(names, matched, strict=True)}
    commitment = Commitment(voters=frozenset(names), half_commits=half_commits, match_indexes=marks)
    return commitment.recalculate().commit_index


@pytest.mark.parametrize(("plan", "flaw"), [("raft", False), ("raft_published", False)])
def test_spec_reference_and_lemma_take_the_same_element(plan: str, flaw: bool) -> None:
    for size in range(1, 5):
        names = [f"n{nth}" for nth in range(size)]
        for matched in product(range(3), repeat=size):
            marks = to_value(dict(zip(names, matched, strict=True)))
            theirs = spec_of(plan).evaluate("QuorumMatchIndex", None, marks, to_value({"#set": names}))
            ours = sorted(matched)[lower_middle(size)]
            assert theirs == by_reference(matched, flaw) == ours == reached_by(list(matched), majority(size))


def test_the_smallest_case_in_which_release_0_1_takes_another_is_of_two_voters() -> None:
    """matched[n / 2] of 0 and 1 is 1, which one of two has."""
    control = next(each for each in quorum_match_index().controls if each.name.endswith("/even_quorum"))
    assert found(control) == {"node_count": 2, "matched": [0, 1], "counted": 0, "taken": 1}
    assert by_reference((0, 1), half_commits=True) == 1
    assert by_reference((0, 1), half_commits=False) == 0


@pytest.mark.parametrize("size", [2, 4, 6, 8])
def test_half_is_wrong_for_each_even_number_of_voters(size: int) -> None:
    values = found(quorum_match_index(node_counts=[size], position=lambda n: n // 2))
    matched = values["matched"]
    assert matched == sorted(matched)
    assert values["counted"] == reached_by(matched, majority(size)) != values["taken"] == matched[size // 2]


@pytest.mark.parametrize("size", [1, 3, 5, 7, 9])
def test_half_is_right_for_each_odd_number_of_voters(size: int) -> None:
    assert quorum_match_index(node_counts=[size], position=lambda n: n // 2).verdict is ProofVerdict.PROVED


@pytest.mark.parametrize("position", [lambda n: n / 2, lambda n: n - 1, lambda n: z3.IntVal(0)])
def test_another_element_is_refuted_for_any_number_of_voters(position: Callable[[z3.ArithRef], z3.ArithRef]) -> None:
    values = found(quorum_match_index_any_size(position=position))
    assert values["counted"] != values["sorted"]


# ---- The order of indexes ----

#: What the machine of the lemma says of: plans in which the group stays as it is, repaired.
PLANS = ("raft_snapshots", "raft_stores", "raft_five")


def state_of(shown: dict[str, Any], node: str, voters: list[str], taken: int) -> ServerIndexes:
    """Return the observation of a server as a state of the machine."""
    leads = shown["role"] == "Leader" and shown["loop"] == "SELECT"
    marks = shown["leaderState"]["matchIndexes"]
    others = [marks[voter] for voter in voters if voter != node]
    return ServerIndexes(
        match_indexes=[z3.IntVal(mark) for mark in (marks[node], *others)],
        leads=z3.BoolVal(leads),
        last_log=z3.IntVal(shown["lastLog"]["index"]),
        last_snapshot=z3.IntVal(shown["lastSnapshot"]["index"]),
        last_applied=z3.IntVal(shown["lastApplied"]),
        commit_index=z3.IntVal(shown["commitIndex"]),
        leader_commit=z3.IntVal(shown["leaderState"]["commitIndex"]),
        taken=z3.IntVal(taken),
    )


@functools.cache
def steps_of(plan: str, seed: int) -> list[tuple[Event, ServerIndexes, ServerIndexes]]:
    """Each step of a cluster that changes the indexes of a server that runs: the event, before and after."""
    header, events = SIMULATOR.cluster(plan, seed, 800 if seed > 1 else 120)
    voters, kept, taken, found = list(header.nodes), {}, dict.fromkeys(header.nodes, 0), []
    for event in events:
        node, before = event.node, kept.get(event.node)
        after = {**(before or {}), **event.shows}
        kept[node] = after
        was = taken[node]
        if event.action == "TakeSnapshot":
            taken[node] = before["fsm"]["index"] if before else 0
        elif after["snapshotting"] != "TAKEN":
            taken[node] = 0
        if before is None or after["role"] == "Shutdown":
            continue
        one, other = state_of(before, node, voters, was), state_of(after, node, voters, taken[node])
        if str(one) != str(other):
            found.append((event, one, other))
    return found


def taken_by(now: ServerIndexes, then: ServerIndexes) -> str:
    """The action of the machine that leads from one state to another, "" if none does."""
    action = z3.Int("action")
    solver = z3.Solver()
    solver.add(one_step(branches(now, 0, LEMMA), then, action))
    if solver.check() != z3.sat:
        return ""
    return ACTIONS[solver.model().eval(action, model_completion=True).as_long()]


def unexplained(plan: str, seed: int) -> list[str]:
    found = ((event.action, taken_by(now, then)) for event, now, then in steps_of(plan, seed))
    return [action for action, taken in found if not taken]


@pytest.mark.parametrize(
    ("plan", "seed"),
    [(PLANS[0], 1), *(pytest.param(plan, seed, marks=pytest.mark.nightly) for plan in PLANS for seed in range(2, 9))],
)
def test_every_step_of_a_cluster_is_one_of_the_machine_and_in_its_order(plan: str, seed: int) -> None:
    assert len(steps_of(plan, seed)) > 30
    assert unexplained(plan, seed) == []
    for _, now, then in steps_of(plan, seed):
        for state in (now, then):
            assert z3.is_true(z3.simplify(z3.And(in_order(state), in_range(state), are_indexes(state))))


def explained_actions() -> Iterator[str]:
    for seed in range(2, 9):
        for plan in PLANS:
            for _, now, then in steps_of(plan, seed):
                yield taken_by(now, then)


@pytest.mark.nightly
def test_clusters_take_every_step_of_the_machine() -> None:
    wanted = {*ACTIONS} - {"Restart"}
    for taken in explained_actions():
        wanted.discard(taken)
        if not wanted:
            break
    assert wanted == set()


def test_a_machine_without_one_of_its_steps_does_not_explain_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = branches

    def without_commit(now: ServerIndexes, step: int, variant: ServerVariant) -> Iterator[Any]:
        yield from (each for nth, each in enumerate(whole(now, step, variant)) if ACTIONS[nth] != "ProcessLogs")

    monkeypatch.setitem(globals(), "branches", without_commit)
    assert set(unexplained("raft_snapshots", 1)) == {"ProcessLogs"}


def test_a_follower_that_commits_past_the_request_keeps_the_order() -> None:
    """CommitUnverified violates AppliedIsCommitted, and not this order."""
    assert applied_order_inductive(node_counts=[3], variant=ServerVariant(commit_unverified=True)).verdict is (
        ProofVerdict.PROVED
    )


@pytest.mark.parametrize("dropped", RANGES)
def test_the_order_is_lost_in_one_step_without_a_range(dropped: str) -> None:
    kept = tuple(name for name in RANGES if name != dropped)
    values = found(applied_order_inductive(node_counts=[2], variant=replace(LEMMA, ranges=kept)))
    assert values["action"] in ACTIONS


def test_the_one_flaw_of_the_library_that_breaks_the_order_is_refuted_as_by_tlc() -> None:
    values = found(applied_order_inductive(node_counts=[3], variant=SNAPSHOT_REGRESS))
    before, after = values["before"], values["after"]
    assert values["action"] == "PersistSnapshot"
    assert after["lastSnapshot"] == before["taken"] < before["lastSnapshot"]
    assert after["lastApplied"] > max(after["lastLog"], after["lastSnapshot"])
    assert manifest(HASHICORP.spec).model("snapshot_regress_bug").violates == "IndexOrder"
