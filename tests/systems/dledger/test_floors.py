"""The clusters of each plan reach their floor, and nothing is excused that needs no excuse."""

from __future__ import annotations

import functools
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.base.package_data import spec_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.step_coverage import Reached, all_parts
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.fleet_floors import judge_floor
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.constants import header_constants
from lockstep.systems.dledger.floors import CLUSTERS, EVENTS, floors
from lockstep.systems.dledger.plans import PLANS, VERIFIED
from lockstep.systems.dledger.unreachable import RARE_PARTS, UNREACHABLE, unreachable
from lockstep.systems.plan_floors import FEW_CLUSTERS, FEW_EVENTS, actions, rare_parts
from lockstep.systems.registry import manifest
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from tests.support.sampling import sampled
from tests.support.systems.fleets import covered, covering_spec, times_reached

#: Plans of every run; `make verify` asks for the floors of all that it runs.
SAMPLE = ("ordered", "published")

#: More of the clusters than this is not too seldom.
SELDOM_SHARE = 1 / 3

#: Parts that are too seldom in every plan that could reach them, each with the model that reaches it.
SHOWN_BY = {
    ("answer", "TRANSFER INCONSISTENT_TERM"): "witness_transfer_too_late",
    ("log", "cut entries back"): "truncated_tail_bug",
}
#: Parts that no model shows either: none has both `VoteMessages` and `VoteFile`. A larger fleet did.
SHOWN_BY_NOTHING = {("answer", "VOTE REJECT_TERM_SMALL_THAN_LEDGER"), ("answer", "HEARTBEAT INCONSISTENT_LEADER")}


@functools.cache
def everything(plan: str) -> frozenset[Reached]:
    return all_parts(covering_spec(plan))


@functools.cache
def fleet(plan: str, clusters: int, events: int) -> Counter[Reached]:
    return times_reached(plan, clusters, events)


@pytest.mark.nightly
@pytest.mark.parametrize("plan", VERIFIED)
def test_the_clusters_that_verify_runs_reach_their_floor(plan: str) -> None:
    found = fleet(plan, FEW_CLUSTERS, FEW_EVENTS)
    judged = judge_floor(plan, floors(plan, covering_spec(plan)), found, FEW_CLUSTERS, FEW_EVENTS)
    assert (judged.verdict, judged.result) == (Verdict.HOLDS, "holds")
    assert judged.required >= 25


@pytest.mark.nightly
@pytest.mark.parametrize("plan", PLANS)
def test_a_fleet_reaches_all_that_is_not_excused_and_nothing_excused_is_common(plan: str) -> None:
    found = fleet(plan, CLUSTERS, EVENTS)
    whole = floors(plan, covering_spec(plan))[-1]
    judged = judge_floor(plan, (whole,), found, CLUSTERS, EVENTS)
    assert (judged.verdict, judged.result) == (Verdict.HOLDS, "holds")
    assert {what for what in whole.seldom if found[what] > CLUSTERS * SELDOM_SHARE} == set()
    assert found.keys() <= everything(plan), "what the spec has not"


@pytest.mark.parametrize("plan", sampled(PLANS, SAMPLE))
def test_a_plan_must_reach_all_that_the_spec_has_but_for_its_excuses(plan: str) -> None:
    whole = floors(plan, covering_spec(plan))[-1]
    assert whole.must | whole.unreachable.keys() | whole.seldom.keys() == everything(plan)
    assert whole.must.isdisjoint({*whole.unreachable, *whole.seldom})
    assert whole.must >= floors(plan, covering_spec(plan))[0].must


@pytest.mark.nightly
def test_between_them_the_plans_must_reach_all_but_what_no_plan_can_reach_or_is_known_to_be_missed() -> None:
    ruled_out = [unreachable(covering_spec(plan)) for plan in PLANS]
    required = frozenset().union(*(floors(plan, covering_spec(plan))[-1].must for plan in PLANS))
    left = {what for what in everything("ordered") - required if not all(what in each for each in ruled_out)}
    assert left == SHOWN_BY.keys() | SHOWN_BY_NOTHING
    assert {manifest().model(name).result for name in SHOWN_BY.values()} == {"violated"}


# ---- No stale excuse ----


