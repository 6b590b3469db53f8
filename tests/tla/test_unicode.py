"""Specs with Unicode symbols mean what their ASCII twins mean, and messages name places in the author's files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.syntax.sany import SanyError, export
from lockstep.tlc import TlcLocation, TlcOptions, dump_state_graph, run_tlc
from lockstep.tlc.module_files import project_files
from lockstep.tlc.unicode_symbols import SYMBOLS, rewrite_in_ascii
from tests.support.places import ROOT
from tests.support.sampling import sampled
from tests.support.tla.tla_compare import differences, graph_by_search, graph_by_tlc
from tests.support.tla.unicode_twins import made_up_twins, with_symbols

ENGINES = [Engine.COMPILED, Engine.TLC]

_LOCATION = re.compile(
    r"<location><column><begin>(\d+)</begin><end>(\d+)</end></column><line><begin>(\d+)</begin><end>(\d+)</end></line>"
    r"<filename>(\w+)</filename></location>"
)


def written(folder: Path, module: str, text: str, cfg: str = "INIT Init\nNEXT Next\n") -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.tla").write_text(text, encoding="utf-8")
    (folder / f"{module}.cfg").write_text(cfg, encoding="utf-8")
    return folder / f"{module}.tla", folder / f"{module}.cfg"


@dataclass(frozen=True)
class Exported:
    """The output of SANY for a module: its tree without places, and the text at each place, in order."""

    tree: str
    texts: list[str]


def exported(path: Path) -> Exported:
    xml = export(path).decode()
    lines = path.read_text(encoding="utf-8").split("\n")
    texts = []
    for begin, end, first, last, module in _LOCATION.findall(xml):
        if module == path.stem and first == last:
            texts.append(lines[int(first) - 1][int(begin) - 1 : int(end)])
    return Exported(_LOCATION.sub("", xml), texts)


def squeezed(text: str) -> str:
    """A piece of a module in symbols alone, without the space around them."""
    return re.sub(r"\s+", "", with_symbols(text, padded=False)).replace("⟩_", "⟩")


# ---- The same tree ----


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 40))])
def test_lists_that_begin_anywhere_are_the_lists_of_their_ascii_twin(seed: int, tmp_path: Path) -> None:
    """Each bullet below another stands in its column in both, though the symbols before it differ in width."""
    in_ascii, with_unicode = made_up_twins(seed)
    assert len(in_ascii) > len(with_unicode)
    theirs = exported(written(tmp_path / "ascii", "Twin", in_ascii)[0])
    ours = exported(written(tmp_path / "unicode", "Twin", with_unicode)[0])
    assert ours.tree == theirs.tree
    assert [*map(squeezed, ours.texts)] == [*map(squeezed, theirs.texts)]
    assert sum(not text.isascii() for text in ours.texts) > 20


def twin_trees(folder: Path, head: str, with_unicode: Sequence[str], in_ascii: Sequence[str]) -> list[str]:
    """Return the trees of two modules with one head, in which these lines stand."""
    return [
        exported(written(folder / name, "M", "\n".join(["---- MODULE M ----", head, *lines, "====", ""]))[0]).tree
        for name, lines in (("u", with_unicode), ("a", in_ascii))
    ]


def test_an_infix_symbol_is_the_operator_of_its_ascii_form(tmp_path: Path) -> None:
    symbols = "⊕⊔⊘⊙⊗⊨⫤≔⩴≀…"
    definitions = "a {0} b == <<a, b>>\nF{1} == 1 {0} 2"
    ours, theirs = twin_trees(
        tmp_path,
        "",
        [definitions.format(each, number) for number, each in enumerate(symbols)],
        [definitions.format(SYMBOLS[each], number) for number, each in enumerate(symbols)],
    )
    assert ours == theirs
    assert all(f"F{number}" in ours for number in range(len(symbols)))


def test_symbols_stay_apart_from_what_is_beside_them(tmp_path: Path) -> None:
    bodies = {
        r"x<⟨y⟩[1]": r"x < <<y>>[1]",
        r"x∪y": r"x \cup y",
        r"y-x∈ℕ": r"y - x \in Nat",
        r"1‥x": r"1..x",
    }
    ours, theirs = twin_trees(
        tmp_path,
        "EXTENDS Naturals",
        [f"F{number}(x, y) == {body}" for number, body in enumerate(bodies)],
        [f"F{number}(x, y) == {body}" for number, body in enumerate(bodies.values())],
    )
    assert ours == theirs
    assert all(f"F{number}" in ours for number in range(len(bodies)))


EVERY = """---- MODULE Every ----
EXTENDS Reals, Sequences, Bags
CONSTANTS _≈_, _≍_, _◯_, _●_, _≅_, _≐_, _≫_, _≪_, _⪯_, _∝_, _∼_, _≃_, _⊏_, _⊐_, _⊒_, _⊂_, _⊃_, _⊇_, _⋆_
CONSTANTS _‼_, _⊓_, _⊎_, _⊢_, _⊣_, _≺_, _≻_, _⪰_, _‖_, _⁇_
VARIABLES x, y
S⁺≜{S}
R≜1⁺
Pairs ≜ (1‥2)×(1‥3)
F(S)≜[e∈S↦⟨e,⟨⟩⟩]∈[S→ℕ×Seq(ℤ)]
G ≜ CASE x=1→2□x=2→3□OTHER→4
H ≜ ∀ a∈{x}:∃ b∈({y}∩{1})∪{2}:a≤b∧b≥a∧a≠b⇒¬(a∉{b})≡((a⊆{b})⇔TRUE)
I ≜ (x<⟨1⟩[1]∧x>1÷2∧x=¬TRUE)∨x=1
K ≜ (⟨1⟩∘⟨2⟩)⊑EmptyBag⊕EmptyBag⊖EmptyBag
Named ≜ part∷ x = 1
Live ≜ □◇(x=1)∧(x=1↝y=2)∧WF_⟨x,y⟩(x'=1)∧SF_x(⟨x'=1⟩_⟨x⟩)∧□[x'=1]_⟨x,y⟩∧(TRUE⇸TRUE)
Twice ≜ [x'=1]_x⋅[y'=2]_y
J ≜ INSTANCE Inner WITH z←x
Ops ≜ ⟨1≈2,1≍2,1◯2,1●2,1≅2,1≐2,1≫2,1≪2,1⪯2,1∝2,1∼2,1≃2,1⊏2,1⊐2,1⊒2,1⊂2,1⊃2,1⊇2,1⋆2,1‼2,1⊓2,1⊎2,1⊢2,1⊣2⟩
More ≜ ⟨1≺2,1≻2,1⪰2,1‖2,1⁇2,ℝ⟩
====
"""


def test_every_symbol_is_taken_where_no_space_is_around_it(tmp_path: Path) -> None:
    """Those that a module defines itself are asked of one by one."""
    written(tmp_path, "Inner", "---- MODULE Inner ----\nVARIABLE z\nA ≜ z ∈ {1}\n====\n")
    assert "J!A" in exported(written(tmp_path, "Every", EVERY)[0]).tree
    assert {symbol for symbol in SYMBOLS if symbol not in EVERY} == {"⊔", "⊘", "⊙", "⊗", "⊨", "⫤", "≔", "⩴", "≀", "…"}


@pytest.mark.parametrize(
    "name", ["docs/lock_service/LockService.tla", pytest.param("spec/dledger/DLedger.tla", marks=pytest.mark.nightly)]
)
def test_a_module_with_symbols_for_ascii_has_the_same_tree(name: str, tmp_path: Path) -> None:
    path = ROOT / name
    folder = tmp_path / path.parent.name
    for each in project_files(path, [path.parent, ROOT / "spec" / "common"]).values():
        written(folder, each.path.stem, with_symbols(each.text))
    theirs = _LOCATION.sub("", export(path, search_path=[ROOT / "spec" / "common"]).decode())
    ours = _LOCATION.sub("", export(folder / path.name).decode())
    assert ours == theirs


# ---- The same search ----

STRINGS = """---- MODULE Marks ----
EXTENDS Naturals, Steps
VARIABLES x, y
vars ≜ ⟨x, y⟩
Init ≜ ∧ x ∈ {1, 2} ∪ {3} (* ∪ *)
       ∧ y = "∪é𝔸"
Next ≜ ∨ ∧ ∀ z ∈ ℕ∩(0‥1) : ∨ z ≤ x \\* ∈
                           ∨ x ≠ 1 ∧ x = 1
         ∧ x' = Up(x)
         ∧ UNCHANGED y
       ∨ x > 3 ∧ x' = 1 ∧ y' = IF y = "∈" THEN "∪é𝔸" ELSE mark
Spec ≜ Init ∧ □[Next]_⟨x, y⟩ ∧ WF_vars(Next)
Low ≜ ¬(x ≥ 6 ∧ y = "∈")
Leaves ≜ □◇(y = "∈")
====
"""
STEPS = """---- MODULE Steps ----
EXTENDS Naturals
CONSTANTS mark, _⊕_
Up(n) ≜ (n % 7) ⊕ 1
Plus(a, b) ≜ a + b
====
"""
MARKS_CFG = 'SPECIFICATION Spec\nCONSTANTS\n  mark = "∈" \\* ∪\n  ⊕ ← Plus\n'


def marks(folder: Path, cfg: str = MARKS_CFG) -> tuple[Path, Path]:
    written(folder, "Steps", STEPS)
    return written(folder, "Marks", STRINGS, cfg)


def test_both_engines_find_one_graph_with_the_strings_as_they_are_written(tmp_path: Path) -> None:
    module, cfg = marks(tmp_path)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    ours, theirs = graph_by_search(spec), graph_by_tlc(module, cfg, spec)
    assert differences(ours, theirs) == []
    assert {state[1] for state in ours.states} == {"∪é𝔸", "∈"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_counterexample_has_the_places_and_strings_of_its_author(engine: Engine, tmp_path: Path) -> None:
    found = explore_spec(SpecFiles(*marks(tmp_path, MARKS_CFG + "INVARIANT Low\n")), engine)
    assert (found.verdict, found.property) == (Verdict.VIOLATED, "Low"), found.reason
    assert found.counterexample is not None
    assert [step.state["y"] for step in found.counterexample.steps][:1] == ["∪é𝔸"]
    assert found.counterexample.steps[-1].state["y"] == "∈"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_temporal_property_with_symbols_is_decided(engine: Engine, tmp_path: Path) -> None:
    found = explore_spec(SpecFiles(*marks(tmp_path, MARKS_CFG + "PROPERTY Leaves\n")), engine)
    assert (found.verdict, found.distinct) == (Verdict.VIOLATED, 14), found.reason


def test_the_places_of_actions_and_the_dump_of_tlc_are_those_of_the_files(tmp_path: Path) -> None:
    module, cfg = marks(tmp_path, MARKS_CFG + "INVARIANT Low\n")
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=False, is_short=True, coverage=True))
    assert result.counterexample is not None
    places = {step.location for step in result.counterexample.steps if step.location is not None}
    ends = [len(line) for line in STRINGS.split("\n")]
    assert places == {TlcLocation("Marks", 7, 10, 10, ends[9]), TlcLocation("Marks", 11, 10, 11, ends[10])}
    covered = {each.action: each.location for each in result.coverage}
    assert covered["Init"] == TlcLocation("Marks", 5, 1, 5, 4)
    whole = dump_state_graph(*marks(tmp_path))
    assert {node["y"] for node in whole.nodes.values()} == {'"∪é𝔸"', '"∈"'}


def test_parts_of_the_spec_are_quoted_with_its_symbols(tmp_path: Path) -> None:
    module, cfg = marks(tmp_path)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    state = next(spec.initial_states())
    (action,) = spec.actions
    said = str(spec.explain(state, action, {}))
    assert "Marks.tla:11:10: x > 3" in said, said


# ---- Mistakes ----

MISTAKES = {
    "Next ≜ ∧ x ∈ {1, 2} ∪ {} ) ∧ x' = x": (26, "LS601"),
    "Next ≜ ∧ x ∈ {1, 2} ∪ Foo ∧ x' = x": (23, "LS601 Unknown operator: `Foo'"),
    "Next ≜ x ∈ ∅ ∧ x' = x": (12, "∅ (U+2205) is no symbol of TLA+; write {}"),
    "Next ≜ x′ = x": (9, "′ (U+2032) is no symbol of TLA+; write '"),
    "Next ≜ x ∈ {1} ☃ x' = x": (16, "☃ (U+2603) is no symbol of TLA+"),
    'Next ≜ (* ∪ *) x = 1 ∧ x\' = x + "∪"': (24, 'LS603 Next: + needs an integer, but was given "∪"'),
}


@pytest.mark.parametrize(
    ("line", "engine"),
    sampled(
        list(itertools.product(MISTAKES, ENGINES)),
        [*((line, Engine.COMPILED) for line in MISTAKES), (next(iter(MISTAKES)), Engine.TLC)],
    ),
)
def test_a_mistake_is_at_its_place_in_the_file(line: str, engine: Engine, tmp_path: Path) -> None:
    module, cfg = written(
        tmp_path, "M", f"---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\nInit ≜ x = 1\n{line}\n====\n"
    )
    try:
        found = explore_spec(SpecFiles(module, cfg), engine)
        assert found.verdict is Verdict.MALFORMED
        said = found.reason
    except BadInputError as error:
        said = str(error)
    column, words = MISTAKES[line]
    assert f"M.tla:5:{column}: " in said
    assert words in said


def test_errors_name_the_file_and_not_its_copy(tmp_path: Path) -> None:
    written(tmp_path, "Steps", STEPS.replace("% 7)", "% 7"))
    module, _ = written(tmp_path, "Marks", STRINGS)
    with pytest.raises(SanyError, match=r"^Steps.tla:4:14: LS601 Precedence conflict") as refused:
        export(module)
    assert "ascii" not in str(refused.value)


def test_more_characters_than_can_be_stood_in_for_are_refused(tmp_path: Path) -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    module, _ = written(tmp_path, "M", f'---- MODULE M ----\nA == "{many}"\n====\n')
    with pytest.raises(BadInputError, match="LS601 the strings of the project have 200 different characters"):
        export(module)


# ---- What is not rewritten ----


def test_a_module_whose_comments_alone_are_not_ascii_is_left_as_it_is(tmp_path: Path) -> None:
    module, _ = written(tmp_path, "M", '---- MODULE M ----\n(* ∪ *) A == "b" \\* ∈\n====\n ∪ "∈"')
    assert rewrite_in_ascii(project_files(module, [tmp_path])) is None


def test_numbers_that_a_module_names_itself_are_its_own(tmp_path: Path) -> None:
    """Newer SANYs know no ℕ, and their users write LOCAL ℕ ≜ Nat."""
    text = (
        "---- MODULE M ----\nEXTENDS Naturals\nLOCAL ℕ ≜ Nat\nVARIABLE x\nInit ≜ x = 1\nNext ≜ x' = 1 ∧ x ∈ ℕ\n====\n"
    )
    for engine in ENGINES:
        assert explore_spec(SpecFiles(*written(tmp_path, "M", text)), engine).distinct == 1
