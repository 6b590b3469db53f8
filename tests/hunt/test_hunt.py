"""`lockstep hunt`: a flaw is found, shrunk, confirmed and written; in the repaired system nothing is found.

Source: the guidance is that of swarm testing (Groce and others, "Swarm Testing", 2012) and of Hypothesis' target().
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.cli.hunt_command import command
from lockstep.hunt.archive import Archive
from lockstep.hunt.example import Target, is_wanted, replay
from lockstep.hunt.search import FoundRun, Search, without_needless_steps
from lockstep.hunt.violating_trace import UnconfirmedError, confirmed
from lockstep.jobs.play.play_game import play_header
from lockstep.jobs.play.play_scenario import play, read_scenario
from lockstep.systems.dledger.hunted_properties import DLedgerWatch
from lockstep.systems.file_check import check
from lockstep.systems.hunted_group import NODES, Move, Violation
from lockstep.systems.registry import SYSTEMS
from raftref.dledger.server import ACTIONS as DLEDGER_ACTIONS
from raftref.hashicorp.hashicorp_raft import ACTIONS as HASHICORP_ACTIONS
from tests.support.systems.hunted_examples import examples, hunted, target

#: The seed of the hunts here, whose flaw every seed finds in a few seconds.
SEED = 3
#: The budget, of the processor: other tests run beside these.
SECONDS = 120.0


def search(wanted: Target, seed: int = SEED, database: Path | None = None, seconds: float = SECONDS) -> Search:
    return Search(wanted, seed, seconds, database, clock=time.process_time, shrink_seconds=0)


@functools.cache
def async_flush() -> tuple[Search, FoundRun]:
    """A hunt for AsyncFlush, and what it found."""
    done = search(target("DLedger", "AsyncFlush"))
    found = done.run()
    assert found is not None
    return done, found


def test_a_flaw_is_found_and_its_trace_is_refused_by_the_property_that_it_violates(tmp_path: Path) -> None:
    words = ["AsyncFlush", "--seed", str(SEED), "--no-database", "-o", str(tmp_path), "--format", "json"]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.return_value == 1, done.output
    found = json.loads(done.stdout)
    verdict = check(found["trace"])
    assert verdict.verdict is Verdict.VIOLATED
    assert verdict.violations[found["found"]].line == verdict.events + 1 == len(found["steps"]) + 1
    again = read_scenario(Path(found["scenario"]))
    assert again.start.trace is not None
    played = play(play_header(again.start.trace, again.source, "found"), again)
    assert played.depth == len(found["steps"])
    assert found["found"] in played.failed
    test = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--disable-plugin-autoload", "-p", "no:cacheprovider", found["test"]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert test.returncode == 0, test.stdout + test.stderr


@pytest.mark.nightly
def test_no_step_of_what_was_found_can_be_left_out() -> None:
    wanted, (_, found) = target("DLedger", "AsyncFlush"), async_flush()
    short = without_needless_steps(wanted, found)
    assert len(short.moves) < len(found.moves)
    for place in range(len(short.moves)):
        left = replay(wanted, short.plan, short.moves[:place] + short.moves[place + 1 :])
        assert left.violation is None or left.violation[0] != short.violation[0], f"step {place}"


@pytest.mark.nightly
def test_the_same_seed_finds_the_same_run_after_the_same_examples() -> None:
    done, found = async_flush()
    again = search(target("DLedger", "AsyncFlush"))
    assert again.run() == found
    assert again.progress.examples == done.progress.examples


@pytest.mark.nightly
@pytest.mark.parametrize(("spec", "floor"), [("DLedger", 50), ("HashicorpRaft", 35)])
def test_in_the_repaired_system_nothing_else_is_found_though_most_actions_are_taken(spec: str, floor: int) -> None:
    wanted = replace(target(spec), properties=target(spec).properties - hunted(spec).may_fail_repaired)
    done = Search(wanted, SEED, SECONDS, clock=time.process_time, max_examples=100)
    assert done.run() is None
    assert done.progress.examples == 100
    assert sum(action in done.progress.reached for action in wanted.hunted.actions) >= floor
    assert done.progress.distances["committed"] >= 5
    assert done.progress.distances["elections"] >= 3


def test_what_the_first_run_of_hypothesis_found_is_tried_first_again(tmp_path: Path) -> None:
    wanted = target("DLedger", "VoteFile")
    assert search(wanted, database=tmp_path).run() is not None
    again = search(wanted, SEED + 100, tmp_path)
    assert again.run() is not None
    assert again.progress.examples == 1


def test_a_hunt_leaves_alone_what_hunts_for_other_targets_have_kept(tmp_path: Path) -> None:
    """Hypothesis deletes an example that fails no more from its database."""
    flawed = target("DLedger", "VoteFile")
    assert search(flawed, database=tmp_path).run() is not None
    others = [target("DLedger"), replace(flawed, nodes=5), replace(flawed, features={"Clients": False})]
    others += [
        replace(flawed, because=False),
        replace(flawed, properties=frozenset({"NoHoles"})),
        target("HashicorpRaft"),
    ]
    for other in others:
        done = Search(other, SEED, SECONDS, tmp_path, clock=time.process_time, max_examples=1)
        done.run()
        assert done.progress.examples == 1
    again = search(flawed, SEED + 1, tmp_path)
    assert again.run() is not None
    assert again.progress.examples == 1


def test_what_the_same_steps_violate_without_the_flaw_is_not_wanted_though_they_violate_something_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted properties: NoHoles fails at the first step without flaws, IndexOrder at the second in any group."""

    def planted(watch: DLedgerWatch, move: Move) -> Iterator[Violation]:
        node, _, _ = move
        if node == "n1" and not watch._cluster.plan.flaws:
            yield "NoHoles", "planted"
        if node == "n2":
            yield "IndexOrder", "planted"
        if node == "n3" and watch._cluster.plan.flaws:
            yield "LogMatching", "planted"

    monkeypatch.setattr(DLedgerWatch, "after", planted)
    wanted = target("DLedger", "VoteFile")
    plan = wanted.hunted.plan(NODES, (), wanted.flaws, random.Random(1))
    first, second, third = (("n1", "NextTerm", (1,)), ("n2", "NextTerm", (1,)), ("n3", "NextTerm", (1,)))
    of_anybody = replay(wanted, plan, [first, second])
    of_the_flaw = replay(wanted, plan, [first, third])
    assert (of_anybody.violation, of_the_flaw.violation) == (("IndexOrder", "planted"), ("LogMatching", "planted"))
    assert not is_wanted(wanted, plan, of_anybody)
    assert is_wanted(wanted, plan, of_the_flaw)