@pytest.mark.nightly
@pytest.mark.parametrize("argument", UNREACHABLE, ids=lambda argument: argument.why)
def test_without_an_argument_some_plan_would_have_to_reach_more(argument: object) -> None:
    """Each thing it speaks of: the spec has it, the constants alone do not rule it out, nor does another argument."""
    (own,) = (each for each in UNREACHABLE if each is argument)
    others = [each for each in UNREACHABLE if each is not argument]
    chosen = {plan: header_constants(covering_spec(plan).constants) for plan in PLANS}
    for what in own.what:
        assert any(
            what in everything(plan)
            and what not in actions(*covering_spec(plan).never)
            and not any(what in each.what and each.where(chosen[plan]) for each in others)
            for plan in PLANS
            if own.where(chosen[plan])
        ), what


@pytest.mark.nightly
@pytest.mark.parametrize("each", RARE_PARTS, ids=lambda each: each.why)
def test_without_an_excuse_every_plan_of_it_would_have_to_reach_more(each: object) -> None:
    (own,) = (one for one in RARE_PARTS if one is each)
    needless = {
        (plan, what)
        for plan in own.plans
        for what in own.what
        if what not in everything(plan) - unreachable(covering_spec(plan)).keys()
    }
    assert needless == set()


def test_an_excuse_is_given_once() -> None:
    given = Counter((plan, what) for each in RARE_PARTS for plan in each.plans for what in each.what)
    assert [what for what, times in given.items() if times > 1] == []


@pytest.mark.nightly
def test_a_fleet_without_its_excuses_is_below_its_floor() -> None:
    found = fleet("four", CLUSTERS, EVENTS)
    whole = floors("four", covering_spec("four"))[-1]
    for excuse in (*whole.unreachable, *(what for what in rare_parts("four", RARE_PARTS) if found[what] == 0)):
        stricter = replace(whole, must=whole.must | {excuse}, unreachable={})
        judged = judge_floor("four", (stricter,), found, CLUSTERS, EVENTS)
        assert (judged.verdict, judged.missing) == (Verdict.VIOLATED, (excuse,))


def test_a_system_states_its_floors_where_it_has_a_simulator() -> None:
    assert DLEDGER.floors is not None


# ---- A definition of what a step reaches that is wrong ----


def planted(folder: Path, before: str, after: str) -> Spec:
    """The spec of the plan `ordered` with another text in Reached.tla."""
    shutil.copytree(spec_dir() / "dledger", folder / "dledger", ignore=shutil.ignore_patterns("models"))
    module = folder / "dledger" / "Reached.tla"
    text = module.read_text(encoding="utf-8")
    assert text.count(before) == 1
    module.write_text(text.replace(before, after), encoding="utf-8")
    constants = covering_spec("ordered").constants
    return load_spec(module, DLEDGER.trace_cfg, constants=constants, footprints=DLEDGER.footprints, cache_dir=folder)


@pytest.mark.nightly
def test_a_part_that_its_definition_never_yields_is_missing_from_the_floor(tmp_path: Path) -> None:
    spec = planted(tmp_path, '(IF IsElected(before, after) THEN {"leader elected"} ELSE {})', "{}")
    runs = [covered("ordered", seed, FEW_EVENTS, spec) for seed in range(1, FEW_CLUSTERS + 1)]
    found = {what for run in runs for what in run.reached or ()}
    judged = judge_floor("ordered", floors("ordered", spec), found, FEW_CLUSTERS, FEW_EVENTS)
    assert judged.verdict is Verdict.VIOLATED
    assert judged.missing == (("log", "another leader"), ("log", "leader elected"))


@pytest.mark.nightly
def test_a_definition_without_a_value_is_named_with_its_line_and_its_cluster_is_no_pass(tmp_path: Path) -> None:
    spec = planted(tmp_path, 'action = "RefuseAppend" THEN {args.code}', 'action = "ChangeToLeader" THEN {args.code}')
    found = covered("ordered", 1, 100, spec)
    assert found.verdict is Verdict.INTERNAL
    place = re.search(r"Reached\.tla:(\d+):\d+: LS603 Reached of ChangeToLeader", found.reason)
    assert place is not None, found.reason
    assert spec.definitions["ClientsReached"].line <= int(place[1]) <= spec.definitions["ClientsReached"].end_line
    assert judge_cluster("ordered", found, 100)[0] is Verdict.INTERNAL
