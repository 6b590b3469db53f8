"""The plugin for pytest, in test runs of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import lockstep.jobs.pytest_collection
import lockstep.jobs.pytest_recorder  # noqa: F401 - so that the runs within this one find them imported
from tests.support.places import ROOT
from tests.support.programs.inner_runs import prepare

pytest_plugins = ["pytester"]

SERVICE = ROOT / "docs" / "lock_service"
PLUGIN = "lockstep.jobs.pytest_plugin"


def trace_of(*events: dict[str, Any], spec: str = "LockService") -> str:
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": spec}
    steps = [{"kind": "event", "node": "a", "seq": seq, **event} for seq, event in enumerate(events)]
    lines = [{**head, "nodes": ["a"], "constants": {}}, *steps, {"kind": "end", "events": len(steps)}]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with the lock service's spec, and four traces of it."""
    prepare(monkeypatch)
    shutil.copytree(SERVICE, pytester.path / "specs")
    lock = {"action": "Lock", "shows": {"token": 1}}
    for name, text in {
        "good": trace_of(lock),
        "wrong": trace_of(lock, {"action": "Unlock", "shows": {"token": 5}}),
        "empty": trace_of(),
        "torn": trace_of(lock)[:-10],
    }.items():
        (pytester.path / f"{name}.trace.ndjson").write_text(text)
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *words)


# ---- Traces that are tests ----


def test_each_trace_is_a_test_and_only_one_that_holds_passes(project: pytest.Pytester) -> None:
    ran = run(project, "--lockstep", "--lockstep-spec", "specs/LockService.tla", "-rA")
    ran.assert_outcomes(passed=1, failed=2, errors=1)
    ran.stdout.fnmatch_lines_random(
        [
            "PASSED good.trace.ndjson::check",
            "FAILED wrong.trace.ndjson::check*",
            "FAILED empty.trace.ndjson::check*",
            "ERROR torn.trace.ndjson::check*",
            "*wrong.trace.ndjson:3: LS202 after Unlock *",
            "    token: the trace shows 5, the spec says 1",
            "replay: lockstep check --spec *specs/LockService.tla *wrong.trace.ndjson",
            "*empty.trace.ndjson: LS401 inconclusive: *",
            "*torn.trace.ndjson:3: LS301 malformed: *",
        ]
    )
    assert not re.search(r"^\S+\.py:\d+", ran.stdout.str(), re.MULTILINE)  # no traceback into lockstep


