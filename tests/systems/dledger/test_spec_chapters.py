"""The spec is a book: short chapters, each of which says first what it teaches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.base.paths import common_dir
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.constants import CONSTANTS, SET_CONSTANTS
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.models import manifest
from lockstep.systems.specs import trace_constants, trace_spec
from lockstep.tla.loading.project import parse_spec
from simulated_traces import header
from spec_book import chapters

LONGEST, WIDEST = 250, 110
MODULES = sorted([*common_dir().glob("*.tla"), *DLEDGER.module.parent.rglob("*.tla")])


def text(module: Path) -> str:
    return module.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_is_short_and_begins_with_what_it_teaches(module: Path) -> None:
    lines = text(module).splitlines()
    assert len(lines) < LONGEST
    assert not [line for line in lines if len(line) > WIDEST]
    assert re.fullmatch(rf"-+ MODULE {module.stem} -+", lines[0])
    assert re.fullmatch(r"\(\*+\)", lines[1])


def test_every_module_beside_the_models_is_a_chapter() -> None:
    assert set(chapters()) == {module for module in MODULES if module.parent.name != "models"}
    assert chapters()[-1].stem == "DLedger"


def test_the_guide_names_every_chapter_and_what_it_teaches() -> None:
    guide = (common_dir().parent / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)/(\w+)` \| .+ \|$", guide, re.MULTILINE)
    assert sorted(told) == sorted((module.parent.name, module.stem) for module in chapters())
    models = re.findall(r"^\| `(MC\w+)` \| .+ \|$", guide, re.MULTILINE)
    assert sorted(models) == sorted(module.stem for module in MODULES if module.parent.name == "models")


def test_the_guide_runs_tlc_on_the_module_that_goes_with_the_cfg() -> None:
    guide = (common_dir().parent / "README.md").read_text(encoding="utf-8")
    ((cfg, module),) = re.findall(r"-config (\w+)\.cfg (\w+)\.tla$", guide, re.MULTILINE)
    assert manifest().model(cfg).module == module


def test_one_chapter_alone_knows_what_a_channel_is_made_of() -> None:
    assert [chapter.stem for chapter in chapters() if re.search(r"\bFifo\b", text(chapter))] == ["Channels"]


def test_a_chapter_comes_after_those_that_it_extends() -> None:
    told: list[str] = []
    for chapter in chapters():
        extends = ", ".join(re.findall(r"^EXTENDS (.*)$", text(chapter), re.MULTILINE))
        own = {module.stem for module in MODULES}
        assert {name for name in extends.split(", ") if name in own} <= set(told)
        told.append(chapter.stem)


def test_what_is_made_of_the_record_of_a_node_reads_nothing_else() -> None:
    """Handlers are pure: a parameter `before` or `state` is all that such an operator knows of the group."""
    constants = trace_constants(DLEDGER, header(fault_plan("whole", 1)), "t")
    program = parse_spec(DLEDGER.module, DLEDGER.trace_cfg, constants=constants).program
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


@pytest.mark.parametrize(("name", "names"), [("Features", "FeatureNames"), ("Published", "FlawNames")])
def test_every_feature_and_every_flaw_is_a_choice_of_the_header(name: str, names: str) -> None:
    assert {*SET_CONSTANTS, "Fifo"} == set(CONSTANTS.allowed)
    spec = trace_spec(header(fault_plan("whole", 1)), "t")
    assert spec.evaluate(names) == {member for of, member, _ in SET_CONSTANTS.values() if of == name}


@pytest.mark.parametrize("name", ["Features", "Published", "Environment"])
def test_every_member_of_a_set_of_choices_has_one_definition(name: str) -> None:
    """With its sentence before it or beside it."""
    spec = trace_spec(header(fault_plan("whole", 1)), "t")
    names = {"Features": "FeatureNames", "Published": "FlawNames", "Environment": "EventNames"}[name]
    everything = "".join(map(text, chapters()))
    definition = rf'\w+ +== "(\w+)" \\in {name}'
    before = re.findall(rf"^\\\*.*\n{definition}$", everything, re.MULTILINE)
    beside = re.findall(rf"^{definition} +\\\* .*$", everything, re.MULTILINE)
    assert sorted(before + beside) == sorted(spec.evaluate(names))
    assert everything.count(f"\\in {name}") == len(before + beside)
