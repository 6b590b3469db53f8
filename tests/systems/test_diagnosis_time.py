"""The time of a diagnosis: no more than --timeout, for each kind of file that may have one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from lockstep.base.deadline import Deadline
from lockstep.models.search_result import SpecFiles
from lockstep.systems import trace_diagnosis
from lockstep.systems.file_check import KnownTraceCheck, own_check
from lockstep.trace.trace_format import Event, Header, write_trace
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.systems.log_diagnoses import DiagnosedLogs

TORN_VOTE = ROOT / "traces" / "counterexamples" / "hashicorp" / "elections" / "torn_vote.trace.ndjson"

SPEC = """
VARIABLE n
Init == n = 0
Count == n < 1 /\\ n' = n + 1
Next == Count
"""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The seconds that each diagnosis gets."""
    seconds: list[float | None] = []

    def deadline(limit: float | None) -> Deadline:
        seconds.append(limit)
        return Deadline(limit)

    monkeypatch.setattr(trace_diagnosis, "Deadline", deadline)
    return seconds


def own(folder: Path) -> SpecFiles:
    (folder / "Own.tla").write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{SPEC.strip()}\n====")
    (folder / "Own.cfg").write_text("INIT Init\nNEXT Next\n")
    return SpecFiles(folder / "Own.tla", folder / "Own.cfg")


@pytest.mark.parametrize(("timeout", "expected"), [(7.0, 7.0), (50.0, 20.0), (None, 20.0)])
def test_a_diagnosis_takes_no_longer_than_the_trace_may(
    timeout: float | None, expected: float, given: list[float | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trace_diagnosis, "DIAGNOSIS_SECONDS", 20.0)
    header = Header("lockstep-trace/1", "mine", "1", "Own", ("n1",), {})
    write_trace(tmp_path / "t.ndjson", header, [Event(seq, "n1", "Count", shows={}) for seq in range(2)])
    found = own_check(own(tmp_path), timeout_seconds=timeout).diagnosis(tmp_path / "t.ndjson")
    assert found is not None
    assert (found.causes[0].what, given) == ("n < 1", [expected])


def test_so_does_one_of_a_trace_of_a_known_system(given: list[float | None]) -> None:
    found = KnownTraceCheck({"repaired": True}, timeout_seconds=70).diagnosis(TORN_VOTE)
    assert found is not None
    assert (found.causes[0].what, given) == ("TornVote=published", [70])


def test_so_does_one_of_its_states(given: list[float | None], tmp_path: Path) -> None:
    done = lockstep("export", TORN_VOTE, "--to", "itf", "-o", tmp_path / "t.itf.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = KnownTraceCheck({"repaired": True}, timeout_seconds=70).diagnosis(tmp_path / "t.itf.json")
    assert found is not None
    assert (found.causes[0].what, given) == ("TornVote=published", [70])


def test_so_does_one_of_states_of_a_spec_of_ones_own(given: list[float | None], tmp_path: Path) -> None:
    (tmp_path / "t.itf.json").write_text('{"vars": ["n"], "states": [{"n": 0}, {"n": 1}, {"n": 2}]}')
    found = own_check(own(tmp_path), timeout_seconds=70).diagnosis(tmp_path / "t.itf.json")
    assert found is not None
    assert (found.causes[0].what, given) == ("n < 1", [70])


def test_so_does_one_of_logs(given: list[float | None], tmp_path: Path) -> None:
    mapping = '[hidden]\nCount = 1\n[lines.shown]\naction = "Count"\nshows = { n = "n" }\n'
    logs = DiagnosedLogs(tmp_path, SPEC, mapping, {"a.log": [{"event": "shown", "n": 1}, {"event": "shown", "n": 2}]})
    found = dataclasses.replace(logs.check, timeout_seconds=70).diagnosis_of(logs.refuted)
    assert found is not None
    assert (found.causes[0].what, given) == ("n < 1", [70])