def test_the_command_that_a_failure_names_gives_the_verdict_again(project: pytest.Pytester) -> None:
    ran = run(project, "--lockstep-spec", "specs/LockService.tla", "wrong.trace.ndjson")
    # The summary of a run under a CI (the variable CI) repeats the failure whole.
    (replay,) = {line for line in ran.stdout.lines if line.startswith("replay: ")}
    words = replay.removeprefix("replay: lockstep ").split()
    done = subprocess.run([sys.executable, "-m", "lockstep", *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, "token: the trace shows 5" in done.stdout) == (1, True)


def test_traces_are_collected_only_with_the_option(project: pytest.Pytester) -> None:
    run(project).assert_outcomes()
    project.makeini("[pytest]\nlockstep_collect = true\nlockstep_spec = specs/LockService.tla")
    run(project, "--deselect", "torn.trace.ndjson::check").assert_outcomes(passed=1, failed=2, deselected=1)


def test_switches_are_those_of_the_command_and_an_unknown_one_is_an_error(project: pytest.Pytester) -> None:
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": "Nothing"}
    (project.path / "x.trace.ndjson").write_text(json.dumps({**head, "nodes": ["a"], "constants": {}}) + "\n")
    refused = run(project, "x.trace.ndjson", "--lockstep-switch", "PriorTermCommit=mended")
    refused.assert_outcomes(errors=1)
    refused.stdout.fnmatch_lines(
        ["lockstep: 'PriorTermCommit=mended' is no switch; did you mean PriorTermCommit=repaired or *"]
    )
    run(project, "x.trace.ndjson", "--lockstep-switch", "repaired").stdout.fnmatch_lines(
        ["*there is no spec 'Nothing'*"]
    )
    both = run(project, "x.trace.ndjson", "--lockstep-spec", "specs/LockService.tla", "--lockstep-switch", "repaired")
    both.stdout.fnmatch_lines(["lockstep: switches are for traces of a system that lockstep knows*"])


# ---- The recorder ----

RECORDING = """
    import pytest

    SPEC = "specs/LockService.tla"


    def test_holds(lockstep_recorder):
        recorder = lockstep_recorder(SPEC)
        recorder.event("Lock", node="a", shows={"token": 1})
        recorder.event("Unlock", node="a")


    def test_violates(lockstep_recorder):
        recorder = lockstep_recorder(SPEC)
        recorder.event("Lock", node="a", shows={"token": 2})


    def test_records_nothing(lockstep_recorder):
        lockstep_recorder(SPEC)


    def test_fails_by_itself(lockstep_recorder):
        lockstep_recorder(SPEC).event("Unlock", node="a")
        assert 1 == 2


    def test_in_its_own_words(lockstep_recorder):
        recorder = lockstep_recorder(SPEC, mapping="specs/mapping.toml")
        for line in LINES:
            recorder.line(**line)


    def test_in_its_own_words_wrongly(lockstep_recorder):
        recorder = lockstep_recorder(SPEC, mapping="specs/mapping.toml")
        for line in [*LINES, LINES[1]]:
            recorder.line(**line)


    def test_asks_for_the_verdict(lockstep_recorder):
        recorder = lockstep_recorder(SPEC)
        recorder.event("Lock", node="a", shows={"token": 2})
        found = recorder.verdict()
        assert str(found.verdict) == "violated"
        assert found.deviation.details == ("token: the trace shows 2, the spec says 1",)


    def test_is_used_wrongly(lockstep_recorder):
        with pytest.raises(Exception, match="there is no file .*nothing.tla, and no spec of this name: DLedger"):
            lockstep_recorder("nothing.tla")
        recorder = lockstep_recorder(SPEC)
        with pytest.raises(Exception, match="a value cannot be written as JSON"):
            recorder.event("Lock", node="a", args={"x": object()})
        with pytest.raises(Exception, match="or call event"):
            recorder.line(x=1)
        recorder.event("Lock", node="a")
        shown = {"token": 1}
        recorder.event("Observe", node="a", shows=shown)
        shown["token"] = 7
"""


def test_a_trace_that_a_test_records_is_checked_once_it_has_passed(project: pytest.Pytester) -> None:
    log = subprocess.run([sys.executable, SERVICE / "lock_service.py"], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in log.stdout.splitlines()[:6]]
    project.makepyfile(test_recording=f"    LINES = {lines!r}\n{RECORDING}")
    ran = run(project, "-rA")
    ran.assert_outcomes(passed=4, failed=4)
    ran.stdout.fnmatch_lines_random(
        [
            "PASSED test_recording.py::test_holds",
            "PASSED test_recording.py::test_in_its_own_words",
            "PASSED test_recording.py::test_asks_for_the_verdict",
            "PASSED test_recording.py::test_is_used_wrongly",
            "FAILED test_recording.py::test_violates*",
            "FAILED test_recording.py::test_records_nothing*",
            "FAILED test_recording.py::test_fails_by_itself*assert 1 == 2*",
            "FAILED test_recording.py::test_in_its_own_words_wrongly*",
            "    token: the trace shows 2, the spec says 1",
            "*test_records_nothing.trace.ndjson: LS401 inconclusive: the trace is empty*",
            "*Unlock is not a step the spec allows here*",  # in the section of the test that fails by itself
            "replay: lockstep check --spec * --mapping * *test_in_its_own_words_wrongly.log",
        ]
    )


def test_a_known_system_is_recorded_with_its_nodes_and_constants(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_term(lockstep_recorder):
            constants = {"StepwiseElections": True, "Fifo": False}
            nodes = ["n1", "n2", "n3"]
            recorder = lockstep_recorder("DLedger", nodes=nodes, constants=constants)
            recorder.event("NextTerm", node="n1", args={"term": 1}, shows={"currTerm": 1})
        """
    )
    run(project).assert_outcomes(passed=1)


# ---- What it costs ----


def test_loading_the_plugin_imports_nothing_of_lockstep_besides() -> None:
    code = f"import pytest, sys; had = set(sys.modules); import {PLUGIN}; print(*sorted(set(sys.modules) - had))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["lockstep", "lockstep.jobs", PLUGIN]


def test_an_installation_tells_pytest_of_the_plugin_and_this_project_collects_no_trace() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"lockstep": PLUGIN}
    assert not [name for name in project["tool"]["pytest"]["ini_options"] if name.startswith("lockstep")]
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
