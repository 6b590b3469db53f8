"""z3 proves every lemma, and refutes it for a wrong rule.

Every counterexample is checked with the rule once more here, in plain Python.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, QUORUM_LEMMAS, Proof, ProofVerdict, run_proofs
from lockstep.models.proofs.quorum_rules_equal import counted, element, majority, middle, quorum_rules_equal
from lockstep.models.proofs.quorum_rules_equal_any_size import quorum_rules_equal_any_size
from lockstep.models.proofs.quorums_intersect import quorums_intersect
from lockstep.models.proofs.quorums_intersect_any_size import quorums_intersect_any_size
from lockstep.models.proofs.z3_questions import SizedClaim, prove
from lockstep.systems.dledger.index_order_inductive import (
    LAST_QUORUM_FIRST,
    ORDER_ALONE,
    PUBLISHED,
    RANGES,
    TERM_CHANGES,
    CheckerVariant,
    index_order_inductive,
)
from lockstep.systems.registry import lemmas
from tests.support.sampling import sampled

State = dict[str, Any]


@pytest.fixture(scope="module")
def all_proofs() -> dict[str, Proof]:
    return {proof.name: proof for proof in run_proofs(lemmas())}


def found(proof: Proof) -> Any:
    assert proof.verdict is ProofVerdict.REFUTED, proof
    assert proof.counterexample is not None
    return proof.counterexample


# The rules in plain Python.


def counting_rule(watermarks: Sequence[int], quorum_size: int) -> int:
    with_quorum = [w for w in watermarks if sum(other >= w for other in watermarks) >= quorum_size]
    return max(with_quorum, default=-1)


def sorting_rule(watermarks: Sequence[int], position: int) -> int:
    return sorted(watermarks, reverse=True)[position]


# All lemmas.


@pytest.mark.nightly
@pytest.mark.parametrize("name", lemmas())
def test_every_lemma_is_proved_and_each_of_its_controls_is_refuted(name: str, all_proofs: dict[str, Proof]) -> None:
    proof = all_proofs[name]
    assert proof.verdict is ProofVerdict.PROVED, proof
    assert proof.counterexample is None
    assert proof.seconds > 0
    assert proof.controls
    for control in proof.controls:
        assert control.name.startswith(f"{name}/")
        assert found(control)


def test_lemmas_speak_of_one_to_nine_nodes_or_of_every_number(all_proofs: dict[str, Proof]) -> None:
    sizes = {name: proof.node_counts for name, proof in all_proofs.items()}
    assert sizes == {
        "quorum_rules_equal": tuple(range(1, 10)),
        "quorum_rules_equal_any_size": None,
        "quorums_intersect": tuple(range(1, 10)),
        "quorums_intersect_any_size": None,
        "index_order_inductive": tuple(range(1, 10)),
        "quorum_match_index": tuple(range(1, 10)),
        "quorum_match_index_any_size": None,
        "applied_order_inductive": tuple(range(1, 10)),
    }


def test_chosen_lemmas_run_in_the_order_given() -> None:
    names = ["quorums_intersect_any_size", "quorum_rules_equal_any_size"]
    assert [proof.name for proof in run_proofs(lemmas(), names)] == names


@pytest.mark.parametrize("names", [["quorums_intersekt"], []])
def test_a_name_that_is_no_lemma_and_no_name_at_all_are_errors(names: list[str]) -> None:
    with pytest.raises(ValueError, match="quorums_intersect, "):
        run_proofs(lemmas(), names)


def test_a_timeout_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run_proofs(lemmas(), ["quorums_intersect"], timeout_ms=0)


def test_a_lemma_that_fails_does_not_keep_the_next_from_running() -> None:
    right = "quorums_intersect_any_size"
    two = {"half_is_enough": "tests.support.tla.wrong_lemma", right: QUORUM_LEMMAS[right]}
    assert [proof.verdict for proof in run_proofs(two)] == [ProofVerdict.REFUTED, ProofVerdict.PROVED]


# How a verdict comes about.


def small_question(claim: Callable[[z3.ArithRef], z3.BoolRef], *assumptions: z3.BoolRef) -> SizedClaim:
    x = z3.Int("x")
    return SizedClaim(1, assumptions, claim(x), lambda model: {"x": model.eval(x).as_long()})


def test_when_time_runs_out_the_verdict_is_unknown_and_never_a_pass() -> None:
    proof = quorum_rules_equal(timeout_ms=1, node_counts=[9])
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.counterexample is None
    assert "9 nodes" in proof.reason


def test_a_proof_without_a_formula_is_unknown() -> None:
    proof = prove("empty", "Nothing.", [], [], DEFAULT_TIMEOUT_MS)
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason == "there was no question to ask"


def test_a_claim_that_follows_only_from_a_contradiction_is_not_proved() -> None:
    x = z3.Int("x")
    question = small_question(lambda x: x == 0, x > 1, x < 1)
    proof = prove("vacuous", "Anything.", [1], [question], DEFAULT_TIMEOUT_MS)
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert "no values are known to meet the assumptions" in proof.reason


@pytest.mark.parametrize("verdict", [ProofVerdict.PROVED, ProofVerdict.UNKNOWN])
def test_a_claim_whose_control_is_not_refuted_is_unknown(verdict: ProofVerdict) -> None:
    question = small_question(lambda x: x == x + 0)
    control = replace(prove("c", "C.", [1], [question], DEFAULT_TIMEOUT_MS), verdict=verdict)
    proof = prove("p", "P.", [1], [question], DEFAULT_TIMEOUT_MS, [control])
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason == f"the control c is {verdict}, and must be refuted"


def test_a_refuted_claim_is_refuted_whatever_its_controls_say() -> None:
    control = prove("c", "C.", [1], [small_question(lambda x: x == x + 0)], DEFAULT_TIMEOUT_MS)
    wrong = small_question(lambda x: x < 5)
    assert found(prove("p", "P.", [1], [wrong], DEFAULT_TIMEOUT_MS, [control]))["x"] >= 5


# The quorum rules.


WATERMARKS = st.lists(st.integers(min_value=-1, max_value=6), min_size=1, max_size=9)


@settings(deadline=None, max_examples=30)
@given(WATERMARKS)
def test_the_terms_given_to_z3_compute_what_the_rules_compute(watermarks: list[int]) -> None:
    compute_the_same(watermarks)


@pytest.mark.nightly
@settings(deadline=None, max_examples=500)
@given(WATERMARKS)
def test_the_terms_given_to_z3_compute_what_the_rules_compute_of_hundreds(watermarks: list[int]) -> None:
    compute_the_same(watermarks)


def compute_the_same(watermarks: list[int]) -> None:
    n = len(watermarks)
    terms = [z3.IntVal(w) for w in watermarks]
    for quorum_size in range(n + 2):
        term = z3.simplify(counted(terms, quorum_size))
        assert term.as_long() == counting_rule(watermarks, quorum_size)
    for position in range(n):
        assert z3.simplify(element(terms, position)).as_long() == sorting_rule(watermarks, position)


@pytest.mark.parametrize(
    ("quorum_size", "position"),
    [
        pytest.param(lambda n: n // 2, middle, id="half of the peers is a quorum"),
        pytest.param(lambda n: (n + 1) // 2, middle, id="half rounded up is a quorum"),
        pytest.param(lambda n: n // 2 + 2, middle, id="one peer too many is asked for"),
        pytest.param(majority, lambda n: (n - 1) // 2, id="the element before the middle"),
        pytest.param(majority, lambda n: min(n - 1, n // 2 + 1), id="the element after the middle"),
        pytest.param(majority, lambda n: 0, id="the largest watermark"),
    ],
)
def test_a_wrong_quorum_rule_is_refuted_by_watermarks_on_which_the_rules_differ(
    quorum_size: Callable[[int], int], position: Callable[[int], int]
) -> None:
    values = found(quorum_rules_equal(quorum_size=quorum_size, position=position))
    n, watermarks = values["node_count"], values["watermarks"]
    assert len(watermarks) == n
    assert min(watermarks) >= -1
    assert counting_rule(watermarks, quorum_size(n)) == values["counted"]
    assert sorting_rule(watermarks, position(n)) == values["sorted"]
    assert values["counted"] != values["sorted"]


@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_the_element_before_the_middle_is_wrong_for_each_even_size(n: int) -> None:
    wrong = quorum_rules_equal(node_counts=[n], position=lambda n: (n - 1) // 2)
    watermarks = found(wrong)["watermarks"]
    assert counting_rule(watermarks, majority(n)) != sorting_rule(watermarks, (n - 1) // 2)


@pytest.mark.parametrize(
    ("term", "plain"),
    [
        pytest.param(lambda n: n / 2, lambda n: n // 2, id="half"),
        pytest.param(lambda n: (n + 1) / 2, lambda n: (n + 1) // 2, id="half rounded up"),
        pytest.param(lambda n: n / 2 + 2, lambda n: n // 2 + 2, id="one too many"),
        pytest.param(lambda n: n, lambda n: n, id="all"),
    ],
)
def test_a_wrong_quorum_is_refuted_for_groups_of_any_size_too(
    term: Callable[[z3.ArithRef], z3.ArithRef], plain: Callable[[int], int]
) -> None:
    values = found(quorum_rules_equal_any_size(quorum_size=term))
    watermarks = values["watermarks"]
    n = len(watermarks)
    assert watermarks == sorted(watermarks, reverse=True)
    assert min(watermarks) >= -1
    assert counting_rule(watermarks, plain(n)) == values["counted"]
    assert sorting_rule(watermarks, middle(n)) == values["sorted"]
    assert values["counted"] != values["sorted"]


# Quorums overlap.


@pytest.mark.parametrize("n", [2, 4, 6, 8])
@pytest.mark.parametrize("quorum_size", [lambda n: n // 2, lambda n: (n + 1) // 2], ids=["half", "half rounded up"])
def test_two_halves_of_an_even_group_need_not_meet(quorum_size: Callable[[int], int], n: int) -> None:
    values = found(quorums_intersect(node_counts=[n], quorum_size=quorum_size))
    first, second = set(values["first"]), set(values["second"])
    assert values["node_count"] == n
    assert first | second <= set(range(n))
    assert min(len(first), len(second)) >= quorum_size(n)
    assert not first & second


@pytest.mark.parametrize("n", [1, 3, 5, 7, 9])
def test_half_rounded_up_is_a_quorum_of_an_odd_group(n: int) -> None:
    proof = quorums_intersect(node_counts=[n], quorum_size=lambda n: (n + 1) // 2)
    assert proof.verdict is ProofVerdict.PROVED


def test_half_rounded_up_is_refuted_for_groups_of_any_size() -> None:
    values = found(quorums_intersect_any_size(quorum_size=lambda n: (n + 1) / 2))
    n = values["nodes"]
    assert values["shared"] == 0
    assert min(values["first"], values["second"]) >= (n + 1) // 2
    assert values["first"] + values["second"] <= n


# The order of the indexes.


def updated(state: State, index: int) -> int:
    """committedIndex after updateCommittedIndex, in the leader's own term."""
    end, committed = state["ledgerEndIndex"], int(state["committedIndex"])
    if index == -1 or end == -1 or index < committed or index < state["ledgerBeginIndex"]:
        return committed
    return min(index, int(end))


