"""The guide to the spec and the header of a trace agree with DLedger's book."""

from __future__ import annotations

import re

from lockstep.base.package_data import common_dir
from lockstep.systems.dledger.constants import CHOICES, CONSTANTS
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.registry import manifest
from lockstep.systems.trace_specs import trace_spec
from raftref.dledger.choices import FINE, VOTES
from raftref.dledger.server import ACTIONS
from tests.support.places import ROOT
from tests.support.systems.simulated_traces import header
from tests.support.tla.spec_book import chapters


def test_the_guide_runs_tlc_on_the_module_that_goes_with_the_cfg() -> None:
    guide = (common_dir().parent / "README.md").read_text(encoding="utf-8")
    ((folder, name, module),) = re.findall(r"-config (\w+)/(\w+)\.cfg (\w+)\.tla$", guide, re.MULTILINE)
    entry = manifest().model(name)
    assert (entry.module, entry.cfg_name) == (module, f"{folder}/{name}.cfg")


def test_features_and_flaws_have_one_name_in_spec_header_and_reference() -> None:
    spec = trace_spec(header(fault_plan("whole", 1)), "t")
    assert (spec.evaluate("FeatureNames"), spec.evaluate("FlawNames")) == (set(CHOICES.features), set(CHOICES.flaws))
    assert {*CHOICES.features, *CHOICES.flaws, "Fifo"} == set(CONSTANTS.allowed)
    assert spec.evaluate("Features") == {*FINE, *VOTES, "StepwiseElections"}


TEXTS = {chapter.stem: chapter.read_text(encoding="utf-8") for chapter in chapters()}


def module_of(chapter: str) -> str:
    """The module of the reference for a chapter: `RoleElections` is `role_elections`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", chapter).lower()


def test_an_action_stands_in_the_chapter_and_in_the_module_of_one_name() -> None:
    in_spec = {
        name: module_of(chapter)
        for chapter, text in TEXTS.items()
        for name in re.findall(r"^\\\* ACTION (\w+):", text, re.MULTILINE)
    }
    in_reference = {name: action.perform.__module__.rpartition(".")[2] for name, action in ACTIONS.items()}
    of_the_environment = {"ElectLeader": "role_elections", "Lose": "failures", "Duplicate": "failures"}
    assert in_spec == in_reference | of_the_environment


def test_every_chapter_has_a_module_of_its_name_but_for_those_of_the_spec_alone() -> None:
    modules = {path.stem for path in (ROOT / "reference" / "raftref" / "dledger").glob("*.py")}
    spec_alone = {"channels", "properties", "d_ledger"}  # the simulated network; the checker; the server
    assert {*map(module_of, TEXTS)} - modules == spec_alone
    wire = {"client_messages", "remoting", "wire", "wire_answers", "wire_fields"}  # the spec has messages, and no bytes
    assert modules - {*map(module_of, TEXTS)} == {"__init__", "server"} | wire


def reached_by_extends(chapter: str) -> set[str]:
    """The chapters that a chapter extends, and those that these extend."""
    extended = re.findall(r"\w+", " ".join(re.findall(r"^EXTENDS (.*)$", TEXTS.get(chapter, ""), re.MULTILINE)))
    return set(extended).union(*map(reached_by_extends, extended))


def test_follower_leader_and_clients_stand_without_each_other() -> None:
    replication = {"Clients", "Leader", "Pushing", "Commit", "Follower"}
    found = {chapter: reached_by_extends(chapter) & replication for chapter in replication}
    assert found == {
        "Clients": set(),
        "Leader": set(),
        "Pushing": {"Leader"},
        "Commit": {"Clients"},
        "Follower": set(),
    }
