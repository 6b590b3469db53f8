"""Mutants of a reference: one small mistake in one method, planted in the running code, and what notices it.

Every mistake of a few kinds in every function of the sources that a spec speaks of; a seed draws a sample. Which
sources these are, and which clusters notice most, a module of each system says (dledger_mutants, hashicorp_mutants).
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
from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.jobs.fleet_both_ways import BothWays, check_cluster_both_ways
from lockstep.jobs.fleet_floors import judge_floor
from lockstep.systems.registry import simulators
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from tests.support.systems.fleets import covered, covering_spec

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

    root: Path
    path: Path
    line: int
    function: str
    before: str
    after: str
    nth: int
    change: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(self.root)}:{self.line} {self.function}: `{self.before}` -> `{self.after}`"


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


def mutants_in(root: Path, sources: Sequence[Path]) -> list[Mutant]:
    """Return every mutant there is of the sources of a reference, in their order."""
    found = []
    for path in sources:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for nth, (function, node) in enumerate(_nodes(tree)):
            for change, other in enumerate(changes(node)):
                before, after = _short(node), _short(ast.fix_missing_locations(other))
                found.append(Mutant(root, path, node.lineno, function, before, after, nth, change))
    return found


def drawn(found: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a number of mutants of some, drawn with a seed.

    Each is drawn by what it says, not by its place, so that a change of the reference changes few of them.
    """
    keyed, alike = {}, Counter[str]()
    for mutant in found:
        said = f"{mutant.path.name} {mutant.function} {mutant.before} -> {mutant.after}"
        alike[said] += 1
        keyed[sha256(f"{seed} {said} {alike[said]}".encode()).digest()] = mutant
    return [keyed[key] for key in sorted(keyed)[:count]]


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
    with planted_code(compile(_mutated(mutant), str(mutant.path), "exec")):
        yield


@contextmanager
def planted_code(whole: types.CodeType) -> Iterator[None]:
    """Put the code of a mutated module into every function object that runs the module's own; take it out again."""
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(whole)}
    held = [
        (each, each.__code__)
        for each in gc.get_objects()
        if type(each) is types.FunctionType and each.__code__.co_filename == whole.co_filename
    ]
    assert held, f"{whole.co_filename} is not imported: the mistake would be nowhere"
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

EVENTS = 400
#: A mutant that takes one judge more processor time than this never comes to an end; without one none takes a fifth.
SECONDS = 600


@functools.cache
def spec_of(plan: str) -> Spec:
    _, simulator = simulators()[plan]
    return trace_spec(simulator.cluster(plan, 0, 0)[0], plan)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of the reference by a rule, and that of the spec."""

    rule: str
    args: tuple[Any, ...]
    ours: Any
    theirs: Any


@dataclass(frozen=True)
class Reference:
    """A reference, and the clusters that notice its mistakes.

    `sources` are the files under `root` that the spec speaks of. `order` are plans of most grains, those first that
    notice most; `larger` those in which most goes wrong, for what nothing has noticed so far: longer runs of them.
    `elsewhere` says what clusters of no plan notice.
    `floor` is how many clusters of how many events `lockstep verify` runs. `rules` are what spec and reference both
    state as functions.
    """

    root: Path
    sources: tuple[Path, ...]
    order: tuple[str, ...]
    larger: tuple[str, ...]
    floor: tuple[int, int]
    rules: tuple[Callable[[], Iterator[Decision]], ...]
    elsewhere: Callable[[], str] = lambda: ""

    def mutants(self) -> list[Mutant]:
        """Return every mutant there is, in the order of the sources."""
        return mutants_in(self.root, self.sources)

    def sample(self, count: int, seed: int) -> list[Mutant]:
        """Return a number of mutants, drawn with a seed."""
        return drawn(self.mutants(), count, seed)

    def the(self, function: str, before: str, after: str) -> Mutant:
        """Return the only mutant that is planted so."""
        (found,) = (m for m in self.mutants() if (m.function, m.before, m.after) == (function, before, after))
        return found

    def missed(self, count: int, seed: int) -> list[str]:
        """Return those of a sample that nothing notices."""
        return [str(mutant) for mutant in self.sample(count, seed) if not self.noticed(mutant)[0]]

    def by_traces(self, plans: Sequence[str] = (), seeds: Sequence[int] = (1,)) -> str:
        """Return where the trace of a cluster leaves the spec, or comes to no end; "" where none does."""
        return _first(
            lambda plan, seed: check_cluster_both_ways(plan, seed, EVENTS, 0, spec_of(plan)), plans or self.order, seeds
        )

    def by_asking(
        self, plans: Sequence[str] = (), seeds: Sequence[int] = (1,), steps: int = 4, events: int = EVENTS
    ) -> str:
        """Return where a cluster takes a step that the spec refuses, or the reverse; "" where none does."""
        return _first(
            lambda plan, seed: check_cluster_both_ways(plan, seed, events, steps, spec_of(plan)),
            plans or self.order,
            seeds,
        )

    def by_floors(self, plans: Sequence[str] = ()) -> str:
        """Return what the clusters of a plan that verify runs do not reach, or where they stand still; "" else."""
        system, simulator = simulators()[self.order[0]]
        assert system.floors is not None
        clusters, events = self.floor
        for plan in plans or simulator.verified:
            runs = [covered(plan, seed, events) for seed in range(1, clusters + 1)]
            if any(run.deviation is not None for run in runs):
                return f"{plan}: leaves the spec"
            if any(run.events < events for run in runs):
                return f"{plan}: comes to a standstill"
            found = {what for run in runs for what in run.reached or ()}
            judged = judge_floor(plan, system.floors(plan, covering_spec(plan)), found, clusters, events)
            if judged.verdict is not Verdict.HOLDS:
                return f"{plan}: {judged.result}"
        return ""

    def by_longer_runs(self) -> str:
        """Return the same of every plan, and of longer runs of those in which most goes wrong."""
        _, simulator = simulators()[self.order[0]]
        more = self.by_asking(sorted(simulator.plans), seeds=(2,), steps=8)
        return more or self.by_asking(self.larger, seeds=range(3, 9), steps=6, events=900)

    def by_rules(self) -> str:
        """Return the rule that the reference decides otherwise than the spec; "" where there is none."""
        for decision in chain.from_iterable(rule() for rule in self.rules):
            if decision.ours != decision.theirs:
                return f"{decision.rule}{decision.args}: {decision.ours}, not {decision.theirs}"
        return ""

    def noticed(self, mutant: Mutant) -> tuple[str, str]:
        """Return what notices a mutant first, of "traces", "asking", "floors", "longer", "rules", "elsewhere" or ""."""
        judges = (
            ("traces", self.by_traces),
            ("asking", self.by_asking),
            ("floors", self.by_floors),
            ("longer", self.by_longer_runs),
            ("rules", self.by_rules),
            ("elsewhere", self.elsewhere),
        )
        with planted(mutant):
            for name, judge in judges:
                try:
                    with limited(SECONDS):
                        how = judge()
                except Exception as error:  # What a mistake makes of the reference is no matter, but that it is seen.
                    how = f"{type(error).__name__}: {error}"
                if how:
                    return name, how
        return "", ""


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


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TimeoutError within what takes more processor time: a mutant that comes to no end is noticed by that."""

    def end(*_: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
