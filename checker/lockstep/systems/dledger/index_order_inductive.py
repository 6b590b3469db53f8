"""Lemma: a leader keeps lastQuorumIndex <= committedIndex <= ledgerEndIndex.

The leader is a small machine here. Three things happen to it, in any order and any number of times:

- `append`: an entry of a client goes to the end of its ledger, and its own watermark follows;
- `ack`: a peer's response raises that peer's watermark, never past what was sent to it;
- a pass of QuorumAckChecker, in the two writes that others can see in between: first committedIndex (skipped,
  clamped or set as `updateCommittedIndex` does), then lastQuorumIndex.

The order is inductive if each of these keeps it. Alone it is not: nothing in it says that a watermark is
within the ledger. With the ranges of the watermarks and of the index being written it is, and that is the
lemma. Its controls: the order alone (assumed of one, two or three states in a row), the ranges with one of
them left out, lastQuorumIndex written first, and a pass during which the term changes, so that committedIndex
is left alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorum_rules_equal import element, middle
from lockstep.models.proofs.z3_questions import NODE_COUNTS, Branch, SizedClaim, integers, one_step, prove

NAME = "index_order_inductive"
STATEMENT = (
    "On a leader whose term does not change and whose ledger loses nothing at either end, "
    "-1 <= lastQuorumIndex <= committedIndex <= ledgerEndIndex is inductive under append, ack and "
    "QuorumAckChecker, together with: no watermark is past ledgerEndIndex, ledgerBeginIndex is at most "
    "committedIndex + 1, and a quorum index being written is not past committedIndex. It holds when a leader "
    "starts with no watermarks and committedIndex <= ledgerEndIndex."
)
ALONE_STATEMENT = "The order alone, a pass being one step, follows from itself in {steps} state(s) before (wrong)."
LAST_FIRST_STATEMENT = "The same if a pass writes lastQuorumIndex before committedIndex (wrong)."
WITHOUT_STATEMENT = "The same without the range of {range} (wrong)."
TERM_STATEMENT = "The same if the term can change between reading it and updateCommittedIndex (wrong)."

ACTIONS = ("append", "ack", "firstWrite", "secondWrite")
"""The machine's steps. A pass of QuorumAckChecker is its two writes, or `firstWrite` alone if atomic."""

RANGES = ("watermarks", "begin", "quorum")
"""The bounded values: every watermark, ledgerBeginIndex, and a quorum index that is being written."""


@dataclass(frozen=True, slots=True)
class CheckerVariant:
    """A leader, and the claim about it; the defaults make the published lemma."""

    committed_first: bool = True
    """Whether a pass writes committedIndex before lastQuorumIndex."""
    term_may_change: bool = False
    """Whether updateCommittedIndex may find another term than the pass, and leave committedIndex alone."""
    is_pass_atomic: bool = False
    """Whether the two writes of a pass are one step."""
    starts_in_range: bool = True
    """Whether the first state is assumed to have the ranges, beside the order."""
    stays_in_range: bool = True
    """Whether the last state has to have the ranges, beside the order."""
    ranges: tuple[str, ...] = RANGES
    """The names of these ranges."""
    steps: int = 1
    """The number of steps to the last state; the states before it are assumed to be in order."""


@dataclass(frozen=True, slots=True)
class Leader:
    """One state of a leader, each field a term of z3; indexes count from 0, -1 means none."""

    watermarks: Sequence[z3.ArithRef]
    """One a node; the leader's own is the first."""
    begin: z3.ArithRef
    end: z3.ArithRef
    committed: z3.ArithRef
    last_quorum: z3.ArithRef
    is_writing: z3.BoolRef
    """Whether a pass is between its two writes."""
    quorum: z3.ArithRef
    """The quorum index that this pass computed."""

    @classmethod
    def fresh(cls, node_count: int, step: int) -> "Leader":
        """Make a state of new variables, named after their step."""
        return cls(
            watermarks=z3.Ints([f"w{i}@{step}" for i in range(node_count)]),
            begin=z3.Int(f"begin@{step}"),
            end=z3.Int(f"end@{step}"),
            committed=z3.Int(f"committed@{step}"),
            last_quorum=z3.Int(f"lastQuorum@{step}"),
            is_writing=z3.Bool(f"writing@{step}"),
            quorum=z3.Int(f"quorum@{step}"),
        )

    def read(self, model: z3.ModelRef) -> dict[str, object]:
        """Read the state out of a model, with the system's names."""
        begin, end, committed, last_quorum, quorum = integers(
            model, [self.begin, self.end, self.committed, self.last_quorum, self.quorum]
        )
        return {
            "watermarks": integers(model, self.watermarks),
            "ledgerBeginIndex": begin,
            "ledgerEndIndex": end,
            "committedIndex": committed,
            "lastQuorumIndex": last_quorum,
            "isWriting": z3.is_true(model.eval(self.is_writing, model_completion=True)),
            "quorumIndex": quorum,
        }


