"""TLCExt, random operators, and the community's modules: what is supported, and what to write instead of the rest."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import CompileError
from lockstep.tla.syntax.standard_modules import REFUSED
from lockstep.tla.values.kinds import ModelValue
from lockstep.tlc.java import find_tla2tools
from lockstep.tlc.newer_tlc import lacking_modules
from tests.support.sampling import sampled
from tests.support.tla.tla_compare import differences, graph_by_search, graph_by_tlc

ENGINES = [Engine.COMPILED, Engine.TLC]
CFG = "INIT Init\nNEXT Next\n"


def written(folder: Path, body: str, cfg: str = CFG, module: str = "Root") -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.tla").write_text(f"---- MODULE {module} ----\n{body}\n====\n", encoding="utf-8")
    (folder / f"{module}.cfg").write_text(cfg, encoding="utf-8")
    return folder / f"{module}.tla", folder / f"{module}.cfg"


# ---- What both engines have ----

SAME = """EXTENDS Naturals, TLC, TLCExt
VARIABLES x, y
Init == x = 0 /\\ y = {}
Next == /\\ x' = (TLCNoOp(x) + TLCCache(1, <<x, y>>)) % 4
        /\\ y' = IF AssertEq(x, 2) THEN {x} ELSE y
        /\\ TLCDefer(1 = "a")
