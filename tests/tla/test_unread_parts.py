"""Every operator of TLA+ answers the same where parts of its operands are not read as where all are known.

An operator is asked by its tracked form, with an Unread in each hole of an operand, and by its plain form. Either
answers the same value or error, or the tracked one asks for a part; then it is asked again with that part in place.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.tables import unread
from lockstep.tla.tables.tracked_evaluation import CurrentEvaluation, TrackedEvaluation
from lockstep.tla.tables.unread import NeedRead, Unread, tracked
from lockstep.tla.values import bag_operators
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, format_value
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.lazy_sets import LazySet

MODULE = """---- MODULE M ----
EXTENDS Integers, Sequences, FiniteSets, Bags, TLC
VARIABLE x
Init == x = 0
Next == UNCHANGED x
====
"""

#: Operators with an effect, of files or clocks, and those that make no value of TLA+.
LEFT_OUT = {
    "_tlc_print",
    "_tlc_print_t",
    "_tlc_get",
    "_tlc_set",
    "_io_env",
    "_read_json",
    "_read_json_lines",
    "_read_text",
}
NO_VALUE = {
    "_assign",
    "_choose_next",
    "_is_complete",
    "_no_case",
    "_argument",
    "_given",
    "_given_within",
    "_frozen",
    "_boolean",
}

P, Q = ModelValue("p"), ModelValue("q")
#: Values that stand in a hole.
LEAVES: list[Value] = [
    *(frozenset(), frozenset({1}), frozenset({1, 2}), frozenset({frozenset()})),
    *(0, 1, 2, True, "a", P, (), (1,), (1, 2), Fcn({P: 1, Q: 2}), Fcn({"a": 1})),
]
Made = Callable[[dict[str, Any], list[Value]], Value]
#: Makes an operand from the names of a module and the values in its holes.
OPERANDS: list[Made] = [
    lambda _, h: h[0],
    lambda _, h: (h[0],),
    lambda _, h: (h[0], h[1]),
    lambda _, h: ((h[0],), (h[1],)),
    lambda _, h: Fcn({P: h[0], Q: h[1]}),
    lambda _, h: Fcn({"a": h[0], "b": frozenset({1})}),
    lambda _, h: Fcn({P: Fcn({"a": h[0]}), Q: Fcn({"a": h[1]})}),
    lambda m, h: m["_RcdSet"]({"a": h[0]}),
    lambda m, h: m["_RcdSet"]({"a": h[0], "b": h[1]}),
    lambda m, h: m["_PowerSet"](h[0]),
    lambda m, h: m["_PowerSet"](m["_RcdSet"]({"a": h[0]})),
    lambda m, h: m["_sequences_over"](m["_RcdSet"]({"a": h[0]})),
    lambda m, h: m["_FcnSet"](h[0], h[1]),
    lambda m, h: m["_FcnSet"](frozenset({1}), m["_RcdSet"]({"a": h[0]})),
    lambda m, h: m["_Product"](m["_RcdSet"]({"a": h[0]}), h[1]),
    lambda m, h: m["_set_filter"](m["_RcdSet"]({"a": h[0]}), lambda _: True),
    lambda m, h: m["_function_of"]((h[0], h[1]), lambda pair: m["_sub"](*pair), True),
    # Functions computed on demand, whose values were not read.
    lambda m, h: m["_function"](m["_PowerSet"](frozenset({1})), lambda _: h[0]),
    lambda m, h: m["_function"](m["_FcnSet"](frozenset({1}), frozenset({1, 2})), lambda at: h[at[0] - 1]),
    lambda m, h: m["_except"](
        m["_function"](m["_PowerSet"](frozenset({1})), lambda _: 0), (frozenset(),), lambda _: h[0]
    ),
    lambda m, h: m["_soft_function"](frozenset({1, 2}), lambda at: h[at - 1]),
    lambda m, h: m["_recursive_function"](
        frozenset({P, Q}), lambda self, at: h[0] if at == P else m["_apply"](self, P)
    ),
]
WHOLE: list[Made] = [
    *[lambda _, __, leaf=leaf: leaf for leaf in LEAVES],
    lambda m, _: m["_RcdSet"]({"a": frozenset({1})}),
    lambda m, _: m["_RcdSet"]({"a": frozenset()}),
    lambda m, _: m["_FcnSet"](frozenset({P, Q}), frozenset({1, 2})),
    lambda m, _: m["_sequences_over"](frozenset({1})),
]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("operators")
    (folder / "M.tla").write_text(MODULE)
    (folder / "M.cfg").write_text("INIT Init\nNEXT Next\n")
    return load_spec(folder / "M.tla", folder / "M.cfg", cache_dir=folder / "cache")


def operators(module: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The operators of the language, with what each takes: a value, a list of them, or a formula of one or two."""
    kinds = {"Value": "value", "list[Value]": "list", "Callable[[Value], Value]": "formula"}
    kinds |= {"Callable[[Value], bool]": "formula", "Callable[[Value, Value], Value]": "order"}
    for name, each in sorted(module.items()):
        if not (name.startswith("_") and callable(each)) or name in LEFT_OUT | NO_VALUE:
            continue
        if not getattr(each, "__module__", "").startswith(unread._OPERATORS):
            continue
        asked = [p for p in inspect.signature(each).parameters.values() if p.default is p.empty]
        taken = [kinds.get(str(p.annotation), "") for p in asked]
        if taken and all(taken) and len(taken) <= 3 and all(p.kind is not p.VAR_POSITIONAL for p in asked):
            yield name, taken


