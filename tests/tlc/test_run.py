"""Runs of the real TLC: every outcome that it can have is read in full."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tlc import (
    Budget,
    Cause,
    Progress,
    PropertyKind,
    TlcOptions,
    TlcResult,
    TlcSimulation,
    run_tlc,
)
from tests.support.places import SPECS
from tests.support.programs.processes import jvms_of, wait_until

MODULES = SPECS / "tlc"


def run(module: str, cfg: str | None = None, **options: Any) -> TlcResult:
    return run_tlc(
        MODULES / f"{module}.tla", MODULES / f"{cfg or module}.cfg", TlcOptions(**{"is_short": True, **options})
    )


def copied(module: str, folder: Path) -> tuple[Path, Path]:
    """Copy a spec, so that the path in the command line distinguishes its JVM from all others."""
    for suffix in (".tla", ".cfg"):
        (folder / f"{module}{suffix}").write_bytes((MODULES / f"{module}{suffix}").read_bytes())
    return folder / f"{module}.tla", folder / f"{module}.cfg"


def wait_for_jvm(spec: Path) -> int:
    assert wait_until(lambda: jvms_of(spec)), "no JVM was started"
    return jvms_of(spec)[0]


def test_a_model_that_holds_is_reported_with_its_exact_counts() -> None:
    result = run("Holds")
    assert (result.verdict, result.cause, result.exit_status) == (Verdict.HOLDS, None, 0)
    assert (result.distinct, result.generated, result.depth, result.queue) == (16, 26, 7, 0)
    assert result.tlc_version is not None and result.tlc_version.startswith("2.")
    assert result.collision_probability is not None and 0 < result.collision_probability < 1e-15
    assert result.wall_seconds > 0
    assert (result.violation, result.counterexample, result.error) == (None, None, None)


def test_several_workers_count_the_same_states() -> None:
    result = run("Holds", workers="auto")
    assert (result.verdict, result.distinct, result.generated) == (Verdict.HOLDS, 16, 26)


def test_coverage_counts_the_new_and_all_successors_of_each_action() -> None:
    counts = {each.action: (each.distinct_count, each.generated_count) for each in run("Holds", coverage=True).coverage}
    assert counts == {"Init": (1, 1), "TickLeft": (3, 12), "TickRight": (12, 12), "Restart": (0, 1)}


def test_coverage_marks_the_initial_predicate_and_says_where_an_action_stands() -> None:
    initial, first, *_ = run("Holds", coverage=True).coverage
    assert initial.is_initial and not first.is_initial
    assert (first.location.module, first.location.line, first.location.column) == ("Holds", 15, 1)


def test_an_invariant_violation_gives_its_name_and_every_step() -> None:
    result = run("InvariantBroken")
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert (result.violation.kind, result.violation.name) == (PropertyKind.INVARIANT, "BelowThree")
    assert result.counterexample is not None
    assert (result.counterexample.back_to, result.counterexample.stuttering) == (None, False)
    steps = result.counterexample.steps
    assert [(step.index, step.action) for step in steps] == [
        (1, None),
        (2, "Increment"),
        (3, "Increment"),
        (4, "Increment"),
    ]
    assert [step.variables["count"] for step in steps] == ["0", "1", "2", "3"]
    assert steps[1].variables["history"] == (r'<<[step |-> 0, word |-> "a \"quoted\" \\ word", marks |-> {1, 2}]>>')
    assert steps[1].location is not None and steps[1].location.line == 12
    assert steps[1].raw.startswith("2: <Increment line 12")


def test_a_value_that_tlc_prints_over_many_lines_is_read_whole() -> None:
    result = run("LongValues")
    assert result.counterexample is not None
    variables = result.counterexample.steps[-1].variables
    assert set(variables) == {"table", "count"}
    assert variables["table"].startswith("( alpha :> [ log |-> << [term |-> 0,")
    assert variables["table"].count(r'text |-> "a /\\ b = c" ]') == 3
    assert "\n" not in variables["table"]


def test_an_invariant_false_at_the_start_gives_a_counterexample_of_one_state() -> None:
    result = run("InitialBroken")
    assert result.violation is not None and result.violation.name == "NeverZero"
    assert result.counterexample is not None
    assert [dict(step.variables) for step in result.counterexample.steps] == [{"count": "0"}]


def test_a_property_false_at_the_start_is_named() -> None:
    result = run("Lasso", "LassoWrongStart")
    assert result.violation is not None
    assert (result.violation.kind, result.violation.name) == (PropertyKind.INITIAL, "StartsAtOne")


def test_an_action_property_violation_ends_with_the_bad_step() -> None:
    result = run("ActionPropertyBroken")
    assert result.violation is not None and result.counterexample is not None
    assert (result.violation.kind, result.violation.name) == (PropertyKind.ACTION, "NeverDownProp")
    assert result.counterexample.steps[-1].action == "Down"


def test_a_deadlock_is_a_violation_with_its_trace() -> None:
    result = run("Deadlock")
    assert result.violation is not None and result.counterexample is not None
    assert (result.violation.kind, result.violation.label) == (PropertyKind.DEADLOCK, "deadlock")
    assert len(result.counterexample.steps) == 3


def test_a_deadlock_is_no_violation_when_it_is_not_checked() -> None:
    assert run("Deadlock", deadlock_check=False).verdict is Verdict.HOLDS


def test_a_liveness_violation_goes_back_to_a_state() -> None:
    result = run("Lasso")
    assert result.violation is not None and result.counterexample is not None
    assert (result.violation.kind, result.violation.name) == (PropertyKind.TEMPORAL, "Arrives")
    lasso = result.counterexample
    assert [step.variables["place"] for step in lasso.steps] == ["0", "1", "2"]
    assert (lasso.back_to, lasso.back_action, lasso.stuttering) == (2, "Back", False)


def test_a_liveness_violation_may_stutter_for_ever() -> None:
    lasso = run("Lasso", "LassoStuttering").counterexample
    assert lasso is not None
    assert (lasso.back_to, lasso.stuttering) == (None, True)


def test_a_temporal_property_is_not_guessed_when_the_cfg_lists_two() -> None:
    result = run("Lasso", "LassoTwoProperties")
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert (result.violation.name, result.violation.candidates) == (None, ("Arrives", "Returns"))


def test_a_failed_assert_is_an_assertion_with_its_text() -> None:
    result = run("AssertionFails")
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert result.violation.kind is PropertyKind.ASSERTION
    assert "count is one or more" in result.reason
    assert result.violation.positions[-1].startswith("Line 10, column 6")


def test_a_false_assume_is_a_violation_with_its_place() -> None:
    result = run("AssumeFails")
    assert result.violation is not None and result.violation.location is not None
    assert (result.violation.kind, result.violation.location.line) == (PropertyKind.ASSUMPTION, 7)


def test_an_expression_without_a_value_is_an_evaluation_error_with_its_trace() -> None:
    result = run("EvaluationFails")
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert result.violation.kind is PropertyKind.EVALUATION
    assert result.reason == (
        "evaluation error: Attempted to apply tuple <<10, 20>> to integer 3 which is out of domain."
    )
    assert result.counterexample is not None and len(result.counterexample.steps) == 3


def test_an_invariant_without_a_value_is_named() -> None:
    violation = run("InvariantCannotBeEvaluated").violation
    assert violation is not None
    assert (violation.kind, violation.name) == (PropertyKind.EVALUATION, "Selects")


@pytest.mark.parametrize(
    "cfg", ["InitCannotBeEvaluated", pytest.param("InitialInvariantCannotBeEvaluated", marks=pytest.mark.nightly)]
)
def test_an_initial_state_without_a_value_is_an_evaluation_error(cfg: str) -> None:
    result = run("InitCannotBeEvaluated", cfg)
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert result.violation.kind is PropertyKind.EVALUATION
    assert "out of domain" in result.reason
    assert result.violation.positions[0].startswith("line ")


def test_the_output_of_the_spec_is_kept_and_cannot_fake_a_pass() -> None:
    result = run("Impostor")
    assert result.verdict is Verdict.VIOLATED
    assert '<<"count", 0>>' in result.user_output


@pytest.mark.parametrize(
    ("module", "cfg", "file", "position", "said"),
    [
        ("SyntaxError", "SyntaxError", "SyntaxError.tla", (8, 20), "Was expecting"),
        ("SemanticError", "SemanticError", "SemanticError.tla", (8, 18), "Unknown operator: `counter'"),
        ("Holds", "CfgSyntaxError", "CfgSyntaxError.cfg", (3, None), "expecting = or <-"),
        ("Holds", "CfgUnknownName", "CfgUnknownName.cfg", (3, None), "NoSuchInvariant"),
        ("Holds", "CfgMissingConstant", "CfgMissingConstant.cfg", (None, None), "Bound is not assigned"),
        ("UsesLibrary", "UsesLibrary", "UsesLibrary.tla", (None, None), "Cannot find source file"),
        ("Holds", "Absent", "Absent.cfg", (None, None), "no such file"),
    ],
)
def test_a_malformed_spec_or_cfg_is_an_error_with_its_file_and_line(
    module: str, cfg: str, file: str, position: tuple[int | None, int | None], said: str
) -> None:
    result = run(module, cfg)
    assert (result.verdict, result.verdict.exit_code) == (Verdict.MALFORMED, 2)
    assert result.error is not None
    assert Path(result.error.file).name == file
    assert (result.error.line, result.error.column) == position
    assert said in result.error.message
    assert "\n" not in result.reason and file in result.reason


def test_a_module_in_another_folder_is_found_through_the_library() -> None:
    assert run("UsesLibrary", library=[MODULES / "lib"]).verdict is Verdict.HOLDS


def test_a_model_in_a_folder_named_models_extends_the_modules_above_it(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    spec, cfg = copied("UsesLibrary", models)
    (tmp_path / "Shared.tla").write_bytes((MODULES / "lib" / "Shared.tla").read_bytes())
    assert run_tlc(spec, cfg).verdict is Verdict.HOLDS


def test_a_cfg_may_lie_in_another_folder_than_its_spec(tmp_path: Path) -> None:
    _, cfg = copied("Holds", tmp_path)
    assert run_tlc(MODULES / "Holds.tla", cfg).verdict is Verdict.HOLDS


def test_a_model_without_initial_states_never_holds() -> None:
    result = run("EmptyInit")
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.VACUOUS)


@pytest.mark.nightly
def test_a_spent_budget_is_inconclusive_with_the_progress_made() -> None:
    seen: list[Progress] = []
    options = TlcOptions(is_short=True, budget=Budget(wall_seconds=8))
    result = run_tlc(MODULES / "Endless.tla", MODULES / "Endless.cfg", options, on_progress=seen.append)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.TIMED_OUT)
    assert "8 s" in result.reason
    assert seen and result.generated == seen[-1].generated > 1000
    assert 8 <= result.wall_seconds < 20


def test_a_full_heap_is_inconclusive_and_says_so() -> None:
    result = run("Hungry", heap_mb=40)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.OUT_OF_MEMORY)


def test_an_endless_recursion_is_inconclusive() -> None:
    result = run("EndlessRecursion", stack_mb=2)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.STACK_OVERFLOW)


def test_a_killed_jvm_is_inconclusive_never_a_pass(tmp_path: Path) -> None:
    spec, cfg = copied("Endless", tmp_path)
    killer = threading.Thread(target=lambda: os.kill(wait_for_jvm(spec), signal.SIGKILL))
    killer.start()
    result = run_tlc(spec, cfg, TlcOptions(budget=Budget(wall_seconds=60)))
    killer.join()
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.KILLED)
    assert "SIGKILL" in result.reason


@pytest.mark.nightly
def test_a_terminated_jvm_is_inconclusive_never_a_pass(tmp_path: Path) -> None:
    spec, cfg = copied("Endless", tmp_path)

    def terminate() -> None:
        process = wait_for_jvm(spec)
        time.sleep(2)
        os.kill(process, signal.SIGTERM)

    killer = threading.Thread(target=terminate)
    killer.start()
    result = run_tlc(spec, cfg, TlcOptions(budget=Budget(wall_seconds=60)))
    killer.join()
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.KILLED)
    assert "SIGTERM" in result.reason


def test_a_cancelled_run_ends_at_once_and_is_inconclusive(tmp_path: Path) -> None:
    spec, cfg = copied("Endless", tmp_path)
    cancel = threading.Event()
    results: list[TlcResult] = []
    worker = threading.Thread(target=lambda: results.append(run_tlc(spec, cfg, cancel=cancel)))
    worker.start()
    wait_for_jvm(spec)
    cancel.set()
    worker.join(timeout=10)
    assert results and (results[0].verdict, results[0].cause) == (Verdict.INCONCLUSIVE, Cause.CANCELLED)
    assert jvms_of(spec) == []


def test_a_simulation_that_finds_nothing_is_no_proof() -> None:
    result = run("Holds", simulation=TlcSimulation(behaviours=5, depth=10, seed=1, aril=0))
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.SIMULATED)
    assert result.simulation is not None and result.simulation.generated > 10
    assert (result.distinct, result.generated, result.depth) == (None, None, None)


def test_a_simulation_finds_a_violation_and_says_how_to_repeat_it() -> None:
    result = run("InvariantBroken", simulation=TlcSimulation(behaviours=5, seed=7))
    assert result.verdict is Verdict.VIOLATED and result.violation is not None
    assert result.violation.name == "BelowThree"
    assert result.simulation is not None and result.simulation.seed == 7


def test_a_simulation_reads_the_lasso_without_its_action() -> None:
    lasso = run("Lasso", simulation=TlcSimulation(behaviours=5, seed=1, aril=0)).counterexample
    assert lasso is not None and lasso.back_to is not None and lasso.back_action is None


def test_a_run_leaves_no_file_beside_the_spec_or_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    spec, cfg = copied("InvariantBroken", work)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert run_tlc(spec, cfg, TlcOptions(coverage=True)).verdict is Verdict.VIOLATED
    assert sorted(path.name for path in work.iterdir()) == ["InvariantBroken.cfg", "InvariantBroken.tla"]
    assert list(scratch.iterdir()) == []
