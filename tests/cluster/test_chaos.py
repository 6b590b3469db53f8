"""Runs of chaos: nothing confirmed is lost in a repaired group, and the published flaws show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.base.errors import GaveUpError
from lockstep.cli.chaos_command import command
from lockstep.cluster.chaos_faults import LateKind
from lockstep.cluster.chaos_run import ChaosResult, ChaosRun, drawn_kind, kinds_of_faults
from lockstep.cluster.chaos_series import ChaosSeries
from lockstep.cluster.chaos_verdict import ChaosJudge, ChaosVerdict
from lockstep.cluster.client_history import Append, Read, Verified, differences, objections, stale_reads
from lockstep.systems.dledger.hunted_properties import DLedgerWatch
from lockstep.systems.hunted_group import Move, Violation
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import AppendOutcome, NodeKind, RunningNodes
from raftref.dledger.client_messages import ResponseCode
from raftref.hashicorp.runtime.leader_verification import LeaderVerification
from raftref.runtime.virtual import VirtualGroup
from tests.support.places import ROOT

DLEDGER = SYSTEMS["DLedger"]


def running() -> RunningNodes:
    assert DLEDGER.running is not None
    return DLEDGER.running()


def chaos(seed: int, seconds: float, flaws: tuple[str, ...] = (), *, power_fails: bool = True) -> ChaosResult:
    return ChaosRun(running(), seed, 3, NodeKind((), flaws), power_fails=power_fails).run(seconds)


def judged(result: ChaosResult, folder: Path, *, with_spec: bool = False) -> list[str]:
    judge = ChaosJudge(DLEDGER, running(), 3)
    return judge.judge(result, folder / "chaos.trace.ndjson", with_spec=with_spec).reasons


def test_a_repaired_group_loses_nothing_and_its_trace_holds(tmp_path: Path) -> None:
    result = chaos(3, 30.0)
    assert result.confirmed > 40
    assert sum(result.faults.values()) > 5
    assert judged(result, tmp_path, with_spec=True) == []


@pytest.mark.parametrize("seed", [1, 8, 14, 16])
def test_nothing_confirmed_is_lost_whatever_fails(seed: int, tmp_path: Path) -> None:
    result = chaos(seed, 30.0)
    assert result.confirmed > 40
    assert len(result.faults) > 3
    assert judged(result, tmp_path) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [309, 324])
def test_a_run_that_was_taken_again_wrongly_once_is_a_behaviour_of_the_spec(seed: int, tmp_path: Path) -> None:
    """docs/measured/chaos.md names the mistakes."""
    result = chaos(seed, 60.0)
    assert result.confirmed > 30
    assert judged(result, tmp_path, with_spec=True) == []


def test_clients_that_a_full_disk_refuses_are_counted() -> None:
    result = chaos(1, 30.0)
    refused = sum(each.code == ResponseCode.DISK_FULL.name for each in result.appends)
    assert result.faults["full disk"] > 0
    assert result.outcomes["refused by a full disk"] == refused > 0


def test_the_same_seed_gives_the_same_run() -> None:
    first, again = chaos(3, 10.0), chaos(3, 10.0)
    assert first == again


def test_what_is_chosen_of_the_nodes_is_not_drawn() -> None:
    kinds = [
        drawn_kind(running(), NodeKind(("Applies",), ("VoteFile",), {"rpc_timeout": 7.0}), Random(seed))
        for seed in range(20)
    ]
    assert all("Applies" in each.features and each.flaws == ("VoteFile",) for each in kinds)
    assert {each.settings["rpc_timeout"] for each in kinds} == {7.0}
    assert len({each.settings["heart_beat_time_interval"] for each in kinds}) > 2
    assert {"Batches" in each.features for each in kinds} == {True, False}


def test_no_process_dies_within_a_step_where_the_spec_has_no_half_of_one() -> None:
    """A batch of entries is stored whole in the spec."""
    runs = [ChaosRun(running(), seed, 3, NodeKind(("Batches",))).run(12.0) for seed in (11, 19)]
    assert not any(each.faults["kill within a step"] for each in runs)
    assert sum(each.faults["kill"] for each in runs) > 0


@pytest.mark.nightly
def test_the_published_flaws_show_and_the_spec_agrees(tmp_path: Path) -> None:
    published = running().published
    result = chaos(1, 60.0, published, power_fails=False)
    reasons = judged(result, tmp_path)
    assert any(each.startswith("CommittedEntriesStayProp: ") for each in reasons)
    words = ["--flaw", "published", "--no-power", "--seed", "1", "--runs", "1", "--spec-every", "0", "--format", "json"]
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 1
    assert json.loads(done.stdout)["wrong"] == {"1": reasons}


def test_a_property_that_the_spec_does_not_see_violated_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted mistake: the properties in Python take every step of n1 for a violation."""

    def planted(watch: DLedgerWatch, move: Move) -> Iterator[Violation]:
        if move[0] == "n1":
            yield "LogMatching", "planted"

    result = chaos(1, 5.0)
    monkeypatch.setattr(DLedgerWatch, "after", planted)
    verdict = ChaosJudge(DLEDGER, running(), 3).judge(result, tmp_path / "chaos.trace.ndjson", with_spec=False)
    assert verdict.denied == {"LogMatching"}
    reasons = verdict.reasons
    assert reasons[0] == "LogMatching: planted"
    assert reasons[1].endswith("LogMatching: the spec and its words in Python differ")


