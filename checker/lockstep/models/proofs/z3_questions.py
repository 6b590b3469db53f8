"""Proofs of claims by z3, for all lemmas.

A lemma is a claim over all values of its variables. z3 is asked for values that satisfy the assumptions and
break the claim: none exist (`unsat`), and the claim is proved; some exist (`sat`), and they are the
counterexample; z3 gave up (`unknown`, mostly for time), and nothing is known.

A proof that could not have failed proves nothing, so a lemma comes with controls: neighbouring claims that
are wrong, run by the same code, which have to be refuted.
"""

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import z3

from lockstep.models.proofs.lemmas import Proof, ProofVerdict

NODE_COUNTS = tuple(range(1, 10))
"""The group sizes a lemma is proved for where it is not proved for every size."""


@dataclass(frozen=True, slots=True)
class SizedClaim:
    """A claim for one group size, in z3's terms."""

    node_count: int | None
    """The number of nodes; `None` if the size is itself a variable."""
    assumptions: Sequence[z3.BoolRef]
    """The assumptions of the claim."""
    claim: z3.BoolRef
    """The claim, which has to follow."""
    read: Callable[[z3.ModelRef], Mapping[str, Any]]
    """Turns z3's model of a counterexample into plain values."""


def prove(
    name: str,
    statement: str,
    node_counts: Iterable[int] | None,
    questions: Iterable[SizedClaim],
    timeout_ms: int,
    controls: Sequence[Proof] = (),
) -> Proof:
    """Ask z3 question by question, up to the first that is not proved.

    Args:
        node_counts: The group sizes the questions cover; `None` for every size.
        questions: the claims; without any, nothing is proved.
        timeout_ms: Milliseconds for each question, at least 1.
        controls: Proofs of wrong neighbours. One that is not refuted makes a proved claim unknown.

    Returns:
        The proof, with the first counterexample if there is one.

    Raises:
        ValueError: The time-out is not positive.
    """
    if timeout_ms < 1:
        raise ValueError(f"timeout_ms must be at least 1, not {timeout_ms}")
    started = time.perf_counter()
    undecided = Proof(
        name=name,
        statement=statement,
        node_counts=None if node_counts is None else tuple(node_counts),
        verdict=ProofVerdict.UNKNOWN,
        seconds=0.0,
        controls=tuple(controls),
    )
    proof = _ask_all(undecided, questions, timeout_ms)
    seconds = time.perf_counter() - started + sum(control.seconds for control in controls)
    return replace(proof, seconds=seconds)


def count(conditions: Iterable[z3.BoolRef]) -> z3.ArithRef:
    """Count the conditions that hold, as an integer term of z3."""
    return z3.Sum([z3.If(condition, 1, 0) for condition in conditions] or [z3.IntVal(0)])


def integers(model: z3.ModelRef, terms: Iterable[z3.ArithRef]) -> list[int]:
    """Read the values that a model gives to integer terms; a value it leaves open is filled in."""
    return [model.eval(term, model_completion=True).as_long() for term in terms]


def _ask_all(undecided: Proof, questions: Iterable[SizedClaim], timeout_ms: int) -> Proof:
    asked = 0
    for question in questions:
        asked += 1
        size = "every size" if question.node_count is None else f"{question.node_count} nodes"
        # From assumptions that contradict each other everything follows, so first they must be met by
        # something. (Two solvers: one that is asked again goes without z3's preprocessing, and takes three
        # times as long.)
        if _answer(_solver(timeout_ms, question.assumptions)) != z3.sat:
            return replace(undecided, reason=f"{size}: no values are known to meet the assumptions")
        solver = _solver(timeout_ms, [*question.assumptions, z3.Not(question.claim)])
        answer = _answer(solver)
        if answer == z3.sat:
            found = {"node_count": question.node_count, **question.read(solver.model())}
            return replace(undecided, verdict=ProofVerdict.REFUTED, counterexample=found)
        if answer != z3.unsat:
            return replace(undecided, reason=f"{size}: z3 gave up: {solver.reason_unknown()}")
    if not asked:
        return replace(undecided, reason="there was no question to ask")
    for control in undecided.controls:
        if control.verdict is not ProofVerdict.REFUTED:
            return replace(undecided, reason=f"the control {control.name} is {control.verdict}, and must be refuted")
    return replace(undecided, verdict=ProofVerdict.PROVED)


def _answer(solver: z3.Solver) -> z3.CheckSatResult:
    answer = solver.check()
    if answer == z3.unknown and solver.reason_unknown() == "interrupted from keyboard":
        signal.raise_signal(signal.SIGINT)  # while it searches, z3 takes Ctrl-C for itself
    return answer


def _solver(timeout_ms: int, conditions: Iterable[z3.BoolRef]) -> z3.Solver:
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    solver.add(*conditions)
    return solver


# ---- A machine in z3's terms ----

S = TypeVar("S")

Branch = tuple[z3.BoolRef, S]
"""When a step can be taken, and the state it leads to."""


def equal(one: Any, other: Any) -> z3.BoolRef:
    """Build the statement that two states, dataclasses of one kind with terms or lists of terms, are the same."""
    terms: list[z3.BoolRef] = []
    for each in fields(one):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        pairs = zip(mine, theirs, strict=True) if isinstance(mine, list | tuple) else [(mine, theirs)]
        terms += [a == b for a, b in pairs]
    return z3.And(*terms)


def one_step(branches: Iterable[Branch[S]], then: S, action: z3.ArithRef) -> z3.BoolRef:
    """Build the statement that one of the steps leads to a state; `action` is its number."""
    return z3.Or([z3.And(action == nth, guard, equal(then, after)) for nth, (guard, after) in enumerate(branches)])
