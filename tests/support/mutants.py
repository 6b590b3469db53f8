"""Mutants of the reference: one small mistake in one method, planted in the running code, and what notices it.

Every mistake of a few kinds in every function of the rooms that the spec speaks of, election, replication and the
ledger store; a seed draws a sample. The store's files are not among them: the spec does not know them, and recordings
of the real ones hold them.
"""

from __future__ import annotations

import ast
import copy
import functools
import gc
import signal
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path

import raftref.dledger
from lockstep.base.verdict import Verdict
from lockstep.jobs.both_ways import BothWays, ask_cluster
from lockstep.jobs.floors import judge_floor
from lockstep.systems.dledger.floors import FEW_CLUSTERS, FEW_EVENTS, floors
from lockstep.systems.dledger.plans import PLANS, VERIFIED
from lockstep.systems.dledger.reached import reached
from lockstep.systems.registry import simulators
from lockstep.systems.specs import trace_spec
from lockstep.tla.spec import Spec
from rules import RULES

ROOT = Path(raftref.dledger.__file__).parent
SOURCES = sorted([*(ROOT / "election").glob("*.py"), *(ROOT / "replication").glob("*.py")])
SOURCES.append(ROOT / "storage" / "ledger_store.py")

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: where, and what is there instead. `nth` and `change` find it again in the source."""

    path: Path
    line: int
    function: str
    before: str
    after: str
    nth: int
    change: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.function}: `{self.before}` -> `{self.after}`"


# ---- What mistakes there are ----


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may wrongly stand for a node."""
    match node:
        case ast.Compare(ops=ops):
            for nth, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(node.left, [*ops[:nth], other(), *ops[nth + 1 :]], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for left_out in range(len(values)):
                rest = values[:left_out] + values[left_out + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.BinOp(op=ast.Add()):
            yield ast.BinOp(node.left, ast.Sub(), node.right)
        case ast.BinOp(op=ast.Sub()):
            yield ast.BinOp(node.left, ast.Add(), node.right)
        case ast.If() | ast.IfExp():
            yield from _of_test(node)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED_CALLS:
            yield ast.Call(ast.Name(SWAPPED_CALLS[name], ast.Load()), node.args, node.keywords)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()


def _of_test(node: ast.If | ast.IfExp) -> Iterator[ast.AST]:
    """Yield a condition turned round, and one that never holds."""
    for test in (ast.UnaryOp(ast.Not(), node.test), ast.Constant(False)):
        yield type(node)(test, node.body, node.orelse)


def mutants() -> list[Mutant]:
    """Return every mutant there is, in the order of the sources."""
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for nth, (function, node) in enumerate(_nodes(tree)):
            for change, other in enumerate(changes(node)):
                before, after = _short(node), _short(ast.fix_missing_locations(other))
                found.append(Mutant(path, node.lineno, function, before, after, nth, change))
    return found


def sample(count: int, seed: int) -> list[Mutant]:
    """Return so many mutants, drawn with a seed.

    Each is drawn by what it says, not by its place, so that a change of the reference changes few of them.
    """
    found, alike = {}, Counter[str]()
    for mutant in mutants():
        said = f"{mutant.path.name} {mutant.function} {mutant.before} -> {mutant.after}"
        alike[said] += 1
        found[sha256(f"{seed} {said} {alike[said]}".encode()).digest()] = mutant
    return [found[key] for key in sorted(found)[:count]]


def _nodes(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield what may be mistaken: what runs in a function, but for texts of errors, and for what only types say."""
    for owner in tree.body:
        for function in owner.body if isinstance(owner, ast.ClassDef) else [owner]:
            if isinstance(function, ast.FunctionDef):
                for node in chain.from_iterable(map(_within, function.body)):
                    yield function.name, node


def _within(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def _short(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0]


# ---- Planting one ----


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Put the mistake into every function object that runs the method, wherever it is held; take it out again."""
    whole = compile(_mutated(mutant), str(mutant.path), "exec")
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(whole)}
    held = [
        (each, each.__code__)
        for each in gc.get_objects()
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(mutant.path)
    ]
    try:
        for function, code in held:
            function.__code__ = codes[code.co_qualname, code.co_firstlineno]
        yield
    finally:
        for function, code in held:
            function.__code__ = code


def _mutated(mutant: Mutant) -> ast.Module:
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    _, node = list(_nodes(tree))[mutant.nth]
    other = list(changes(copy.deepcopy(node)))[mutant.change]

    class Replace(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> ast.AST:
            return ast.copy_location(other, node) if each is node else self.generic_visit(each)

    return ast.fix_missing_locations(Replace().visit(tree))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


# ---- What notices it ----

#: The plans of most grains, those first that notice most.
ORDER = ("published", "whole", "batches", "not_follower", "applied", "handover", "ordered", "restless")
EVENTS = 400
#: A mutant that takes longer never comes to an end.
SECONDS = 600
#: The plans in which most goes wrong with what a store holds: for what nothing has noticed so far, longer runs of them.
LARGER = ("published", "batches_published", "commit_past_end", "late_truncate", "fine_published")


@functools.cache
def spec_of(plan: str) -> Spec:
    _, simulator = simulators()[plan]
    return trace_spec(simulator.cluster(plan, 0, 0)[0], plan)


def by_traces(plans: Sequence[str] = ORDER, seeds: Sequence[int] = (1,)) -> str:
    """Say where the trace of a cluster leaves the spec, or comes to no end; "" where none does."""
    return _first(lambda plan, seed: ask_cluster(plan, seed, EVENTS, 0, spec_of(plan)), plans, seeds)


def by_asking(plans: Sequence[str] = ORDER, seeds: Sequence[int] = (1,), steps: int = 4, events: int = EVENTS) -> str:
    """Say where a cluster would do what the spec does not allow, or refuses what it does; "" where none does."""
    return _first(lambda plan, seed: ask_cluster(plan, seed, events, steps, spec_of(plan)), plans, seeds)


def _first(ask: Callable[[str, int], BothWays], plans: Sequence[str], seeds: Sequence[int]) -> str:
    for plan in plans:
        for seed in seeds:
            found = ask(plan, seed)
            if found.findings:
                first = found.findings[0]
                return f"{plan} {seed}: {first.kind} {first.name}"
            if found.verdict not in (Verdict.HOLDS, Verdict.INCONCLUSIVE):
                return f"{plan} {seed}: {found.reason}"
    return ""


def by_floors(plans: Sequence[str] = VERIFIED) -> str:
    """Say what the clusters of a plan that verify runs do not reach, or where they stand still; "" where they do."""
    for plan in plans:
        _, simulator = simulators()[plan]
        runs = [list(simulator.cluster(plan, seed, FEW_EVENTS)[1]) for seed in range(1, FEW_CLUSTERS + 1)]
        if any(len(run) < FEW_EVENTS for run in runs):
            return f"{plan}: comes to a standstill"
        found = {what for run in runs for what in reached(run)}
        judged = judge_floor(plan, floors(plan, spec_of(plan)), found, FEW_CLUSTERS, FEW_EVENTS)
        if judged.verdict is not Verdict.HOLDS:
            return f"{plan}: {judged.result}"
    return ""


def by_longer_runs() -> str:
    """Say the same of every plan, and of longer runs of those in which most goes wrong."""
    more = by_asking(sorted(PLANS), seeds=(2,), steps=8)
    return more or by_asking(LARGER, seeds=range(3, 9), steps=6, events=900)


def by_rules() -> str:
    """Say which rule of elections or quorums the reference decides otherwise than the spec; "" where it does not."""
    for decision in chain.from_iterable(rule() for rule in RULES):
        if decision.ours != decision.theirs:
            return f"{decision.rule}{decision.args}: {decision.ours}, not {decision.theirs}"
    return ""


def noticed(mutant: Mutant) -> tuple[str, str]:
    """Return what notices a mutant first, of "traces", "asking", "floors", "longer", "rules" or "", and how."""
    judges = (
        ("traces", by_traces),
        ("asking", by_asking),
        ("floors", by_floors),
        ("longer", by_longer_runs),
        ("rules", by_rules),
    )
    with planted(mutant):
        for name, judge in judges:
            try:
                how = judge()
            except Exception as error:  # What a mistake makes of the reference is no matter, but that it is seen.
                how = f"{type(error).__name__}: {error}"
            if how:
                return name, how
    return "", ""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TimeoutError within what takes longer: a mutant may never come to an end, and that is noticed, too."""

    def end(*_: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