"""


def test_both_engines_find_one_graph_with_the_operators_that_have_a_text(tmp_path: Path) -> None:
    module, cfg = written(tmp_path, SAME)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    ours = graph_by_search(spec)
    assert differences(ours, graph_by_tlc(module, cfg, spec)) == []
    assert ours.distinct == 7


def test_unequal_values_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = explore_spec(
        SpecFiles(*written(tmp_path, SAME + "Low == AssertEq(x, x) /\\ AssertEq(y, {})", CFG + "INVARIANT Low")),
        Engine.COMPILED,
    )
    assert (found.verdict, found.property) == (Verdict.VIOLATED, "Low")
    assert capsys.readouterr().err.endswith('"Assertion failed"\n{2}\n{}\n')


@pytest.mark.parametrize("engine", ENGINES)
def test_an_invariant_of_unequal_values_is_violated(engine: Engine, tmp_path: Path) -> None:
    found = explore_spec(SpecFiles(*written(tmp_path, SAME + "Low == AssertEq(y, {})", CFG + "INVARIANT Low")), engine)
    assert (found.verdict, found.property) == (Verdict.VIOLATED, "Low"), found.reason


# ---- Registers and model values ----

COUNTED = """EXTENDS Naturals, TLC, TLCExt
VARIABLE x
Add(a, b) == a + b
Init == x = 0
Next == {body}
"""


def test_registers_with_a_default_are_those_that_are_set_before(tmp_path: Path) -> None:
    """TLC 2.15 lacks them, but has the same with an ASSUME that sets the register first."""
    ours = """\\E d \\in 1..2 : /\\ x' = (x + TLCGetAndSet(1, Add, d, 1)) % 9
                          /\\ TLCGetOrDefault(1, 70) < 40 /\\ TLCGetOrDefault(2, 3) = 3"""
    theirs = "\\E d \\in 1..2 : x' = (x + TLCGet(1)) % 9 /\\ TLCSet(1, TLCGet(1) + d) /\\ TLCGet(1) < 40"
    module, cfg = written(tmp_path / "ours", COUNTED.format(body=ours))
    twin = written(tmp_path / "theirs", "\n".join([COUNTED.format(body=theirs), "ASSUME TLCSet(1, 1)"]))
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    found = graph_by_search(spec)
    assert spec.has_registers
    assert differences(found, graph_by_tlc(*twin, load_spec(*twin, cache_dir=tmp_path / "cache"))) == []
    assert found.distinct == 6


def test_model_values_of_text_are_those_of_a_cfg(tmp_path: Path) -> None:
    body = "EXTENDS TLC, TLCExt, Sequences, Naturals\nVARIABLE x\n%s\nInit == x = {}\nNext == \\E p \\in P : "
    body += "x' = x \\cup {p}"
    made = written(tmp_path / "made", body % 'P == {TLCModelValue("p" \\o ToString(i)) : i \\in 1..3}')
    given = written(tmp_path / "given", body % "CONSTANT P", CFG + "CONSTANT P = {p1, p2, p3}")
    ours = explore(load_spec(*made, cache_dir=tmp_path / "cache"), SearchOptions(check_deadlock=False))
    theirs = explore_spec(SpecFiles(*given), Engine.TLC, SearchOptions(check_deadlock=False))
    assert (
        (ours.distinct, ours.generated, ours.depth) == (theirs.distinct, theirs.generated, theirs.depth) == (8, 25, 4)
    )
    assert {value for state in ours.states for value in state.x} == {ModelValue(f"p{number}") for number in (1, 2, 3)}


def test_a_spec_that_extends_the_module_alone_has_no_registers(tmp_path: Path) -> None:
    """A spec with registers is not explored by tables."""
    spec = load_spec(*written(tmp_path, SAME.replace("AssertEq(x, 2)", "x = 2")), cache_dir=tmp_path / "cache")
    assert not spec.has_registers


@pytest.mark.parametrize(
    "expression",
    sampled(
        [
            "TLCGetOrDefault(1, 2)",
            "TLCGetAndSet(1, +, 1, 0)",
            'TLCModelValue("a")',
            "PickSuccessor(FALSE)",
            'AssertError("a", 1)',
            "Trace",
        ],
        ["Trace"],
    ),
)
def test_a_tlc_that_lacks_an_operator_judges_nothing(expression: str, tmp_path: Path) -> None:
    module, cfg = written(tmp_path, f"EXTENDS Naturals, TLCExt\nVARIABLE x\nInit == x = 1\nNext == x' = {expression}")
    found = explore_spec(SpecFiles(module, cfg), Engine.TLC)
    name = re.match(r"\w+", expression)
    assert name is not None
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason.startswith(f"TLC 2.15 has no {name[0]} of the module TLCExt: try --engine compiled, or a newer")


def test_a_tlc_that_has_the_module_is_given_no_other(tmp_path: Path) -> None:
    jar = tmp_path / "newer.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tla2sany/StandardModules/TLCExt.tla", "")
    assert lacking_modules(jar) == []
    assert [folder.name for folder in lacking_modules(find_tla2tools())] == ["standard"]


# ---- What is refused ----

INSTEAD = {
    "RandomElement({1, 2})": "a search takes every choice: write `\\E x \\in S : ...`, or `x \\in S` in Init",
    "RandomSubset(1, {1, 2})": "write `\\E T \\in {T \\in SUBSET S : Cardinality(T) = k} : ...`",
    "RandomSetOfSubsets(1, 1, {1})": "write `SUBSET S`",
    "JavaTime": "it is the time of a clock",
    "Trace": "write a variable for the history",
    "PickSuccessor(TRUE)": "`lockstep play` does so",
    'TLCEvalDefinition("Init")': "write the name of the definition itself",
    "CounterExample": "`lockstep model --format json` prints it",
}


def test_an_operator_without_a_meaning_in_a_search_is_refused_with_what_to_write(tmp_path: Path) -> None:
    body = "EXTENDS Naturals, TLC, TLCExt, Randomization\nVARIABLE x\nInit == x = 1"
    for number, expression in enumerate(INSTEAD):
        body += f"\nNext{number} == x' = {expression}"
    for number, words in enumerate(INSTEAD.values()):
        with pytest.raises(CompileError) as refused:
            load_spec(*written(tmp_path, body, f"INIT Init\nNEXT Next{number}\n"), cache_dir=tmp_path / "cache")
        assert f"Root.tla:{5 + number}: " in str(refused.value)
        assert words in str(refused.value)


#: For each random operator, a spec with what is written instead.
WRITTEN = {
    "a choice": "Init == x \\in {1, 2} /\\ y = {}\nNext == \\E z \\in {1, 2} : x' = z /\\ y' = y",
    "a subset": "Init == x = 1 /\\ \\E T \\in {T \\in SUBSET (1..3) : Cardinality(T) = 2} : y = T\n"
    "Next == UNCHANGED <<x, y>>",
    "any subset": "Init == x = 1 /\\ y \\in SUBSET {1, 2, 3}\nNext == UNCHANGED <<x, y>>",
}


@pytest.mark.parametrize("case", sampled(WRITTEN, ["any subset"]))
def test_both_engines_take_what_is_written_instead_of_a_random_operator(case: str, tmp_path: Path) -> None:
    module, cfg = written(tmp_path, f"EXTENDS Naturals, FiniteSets\nVARIABLES x, y\n{WRITTEN[case]}")
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    assert differences(graph_by_search(spec), graph_by_tlc(module, cfg, spec)) == []


def test_an_operator_whose_text_is_not_its_meaning_is_refused(tmp_path: Path) -> None:
    """The community's modules define it as TRUE, in the place of its implementation in Java."""
    written(tmp_path, "CSVWrite(template, val, file) == TRUE\nOwn(x) == x", module="CSV")
    body = "EXTENDS CSV\nVARIABLE x\nInit == x = 1\nNext == x' = {}"
    with pytest.raises(
        CompileError, match=r"Root.tla:5: CSVWrite of the module CSV is not supported: it writes a file"
    ):
        load_spec(*written(tmp_path, body.format('CSVWrite("a", x, "b")')), cache_dir=tmp_path / "cache")
    assert explore_spec(SpecFiles(*written(tmp_path, body.format("Own(x)"))), Engine.COMPILED).distinct == 1
    assert all(reason for reason in REFUSED.values())


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "where"), [("SequencesExt", "CommunityModules"), ("TLAPS", "tlapm")])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_error_of_a_missing_module_names_where_it_may_be(
    engine: Engine, name: str, where: str, tmp_path: Path
) -> None:
    module, cfg = written(tmp_path, f"EXTENDS {name}\nVARIABLE x\nInit == x = 1\nNext == x' = x")
    try:
        said = explore_spec(SpecFiles(module, cfg), engine).reason
    except BadInputError as error:
        said = str(error)
    assert re.search(rf"imported in module Root: it is .*tlaplus/{where}; name .* with -I", said), said
