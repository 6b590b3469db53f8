"""The check of counterexamples in Apalache's Informal Trace Format against their spec.

The form is that of ADR-015 (https://apalache-mc.org/docs/adr/015adr-trace.html), whose example is the missionaries and
cannibals below; the states of other specs are those that TLC prints.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.base.verdict import Verdict
from lockstep.cli.command_line import cli
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import check, own_check
from tests.support.places import TESTS
from tests.support.sampling import sampled

SYSTEMS = TESTS / "specs" / "systems"

BOAT = """---- MODULE Boat ----
EXTENDS FiniteSets, Naturals
CONSTANT Seats
Cannibals == {"c1_OF_PERSON", "c2_OF_PERSON"}
People == {"m1_OF_PERSON", "m2_OF_PERSON"} \\union Cannibals
VARIABLES bank_of_boat, who_is_on_bank
Init == bank_of_boat = "E" /\\ who_is_on_bank = [b \\in {"E", "W"} |-> IF b = "E" THEN People ELSE {}]
Safe(group) ==
    \\/ group \\subseteq Cannibals
    \\/ Cardinality(group \\intersect Cannibals) <= Cardinality(group \\ Cannibals)
Other == IF bank_of_boat = "E" THEN "W" ELSE "E"
Cross(group) ==
    LET here == who_is_on_bank[bank_of_boat] \\ group
        there == who_is_on_bank[Other] \\union group
    IN /\\ Cardinality(group) \\in 1..Seats
       /\\ Safe(here) /\\ Safe(there)
       /\\ bank_of_boat' = Other
       /\\ who_is_on_bank' = [b \\in {"E", "W"} |-> IF b = bank_of_boat THEN here ELSE there]
