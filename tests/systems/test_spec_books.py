"""The spec of a system is a book: short chapters, and each says first what it teaches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from lockstep.base.package_data import common_dir, spec_dir
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import System
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import parse_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value
from tests.support.tla.spec_book import chapters

LONGEST, WIDEST = 250, 110
GUIDE = spec_dir() / "README.md"
MODULES = sorted(spec_dir().rglob("*.tla"))
BOOKS = list(SYSTEMS.values())
of_each_book = pytest.mark.parametrize("system", BOOKS, ids=lambda system: system.spec)


def text(module: Path) -> str:
    return module.read_text(encoding="utf-8")


def constants(system: System) -> Mapping[str, Value]:
    """The constants of a trace whose header chooses no more than it must."""
    assert system.constants is not None
    first = {name: values[0] for name, values in system.constants.allowed.items()}
    return system.constants.values(["n1", "n2"], {**first, **system.constants.defaults})


def compiled(system: System) -> Spec:
    return load_spec(system.module, system.trace_cfg, constants=constants(system), footprints=system.footprints)


def folder(module: Path) -> str:
    return module.relative_to(spec_dir()).parts[0]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{folder(path)}-{path.stem}")
def test_a_module_is_short_and_begins_with_what_it_teaches(module: Path) -> None:
    lines = text(module).splitlines()
    assert len(lines) < LONGEST
    assert not [line for line in lines if len(line) > WIDEST]
    assert re.fullmatch(rf"-+ MODULE {module.stem} -+", lines[0])
    assert re.fullmatch(r"\(\*+\)", lines[1])


@of_each_book
def test_every_module_beside_the_models_is_a_chapter_or_says_what_a_step_reaches(system: System) -> None:
    own = set(system.module.parent.glob("*.tla"))
    book = {chapter for chapter in chapters(system) if chapter.parent != common_dir()}
    assert own == {*book, system.coverage_module}
    assert system.coverage_module not in book
    assert chapters(system)[-1].stem == system.spec


def test_what_systems_share_is_a_chapter_of_a_book_or_what_a_model_holds_it_against() -> None:
    read = {chapter for system in BOOKS for chapter in chapters(system)}
    models = "".join(map(text, spec_dir().glob("*/models/*.tla")))
    held = {common_dir() / f"{name}.tla" for name in re.findall(r"INSTANCE (\w+)", models)}
    assert set(common_dir().glob("*.tla")) <= read | held


def test_the_guide_names_every_chapter_and_what_it_teaches() -> None:
    guide = text(GUIDE)
    listed = re.findall(r"^\| `(\w+)/(\w+)` \| .+ \|$", guide, re.MULTILINE)
    beside = [module for module in MODULES if module.parent.name != "models"]
    assert sorted(listed) == sorted((module.parent.name, module.stem) for module in beside)
    models = re.findall(r"^\| `(MC\w+)` \| .+ \|$", guide, re.MULTILINE)
    assert Counter(models) == Counter(module.stem for module in MODULES if module.parent.name == "models")


@of_each_book
def test_one_chapter_alone_knows_what_a_channel_is_made_of(system: System) -> None:
    knows = [chapter.stem for chapter in chapters(system) if re.search(r"\bFifo\b", text(chapter))]
    assert knows == ["Channels"]


@of_each_book
def test_a_chapter_comes_after_those_that_it_extends(system: System) -> None:
    listed: list[str] = []
    for chapter in chapters(system):
        extends = ", ".join(re.findall(r"^EXTENDS (.*)$", text(chapter), re.MULTILINE))
        own = {module.stem for module in MODULES}
        assert {name for name in extends.split(", ") if name in own} <= set(listed)
        listed.append(chapter.stem)


@of_each_book
def test_a_chapter_uses_each_chapter_that_it_extends(system: System) -> None:
    """All but State, the ground of the book, and the last chapter, which puts the others together."""
    comment = re.compile(r"\(\*.*?\*\)|\\\*.*")
    texts = {chapter.stem: comment.sub("", text(chapter)) for chapter in chapters(system)}
    for name in texts.keys() - {"State", system.spec}:
        extends = ", ".join(re.findall(r"^EXTENDS (.*)$", texts[name], re.MULTILINE))
        for extended in texts.keys() & set(extends.split(", ")):
            defined = re.findall(r"^(\w+)(?:\(.*\))? *==", texts[extended], re.MULTILINE)
            assert set(defined) & set(re.findall(r"\w+", texts[name])), f"{name} uses nothing of {extended}"


@of_each_book
def test_what_is_made_of_the_record_of_a_node_reads_nothing_else(system: System) -> None:
    """Handlers are pure: a parameter `before` or `state` is all that such an operator knows of the group."""
    program = parse_spec(system.module, system.trace_cfg, constants=constants(system)).program
    pure = 0
    for name, uid in program.top.items():
        definition = program.definition(uid)
        if definition is None or not {"before", "state"} & {
            program.tree.params[each].name for each in definition.params
        }:
            continue
        facts = program.facts[definition.uid]
        assert facts.reads_next or not facts.reads_now, name  # an action that is given a record may read
        pure += not facts.reads_next
    assert pure > 60


@of_each_book
@pytest.mark.parametrize("names", ["FeatureNames", "FlawNames", "EventNames"])
def test_every_member_of_a_set_of_choices_has_one_definition(system: System, names: str) -> None:
    """With its sentence before it or beside it."""
    everything = "".join(map(text, chapters(system)))
    (name,) = re.findall(rf"\b(\w+) \\subseteq {names}\b", everything)
    definition = rf'\w+ +== "(\w+)" \\in {name}'
    before = re.findall(rf"^\\\*.*\n{definition}$", everything, re.MULTILINE)
    beside = re.findall(rf"^{definition} +\\\* .*$", everything, re.MULTILINE)
    assert sorted(before + beside) == sorted(compiled(system).evaluate(names))
    assert everything.count(f"\\in {name}") == len(before + beside)


@of_each_book
def test_every_property_that_a_trace_is_checked_for_has_a_code(system: System) -> None:
    spec = compiled(system)
    assert {*spec.invariants, *spec.action_properties} <= set(system.codes)
    assert len(set(system.codes.values())) == len(system.codes)