def test_a_series_in_which_a_kind_of_fault_never_happened_is_no_pass(tmp_path: Path) -> None:
    words = ["--runs", "1", "--seconds", "5", "--spec-every", "0", "-o", str(tmp_path)]
    with pytest.raises(GaveUpError, match="no pass: in 1 runs there was no kill, "):
        CliRunner().invoke(command, words, catch_exceptions=False)


def test_a_group_that_confirms_nothing_once_all_faults_are_over_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted mistake: all clients ask in vain."""
    monkeypatch.setattr(VirtualGroup, "ask", lambda *_: None)
    words = ["--runs", "1", "--seconds", "1", "--spec-every", "0", "-o", str(tmp_path)]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.return_value == 1
    assert "seed 1:\n  nothing was confirmed in the 80 s after the last fault" in done.output


def test_a_node_that_stays_behind_once_all_faults_are_over_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: n2 commits nothing."""
    monkeypatch.setattr("lockstep.cluster.chaos_run.MORE_CALM", 3.0)

    def committed(driver: Any) -> Iterator[tuple[int, str]]:
        yield from (each for each in running().committed(driver) if driver.node_id != "n2")

    objected = ChaosRun(replace(running(), committed=committed), 1, 3, NodeKind()).run(1.0).objections
    assert len(objected) == 1
    assert re.fullmatch(
        r"n2 has not committed index \d+, which was confirmed in the 8 s after the last fault", objected[0]
    )


def test_a_group_that_is_slow_to_agree_again_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that clients ask waits until half a minute after the last fault."""
    ask = VirtualGroup.ask
    monkeypatch.setattr(VirtualGroup, "ask", lambda group, *args: ask(group, *args) if group.now > 35 else None)
    result = chaos(1, 5.0)
    assert result.objections == []
    assert min(each.ended for each in result.appends if each.index is not None) > 35


def test_a_series_in_which_nothing_was_confirmed_or_shown_is_no_pass() -> None:
    """Reads of indexes that have nothing show nothing."""
    series, result = ChaosSeries(()), ChaosResult(1)
    result.reads.append(Read(0, 1.0, 2.0, {}, -1, "INDEX_OUT_OF_RANGE"))
    series.add(ChaosVerdict(result), checked=False)
    assert series.missing() == ["append confirmed", "read answered"]
    result.appends.append(append("a", 0, 1, 0))
    result.reads.append(Read(0, 1.0, 2.0, {0: "a"}, 0, "SUCCESS"))
    series.add(ChaosVerdict(result), checked=False)
    assert series.missing() == []


def test_a_series_in_which_no_thread_was_held_up_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: threads go on whatever the faults are."""
    series = ChaosSeries(("held-up threads",))
    series.add(ChaosVerdict(chaos(4, 10.0)), checked=False)
    assert "hold-ups of threads" not in series.missing()
    monkeypatch.setattr(VirtualGroup, "hold_up", lambda *_: None)
    series = ChaosSeries(("held-up threads",))
    series.add(ChaosVerdict(chaos(4, 10.0)), checked=False)
    assert series.faults["held-up threads"] > 0
    assert "hold-ups of threads" in series.missing()


