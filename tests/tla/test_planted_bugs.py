"""A compiler with a bug does not pass: of each planted bug, the comparisons with TLC report a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lockstep.tla.compile import (
    action_assignments,
    expression_compiler,
    expression_logic,
    expression_quantifiers,
    expression_writer,
    named_formulas,
    next_actions,
    program,
)
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.module_text import generate
from lockstep.tla.compile.program import Program
from lockstep.tla.spec import Spec
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.cfg import parse_cfg
from lockstep.tla.syntax.instances import resolve_instances
from lockstep.tla.syntax.interning import interned
from lockstep.tla.syntax.sany_xml import read_tree
from lockstep.tla.syntax.tree import Builtin
from lockstep.tla.values import function_operators, number_operators, sequence_operators, set_operators
from lockstep.tla.values.constructed_sets import PowerSet
from lockstep.tla.values.kinds import Fcn, TlaError, Value
from lockstep.tla.values.name_order import NameOrder
from tests.support.places import SPECS
from tests.support.tla.tla_compare import StateGraph, differences, graph_by_search, graph_by_tlc
from tests.support.tla.tla_term_maker import made_up
from tests.support.tla.tla_term_values import TlcAnswers, answers_of_compiled, ask_tlc, compared, write_module

pytestmark = pytest.mark.filterwarnings("ignore::lockstep.tla.values.function_operators.ExceptWarning")

#: Number of terms: enough that each bug changes the value of one.
TERMS = 800
MODELS = (SPECS / "systems" / "BagQueue", SPECS / "systems" / "ReadersWriters", SPECS / "tla" / "Registers")


@dataclass(frozen=True)
class Parsed:
    """A specification as SANY has read it, to be compiled again and again."""

    xml: bytes
    cfg: str
    sources: dict[str, str]

    def compiled(self) -> Spec:
        tree, cfg = read_tree(self.xml), parse_cfg(self.cfg)
        names = interned(tree, lambda name: self.sources.get(name) or sany.standard_module(name), cfg.names)
        resolve_instances(tree)
        return Spec.from_source(generate(Program(tree, cfg), self.sources, names=names))


def parsed(module: Path, cfg: Path) -> Parsed:
    return Parsed(sany.export(module), cfg.read_text(), {module.stem: module.read_text()})


@dataclass(frozen=True)
class Bench:
    """The results that a compiler must have: the values of terms and the graphs of models, all by TLC."""

    terms: Parsed
    answers: TlcAnswers
    models: tuple[tuple[Parsed, StateGraph], ...]

    def reports(self) -> list[str]:
        """List the differences of the compiler, as it is now, from TLC; a spec that fails is a difference, too."""
        found = self.attempted(self.differing_terms)
        for model, graph in self.models:
            found += self.attempted(self.differing_graph, model, graph)
        return found

    def attempted(self, compare: Callable[..., list[str]], *args: object) -> list[str]:
        try:
            return compare(*args)
        except (TlaError, CompileError) as error:
            return [f"the specification fails: {error}"]

    def differing_terms(self) -> list[str]:
        ours = answers_of_compiled(self.terms.compiled(), len(self.answers.texts))
        return [str(difference) for difference in compared(ours, self.answers).differing.values()]

    def differing_graph(self, model: Parsed, graph: StateGraph) -> list[str]:
        return differences(graph_by_search(model.compiled()), graph)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    texts = [str(term) for term in made_up(TERMS)]
    module = write_module(folder, texts, printing=False)
    models = []
    for path in MODELS:
        files = path.with_suffix(".tla"), path.with_suffix(".cfg")
        model = parsed(*files)
        models.append((model, graph_by_tlc(*files, model.compiled())))
    return Bench(parsed(module, module.with_suffix(".cfg")), ask_tlc(folder, texts), tuple(models))


# ---- The bugs ----

Plant = Callable[[pytest.MonkeyPatch], None]


def at_is_the_whole_function(patch: pytest.MonkeyPatch) -> None:
    """EXCEPT: ``@`` is not the old value."""
    right = function_operators.except_
    patch.setattr(function_operators, "except_", lambda f, path, update: right(f, path, lambda _old: update(f)))


def division_rounds_toward_zero(patch: pytest.MonkeyPatch) -> None:
    """``-7 \\div 2`` is -3."""
    right = number_operators.div

    def div(a: Value, b: Value) -> int:
        if type(a) is not int or type(b) is not int or (a < 0) == (b < 0):
            return right(a, b)
        return -right(abs(a), abs(b))

    patch.setattr(number_operators, "div", div)


def choose_takes_the_last_witness(patch: pytest.MonkeyPatch) -> None:
    """CHOOSE goes through the set backwards."""
    right = NameOrder.choose

    def choose(names: NameOrder, container: Value, holds: Callable[[Value], bool], place: str) -> Value:
        if type(container) is not frozenset:
            return right(names, container, holds, place)
        taken = [value for value in names.elements(container) if holds(value)]
        return taken[-1] if taken else right(names, container, holds, place)

    patch.setattr(NameOrder, "choose", choose)


def unchanged_forgets_a_variable(patch: pytest.MonkeyPatch) -> None:
    """``UNCHANGED <<x, y>>`` says nothing of y."""
    right = action_assignments.flattened

    def flattened(compiler: Any, expr: Any, scope: Any) -> list[str] | None:
        names = right(compiler, expr, scope)
        return names[:-1] if names and len(names) > 1 else names

    patch.setattr(action_assignments, "flattened", flattened)


def a_conjunction_computes_all_its_parts(patch: pytest.MonkeyPatch) -> None:
    """``FALSE /\\ e`` needs a value of e."""

    def conjunction(self: Any, expr: Builtin, scope: Any, block: Any) -> str:
        return f"all([{', '.join(self.test(arg, scope, block) for arg in expr.args)}])"

    patch.setitem(expression_compiler.SPECIAL, "\\land", conjunction)


def nothing_holds_of_an_empty_set(patch: pytest.MonkeyPatch) -> None:
    """``\\A x \\in {} : p`` is FALSE."""
    right = expression_quantifiers.quantifier

    def quantifier(self: Any, expr: Any, scope: Any, block: Any) -> str:
        code = right(self, expr, scope, block)
        return f"(lambda _r: bool(_r) and all(_r))([{code[4:-1]}])" if code.startswith("all(") else code

    patch.setitem(expression_compiler.BINDERS, "$BoundedForall", quantifier)


def case_takes_its_first_branch(patch: pytest.MonkeyPatch) -> None:
    """CASE does not look at its guards."""

    def case_as_if(expr: Builtin) -> Any:
        first = expr.args[0]
        assert isinstance(first, Builtin)
        return first.args[1]

    patch.setattr(expression_logic, "case_as_if", case_as_if)


def a_difference_is_swapped(patch: pytest.MonkeyPatch) -> None:
    """``S \\ T`` is ``T \\ S``."""
    right = set_operators.minus
    patch.setattr(set_operators, "minus", lambda left, other: right(other, left))


def append_puts_the_element_first(patch: pytest.MonkeyPatch) -> None:
    """``Append(<<1>>, 2)`` is ``<<2, 1>>``."""
    patch.setattr(sequence_operators, "append", lambda sequence, element: (element, *sequence))


def a_function_on_1_to_n_is_no_sequence(patch: pytest.MonkeyPatch) -> None:
    """``[i \\in 1..2 |-> i]`` differs from ``<<1, 2>>``."""
    right = function_operators.function

    def function(domain: Value, body: Callable[[Value], Value]) -> Value:
        return Fcn({i: body(i) for i in domain}) if type(domain) is range and domain else right(domain, body)

    patch.setattr(function_operators, "function", function)


def two_bound_variables_are_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """In ``<<x, y>> \\in S`` x is y and y is x."""
    right = expression_writer.ExpressionWriter.bind_values

    def bind_values(self: Any, uids: Any, scope: Any, **options: Any) -> Any:
        inner, names = right(self, uids, scope, **options)
        if len(uids) != 2:
            return inner, names
        first, second = uids
        return inner.bind({first: inner.env[second], second: inner.env[first]}), names

    patch.setattr(expression_writer.ExpressionWriter, "bind_values", bind_values)


def a_prime_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    """``x'`` in an expression is x."""
    patch.setitem(
        expression_compiler.SPECIAL, "'", lambda self, expr, scope, block: self.expr(expr.args[0], scope, block)
    )