def first_write(state: State, variant: CheckerVariant) -> list[State]:
    if state["isWriting"]:
        return []
    index = sorting_rule(state["watermarks"], middle(len(state["watermarks"])))
    begun = state | {"isWriting": True, "quorumIndex": index}
    if not variant.committed_first:
        return [begun | {"lastQuorumIndex": index}]
    skipped = [begun] if variant.term_may_change else []
    return [begun | {"committedIndex": updated(state, index)}, *skipped]


def second_write(state: State, variant: CheckerVariant) -> list[State]:
    if not state["isWriting"]:
        return []
    done = state | {"isWriting": False}
    if variant.committed_first:
        return [done | {"lastQuorumIndex": state["quorumIndex"]}]
    skipped = [done] if variant.term_may_change else []
    return [done | {"committedIndex": updated(state, state["quorumIndex"])}, *skipped]


def successors(state: State, action: str, variant: CheckerVariant) -> list[State]:
    """Every state that the action leads to."""
    if action == "append":
        end = state["ledgerEndIndex"] + 1
        begin = end if end == 0 else state["ledgerBeginIndex"]
        watermarks = [end, *state["watermarks"][1:]]
        return [state | {"ledgerBeginIndex": begin, "ledgerEndIndex": end, "watermarks": watermarks}]
    if action == "ack":
        return [
            state | {"watermarks": [max(w, index) if i == peer else w for i, w in enumerate(state["watermarks"])]}
            for peer in range(len(state["watermarks"]))
            for index in range(state["ledgerEndIndex"] + 1)
        ]
    if action == "secondWrite":
        return second_write(state, variant)
    begun = first_write(state, variant)
    if variant.is_pass_atomic:
        return [done for middle_state in begun for done in second_write(middle_state, variant)]
    return begun


