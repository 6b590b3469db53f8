"""Chaos in real time: when its faults begin and end, and what makes one of its groups wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.base.verdict import Verdict
from lockstep.cli.chaos_command import command
from lockstep.cluster import real_chaos
from lockstep.cluster.group_session import GroupOptions
from lockstep.cluster.real_chaos import RealChaosRun
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind

DLEDGER = SYSTEMS["DLedger"]


class NotedLinks:
    """Links that only note what is done to them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def cut_off(self, nodes: Sequence[str]) -> None:
        self.done.append("cut")

    def slow(self, src: str, dst: str, seconds: float) -> None:
        self.done.append("slow")

    def heal(self) -> None:
        self.done.append("heal")


def chaos(folder: Path, flaws: tuple[str, ...] = ()) -> RealChaosRun:
    assert DLEDGER.running is not None
    return RealChaosRun(DLEDGER, DLEDGER.running(), 1, GroupOptions(3, folder, NodeKind((), flaws), 0.5))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_network_is_not_mended_before_the_end_of_its_last_fault(order: tuple[int, int], tmp_path: Path) -> None:
    run, links, group = chaos(tmp_path), NotedLinks(), None
    ends = [run._fail(kind, "n1", links, group) for kind in ("cut", "slow network")]  # type: ignore[arg-type]  # only links
    first, last = (ends[place] for place in order)
    assert first is not None
    assert last is not None
    first()
    assert "heal" not in links.done
    last()
    assert links.done[-1] == "heal"


def test_no_fault_begins_when_all_of_them_are_to_be_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_chaos, "FAULT_EVERY", (0.05, 0.05))
    monkeypatch.setattr(real_chaos, "FAULT_LASTS", (0.1, 0.2))
    monkeypatch.setattr(real_chaos, "REAL_FAULTS", ("cut",))

    def begun(seconds: float) -> int:
        run, links = chaos(tmp_path), NotedLinks()
        until = time.monotonic() + seconds
        asyncio.run(run._faults(links, None, until))  # type: ignore[arg-type]  # only links are touched
        assert links.done.count("cut") == run._result.faults["cut"]
        return run._result.faults["cut"]

    assert begun(0.12) == 0
    assert begun(0.6) > 0


def violated(name: str) -> TraceVerdict:
    verdict = TraceVerdict("group.trace.ndjson", Verdict.VIOLATED, "a property fails")
    verdict.add(Finding("property", "LS1", name, 7, 6, "n1", "Crash"))
    return verdict


def test_what_a_repaired_group_may_violate_is_no_fault_of_one_in_real_time_either(tmp_path: Path) -> None:
    assert chaos(tmp_path)._verdict(violated("CommittedEntriesStayProp")).reasons == []
    assert chaos(tmp_path, ("AsyncFlush",))._verdict(violated("CommittedEntriesStayProp")).reasons != []
    assert chaos(tmp_path)._verdict(violated("StateMachineSafety")).reasons != []


def test_a_process_that_ended_by_itself_makes_a_run_wrong_whatever_its_trace_violates(tmp_path: Path) -> None:
    run = chaos(tmp_path)
    run._session.died = ["n1 ended by itself, exit code 4: "]
    assert run._verdict(violated("CommittedEntriesStayProp")).reasons == run._session.died


def test_a_folder_that_is_not_empty_is_refused_before_the_first_group_starts(tmp_path: Path) -> None:
    (tmp_path / "real_2").mkdir()
    (tmp_path / "real_2" / "kept").write_text("")
    done = CliRunner().invoke(command, ["--real", "--runs", "2", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "real_2 is not empty" in done.output
    assert not (tmp_path / "real_1").exists()
