"""A function that expects records has the value of the plain function, or its error and place, for anything else."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.tla.compile.spec_fault import place_of
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value

BODY = r"""
EXTENDS Naturals
CONSTANTS Node
VARIABLES x
Init == x = [n \in Node |-> [f |-> 1, log |-> <<[f |-> 1]>>]]
Next == UNCHANGED x
Field(r) == r.f
Sum(r) == r.f
          + Field(r.g)
Entries == {x[n].log[1].f : n \in Node}
Same == \A n \in Node : LET f == x[n].f IN f = 1 /\ \E i \in DOMAIN x[n].log : x[n].log[i].f = f
At(f, k) == f[k]
Named == {At(x, n) : n \in Node}
Has(v, f) == v \in DOMAIN f
On[n \in Node] == IF n = CHOOSE m \in Node : TRUE THEN 0 ELSE 1
Lazy == LET Even == [k \in Nat |-> [f |-> k % 2 = 0]] IN Even[4].f
Filter(r) == {k \in Nat : k < r.f}
RECURSIVE Depth(_)
Depth(r) == IF r = <<>> THEN 0 ELSE 1 + Depth(r.d)
"""

N1, N2 = ModelValue("n1"), ModelValue("n2")
NODE = Fcn({"f": 1, "log": (Fcn({"f": 1}),)})


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("quick")
    path = folder / "Quick.tla"
    path.write_text(f"---- MODULE Quick ----\n{BODY}\n====\n")
    path.with_suffix(".cfg").write_text("CONSTANT Node = {n1, n2}\nINIT Init\nNEXT Next\nINVARIANT Same\n")
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=folder / "cache")


def outcome(call: Any, *args: Value) -> tuple[Any, str]:
    """The value; or the error, with its place."""
    try:
        return call(*args), ""
    except TlaError as error:
        return (type(error), str(error)), place_of(error, outcome.source)  # type: ignore[attr-defined]


VALUES = [Fcn({"f": 1, "g": Fcn({"f": 2})}), Fcn({"f": 1, "g": 3}), Fcn({"g": NODE}), Fcn({"f": True}), 5, "f", (1, 2)]
VALUES += [N1, frozenset(), Fcn({"f": N1, "g": NODE}), Fcn({N1: 1})]


@pytest.mark.parametrize("name", ["Field", "Sum"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_the_quick_function_and_the_plain_one_say_the_same(spec: Spec, name: str, value: Value) -> None:
    outcome.source = spec.source  # type: ignore[attr-defined]
    assert outcome(spec._module[name], value) == outcome(spec._module[f"{name}__plain"], value)


def test_a_quick_function_is_evaluated_without_the_plain_one_where_it_is_given_records(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state,) = spec.initial_states()
    for name in [name for name in spec._module if name.endswith("__plain")]:
        monkeypatch.setitem(spec._module, name, None)
    assert spec.evaluate("Entries", state) == {1}
    assert spec.evaluate("Same", state) is True
    assert all(part.holds(state, None, *each) for part in spec.parts["Same"] for each in part.elements)


def test_a_part_of_a_property_that_has_no_value_has_none_in_either_way(spec: Spec) -> None:
    state = spec.state({"x": Fcn({N1: NODE, N2: Fcn({"f": 1, "log": 5})})})
    with pytest.raises(TlaError):
        spec.invariants["Same"](state)
    (part,) = spec.parts["Same"]
    assert part.holds(state, None, N1)
    with pytest.raises(TlaError):
        part.holds(state, None, N2)


@pytest.mark.parametrize(("function", "argument"), [(Fcn({False: 0, True: 1}), 1), (Fcn({0: 0, 2: 1, 1: 2}), True)])
def test_one_is_never_taken_for_true(spec: Spec, function: Value, argument: Value) -> None:
    for name in ("At", "Has"):
        args = (function, argument) if name == "At" else (argument, function)
        with pytest.raises(TlaError):
            spec.evaluate(name, None, *args)


@pytest.mark.parametrize(
    ("value", "function", "found"),
    [
        (1, (7,), True),
        (0, (7,), False),
        (2, (7,), False),
        (1, (), False),
        ("f", NODE, True),
        ("g", NODE, False),
        (3, Fcn({2: 0, 3: 0}), True),
        (4, Fcn({2: 0, 3: 0}), False),
        (N1, Fcn({N1: 0}), True),
        (N2, Fcn({N1: 0}), False),
    ],
)
def test_membership_of_a_domain_is_decided_without_listing_it(
    spec: Spec, value: Value, function: Value, found: bool
) -> None:
    assert spec.evaluate("Has", None, value, function) is found


@pytest.mark.parametrize(("value", "function"), [("a", (7,)), (True, (7,)), (1, NODE), ("f", Fcn({2: 0})), (1, 5)])
def test_a_value_that_cannot_be_compared_with_a_domain_is_an_error(spec: Spec, value: Value, function: Value) -> None:
    with pytest.raises(TlaError):
        spec.evaluate("Has", None, value, function)


def test_a_value_computed_on_demand_is_written_plainly(spec: Spec) -> None:
    (state,) = spec.initial_states()
    assert spec.evaluate("Lazy", state) is True
    assert "Filter__plain" not in spec._module
    with pytest.raises(TlaError):
        5 in spec.evaluate("Filter", None, 3)  # noqa: B015 - it is asked only now


def test_a_recursive_definition_is_written_once(spec: Spec) -> None:
    assert spec.evaluate("Depth", None, Fcn({"d": Fcn({"d": ()})})) == 2
    assert "Depth__plain" not in spec._module