def is_in_order(state: State) -> bool:
    return bool(-1 <= state["lastQuorumIndex"] <= state["committedIndex"] <= state["ledgerEndIndex"])


def is_in_range(state: State, ranges: Sequence[str] = RANGES) -> bool:
    holds = {
        "watermarks": max(state["watermarks"]) <= state["ledgerEndIndex"],
        "begin": state["ledgerBeginIndex"] <= state["committedIndex"] + 1,
        "quorum": not state["isWriting"] or state["quorumIndex"] <= state["committedIndex"],
    }
    indexes = [*state["watermarks"], state["ledgerBeginIndex"], state["quorumIndex"]]
    return min(indexes) >= -1 and all(holds[name] for name in ranges)


def starting(node_count: int) -> State:
    return {
        "watermarks": [-1] * node_count,
        "ledgerBeginIndex": -1,
        "ledgerEndIndex": -1,
        "committedIndex": -1,
        "lastQuorumIndex": -1,
        "isWriting": False,
        "quorumIndex": -1,
    }


WRONG_LEADERS = {
    "the order alone": ORDER_ALONE,
    "the order alone, of two states": replace(ORDER_ALONE, steps=2),
    "the order alone, of three states": replace(ORDER_ALONE, steps=3),
    "lastQuorumIndex first": LAST_QUORUM_FIRST,
    "the term changes": TERM_CHANGES,
    "the ranges are not assumed": CheckerVariant(starts_in_range=False),
    "no range of the watermarks": CheckerVariant(ranges=("begin", "quorum")),
    "no range of ledgerBeginIndex": CheckerVariant(ranges=("watermarks", "quorum")),
    "no range of the index being written": CheckerVariant(ranges=("watermarks", "begin")),
    "lastQuorumIndex first, with the ranges": CheckerVariant(committed_first=False),
}