LeaderBranch = Branch[Leader]
"""The condition of a step, and the state it leads to."""

PUBLISHED = CheckerVariant()
ORDER_ALONE = CheckerVariant(is_pass_atomic=True, starts_in_range=False, stays_in_range=False)
LAST_QUORUM_FIRST = CheckerVariant(committed_first=False, stays_in_range=False)
TERM_CHANGES = CheckerVariant(term_may_change=True, stays_in_range=False, steps=2)


def index_order_inductive(
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    *,
    node_counts: Iterable[int] = NODE_COUNTS,
    variant: CheckerVariant = PUBLISHED,
) -> Proof:
    """Prove that a leader keeps its three indexes in order.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        node_counts: The group sizes to prove it for.
        variant: Another leader or invariant than the published one; it should be refuted.

    Returns:
        The proof, with the controls named in this module's text. A counterexample has `states`, the last of
        which is the bad one, and `actions`, the steps between them.
    """
    sizes = tuple(node_counts)

    def control(name: str, statement: str, wrong: CheckerVariant) -> Proof:
        return prove(f"{NAME}/{name}", statement, sizes, _questions(sizes, wrong), timeout_ms)

    controls = [
        control(f"order_alone_{steps}", ALONE_STATEMENT.format(steps=steps), replace(ORDER_ALONE, steps=steps))
        for steps in (1, 2, 3)
    ]
    for dropped in RANGES:
        kept = tuple(name for name in RANGES if name != dropped)
        controls.append(
            control(f"without_{dropped}", WITHOUT_STATEMENT.format(range=dropped), CheckerVariant(ranges=kept))
        )
    controls.append(control("last_quorum_first", LAST_FIRST_STATEMENT, LAST_QUORUM_FIRST))
    controls.append(control("term_changes", TERM_STATEMENT, TERM_CHANGES))
    return prove(NAME, STATEMENT, sizes, _questions(sizes, variant), timeout_ms, controls)


def in_order(leader: Leader) -> z3.BoolRef:
    """Build the order that the lemma is about."""
    return z3.And(leader.last_quorum >= -1, leader.last_quorum <= leader.committed, leader.committed <= leader.end)


def in_range(leader: Leader, ranges: Iterable[str] = RANGES) -> z3.BoolRef:
    """Build the ranges, which with the order are inductive.

    Args:
        leader: The state.
        ranges: The names of `RANGES` to build.

    Returns:
        The conjunction of the ranges.
    """
    terms = {
        "watermarks": z3.And(*(w <= leader.end for w in leader.watermarks)),
        "begin": leader.begin <= leader.committed + 1,
        "quorum": z3.Implies(leader.is_writing, leader.quorum <= leader.committed),
    }
    return z3.And(*(terms[name] for name in ranges))


def _are_indexes(leader: Leader) -> z3.BoolRef:
    return z3.And(*(index >= -1 for index in (*leader.watermarks, leader.begin, leader.quorum)))


def _questions(sizes: Iterable[int], variant: CheckerVariant) -> Iterator[SizedClaim]:
    for node_count in sizes:
        if variant.stays_in_range:
            yield _at_the_start(node_count)
        yield _after_steps(node_count, variant)