def test_a_series_in_which_no_message_was_cut_off_lost_or_late_is_no_pass() -> None:
    """A group of one node has cuts, and no messages."""
    series = ChaosSeries(("cut",))
    series.add(ChaosVerdict(ChaosRun(running(), 5, 1, NodeKind()).run(20.0)), checked=False)
    assert series.faults["cut"] > 0
    assert {"messages cut off", "messages lost", "messages delayed"} <= set(series.missing())


def test_a_series_in_which_no_message_of_a_late_kind_was_late_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: all messages of a late kind are in time."""
    series = ChaosSeries(("late kind",))
    series.add(ChaosVerdict(chaos(2, 10.0)), checked=False)
    assert "messages of a late kind" not in series.missing()
    monkeypatch.setattr(LateKind, "covers", lambda *_: False)
    series = ChaosSeries(("late kind",))
    series.add(ChaosVerdict(chaos(2, 10.0)), checked=False)
    assert series.faults["late kind"] > 0
    assert "messages of a late kind" in series.missing()


def test_a_series_is_not_to_have_the_faults_that_its_nodes_never_have() -> None:
    """No process of a group with batches dies within a step."""
    assert "kill within a step" in kinds_of_faults(running(), power_fails=True)
    kinds = kinds_of_faults(running(), ("Batches",), power_fails=True)
    assert "kill" in kinds
    assert "kill within a step" not in kinds


def test_nodes_that_have_committed_different_values_in_the_end_are_named() -> None:
    """The planted mistake: the files of n2 have something else than was appended."""

    def committed(driver: Any) -> Iterator[tuple[int, str]]:
        yield from ((index, value + "?" * (driver.node_id == "n2")) for index, value in running().committed(driver))

    result = ChaosRun(replace(running(), committed=committed), 1, 3, NodeKind()).run(5.0)
    assert any(re.search(r"n\d has \S+ committed at index 0, and n\d has \S+$", each) for each in result.objections)


def test_a_leader_that_confirms_that_it_leads_without_asking_anybody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake is one of the driver: it takes no step, so the properties of the spec say nothing of it.

    With a long lease a leader that was deposed is one that can be asked.
    """
    raft, kind = SYSTEMS["HashicorpRaft"].running, NodeKind((), (), {"leader_lease_timeout": 5.0})
    assert raft is not None
    assert ChaosRun(raft(), 13, 3, kind).run(60.0).objections == []
    monkeypatch.setattr(LeaderVerification, "ask", lambda routine, key: routine._futures.answer(key, None))
    objected = ChaosRun(raft(), 13, 3, kind).run(60.0).objections
    assert objected
    assert all("confirmed that it leads, and had led no term after" in each for each in objected)