@pytest.mark.parametrize(
    ("switches", "features"),
    [
        ((), {}),
        (("repaired",), {}),
        (("repaired", "Clients=false"), {"Clients": False}),
        (("Clients=false", "Batches=true"), {"Clients": False, "Batches": True}),
    ],
)
def test_a_feature_that_is_named_is_fixed_and_no_other(switches: Sequence[str], features: Mapping[str, bool]) -> None:
    words = [word for each in switches for word in ("--switch", each)]
    with pytest.MonkeyPatch.context() as patched:
        sought: list[Target] = []

        class Watched(Search):
            def __init__(self, wanted: Target, *rest: Any) -> None:
                sought.append(wanted)
                super().__init__(wanted, *rest)

        patched.setattr("lockstep.hunt.search.Search", Watched)
        CliRunner().invoke(command, ["NoHoles", *words, "--minutes", "0.001", "--no-database"])
    assert [each.features for each in sought] == [features]


@pytest.mark.parametrize(
    ("fixed", "always", "never"),
    [
        ({"PendingMap": False}, (), ("Batches", "PendingMap")),
        pytest.param({}, (), (), marks=pytest.mark.nightly),
        pytest.param({"Clients": False}, (), ("Clients",), marks=pytest.mark.nightly),
        pytest.param({"Clients": True}, ("Clients",), (), marks=pytest.mark.nightly),
        pytest.param({"Batches": True}, ("Batches", "PendingMap"), (), marks=pytest.mark.nightly),
    ],
)
def test_examples_have_the_features_that_are_fixed_and_draw_the_rest(
    fixed: Mapping[str, bool], always: Sequence[str], never: Sequence[str]
) -> None:
    wanted = replace(target("DLedger"), properties=frozenset(), features=fixed)
    has = [frozenset(map(str, each.plan.features)) for each in examples(wanted, Archive(), 30)]
    for feature in wanted.hunted.features:
        seen = {feature in each for each in has}
        assert seen == ({True} if feature in always else {False} if feature in never else {True, False}), feature


