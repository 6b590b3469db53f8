"""Playing a spec: what a session offers, why it does not offer the rest, and what is saved of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lockstep as top
from lockstep.base.errors import BadInputError
from lockstep.jobs.play.play_game import Game, play_header, play_model, play_trace
from lockstep.jobs.play.play_page import page_tree
from lockstep.jobs.play.play_scenario import ScenarioRefusedError, play, read_scenario, scenario_lines
from lockstep.jobs.play.play_session import NoSuchStateError, Offer, StepRefusedError
from lockstep.jobs.play.play_trace import NoTraceError, save_trace
from lockstep.systems.registry import SYSTEMS, manifests
from lockstep.systems.system import System
from lockstep.tla.explore import explore
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.values.kinds import ArgumentError, ModelValue, Value
from lockstep.trace.json_lines import TraceError
from tests.support.programs.plays import (
    LOCK_SERVICE,
    RAFT,
    STEPS,
    VIOLATED,
    flawed,
    lock_service,
    played,
    replayed,
    scenario_file,
    walked,
    ways,
)


@pytest.fixture(scope="module")
def game() -> Game:
    """A session at the end of the scenario of the docs."""
    found, path = played()
    assert len(path) == STEPS + 1
    return found


# ---- What is offered ----


def test_each_state_offers_the_steps_of_the_spec_each_once(game: Game) -> None:
    session = game.session
    for visit in session.visits:
        offered = [(offer.action, *offer.args.values(), offer.after) for offer in session.offers(visit.number).steps]
        listed = {(name, *args.values(), after) for name, args, after in session.spec.successors(visit.state)}
        assert len(offered) == len(set(offered))
        assert set(offered) == listed
    assert len(session.offers(5).steps) > 3


def test_a_spec_with_an_infinite_set_is_asked_for_all_successors_once_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[State] = []
    successors = Spec.successors

    def counted(spec: Spec, state: State) -> Iterator[tuple[str, dict[str, Value], State]]:
        asked.append(state)
        return successors(spec, state)

    monkeypatch.setattr(Spec, "successors", counted)
    session = play_trace(RAFT).session
    for at in range(5):
        notes = session.offers(at).notes
        assert notes == ("the arguments of DispatchLogs must be written: Seq(S) is infinite and cannot be listed",)
    assert asked == [session.initial[0]]


def test_a_step_from_an_earlier_state_makes_a_branch_and_leaves_the_other_as_it_is(game: Game) -> None:
    session = played()[0].session
    before = session.path(STEPS)
    other = next(offer for offer in session.offers(3).steps if offer.after != session.visit(4).state)
    branch = session.take(3, other)
    assert session.path(STEPS) == before
    assert session.path(branch.number) == (*before[:4], branch)
    assert {end.number for end in session.ends()} == {STEPS, branch.number}


def test_the_same_step_leads_to_the_same_state_however_often_it_is_taken() -> None:
    session = lock_service().session
    first = session.take(0, session.offers(0).steps[0])
    again = session.take(0, session.offers(0).steps[0])
    assert again is first
    assert len(session.visits) == 2


def test_a_property_is_evaluated_after_every_step(game: Game) -> None:
    failed = [visit.failed for visit in game.session.path(STEPS)]
    assert failed == [frozenset()] * STEPS + [frozenset({VIOLATED})]


def test_a_state_that_is_reached_in_two_ways_keeps_both() -> None:
    session = ways().session
    at_once = session.take(0, session.step(0, "Refuel", {"n": 5}))
    first = session.take(0, session.step(0, "Refuel", {"n": 4}))
    then = session.take(first.number, session.step(first.number, "Refuel", {"n": 5}))
    assert at_once.state == then.state
    assert [visit.depth for visit in (at_once, then)] == [1, 2]
    assert session.path(then.number) == (session.visit(0), first, then)


def test_a_state_without_a_number_is_refused() -> None:
    session = lock_service().session
    for number in (-1, 1, 10**9):
        with pytest.raises(NoSuchStateError, match=f"there is no state {number}; there are 1"):
            session.offers(number)


def test_there_are_as_many_beginnings_as_initial_states() -> None:
    session = ways().session
    assert [session.begin(choice).state["at"] for choice in range(2)] == [0, 10]
    assert session.begin(1) is session.begin(1)
    with pytest.raises(NoSuchStateError, match="there is no initial state 2; there are 2"):
        session.begin(2)


def test_several_successors_of_one_action_are_numbered() -> None:
    session = ways().session
    moves = [offer for offer in session.offers(0).steps if offer.action == "Move"]
    assert [(offer.choice, offer.after["at"]) for offer in moves] == [(0, 1), (1, 2)]
    assert session.step(0, "Move", {}, 1).after["at"] == 2
    with pytest.raises(StepRefusedError, match="Move leads to 2 states with these arguments, not 3"):
        session.step(0, "Move", {}, 2)


def test_an_argument_from_a_set_without_an_end_is_written_by_a_person() -> None:
    session = ways().session
    after = session.take(0, session.step(0, "Refuel", {"n": 5}))
    assert after.state["fuel"] == 5


def test_an_action_without_a_value_is_noted_and_the_others_are_offered() -> None:
    session = ways().session
    moved = session.take(0, session.step(0, "Move", {}))
    offers = session.offers(moved.number)
    assert "Move" in offers.enabled
    assert [note for note in offers.notes if note.startswith("Divide has no value here: ")]


def test_the_constraints_of_the_cfg_are_the_bounds() -> None:
    session = ways().session
    with pytest.raises(StepRefusedError, match="ACTION_CONSTRAINT is false of this step"):
        session.step(0, "Refuel", {"n": 6})
    start = session.begin(1)
    far = session.take(start.number, session.step(start.number, "Move", {}, 1))
    assert far.state["at"] == 12
    assert session.offers(far.number).steps == ()
    assert "CONSTRAINT is false in this state" in session.offers(far.number).notes[0]
    with pytest.raises(StepRefusedError, match="CONSTRAINT is false in the state before"):
        session.step(far.number, "Move", {})


# ---- Why not? ----


def test_why_not_tells_the_first_false_conjunct_its_line_and_the_values_of_both_sides(game: Game) -> None:
    n1, n2 = (game.session.spec.model_values[name] for name in ("n1", "n2"))
    explanation = game.session.why_not(0, "DoAppend", {"n": n1, "peer": n2})
    branch = explanation.branches[0]
    assert not explanation.enabled
    assert (branch.left, branch.right) == (("CANDIDATE",), ("LEADER",))
    line = game.context.texts[branch.failed.loc.module].splitlines()[branch.failed.loc.line - 1]
    assert branch.failed.text in line
    assert branch.failed.text == 'node[n].role = "LEADER"'


def test_why_not_of_a_message_that_is_not_there_tells_the_empty_channel(game: Game) -> None:
    listed, more = game.session.arguments(0, "HandleDoAppend")
    assert ([args["m"] for args in listed], more) == ([ModelValue("m")] * 2, False)
    branch = game.session.why_not(0, "HandleDoAppend", listed[0]).branches[0]
    assert branch.failed.text == "m \\in Requests(n)"
    assert branch.right == (frozenset(),)


def test_why_not_is_explained_for_what_the_quantifiers_bind(game: Game) -> None:
    listed, _ = game.session.arguments(0, "ElectLeader")
    enabled = {len(args["voters"]): game.session.why_not(0, "ElectLeader", args).enabled for args in listed}
    assert enabled == {0: False, 1: False, 2: True}


def test_an_action_or_an_argument_that_is_not_there_is_named_with_a_near_word(game: Game) -> None:
    with pytest.raises(BadInputError, match="the spec has no action 'Crush'; did you mean Crash"):
        game.session.step(0, "Crush", {})
    with pytest.raises(BadInputError, match=r"Crash takes \(n\), not \(m\)"):
        game.session.why_not(0, "Crash", {"m": 1})
    with pytest.raises(ArgumentError):
        ways().session.step(0, "Refuel", {"n": "much"})


# ---- What a system declares ----


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.spec)
@pytest.mark.parametrize("variant", ["published", "repaired"])
def test_the_header_for_some_constants_has_these_constants(system: System, variant: str) -> None:
    known = system.constants
    assert known is not None
    first = {name: choices[0] for name, choices in known.allowed.items()}
    made = known.values(("n2", "n1"), {**first, **known.defaults, **known.variants[variant]})
    nodes, chosen = known.header_choices(made)
    assert (nodes, set(chosen)) == (("n1", "n2"), set(known.allowed))
    assert known.values(nodes, chosen) == made
    assert known.values(("n1", "n2", "n3"), chosen) != made


# ---- What the page shows ----


def test_the_page_has_the_faults_in_a_group_of_their_own(game: Game) -> None:
    tree = page_tree(game, 7)["play"]
    groups = {group["title"]: [action["name"] for action in group["actions"]] for group in tree["groups"]}
    assert groups["Faults"] == ["Restart", "Lose", "Duplicate"]
    assert groups["Writes"] == ["AppendAsLeader"]
    named = [*groups["Writes"], *groups["Actions"], *groups["Faults"], *tree["never"]]
    assert sorted(named) == sorted(game.session.spec.actions)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.spec)
def test_the_faults_of_a_system_are_actions_of_its_spec(system: System) -> None:
    text = "\n".join(module_texts(system.module).values())
    defined = set(re.findall(r"^(\w+)\(n\) ==", text, re.MULTILINE))
    assert system.faults <= defined
    assert {"Lose", "Duplicate", "Crash", "Restart"} <= system.faults


def test_messages_with_the_same_label_are_shown_with_the_fields_in_which_they_differ() -> None:
    again = flawed()
    n1, n2 = (again.session.spec.model_values[name] for name in ("n1", "n2"))
    asks = {"n": n1, "peer": n2}
    leads = [
        ("ElectLeader", {"n": n1, "voters": frozenset({n1, n2})}),
        ("AppendAsLeader", {"n": n1, "value": ModelValue("v")}),
    ]
    last = walked(again, [*leads, ("DoCompare", asks), ("PushTimeOut", asks), ("DoCompare", asks)])
    groups = page_tree(again, last.number)["play"]["groups"]
    (steps,) = (each["steps"] for group in groups for each in group["actions"] if each["name"] == "HandleDoCompare")
    assert [step["label"] for step in steps] == [
        f"n2, COMPARE 0 from n1, awaited = {awaited}" for awaited in ("FALSE", "TRUE")
    ]


def test_the_page_says_where_a_property_fails_first_and_what_it_is_false_for(game: Game) -> None:
    tree = page_tree(game, STEPS)
    (remark,) = tree["remarks"]
    assert (tree["verdict"], tree["reason"]) == ("violated", f"{VIOLATED} fails after step {STEPS}")
    assert remark["number"] == STEPS
    assert any(line.startswith("false for ") for line in remark["lines"])
    assert f"{VIOLATED} ==" in remark["lines"]
    assert page_tree(game, STEPS - 1)["verdict"] == "holds"


# ---- Traces ----


def test_check_finds_a_played_path_violated_at_the_same_step(game: Game, tmp_path: Path) -> None:
    file = tmp_path / "played.trace.ndjson"
    file.write_bytes(save_trace(game, STEPS).text)
    verdict = top.check(file)
    assert [(found.name, found.line) for found in verdict.findings] == [(VIOLATED, STEPS + 1)]
    assert verdict.observed > 100


def test_up_to_the_step_before_the_trace_holds(game: Game, tmp_path: Path) -> None:
    file = tmp_path / "played.trace.ndjson"
    saved = save_trace(game, STEPS - 1)
    file.write_bytes(saved.text)
    assert (top.check(file).verdict, saved.verdict.verdict) == ("holds", "holds")


def test_a_saved_trace_that_is_changed_is_refuted(game: Game, tmp_path: Path) -> None:
    lines = save_trace(game, STEPS).text.decode().splitlines()
    event = json.loads(lines[3])
    event["shows"]["ledgerEndIndex"] += 1
    file = tmp_path / "changed.trace.ndjson"
    file.write_text("\n".join([*lines[:3], json.dumps(event), *lines[4:]]) + "\n", encoding="utf-8")
    (found,) = top.check(file).findings
    assert (found.kind, found.name, found.line) == ("shows", "ledgerEndIndex", 4)


def test_a_trace_is_played_with_its_verdict_and_goes_on_from_any_step(game: Game, tmp_path: Path) -> None:
    file = tmp_path / "played.trace.ndjson"
    file.write_bytes(save_trace(game, STEPS).text)
    again = play_trace(file)
    path = again.session.path(again.begin)
    assert [visit.line for visit in path] == [None, *range(2, STEPS + 2)]
    assert [sorted(visit.failed) for visit in path] == [[]] * STEPS + [[VIOLATED]]
    crash = next(offer for offer in again.session.offers(4).steps if offer.action == "Crash")
    branch = again.session.take(4, crash)
    other = tmp_path / "crashed.trace.ndjson"
    other.write_bytes(save_trace(again, branch.number).text)
    lines = [json.loads(line) for line in other.read_text(encoding="utf-8").splitlines()]
    assert lines[:5] == [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:5]]
    assert (lines[5]["action"], top.check(other).verdict) == ("Crash", "holds")


def test_a_trace_that_leaves_the_spec_is_played_up_to_there(game: Game, tmp_path: Path) -> None:
    file = tmp_path / "torn.trace.ndjson"
    file.write_text(save_trace(game, STEPS).text.decode().replace('"LEADER"', '"FOLLOWER"', 1), encoding="utf-8")
    played = play_trace(file)
    assert (played.begin, len(played.session.visits)) == (0, 1)
    assert "line 2 of the trace is no step of the spec (LS202 role); it ends before" in played.notes


def test_a_trace_of_a_spec_of_the_readers_own_is_checked_against_that(tmp_path: Path) -> None:
    own = lock_service()
    a, b = (own.session.spec.model_values[name] for name in "ab")
    at = 0
    for action, client in (("Lock", a), ("Lock", b), ("Unlock", a)):
        at = own.session.take(at, own.session.step(at, action, {"c": client})).number
    file = tmp_path / "mine.trace.ndjson"
    file.write_bytes(save_trace(own, at).text)
    verdict = top.check(file, spec=LOCK_SERVICE)
    assert (verdict.verdict, verdict.steps, verdict.observed) == ("holds", 3, 8)


def test_a_path_that_cannot_be_a_trace_is_refused_with_the_reason(game: Game) -> None:
    with pytest.raises(NoTraceError, match="a trace has at least one step; take one first"):
        save_trace(game, 0)
    several = ways()
    moved = several.session.take(0, several.session.offers(0).steps[0])
    with pytest.raises(NoTraceError, match="begins in the one initial state of its spec, and this one has several"):
        save_trace(several, moved.number)


def test_a_model_of_a_part_of_the_system_has_no_traces() -> None:
    part = play_model("half_is_no_quorum")
    step = part.session.take(0, part.session.offers(0).steps[0])
    with pytest.raises(NoTraceError, match="half_is_no_quorum is no model of the whole of DLedger: it has no traces"):
        save_trace(part, step.number)


@pytest.mark.nightly
def test_a_model_that_begins_later_has_no_traces() -> None:
    later = play_model("stale_install_bug")
    step = later.session.take(0, later.session.offers(0).steps[0])
    with pytest.raises(NoTraceError, match="stale_install_bug does not begin as a trace does"):
        save_trace(later, step.number)


def test_a_trace_whose_check_disagrees_with_the_session_is_not_saved() -> None:
    wrong, path = played()
    args = {"n": wrong.session.spec.model_values["n1"], "resurrected": 0}
    forged = wrong.session.take(STEPS, Offer("Restart", args, path[-1].state))
    with pytest.raises(NoTraceError, match=r"does not allow step 16, Restart \(LS20\d \w+\)$"):
        save_trace(wrong, forged.number)


#: What models of other dispatchers define, and no header of a trace can say: MCRepairs.tla and MCRewrite.tla.
REPLACED = "TruncateStore|Learnt|DoTruncate"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    [
        model.name
        for manifest in manifests()
        for model in manifest.models
        if model.result == "violated" and model.mode == "check" and not model.witness and (model.depth or 99) <= 20
    ],
)
def test_the_counterexample_of_every_model_is_a_trace_with_its_violation_or_says_why_not(name: str) -> None:
    game = play_model(name)
    kept = 1 + len(state_equivalence(game.session.spec).images)
    found = explore(game.session.spec, SearchOptions(check_deadlock=False, max_states=60_000 // kept))
    if found.violation is None or found.violation.back_to is not None:
        pytest.skip("no violation of a state or a step within the bound")
    last = replayed(game, found.violation.trace)
    assert last.failed
    try:
        saved = save_trace(game, last.number)
    except NoTraceError as error:
        assert re.search("does not begin as|has other variables|no model of the whole", str(error)) or re.search(
            f"(does not allow|at another step).*; the model defines (.*, )?({REPLACED})(, .*)? otherwise$", str(error)
        )
        return
    named = {*saved.verdict.violations, *(note.split()[1] for note in saved.notes)}
    assert last.failed <= named


# ---- Scenarios ----


@pytest.mark.nightly
def test_the_scenario_of_the_docs_is_the_shortest_way_to_the_violation() -> None:
    found = explore(flawed().session.spec, SearchOptions(check_deadlock=False))
    assert found.violation is not None
    assert (found.violation.label, len(found.violation.trace)) == (VIOLATED, STEPS + 1)


def test_a_scenario_leads_to_the_same_states_again(game: Game, tmp_path: Path) -> None:
    text = b"".join(scenario_lines(game, STEPS)).decode()
    again = flawed()
    last = play(again, read_scenario(scenario_file(tmp_path, text)))
    here, there = (found.session.path(STEPS) for found in (game, again))
    assert [visit.state for visit in here] == [visit.state for visit in there]
    assert last.failed == {VIOLATED}


def test_a_scenario_of_several_ways_keeps_the_one_that_was_taken(tmp_path: Path) -> None:
    first = ways()
    start = first.session.begin(1)
    last = first.session.take(start.number, first.session.step(start.number, "Move", {}, 1))
    text = b"".join(scenario_lines(first, last.number)).decode()
    assert play(ways(), read_scenario(scenario_file(tmp_path, text))).state == last.state


def test_a_scenario_of_a_trace_has_its_constants(game: Game, tmp_path: Path) -> None:
    file = tmp_path / "played.trace.ndjson"
    file.write_bytes(save_trace(game, STEPS).text)
    played = play_trace(file)
    scenario = read_scenario(scenario_file(tmp_path, b"".join(scenario_lines(played, played.begin)).decode()))
    assert scenario.start.trace is not None
    assert play(play_header(scenario.start.trace, "s", "s"), scenario).failed == {VIOLATED}


START = '{"kind":"scenario","format":"lockstep-scenario/1","spec":"LockService"}\n'
LOCK = '{"kind":"step","action":"Lock","args":{"c":"a"}}\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ":1: the file is empty"),
        (LOCK, ":1: field `kind`: the first line must be that of the scenario"),
        (START + START, ":2: field `kind`: a second first line"),
        (START.replace("/1", "/2"), ":1: field `format`: 'lockstep-scenario/2' is not 'lockstep-scenario/1'"),
        (START.replace('"spec":"LockService"', '"initial":0'), ":1: it needs one of the fields"),
        (
            START.replace("LockService", "Other"),
            ":1: field `spec`: the scenario is of 'Other', and LockService is played",
        ),
        (START.replace("}", ',"initial":1}'), ":1: field `initial`: 1 is none of the 1 initial states"),
        (START + LOCK.replace("Lock", "Luck"), ":2: field `action`: the spec has no action 'Luck'; did you mean Lock"),
        (START + LOCK.replace('"c"', '"d"'), ":2: field `args.c`: Lock needs it"),
        (START + LOCK.replace('"a"', '"a","d":1'), ":2: field `args.d`: Lock has no such parameter"),
        (START + LOCK.replace('"a"', "null"), ":2: field `args.c`: null stands for nothing here"),
        (START + LOCK.replace('"args"', '"arg"'), ":2: field `arg`: unknown field"),
        (START + LOCK.rstrip("\n"), ":2: the file is truncated"),
        (START + "[]\n", ":2: not a line of a scenario: it is no JSON object"),
    ],
)
def test_a_malformed_scenario_is_refused_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=re.escape(f"mine.scenario.ndjson{problem}")):
        play(lock_service(), read_scenario(scenario_file(tmp_path, text)))


def test_a_step_of_a_scenario_that_is_not_enabled_is_refused_with_its_line_and_the_reason(tmp_path: Path) -> None:
    scenario = read_scenario(scenario_file(tmp_path, START + LOCK + LOCK))
    with pytest.raises(ScenarioRefusedError, match=r"mine\.scenario\.ndjson:3: Lock is not enabled") as refused:
        play(lock_service(), scenario)
    assert refused.value.lines[0].endswith("~Queued(c)")
