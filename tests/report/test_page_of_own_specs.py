"""The page of a spec of the reader's own: states and steps, without nodes and logs that nothing declares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.jobs.view.counterexample_view import view_own_spec
from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.page_content import PageContext, page_content
from lockstep.report.page.shown_behaviour import NothingToShowError, ShownBehaviour
from tests.support.logs.backup_service import EXAMPLE, service
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.pages import COUNTS_TOO_FAR, counter, tree_in

LOCK = ROOT / "docs" / "lock_service"


@pytest.fixture(scope="module")
def primary_backup() -> SpecFiles:
    return SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=EXAMPLE / "mapping.toml")


@pytest.fixture(scope="module")
def lock_service() -> SpecFiles:
    return SpecFiles(LOCK / "LockService.tla", mapping=LOCK / "mapping.toml")


def written(folder: Path, lines: Sequence[dict[str, Any]]) -> Path:
    log = folder / "service.log"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return log


def state(owner: str, waiting: list[str], token: int) -> dict[str, Any]:
    return {"owner": owner, "waiting": waiting, "token": token}


def each_is_a_step_of_the_spec(shown: ShownBehaviour, context: PageContext) -> None:
    spec = context.spec
    states = [spec.state(step.state) for step in shown.steps]
    assert states[0] in set(spec.initial_states())
    for before, after, step in zip(states, states[1:], shown.steps[1:], strict=False):
        found = [(action, args) for action, args, reached in spec.successors(before) if reached == after]
        assert (step.action, dict(step.args)) in found


@pytest.mark.parametrize(
    ("cfg", "why", "actions"),
    [
        (COUNTS_TOO_FAR, "invariant Small is violated", ["Up"] * 3),
        ("SPECIFICATION Counts\n", "deadlock", ["Up"] * 3),
        ("SPECIFICATION Spec\nPROPERTY Settles\n", "temporal property Settles is violated", None),
    ],
)
def test_the_counterexample_of_a_spec_is_shown_step_by_step(
    cfg: str, why: str, actions: list[str] | None, tmp_path: Path
) -> None:
    shown, context = view_own_spec(SpecFiles(counter(tmp_path, cfg)[0]))
    each_is_a_step_of_the_spec(shown, context)
    assert shown.reason.startswith(why)
    assert shown.remarks[0].number == shown.count == len(shown.steps) - 1
    if actions is None:
        assert shown.back_to is not None
        assert "Back" in {step.action for step in shown.steps}
        assert any("<>[](y = 0)" in line for line in shown.remarks[0].lines)
    else:
        assert [step.action for step in shown.steps[1:]] == actions


def test_the_first_state_has_every_variable_and_the_others_those_that_change(tmp_path: Path) -> None:
    tree = page_content(*view_own_spec(SpecFiles(counter(tmp_path, COUNTS_TOO_FAR)[0])))
    assert [step["values"] for step in tree["steps"]] == [{"x": "0", "y": "0"}, {"x": "1"}, {"x": "2"}, {"x": "3"}]
    assert (tree["nodes"], tree["messages"]) == ([], [])


def test_a_spec_without_a_violation_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(NothingToShowError, match="there is no counterexample to view: no error in 7 distinct states"):
        view_own_spec(SpecFiles(counter(tmp_path, "INIT Init\nNEXT Next\n")[0]))


def test_a_behaviour_in_itf_is_shown_with_the_actions_that_lead_to_its_states(tmp_path: Path) -> None:
    spec, cfg = counter(tmp_path, COUNTS_TOO_FAR)
    states = [{"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 1, "y": 0}, {"x": 2, "y": 0}, {"x": 3, "y": 0}]
    file = tmp_path / "x.itf.json"
    file.write_text(json.dumps({"vars": ["x", "y"], "states": states}), encoding="utf-8")
    shown, _ = view_own_logs([file], SpecFiles(spec, cfg))
    assert [step.action for step in shown.steps] == ["Init", "Up", "", "Up", "Up"]
    assert [sorted(step.failed) for step in shown.steps] == [[]] * 4 + [["Small"]]
    assert [remark.number for remark in shown.remarks] == [4]
    file.write_text(json.dumps({"vars": ["x", "y"], "states": [*states[:3], {"x": 9, "y": 0}]}), encoding="utf-8")
    shown, _ = view_own_logs([file], SpecFiles(spec, cfg))
    assert [(step.action, step.is_refused) for step in shown.steps][2:] == [("", False), ("", True)]
    assert (shown.steps[-1].number, shown.steps[-1].state, shown.remarks[0].number) == (3, {"x": 9, "y": 0}, 3)
    assert any("x: the file has 9, the spec 2" in line for line in shown.remarks[0].lines)


def test_a_first_state_that_is_no_initial_one_is_shown_as_such(tmp_path: Path) -> None:
    spec, cfg = counter(tmp_path, COUNTS_TOO_FAR)
    file = tmp_path / "x.itf.json"
    file.write_text(json.dumps({"vars": ["x", "y"], "states": [{"x": 7, "y": 0}]}), encoding="utf-8")
    shown, context = view_own_logs([file], SpecFiles(spec, cfg), diagnoses=True)
    assert [(step.number, step.is_refused) for step in shown.steps] == [(0, True)]
    assert any("the nearest initial state" in line for line in shown.remarks[0].lines)
    assert page_content(shown, context)["count"] == 0


def test_logs_that_are_explained_are_shown_with_the_steps_that_are_in_no_line(
    primary_backup: SpecFiles, tmp_path: Path
) -> None:
    logs = service(tmp_path, 1)
    shown, context = view_own_logs(logs, primary_backup)
    each_is_a_step_of_the_spec(shown, context)
    assert (shown.verdict, shown.remarks) == ("holds", ())
    hidden = [step.action for step in shown.steps if step.is_hidden]
    assert set(hidden) == {"Acknowledge"}
    assert len(hidden) > 20
    for log in logs:
        lines = [step.line for step in shown.steps if step.source == str(log)]
        assert lines == sorted(lines)
        assert lines == list(range(1, len(log.read_text(encoding="utf-8").splitlines()) + 1))
    tree = page_content(shown, context)
    lines = [step.get("line") for step in tree["steps"]]
    assert lines.count("in no line") == len(hidden)
    assert f"{logs[0]}:1" in lines


def test_logs_that_nothing_explains_are_shown_up_to_there_with_the_false_formula(
    primary_backup: SpecFiles, tmp_path: Path
) -> None:
    shown, context = view_own_logs(service(tmp_path, 0, "--hasty"), primary_backup)
    each_is_a_step_of_the_spec(replace(shown, steps=shown.steps[:-1]), context)
    (remark,), refused = shown.remarks, shown.steps[-1]
    assert (shown.verdict, refused.is_refused, refused.action, refused.args) == ("violated", True, "Commit", {"n": 2})
    assert remark.number == refused.number == shown.count > 5
    assert any("n <= acked[b]" in line for line in remark.lines)
    assert shown.diagnosis is None


def test_the_steps_of_logs_go_by_their_lines_and_those_in_no_line_by_the_next_one(
    primary_backup: SpecFiles, tmp_path: Path
) -> None:
    shown, context = view_own_logs(service(tmp_path, 0, "--hasty"), primary_backup)
    names = page_content(shown, context)["names"]
    assert (names[0], names[1], names[-1]) == ("initial state", "p.log:1", "p.log:4")
    assert [shown.name_of(step) for step in shown.steps] == names
    for step, name, following in zip(shown.steps, names, names[1:], strict=False):
        if step.is_hidden:
            assert name == f"before {following.removeprefix('before ')}"
    only, context = view_own_logs([tmp_path / "p.log"], primary_backup)
    assert "line 1" in page_content(only, context)["names"]


def test_the_page_of_logs_opens_at_the_step_that_decides_and_says_why(
    primary_backup: SpecFiles, tmp_path: Path
) -> None:
    shown, _ = view_own_logs(service(tmp_path, 0, "--hasty"), primary_backup, diagnoses=True)
    assert shown.diagnosis is not None
    assert shown.diagnosis.seen == shown.count
    assert r"\A b \in Backup : n <= acked[b] is FALSE" in shown.diagnosis.rows[0].text


def test_a_log_of_all_steps_is_shown_up_to_the_line_that_the_spec_does_not_allow(
    lock_service: SpecFiles, tmp_path: Path
) -> None:
    log = written(
        tmp_path,
        [
            {"what": "started"},
            {"what": "locked", "client": "b", "state": state("b", [], 1)},
            {"what": "locked", "client": "a", "state": state("b", ["a"], 1)},
            {"what": "unlocked", "client": "a", "state": state("b", [], 2)},
        ],
    )
    shown, _ = view_own_logs([log], lock_service)
    assert [(step.line, step.is_refused) for step in shown.steps] == [(None, False), (2, False), (3, False), (4, True)]
    assert shown.remarks[0].number == 3
    assert (
        lockstep(
            "check", "--spec", LOCK / "LockService.tla", "--mapping", LOCK / "mapping.toml", log, cwd=tmp_path
        ).returncode
        == 1
    )


def test_the_command_writes_the_page_of_a_spec_and_of_its_logs(tmp_path: Path) -> None:
    spec, _ = counter(tmp_path, COUNTS_TOO_FAR)
    done = lockstep("view", "--spec", spec, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "Counter.html: 4 of 4 states, violated: invariant Small is violated\n",
    )
    assert tree_in((tmp_path / "Counter.html").read_text(encoding="utf-8"))["count"] == 3
    logs = service(tmp_path / "logs", 0)
    words = ("--spec", EXAMPLE / "PrimaryBackup.tla", "--mapping", EXAMPLE / "mapping.toml")
    done = lockstep("view", *words, *logs, "-o", tmp_path / "logs.html", cwd=tmp_path)
    assert (done.returncode, "holds: a behaviour of the spec explains all lines" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "give one trace, or the name of one model"),
        (["quorum", "lossy"], "give one trace, or the name of one model"),
        (["--mapping", "m.toml", "x.log"], "--cfg, -I and --mapping go with --spec"),
        (["--spec", "Counter.tla", "--mapping", "m.toml"], "--mapping goes with the logs that it describes"),
        (["--spec", "Counter.tla", "--switch", "repaired"], "--switch is for traces of a system that lockstep knows"),
        (["--switch", "repaired", "prior_term_commit_bug"], "--switch is for traces, and a model has its own cfg"),
        (["--spec", "Counter.tla", "x.itf.json"], "x.itf.json:1: LS301 malformed: field `vars`: the spec has no"),
    ],
)
def test_wrong_usage_is_refused_and_writes_nothing(words: list[str], problem: str, tmp_path: Path) -> None:
    counter(tmp_path, "INIT Init\nNEXT Next\n")
    (tmp_path / "m.toml").write_text('kind = "what"\n', encoding="utf-8")
    (tmp_path / "x.itf.json").write_text('{"vars": ["x", "z"], "states": [{"x": 7, "z": 0}]}', encoding="utf-8")
    done = lockstep("view", *words, cwd=tmp_path)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.glob("*.html")) == []


def test_two_traces_at_once_are_refused(lock_service: SpecFiles, tmp_path: Path) -> None:
    log = written(tmp_path, [{"what": "locked", "client": "b", "state": state("b", [], 1)}])
    with pytest.raises(NothingToShowError, match='or logs that a mapping takes "together"'):
        view_own_logs([log, log], lock_service)
