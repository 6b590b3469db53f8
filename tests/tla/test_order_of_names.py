"""Strings, model values and the fields of records are in TLC's order: the order in which it first reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.name_order import NameOrder
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import TlcOptions, run_tlc
from tests.support.sampling import sampled
from tests.support.tla.tla_projects import order_by_tlc, write_project


def order_by_compiled(module: Path) -> list[str]:
    spec = load_spec(module, module.with_suffix(".cfg"), cache_dir=module.parent / "cache")
    words = spec.evaluate("Words")
    return [str(word) for word in spec.names.elements(words)]


@pytest.mark.parametrize("seed", sampled(range(2), [0]))
def test_the_words_of_a_made_up_project_come_in_the_order_of_tlc(seed: int, tmp_path: Path) -> None:
    module = write_project(tmp_path, seed)
    assert order_by_compiled(module) == order_by_tlc(module)


@pytest.mark.nightly
def test_the_words_of_hundreds_of_made_up_projects_come_in_the_order_of_tlc(tmp_path: Path) -> None:
    by_the_alphabet = 0
    for seed in range(4, 304):
        folder = tmp_path / str(seed)
        folder.mkdir()
        module = write_project(folder, seed)
        found = order_by_compiled(module)
        assert found == order_by_tlc(module), seed
        by_the_alphabet += found == sorted(found)
    assert by_the_alphabet < 3


# ---- What follows from the order ----

HEAD = """---- MODULE Small ----
EXTENDS Integers, TLC
CONSTANTS Server, Value
VARIABLE x
"""
SERVERS = ("s1", "s2", "s3")
CFG = 'CONSTANTS\n  Server = {s2, s1, s3}\n  Value = {"zebra", "ant"}\nINIT Init\nNEXT Next\nINVARIANT Never\n'
FIRST = 'Far == <<"zulu", [kind |-> 1, id |-> 2], "alpha">>\nPower == SUBSET {"alpha", "zulu"}\n'

CHOICES = {
    "a string": 'CHOOSE v \\in {"alpha", "zulu"} : TRUE',
    "a model value": "CHOOSE s \\in Server : TRUE",
    "a model value but for the first": "CHOOSE s \\in Server : s # CHOOSE t \\in Server : TRUE",
    "a string of the configuration": "CHOOSE v \\in Value : TRUE",
    "a string of the configuration or of the module": 'CHOOSE v \\in {"alpha"} \\cup Value : v # "zebra"',
    "a record by its first field": "CHOOSE r \\in {[id |-> 1, kind |-> 2], [id |-> 2, kind |-> 1]} : TRUE",
    "a record by a string in it": 'CHOOSE r \\in [id : {1}, kind : {"alpha", "zulu"}] : TRUE',
    "a set": 'CHOOSE S \\in SUBSET {"alpha", "zulu"} : S # {}',
    "a function of model values": "CHOOSE f \\in [Server -> {1, 2}] : \\E s \\in Server : f[s] = 2",
    "a tuple": 'CHOOSE t \\in {"alpha", "zulu"} \\X Server : TRUE',
}


def small(folder: Path, definitions: str) -> tuple[Path, Path]:
    module = folder / "Small.tla"
    module.write_text(f"{HEAD}{FIRST}{definitions}\n====\n")
    module.with_suffix(".cfg").write_text(CFG)
    return module, module.with_suffix(".cfg")


def loaded(folder: Path, definitions: str) -> Spec:
    return load_spec(*small(folder, definitions), cache_dir=folder / "cache")


def test_choose_takes_tlc_s_choice_among_several_witnesses(tmp_path: Path) -> None:
    """All choices are the fields of one initial state, which violates an invariant, so that TLC shows it."""
    fields = ", ".join(f"c{number} |-> ({choice})" for number, choice in enumerate(CHOICES.values()))
    definitions = f"Init == x = [{fields}]\nNext == UNCHANGED x\nNever == DOMAIN x = {{}}"
    (state,) = loaded(tmp_path, definitions).initial_states()
    result = run_tlc(*small(tmp_path, definitions), TlcOptions(is_short=True))
    assert result.counterexample is not None
    shown = parse_value(result.counterexample.steps[0].variables["x"], SERVERS)
    ours = {name: state.x.d[f"c{number}"] for number, name in enumerate(CHOICES)}
    assert ours == {name: shown.d[f"c{number}"] for number, name in enumerate(CHOICES)}


@pytest.mark.parametrize(
    "domain",
    sampled(
        ["Server", "Value", '{"alpha", "zulu"}', "{[id |-> 2, kind |-> 1], [id |-> 1, kind |-> 2]}"],
        ["Server"],
    ),
)
def test_the_successors_come_in_the_order_of_tlc(domain: str, tmp_path: Path) -> None:
    """The first successor is the one in the report."""
    definitions = f"Init == x = 0\nNext == \\E v \\in {domain} : x = 0 /\\ x' = v\nNever == x = 0"
    spec = loaded(tmp_path, definitions)
    (initial,) = spec.initial_states()
    _, _, first = next(iter(spec.successors(initial)))
    result = run_tlc(*small(tmp_path, definitions), TlcOptions(is_short=True))
    assert result.counterexample is not None
    assert parse_value(result.counterexample.steps[-1].variables["x"], SERVERS) == first.x


def test_a_choice_among_strings_that_no_module_has_is_refused(tmp_path: Path) -> None:
    spec = loaded(
        tmp_path,
        "Init == x = 0\nNext == UNCHANGED x\nNever == TRUE\n"
        'One == CHOOSE s \\in {ToString(i) : i \\in 70..71} : s # "71"\n'
        "Several == CHOOSE s \\in {ToString(i) : i \\in 80..81} : TRUE",
    )
    assert spec.evaluate("One") == "70"
    with pytest.raises(
        TlaError, match='more than one witness: "80" and "81", and TLC\'s choice among them is not known'
    ):
        spec.evaluate("Several")


def test_a_choice_among_strings_whose_place_is_not_known_is_refused(tmp_path: Path) -> None:
    """SANY knows operators before it reads a module, and analyses INSTANCE ... WITH and theorems where they stand."""
    (tmp_path / "Given.tla").write_text("---- MODULE Given ----\nCONSTANT c\nIs == c\n====\n")
    choices = ('{"alpha", "+"}', '{"alpha", "7"}', '{"late", "alpha"}', '{"proved", "alpha"}', '{"after", "alpha"}')
    spec = loaded(
        tmp_path,
        'Init == x = 0\nNext == UNCHANGED x\nNever == TRUE\nI == INSTANCE Given WITH c <- "late"\n'
        'THEOREM "proved" # "zulu"\nAfter == "after"\n'
        + "\n".join(f"C{number} == CHOOSE v \\in {choice} : TRUE" for number, choice in enumerate(choices)),
    )
    for number in range(4):
        with pytest.raises(TlaError, match="choice among them is not known"):
            spec.evaluate(f"C{number}")
    assert spec.evaluate("C4") == "alpha"


def test_sets_of_numbers_need_no_names() -> None:
    assert NameOrder({}).choose(frozenset({3, 1, 2}), lambda v: v > 1, "here") == 2


def test_a_set_of_integers_is_sorted_once_however_often_a_quantifier_ranges_over_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A nested quantifier ranges over the same set again and again."""
    names, sorted_ = NameOrder({}), Counter[frozenset[Value]]()
    plain = NameOrder.sorted

    def counting(self: NameOrder, elements: Collection[Value]) -> list[Value] | None:
        sorted_[frozenset(elements)] += 1
        return plain(self, elements)

    monkeypatch.setattr(NameOrder, "sorted", counting)
    outer, inner = frozenset({3, 1, 2}), frozenset({7, 5})
    for _ in range(4):
        assert [list(names.elements(each)) for each in (outer, inner)] == [[1, 2, 3], [5, 7]]
    assert sorted_ == {outer: 1, inner: 1}


def test_sets_that_python_holds_equal_keep_their_own_elements_however_many_are_listed() -> None:
    names = NameOrder({})
    for number in range(2, 1000):
        integers, booleans = frozenset({0, 1}), frozenset({False, True})
        assert [type(each) for each in names.elements(integers)] == [int, int]
        assert [type(each) for each in names.elements(booleans)] == [bool, bool]
        assert list(names.elements(frozenset({number, -number}))) == [-number, number]