def arguments_are_always_computed(patch: pytest.MonkeyPatch) -> None:
    """``F(1 \\div 0)`` fails though F ignores its parameter."""
    patch.setattr(program.Program, "thunked", frozenset())


def the_largest_subset_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """``SUBSET S`` lacks S."""
    right = PowerSet.items
    patch.setattr(PowerSet, "items", lambda self: iter(list(right(self))[:-1]))


def a_disjunct_of_next_is_lost(patch: pytest.MonkeyPatch) -> None:
    """The last action of Next never happens."""
    right = next_actions.split_next
    patch.setattr(named_formulas, "split_next", lambda program, definition: right(program, definition)[:-1])


BUGS: tuple[Plant, ...] = (
    at_is_the_whole_function,
    division_rounds_toward_zero,
    choose_takes_the_last_witness,
    unchanged_forgets_a_variable,
    a_conjunction_computes_all_its_parts,
    nothing_holds_of_an_empty_set,
    case_takes_its_first_branch,
    a_difference_is_swapped,
    append_puts_the_element_first,
    a_function_on_1_to_n_is_no_sequence,
    two_bound_variables_are_mixed_up,
    a_prime_is_not_seen,
    arguments_are_always_computed,
    the_largest_subset_is_left_out,
    a_disjunct_of_next_is_lost,
)


@pytest.mark.nightly
def test_a_compiler_without_a_bug_agrees_with_tlc(bench: Bench) -> None:
    assert bench.reports() == []


@pytest.mark.nightly
@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_reported(plant: Plant, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert bench.reports() != []
    monkeypatch.undo()
    assert bench.differing_graph(*bench.models[0]) == []