@pytest.mark.parametrize(
    ("words", "nodes"),
    [(("AsyncFlush",), 3), (("PushTermCheck",), 5), (("EvenQuorum",), 4), (("AsyncFlush", "--nodes", "5"), 5)],
)
def test_a_group_has_as_many_nodes_as_the_flaw_needs_unless_nodes_says_otherwise(
    words: tuple[str, ...], nodes: int, tmp_path: Path
) -> None:
    done = CliRunner().invoke(command, [*words, "--minutes", "0.002", "--no-database", "-o", str(tmp_path)])
    assert f", {nodes} nodes, flaws: {words[0]}" in done.output.splitlines()[0]


#: The steps that no example has: pipelines are off unless a group asks for them, and no step comes within another.
#: PushAnsweredAgain, FailStore and SkipCommit are of features of recordings.
NEVER_TAKEN = {
    *("PipelineSend", "PipelineAbort", "RequestVoteAroundHeartbeat"),
    *("PushAnsweredAgain", "FailStore", "SkipCommit"),
}


def test_the_parts_of_a_system_have_every_action_of_its_reference_once() -> None:
    for spec, actions in (("DLedger", DLEDGER_ACTIONS), ("HashicorpRaft", HASHICORP_ACTIONS)):
        assert sorted(hunted(spec).actions) == sorted([*(set(actions) - NEVER_TAKEN), "Lose", "Duplicate"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("IndexOrdr",), "did you mean IndexOrder"),
        (("IndexOrder", "--nodes", "9"), "3 to 7 nodes"),
        (("LateTruncate", "--switch", "repaired"), "--switch goes with a property"),
        (("IndexOrder", "--switch", "Fifo=true"), "Fifo"),
        (("IndexOrder", "--switch", "Batches=true", "--switch", "PendingMap=false"), "Batches needs PendingMap"),
        (("IndexOrder", "--system", "Paxos"), "none of DLedger, HashicorpRaft"),
        (("TornVote", "--system", "DLedger"), "TornVote"),
        (("--minutes", "0"), "--minutes"),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


@pytest.mark.nightly
def test_the_repair_of_late_truncate_does_not_hold_for_entries_of_earlier_terms() -> None:
    """Pin what a hunt found with every flaw repaired, as docs/hunt.md has it."""
    verdict = check(Path(__file__).parent / "late_truncate_repaired.trace.ndjson", switches={"repaired": True})
    assert set(verdict.violations) == hunted("DLedger").may_fail_repaired
    assert verdict.deviation is None


def test_a_budget_that_is_over_before_the_first_example_is_no_result() -> None:
    with pytest.raises(GaveUpError, match="before the first example"):
        CliRunner().invoke(command, ["all", "--minutes", "1e-9", "--no-database"], catch_exceptions=False)


def test_a_violation_that_the_spec_does_not_confirm_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: the watch takes every commit for a violation of the order of indexes."""

    def every_commit(watch: DLedgerWatch, _: Move) -> Iterator[Violation]:
        if any(each.ledger_store.committed_index >= 0 for each in watch._cluster.servers.values()):
            yield "IndexOrder", "planted"

    monkeypatch.setattr(DLedgerWatch, "after", every_commit)
    wanted = target("DLedger")
    found = search(wanted).run()
    assert found is not None
    with pytest.raises(UnconfirmedError, match="does not confirm that IndexOrder"):
        confirmed(SYSTEMS["DLedger"], wanted, without_needless_steps(wanted, found), "planted")