@pytest.mark.nightly
def test_the_page_shows_what_a_series_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^\$ lockstep chaos (.*)\n((?:.+\n)+?)```", page, re.MULTILINE)
    done = CliRunner().invoke(command, [*shown[0].split(), "-o", str(tmp_path)], standalone_mode=False)
    assert (done.return_value, done.output) == (0, shown[1])


@pytest.mark.nightly
@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_a_thousand_runs_of_a_minute_lose_nothing(spec: str, tmp_path: Path) -> None:
    """Five hundred of each system, with every kind of fault, and all that is to come of them."""
    words = ["--system", spec, "--runs", "500", "--spec-every", "10", "-o", str(tmp_path), "--format", "json"]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    counted = json.loads(done.stdout)
    assert counted["wrong"] == {}
    assert done.return_value == 0, done.output
    assert counted["confirmed"] > 25_000
    assert counted["checked"] > 40


@pytest.mark.nightly
@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_a_group_of_processes_loses_nothing_whatever_fails(spec: str, tmp_path: Path) -> None:
    words = ["--real", "--system", spec, "--runs", "5", "-o", str(tmp_path), "--format", "json"]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.return_value == 0, done.output
    counted = json.loads(done.stdout)
    assert counted["confirmed"] > 100
    assert counted["checked"] == 5


def test_an_operator_of_a_single_node_can_hand_over_to_nobody() -> None:
    assert ChaosRun(running(), 3, 1, NodeKind()).run(20.0).orders["transfer"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--each-flaw", "--nodes", "5", "--seed", "7"], "--nodes, --seed: of no use with --each-flaw"),
        (["--real", "--no-power"], "--no-power: of no use with --real"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert said in done.output


def test_a_series_without_a_trace_that_the_spec_checked_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run with seed 1 has a full disk, which the spec has not; nothing else is missed here."""
    monkeypatch.setattr("lockstep.cluster.chaos_series.ChaosSeries.missing", lambda _: [])
    words = ["--seed", "1", "--runs", "1", "--seconds", "30", "--spec-every", "1", "-o", str(tmp_path)]
    with pytest.raises(GaveUpError, match="there was no trace checked against the spec"):
        CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)


# ---- What a history may say ----


def append(value: str, began: float, ended: float, index: int | None) -> Append:
    return Append(value, began, ended, index, "" if index is None else "SUCCESS")


def test_a_history_that_the_log_explains_has_no_objection() -> None:
    history = [append("a", 0, 1, 0), append("b", 0.5, 2, 2), append("c", 0.6, float("inf"), None), append("d", 3, 4, 3)]
    assert list(objections(history, {0: "a", 1: "c", 2: "b", 3: "d"})) == []


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ({0: "a"}, "b was confirmed at index 1, where there is nothing in the end"),
        ({0: "a", 1: "c"}, "b was confirmed at index 1, where there is c in the end"),
        ({0: "a", 1: "b", 2: "b"}, "b stands at index 1 and at index 2"),
    ],
)
def test_what_is_lost_replaced_or_doubled_is_named(log: dict[int, str], said: str) -> None:
    history = [append("a", 0, 1, 0), append("b", 2, 3, 1), append("c", 1.5, float("inf"), None)]
    assert list(objections(history, log)) == [said]


def test_an_append_that_began_after_another_was_confirmed_must_come_behind_it() -> None:
    history = [append("a", 0, 1, 1), append("b", 2, 3, 0)]
    said = "b came to index 0, after a had been confirmed at index 1"
    assert list(objections(history, {0: "b", 1: "a"})) == [said]


def test_what_nobody_appended_and_what_was_refused_must_not_stand_in_the_log() -> None:
    history = [append("a", 0, 1, 0), Append("b", 2, 3, None, "DISK_FULL", is_refused=True)]
    assert list(objections(history, {0: "a"})) == []
    assert list(objections(history, {0: "a", 1: "b", 2: "x"})) == [
        "b stands at index 1, which was refused: DISK_FULL",
        "x stands at index 2, which nobody had appended",
    ]


def test_an_append_without_an_answer_comes_behind_what_had_ended_before_it_began() -> None:
    history = [append("a", 0, 1, 1), append("b", 2, float("inf"), None)]
    assert list(objections(history, {1: "a", 2: "b"})) == []
    assert list(objections(history, {0: "b", 1: "a"})) == ["b came to index 0, after a had been confirmed at index 1"]
    shown = [read(0.5, 1.5, 2, {1: "a", 2: "b"})]
    assert list(objections(history, {1: "a", 2: "b"}, shown)) == [
        "b came to index 2, after a read up to index 2 had been answered at index 2"
    ]


@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_a_refused_append_that_is_in_the_log_makes_a_run_wrong(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: nodes answer each append as if they did not lead, and store it."""
    system = SYSTEMS[spec].running
    assert system is not None
    of_system = system()

    def refused(answer: Any) -> AppendOutcome:
        outcome = of_system.appended(answer)
        return replace(outcome, code="refused", index=None, is_refused=True)

    result = ChaosRun(of_system, 3, 3, NodeKind()).run(5.0)
    assert any(each.is_refused for each in result.appends)
    assert not any("refused" in each for each in result.objections)
    planted = ChaosRun(replace(of_system, appended=refused), 3, 3, NodeKind()).run(5.0)
    assert any(each.endswith("which was refused: refused") for each in planted.objections)


def test_a_leader_must_not_have_been_superseded_before_it_was_asked_whether_it_leads() -> None:
    said = "n1 confirmed that it leads, and had led no term after 2; term 3 had a leader before it was asked"
    assert list(objections([], {}, verified=[Verified("n1", 2, 3), Verified("n2", 3, 3), Verified("n3", 4, 3)])) == [
        said
    ]


def test_nodes_may_have_committed_more_or_less_of_the_same_log() -> None:
    assert list(differences({"n1": {0: "a", 1: "b"}, "n2": {0: "a"}, "n3": {}, "n4": {1: "b"}})) == []


def test_a_node_may_have_committed_most_and_begin_after_the_others() -> None:
    a_log_of_which_much_expired = dict.fromkeys(range(10, 100), "a")
    assert list(differences({"n1": a_log_of_which_much_expired, "n2": dict.fromkeys(range(50), "a")})) == []
    assert list(differences({"n1": a_log_of_which_much_expired, "n2": dict.fromkeys(range(50), "b")})) == [
        "n2 has b committed at index 10, and n1 has a"
    ]


def test_a_node_that_has_committed_something_else_or_lacks_an_entry_between_others_is_named() -> None:
    logs = {"n1": {0: "a", 1: "b", 2: "c"}, "n2": {0: "a", 1: "x"}, "n3": {0: "a", 2: "c"}}
    assert list(differences(logs)) == [
        "n2 has x committed at index 1, and n1 has b",
        "n3 has nothing committed at index 1, and n1 has b",
    ]


def test_appends_that_overlap_may_come_in_either_order() -> None:
    history = [append("a", 0, 3, 1), append("b", 2, 3, 0)]
    assert list(objections(history, {0: "b", 1: "a"})) == []


# ---- What reads may show ----


def read(began: float, ended: float, up_to: int, values: dict[int, str]) -> Read:
    """A read of all that is applied."""
    return Read(None, began, ended, values, up_to, "SUCCESS")


HISTORY = [append("a", 0, 1, 0), append("b", 2, 3, 1)]
LOG = {0: "a", 1: "b"}


def test_a_read_that_overlaps_an_append_may_show_it_or_not() -> None:
    assert list(objections(HISTORY, LOG, [read(1.5, 2.5, 0, {0: "a"}), read(1.5, 2.5, 1, LOG)])) == []


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ([read(4, 5, 0, {0: "a"})], "a read up to index 0 came after b had been confirmed at index 1"),
        (
            [read(1.2, 2.4, 1, LOG), read(2.5, 2.6, 0, {0: "a"})],
            "a read up to index 0 came after a read up to index 1 had been answered at index 1",
        ),
        ([read(1.2, 1.4, 1, LOG)], "b came to index 1, after a read up to index 1 had been answered at index 1"),
        ([read(4, 5, 1, {0: "a", 1: "x"})], "a read up to index 1 showed x at index 1, where there is b in the end"),
        ([read(4, 5, 1, {1: "b"})], "a read up to index 1 showed nothing at index 0, where there is a in the end"),
    ],
)
def test_a_read_that_is_stale_or_shows_what_is_not_in_the_log_is_named(reads: list[Read], said: str) -> None:
    assert said in list(objections(HISTORY, LOG, reads))


def test_the_newest_leader_must_show_what_was_confirmed_at_an_index() -> None:
    reads = [Read(1, 4.0, 5.0, {}, -1, "INDEX_OUT_OF_RANGE")]
    said = "a read of index 1 at the newest leader showed nothing, after b had been confirmed there"
    assert list(objections(HISTORY, LOG, reads)) == [said]
    assert stale_reads(HISTORY, reads) == 0


def test_an_older_leader_may_show_something_else_and_is_counted() -> None:
    history = [*HISTORY, append("x", 3, float("inf"), None)]
    reads = [Read(1, 4.0, 5.0, {1: "x"}, 1, "SUCCESS", by_newest=False)]
    assert list(objections(history, LOG, reads)) == []
    assert stale_reads(history, reads) == 1


def test_a_value_that_nobody_had_appended_is_named() -> None:
    reads = [Read(1, 1.0, 1.5, {1: "b"}, 1, "SUCCESS", by_newest=False)]
    assert list(objections(HISTORY, LOG, reads)) == ["a read of index 1 showed b, which nobody had appended"]