@pytest.mark.parametrize("n", sampled([1, 2, 3, 5], [3]))
@pytest.mark.parametrize("variant", WRONG_LEADERS.values(), ids=WRONG_LEADERS)
def test_a_wrong_leader_is_refuted_by_steps_that_lead_out_of_order(variant: CheckerVariant, n: int) -> None:
    values = found(index_order_inductive(node_counts=[n], variant=variant))
    states, actions = values["states"], values["actions"]
    assert len(actions) == len(states) - 1 == variant.steps
    for (now, then), action in zip(pairwise(states), actions, strict=True):
        assert is_in_order(now)
        assert then in successors(now, action, variant)
    if variant.starts_in_range:
        assert is_in_range(states[0], variant.ranges)
    must_be_in_range = variant.ranges if variant.stays_in_range else ()
    assert not (is_in_order(states[-1]) and is_in_range(states[-1], must_be_in_range))


def explore(variant: CheckerVariant, node_count: int, max_end: int) -> tuple[int, State | None]:
    """Breadth-first search from the start: the number of states, and the first one that is out of order."""
    start = starting(node_count)
    seen = {repr(start)}
    frontier = [start]
    while frontier:
        state = frontier.pop(0)
        if not is_in_order(state):
            return len(seen), state
        for action in ("append", "ack", "firstWrite", "secondWrite"):
            for then in successors(state, action, variant):
                if then["ledgerEndIndex"] <= max_end and repr(then) not in seen:
                    seen.add(repr(then))
                    frontier.append(then)
    return len(seen), None


def test_a_search_from_the_start_agrees_that_the_published_leader_keeps_the_order() -> None:
    states, out_of_order = explore(PUBLISHED, node_count=3, max_end=2)
    assert states > 100
    assert out_of_order is None


@pytest.mark.parametrize("variant", [LAST_QUORUM_FIRST, TERM_CHANGES], ids=["last first", "term changes"])
def test_a_search_from_the_start_reaches_the_disorder_of_a_wrong_leader(variant: CheckerVariant) -> None:
    _, out_of_order = explore(variant, node_count=3, max_end=1)
    assert out_of_order is not None
    assert out_of_order["lastQuorumIndex"] > out_of_order["committedIndex"]