def _at_the_start(node_count: int) -> SizedClaim:
    leader = Leader.fresh(node_count, 0)
    assumptions = [
        _are_indexes(leader),
        *(w == -1 for w in leader.watermarks),
        leader.last_quorum == -1,
        leader.committed >= -1,
        leader.committed <= leader.end,
        leader.begin <= leader.committed + 1,
        z3.Not(leader.is_writing),
    ]
    claim = z3.And(in_order(leader), in_range(leader))
    return SizedClaim(node_count, assumptions, claim, lambda model: _trace(model, [leader], []))


def _after_steps(node_count: int, variant: CheckerVariant) -> SizedClaim:
    states = [Leader.fresh(node_count, step) for step in range(variant.steps + 1)]
    actions = z3.Ints([f"action@{step}" for step in range(variant.steps)])
    first, last = states[0], states[-1]
    assumptions = [_are_indexes(first), *(in_order(state) for state in states[:-1])]
    if variant.starts_in_range:
        assumptions.append(in_range(first, variant.ranges))
    for step, (now, then) in enumerate(pairwise(states)):
        assumptions.append(one_step(branches(now, step, variant), then, actions[step]))
    claim = in_order(last)
    if variant.stays_in_range:
        claim = z3.And(claim, in_range(last, variant.ranges), _are_indexes(last))
    return SizedClaim(node_count, assumptions, claim, lambda model: _trace(model, states, actions))


def _trace(model: z3.ModelRef, states: Sequence[Leader], actions: Sequence[z3.ArithRef]) -> dict[str, object]:
    return {
        "states": [state.read(model) for state in states],
        "actions": [ACTIONS[number] for number in integers(model, actions)],
    }


def branches(now: Leader, step: int, variant: CheckerVariant) -> Iterator[LeaderBranch]:
    """Build the steps of the machine, in the order of `ACTIONS`.

    Args:
        now: The state before.
        step: Names the choices of this step.
        variant: The leader.

    Yields:
        The condition of each step, and the state after it.
    """
    yield _append(now)
    yield _ack(now, step)
    guard, begun = _first_write(now, step, variant)
    if variant.is_pass_atomic:
        yield guard, _second_write(begun, step, variant)[1]
    else:
        yield guard, begun
        yield _second_write(now, step, variant)


def _append(now: Leader) -> LeaderBranch:
    end = now.end + 1
    begin = z3.If(now.end == -1, end, now.begin)
    return z3.BoolVal(True), replace(now, begin=begin, end=end, watermarks=[end, *now.watermarks[1:]])


def _ack(now: Leader, step: int) -> LeaderBranch:
    peer, index = z3.Ints(f"peer@{step} index@{step}")
    watermarks = [z3.If(z3.And(peer == i, index > mine), index, mine) for i, mine in enumerate(now.watermarks)]
    may_come = z3.And(peer >= 0, peer < len(watermarks), index >= 0, index <= now.end)
    return may_come, replace(now, watermarks=watermarks)


def _first_write(now: Leader, step: int, variant: CheckerVariant) -> LeaderBranch:
    quorum = element(now.watermarks, middle(len(now.watermarks)))
    begun = replace(now, is_writing=z3.BoolVal(True), quorum=quorum)
    if variant.committed_first:
        begun = replace(begun, committed=_updated(now, quorum, step, variant))
    else:
        begun = replace(begun, last_quorum=quorum)
    return z3.Not(now.is_writing), begun


def _second_write(now: Leader, step: int, variant: CheckerVariant) -> LeaderBranch:
    done = replace(now, is_writing=z3.BoolVal(False))
    if variant.committed_first:
        done = replace(done, last_quorum=now.quorum)
    else:
        done = replace(done, committed=_updated(now, now.quorum, step, variant))
    return now.is_writing, done


def _updated(now: Leader, index: z3.ArithRef, step: int, variant: CheckerVariant) -> z3.ArithRef:
    """Build committedIndex after updateCommittedIndex was called with the index, in the leader's own term."""
    is_skipped = z3.Or(index == -1, now.end == -1, index <= now.committed, index < now.begin)
    if variant.term_may_change:
        is_skipped = z3.Or(is_skipped, z3.Bool(f"termChanged@{step}"))
    return z3.If(is_skipped, now.committed, z3.If(index > now.end, now.end, index))