def known(value: Value) -> Value:
    """A value without Unread, listed where it can be."""
    if type(value) is Unread:
        return known(value.value())
    if type(value) is tuple:
        return tuple(map(known, value))
    if type(value) is Fcn:
        return Fcn({key: known(each) for key, each in value.d.items()})
    if isinstance(value, (LazyFcn, LazySet)):
        try:
            return known(value.force())
        except TlaError:
            return value
    return value


def answer(module: dict[str, Any], name: str, taken: list[str], made: list[Made], holes: list[Value]) -> str:
    """Return the text of an operator's value, or "an error"."""
    formulas: dict[str, Any] = {
        "formula": lambda value: module["_eq"](value, 1),
        "order": lambda one, other: module["_lt"](one, other),
    }
    try:
        operands = iter([each(module, holes) for each in made])
        given = [formulas.get(each) or (next(operands) if each == "value" else [next(operands)]) for each in taken]
        return format_value(known(module[name](*given)))
    except TlaError:
        return "an error"


def tracked_answer(
    module: dict[str, Any],
    reading: CurrentEvaluation,
    name: str,
    taken: list[str],
    made: list[Made],
    values: list[Value],
) -> str:
    """Return the same with Unread in the holes; each part that the operator needs is then put in its place."""
    refused: set[int] = set()

    while True:
        reading.now = TrackedEvaluation([], [[each] for each in values], lambda column: 0)
        for column in refused:
            reading.now.read(column)
        holes = [each if slot in refused else Unread(slot, reading) for slot, each in enumerate(values)]
        try:
            return answer(module, name, taken, made, holes)
        except NeedRead as need:
            assert need.column not in refused, f"{name} asks for what is in its place"
            refused.add(need.column)


def silent(spec: Spec, most: int) -> tuple[Counter[str], set[str]]:
    """Evaluate each operator with `most` operands at most; return how often each was evaluated, and which differ."""
    module, plain, reading = tracked(spec), spec._module, CurrentEvaluation()
    asked: Counter[str] = Counter()
    differ = set()
    for name, taken in operators(plain):
        values = sum(each in ("value", "list") for each in taken)
        choices = (
            [*product(OPERANDS, OPERANDS + WHOLE), *product(WHOLE, OPERANDS)]
            if values > 1
            else [(e,) for e in OPERANDS]
        )
        cases = [(made, holes) for made in choices for holes in product(LEAVES, LEAVES)]
        for made, holes in Random(name).sample(cases, min(most, len(cases))):
            made = [*made, *made][:values]
            try:
                expected = answer(plain, name, taken, made, list(holes))
            except (TypeError, AttributeError, KeyError, IndexError, ValueError):
                continue  # the generated code never asks that
            asked[name] += 1
            if tracked_answer(module, reading, name, taken, made, list(holes)) != expected:
                differ.add(name)
    return asked, differ


#: The operands of an operator in every run: enough that the planted mistake below is caught.
EVERY_RUN = 60


def test_no_operator_answers_otherwise_where_a_part_is_not_read(spec: Spec) -> None:
    asked, differ = silent(spec, EVERY_RUN)
    assert differ == set()
    assert len(asked) > 45
    assert {"_is_a_bag", "_eq", "_member", "_to_string", "_union_over", "_select_seq"} <= set(asked)
    assert min(asked.values()) > 15


@pytest.mark.nightly
def test_no_operator_answers_otherwise_for_any_of_the_operands(spec: Spec) -> None:
    asked, differ = silent(spec, 50_000)
    assert (differ, asked.total() > 1_000_000) == (set(), True)


@pytest.mark.nightly
def test_an_operator_that_asks_of_what_type_a_part_is_is_caught(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_operators, "_is_number", lambda count: type(count) is int)
    assert silent(spec, EVERY_RUN)[1] == {"_is_a_bag"}


def test_isinstance_of_what_is_not_read_asks_for_it() -> None:
    with pytest.raises(NeedRead):
        isinstance(Unread(0, CurrentEvaluation()), LazySet)