Next == \\E group \\in SUBSET who_is_on_bank[bank_of_boat] : Cross(group)
NoSolution == who_is_on_bank["E"] # {}
====
"""
BOAT_CFG = "CONSTANT Seats = 2\nINIT Init\nNEXT Next\nINVARIANT NoSolution\n"

#: The crossings of ADR-015's example, by the people on the east bank.
EAST = ("c1 c2 m1 m2", "c1 m1", "c1 m1 m2", "c1", "c1 c2", "")


def people(names: str) -> dict[str, Any]:
    return {"#set": [f"{name}_OF_PERSON" for name in names.split()]}


def crossings() -> dict[str, Any]:
    """The example of ADR-015: five crossings, after which the invariant NoSolution is false."""
    states = []
    for index, east in enumerate(EAST):
        west = " ".join(name for name in EAST[0].split() if name not in east.split())
        states.append(
            {
                "#meta": {"index": index},
                "bank_of_boat": "EW"[index % 2],
                "who_is_on_bank": {"#map": [["E", people(east)], ["W", people(west)]]},
            }
        )
    return {
        "#meta": {"source": "MC_MissionariesAndCannibalsTyped.tla"},
        "vars": ["bank_of_boat", "who_is_on_bank"],
        "states": states,
    }


@pytest.fixture(scope="module")
def boat(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TraceVerdict]:
    folder = tmp_path_factory.mktemp("boat")
    (folder / "Boat.tla").write_text(BOAT)
    (folder / "Boat.cfg").write_text(BOAT_CFG)
    judge = own_check(SpecFiles(folder / "Boat.tla", folder / "Boat.cfg"))

    def checked(given: dict[str, Any] | str | bytes, name: str = "boat.itf.json") -> TraceVerdict:
        text = json.dumps(given, indent=1) if isinstance(given, dict) else given
        path = folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return judge(path)

    return checked


def test_the_example_of_adr_015_is_a_behaviour_that_violates_its_invariant(boat: Callable[..., TraceVerdict]) -> None:
    found = boat(crossings())
    assert (found.verdict, found.reason) == (Verdict.VIOLATED, "a behaviour of the spec that violates NoSolution")
    (finding,) = found.findings
    assert (finding.kind, finding.action, finding.seq) == ("property", "Cross", 5)
    assert (found.events, found.steps, found.observed) == (5, 5, 12)


def test_the_behaviour_before_the_violation_holds(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    del tree["states"][-1]
    found = boat(tree)
    assert (found.verdict, found.steps, found.findings) == (Verdict.HOLDS, 4, [])


def test_a_file_is_known_by_its_name_or_by_how_it_begins(boat: Callable[..., TraceVerdict]) -> None:
    for name, text in (
        ("any.json", json.dumps(crossings())),
        ("any.json", json.dumps({"vars": [], **crossings()}, indent=2)),
        ("two.itf.json", json.dumps({"title": 1, **crossings()})),
    ):
        assert boat(text, name).steps == 5
    assert boat(json.dumps({"title": 1, **crossings()}), "any.json").verdict is Verdict.MALFORMED


def test_a_state_that_no_step_leads_to_is_reported_with_its_line_and_the_nearest_step(
    boat: Callable[..., TraceVerdict],
) -> None:
    tree = crossings()
    tree["states"][3]["who_is_on_bank"] = {"#map": [["E", people("m1")], ["W", people("c1 c2 m2")]]}
    found = boat(tree)
    (finding,) = found.findings
    assert (found.verdict, finding.code, finding.seq) == (Verdict.VIOLATED, "LS207", 3)
    text = json.dumps(tree, indent=1).splitlines()
    assert text[finding.line - 1].strip() == "{"
    assert '"index": 3' in "".join(text[finding.line - 1 : finding.line + 3])
    assert finding.details[:2] == ("states[3]: no step leads to it", 'after Cross(group = {"c1_OF_PERSON"}):')
    assert finding.details[2] == (
        '  who_is_on_bank.E: the file has {"m1_OF_PERSON"}, the spec {"m1_OF_PERSON", "m2_OF_PERSON"}'
    )
    assert found.steps == 2


def test_a_first_state_that_is_not_initial_is_refused(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    del tree["states"][0]
    found = boat(tree)
    (finding,) = found.findings
    assert (found.verdict, finding.code, finding.action, found.steps) == (Verdict.VIOLATED, "LS207", "Init", 0)
    assert finding.details[0] == "states[0]: no initial state is like it"
    assert finding.spec_line == "Boat.tla:7:1"


def test_a_behaviour_may_stutter_and_that_is_no_step(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    tree["states"] = [state for state in tree["states"][:3] for _ in range(2)]
    found = boat(tree)
    assert (found.verdict, found.events, found.steps) == (Verdict.HOLDS, 5, 2)
    assert found.notes == ["note: 3 of the steps change nothing"]
    tree["states"] = tree["states"][:2]
    assert boat(tree).verdict is Verdict.INCONCLUSIVE


def test_a_lasso_must_go_back_by_a_step(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    tree["states"] = [tree["states"][0], tree["states"][1]]
    assert boat({**tree, "loop": 0}).verdict is Verdict.HOLDS  # who came goes back
    assert boat({**tree, "loop": 1}).verdict is Verdict.HOLDS  # it stays there
    tree = crossings()
    del tree["states"][4:]
    found = boat({**tree, "loop": 0})
    assert (found.verdict, found.findings[0].code) == (Verdict.VIOLATED, "LS207")
    assert found.findings[0].details[0] == "states[3]: no step leads from it back to states[0]"


def test_constants_in_the_file_must_be_those_of_the_cfg(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    tree["states"][0]["Seats"] = {"#bigint": "2"}
    assert boat({**tree, "params": ["Seats"]}).steps == 5
    tree["states"][0]["Seats"] = 3
    found = boat({**tree, "params": ["Seats"]})
    assert found.verdict is Verdict.MALFORMED
    assert "field `states[0].Seats`: it is 3, and 2 with the cfg" in found.reason


def test_variables_that_quint_adds_are_left_out_and_a_note_names_them(boat: Callable[..., TraceVerdict]) -> None:
    tree = crossings()
    tree["vars"].append("mbt::actionTaken")
    for state in tree["states"]:
        state["mbt::actionTaken"] = "cross"
    found = boat(tree)
    assert (found.steps, found.notes) == (5, ["note: left out, for no spec has them: mbt::actionTaken"])


#: Specs whose cfg is wrong, and the property that TLC finds violated.
VIOLATED = {
    "DieHardSolved": "NotSolved",
    "TwoPhaseCommitHasty": "Agreement",
    "PaxosVotingTrusting": "Refines",
    "SortingSteps": "FewSteps",
}
#: States of records and model values; the others at night.
SAMPLE = [(name, VIOLATED[name]) for name in ("TwoPhaseCommitHasty",)]


@pytest.mark.parametrize(("name", "violated"), sampled(VIOLATED.items(), SAMPLE), ids=VIOLATED)
def test_a_counterexample_of_tlc_is_read_as_the_behaviour_it_is(name: str, violated: str, tmp_path: Path) -> None:
    """Model values, records, bags and tuples go out as ITF and come in again, and every altered state is refused."""
    cfg = SYSTEMS / f"{name}.cfg"
    module = max(
        (path for path in SYSTEMS.glob("*.tla") if name.startswith(path.stem)), key=lambda path: len(path.stem)
    )
    path = tmp_path / "found.itf.json"
    words = ["model", "--spec", module, "--cfg", cfg, "--engine", "tlc", "--no-deadlock", "--itf", path]
    CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    tree = json.loads(path.read_text())
    found = check(path, spec=module, cfg=cfg)
    assert [finding.name.partition("#")[0] for finding in found.findings] == [violated], found.reason
    assert (found.steps, found.events) == (len(tree["states"]) - 1, len(tree["states"]) - 1)
    actions = [state["#meta"]["action"] for state in tree["states"]]
    assert actions[found.findings[0].seq].partition("(")[0] == found.findings[0].action

    altered = deepcopy(tree)
    altered["states"][2] = {**tree["states"][0], "#meta": {}}
    if tree["states"][1] != tree["states"][0]:
        path.write_text(json.dumps(altered))
        again = check(path, spec=module, cfg=cfg)
        assert (again.findings[0].code, again.findings[0].seq) in {("LS207", 2), ("LS207", 3)}


# ---- What is malformed ----


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    tree = crossings()
    change(tree)
    return tree


def state(index: int, **values: Any) -> dict[str, Any]:
    return changed(lambda tree: tree["states"][index].update(values))


MALFORMED: dict[str, tuple[dict[str, Any] | str | bytes, str]] = {
    "nothing": ("", ":1: the file is cut: it ends here"),
    "an array": ("[]", ":1: not ITF: it is no JSON object"),
    "a file that is cut": (json.dumps(crossings(), indent=1)[:300], "no JSON: "),
    "a file that is cut after a state": (
        '{"vars": ["x"],\n "states": [\n{"x": 1}',
        ":3: the file is cut: it ends here",
    ),
    "something after the end": (json.dumps(crossings()) + "\n{}", ":2: not ITF: something follows the object"),
    "no UTF-8": (b'{"vars": ["x"],\n"states": "\xff"}', ":2: the byte 0xff is no UTF-8"),
    "gzip": (b"\x1f\x8b\x08", "it is compressed with gzip"),
    "a key twice": ('{"vars": [],\n"vars": []}', ":2: field `vars`: it is there twice"),
    "a variable twice in a state": (
        '{"vars": ["x"],\n"states": [\n{"x": 1, "x": 2}]}',
        ":3: field `states[0].x`: it is there twice",
    ),
    "a number that is none": ('{"vars": ["x"], "states": [{"x": NaN}]}', "field `states[0]`: no JSON: NaN is no JSON"),
    "no variables": (changed(lambda tree: tree.pop("vars")), "field `vars`: missing"),
    "variables that are no names": (
        changed(lambda tree: tree.update(vars=[1])),
        "field `vars`: it is no array of names",
    ),
    "a variable twice": (changed(lambda tree: tree["vars"].append("bank_of_boat")), "'bank_of_boat' is there twice"),
    "a variable too many": (
        changed(lambda tree: [tree["vars"].append("bank")] + [each.update(bank=1) for each in tree["states"]]),
        "field `vars`: the spec has no variable 'bank'",
    ),
    "a variable too few": (
        changed(lambda tree: [tree["vars"].pop()] + [each.pop("who_is_on_bank") for each in tree["states"]]),
        "field `vars`: the spec's variable 'who_is_on_bank' is missing",
    ),
    "no states": (changed(lambda tree: tree.update(states=[])), "field `states`: it is empty"),
    "states that are no array": ('{"vars": ["x"], "states": {}}', "field `states`: it is no array"),
    "a state that is none": ('{"vars": ["x"], "states": [\n3]}', ":2: field `states[0]`: it is no object"),
    "a state that lacks a variable": (
        changed(lambda tree: tree["states"][2].pop("bank_of_boat")),
        "field `states[2].bank_of_boat`: missing",
    ),
    "a state with one more": (state(2, bank=1), "field `states[2].bank`: it is none of `vars`"),
    "a fraction": (state(2, bank_of_boat=1.5), "field `states[2].bank_of_boat`: 1.5 is no integer"),
    "null": (state(2, bank_of_boat=None), "field `states[2].bank_of_boat`: not an ITF value: None"),
    "an unknown tag": (state(2, bank_of_boat={"#bag": []}), "field `states[2].bank_of_boat`: unknown ITF tag '#bag'"),
    "what Apalache cannot write": (
        state(2, bank_of_boat={"#unserializable": "Int"}),
        "field `states[2].bank_of_boat`: the tool that wrote the ITF file could not write this value: 'Int'",
    ),
    "a value of another kind": (state(2, bank_of_boat=7), "field `states[2].bank_of_boat`: "),
    "a value of another kind in the first": (state(0, bank_of_boat=7), "field `states[0].bank_of_boat`: "),
    "a loop to nowhere": (changed(lambda tree: tree.update(loop=6)), "field `loop`: 6 is the index of no state"),
    "an unknown constant": (
        changed(lambda tree: [tree.update(params=["Seat"]), tree["states"][0].update(Seat=2)]),
        "field `params`: the spec has no constant 'Seat'; did you mean Seats?",
    ),
    "a constant without its value": (changed(lambda tree: tree.update(params=["Seats"])), "`states[0].Seats`: missing"),
}


@pytest.mark.parametrize(("given", "problem"), MALFORMED.values(), ids=MALFORMED)
def test_a_file_that_is_no_itf_is_malformed_by_line_and_field(
    given: dict[str, Any] | str | bytes, problem: str, boat: Callable[..., TraceVerdict]
) -> None:
    found = boat(given)
    assert (found.verdict, found.verdict.exit_code) == (Verdict.MALFORMED, 2)
    assert "boat.itf.json:" in found.reason
    assert problem in found.reason


def test_itf_needs_a_spec_and_no_mapping_and_is_not_for_tlc_alone(tmp_path: Path) -> None:
    (tmp_path / "Boat.tla").write_text(BOAT)
    (tmp_path / "Boat.cfg").write_text(BOAT_CFG)
    (tmp_path / "m.toml").write_text('kind = "k"\n[lines.x]\naction = "Cross"\n')
    path = tmp_path / "boat.itf.json"
    path.write_text(json.dumps(crossings()))
    spec = ["--spec", tmp_path / "Boat.tla"]
    for words, problem in (
        ([], "name that with --spec"),
        ([*spec, "--mapping", tmp_path / "m.toml"], "needs no mapping"),
        ([*spec, "--engine", "tlc"], "leave --engine out"),
    ):
        checked = CliRunner().invoke(cli, [str(word) for word in ["check", *words, path]], standalone_mode=False)
        assert (checked.return_value, problem in checked.output) == (2, True), checked.output
    assert CliRunner().invoke(cli, ["check", *map(str, [*spec, path])], standalone_mode=False).return_value == 1


def test_the_time_for_a_behaviour_may_be_limited(tmp_path: Path) -> None:
    """A million states may come second, and the one of the file is not among them."""
    (tmp_path / "Sets.tla").write_text(
        "---- MODULE Sets ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = {}\n"
        "Next == \\E s \\in SUBSET (1..20) : x' = s\n====\n"
    )
    (tmp_path / "Sets.cfg").write_text("INIT Init\nNEXT Next\n")
    states = [{"x": {"#set": numbers}} for numbers in ([], [21])]
    (tmp_path / "x.itf.json").write_text(json.dumps({"vars": ["x"], "states": states}, indent=0))
    begin = time.monotonic()
    judge = own_check(SpecFiles(tmp_path / "Sets.tla", tmp_path / "Sets.cfg"), timeout_seconds=0.3)
    found = judge(tmp_path / "x.itf.json")
    assert time.monotonic() - begin < 10
    assert (found.verdict, found.findings) == (Verdict.INCONCLUSIVE, [])
    assert found.reason == "the 0.3 s of --timeout are spent at line 11, states[1]"
