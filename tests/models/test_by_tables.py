"""A model that is explored by tables is compared with the pins of TLC; a search that died is no pass."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from lockstep.base.verdict import Verdict
from lockstep.cli.command_line import cli
from lockstep.models.model_manifest import Manifest, ManifestError, ModelEntry, load_manifest
from lockstep.models.pinned_models import ModelOutcome, files_of, run_models
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.search_worker import explore_in_worker
from lockstep.systems.registry import manifest, models_of_tier
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tlc import Budget, Cause, TlcResult
from tests.support.sampling import sampled

#: Models that `make verify` explores by tables, since they take TLC long.
BY_TABLES = [each for each in models_of_tier("quick") if each[1].engine == "tables"]

#: The deep models of both systems; all but the largest take tables seconds, and no other run explores them.
DEEP = [each for each in models_of_tier("deep") if each[1].mode == "check" and (each[1].distinct or 0) < 1_000_000]


def printed(*words: str) -> str:
    """Return what `lockstep model` prints."""
    return CliRunner().invoke(cli, ["model", *words]).output


def outcome(entry: ModelEntry, engine: Engine | None = Engine.TABLES) -> ModelOutcome:
    (found,) = run_models([(manifest(), entry)], parallel=1, engine=engine)
    return found


def test_a_model_that_holds_has_the_counts_that_tlc_pins() -> None:
    found = outcome(manifest().model("ordered"))
    assert (found.verdict, found.found, found.result.distinct) == (Verdict.HOLDS, "holds, by tables", 683)


def test_a_violation_is_the_pinned_one_and_as_deep() -> None:
    found = outcome(manifest().model("late_truncate_bug"))
    said = "violates CommittedEntriesStayProp, as expected, by tables"
    assert (found.verdict, found.found) == (Verdict.HOLDS, said)
    deeper = msgspec.structs.replace(found.entry, depth=(found.entry.depth or 0) + 1)
    assert outcome(deeper).verdict is Verdict.VIOLATED


@pytest.mark.nightly
def test_a_counterexample_has_the_arguments_of_its_steps() -> None:
    behaviour = outcome(manifest().model("late_truncate_bug")).counterexample
    assert behaviour is not None
    assert len(behaviour.steps) == manifest().model("late_truncate_bug").depth
    spec = load_spec(*manifest().files(manifest().model("late_truncate_bug")), search_path=manifest().library)
    for one, other in pairwise(behaviour.steps):
        assert other.action is not None
        assert (other.action, other.args, spec.state(other.state)) in list(spec.successors(spec.state(one.state)))


def test_the_command_uses_the_engine_of_the_manifest_unless_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_tables(files: SpecFiles, engine: Engine, *_: object) -> SearchResult:
        return SearchResult(spec="", engine=engine, verdict=Verdict.INCONCLUSIVE, reason=f"asked {engine}")

    def by_tlc(*_: object, **__: object) -> TlcResult:
        return TlcResult(Verdict.INCONCLUSIVE, "asked TLC", cause=Cause.CANCELLED)

    monkeypatch.setattr("lockstep.models.pinned_models.explore_in_worker", by_tables)
    monkeypatch.setattr("lockstep.models.pinned_models.run_model", by_tlc)
    assert "asked tables" in printed("three_terms")
    assert "asked TLC" in printed("quorum")
    assert "asked TLC" in printed("three_terms", "--engine", "tlc")
    assert "asked tables" in printed("quorum", "--engine", "tables")
    assert "--engine literal goes with --spec" in printed("quorum", "--engine", "literal")


@pytest.mark.parametrize("pin", sampled(["distinct", "generated", "depth"], ["generated"]))
def test_another_count_than_the_pinned_one_is_no_pass(pin: str) -> None:
    entry = manifest().model("ordered")
    found = outcome(msgspec.structs.replace(entry, **{pin: getattr(entry, pin) + 1}))
    assert found.verdict is Verdict.VIOLATED
    assert found.found == f"UNEXPECTED: ordered: {pin}: pinned {getattr(entry, pin) + 1}, found " + (
        f"{getattr(entry, pin)}, by tables"
    )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os._exit(9)", "the search by tables died: exit status 9"),
        ("pass", "the search by tables died: exit status 0"),
        ("import sys; open(sys.argv[2], 'wb').write(b'half')", "the search by tables died: exit status 0"),
        ("import os, pickle, sys; pickle.dump('holds', open(sys.argv[2], 'wb'))", "died: exit status 0"),
        ("raise SystemExit('no memory')", "the search by tables died: no memory"),
    ],
)
def test_a_search_that_died_is_inconclusive(monkeypatch: pytest.MonkeyPatch, program: str, reason: str) -> None:
    def command(*files: Path) -> Sequence[str]:
        return [sys.executable, "-c", program, *map(str, files)]

    monkeypatch.setattr("lockstep.models.search_worker._command", command)
    found = outcome(manifest().model("ordered"))
    assert (found.verdict, found.result.cause) == (Verdict.INCONCLUSIVE, Cause.TOOL_FAILED)
    assert found.found.startswith("inconclusive: ")
    assert found.found.endswith(f"{reason}, by tables")


def test_a_result_that_is_written_by_a_worker_that_fails_afterwards_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = "assert os.path.getsize(sys.argv[2])"
    program = f"import os, sys; from lockstep.models import search_worker; search_worker.main(); {written}; os._exit(4)"

    def command(*files: Path) -> Sequence[str]:
        return [sys.executable, "-c", program, *map(str, files)]

    monkeypatch.setattr("lockstep.models.search_worker._command", command)
    assert "the search by tables died: exit status 4" in outcome(manifest().model("ordered")).found


def test_a_budget_that_is_spent_and_a_cancelled_search_are_inconclusive() -> None:
    spent = outcome(msgspec.structs.replace(manifest().model("prior_term_commit"), budget_seconds=1))
    assert (spent.verdict, spent.result.cause) == (Verdict.INCONCLUSIVE, Cause.TIMED_OUT)
    files = files_of(manifest(), manifest().model("prior_term_commit"))
    cancel = threading.Event()
    cancel.set()
    cancelled = explore_in_worker(files, Engine.TABLES, SearchOptions(), Budget(cpu_seconds=60), cancel)
    assert cancelled.cause is Cause.CANCELLED


def test_a_model_outside_the_language_is_an_error_and_no_pass(tmp_path: Path) -> None:
    (tmp_path / "M.tla").write_text("---- MODULE M ----\nVARIABLE x\nInit == x = 0\nNext == x' = \n====\n")
    (tmp_path / "green").mkdir()
    (tmp_path / "green" / "m.cfg").write_text("INIT Init\nNEXT Next\n")
    pinned = "mode='check'\ntier='quick'\nresult='holds'\ndistinct=1\ngenerated=1\ndepth=1\nbudget_seconds=60\n"
    (tmp_path / "manifest.toml").write_text(f"[[model]]\nname='m'\nmodule='M'\nengine='tables'\n{pinned}")
    broken = load_manifest(tmp_path / "manifest.toml")
    (found,) = run_models([(broken, broken.models[0])], parallel=1)
    assert found.verdict is Verdict.MALFORMED


@pytest.mark.parametrize(("more", "field"), [("mode='simulate'", "engine"), ("witness=true", "engine")])
def test_the_manifest_refuses_the_engine_tables_for_what_tables_cannot_do(
    tmp_path: Path, more: str, field: str
) -> None:
    (tmp_path / "M.tla").write_text("---- MODULE M ----\n====\n")
    entry = {"mode": "'check'", "result": "'violated'", "property": "'P'"}
    entry |= dict([tuple(more.split("="))])
    lines = "\n".join(f"{name}={value}" for name, value in entry.items())
    simulation = "[model.simulation]\nbehaviours=1\n" if "simulate" in more else ""
    head = "[[model]]\nname='m'\nmodule='M'\nengine='tables'\ntier='quick'\nbudget_seconds=60\n"
    (tmp_path / "manifest.toml").write_text(f"{head}{lines}\n{simulation}")
    with pytest.raises(ManifestError, match=field):
        load_manifest(tmp_path / "manifest.toml")


@pytest.mark.nightly
@pytest.mark.parametrize(("pinned", "entry"), [pytest.param(*each, id=each[1].name) for each in BY_TABLES])
def test_tlc_finds_the_pinned_results_of_models_that_verify_explores_by_tables(
    pinned: Manifest, entry: ModelEntry
) -> None:
    """TLC is the authority, and `make verify` does not run it on these models."""
    for engine in (Engine.TLC, Engine.TABLES):
        (found,) = run_models([(pinned, entry)], parallel=1, engine=engine)
        assert found.verdict is Verdict.HOLDS


@pytest.mark.nightly
@pytest.mark.parametrize(("pinned", "entry"), [pytest.param(*each, id=each[1].name) for each in DEEP])
def test_a_deep_model_is_as_pinned(pinned: Manifest, entry: ModelEntry) -> None:
    """`make verify` runs the quick models alone, and would not show that a change of the spec affects the deep ones."""
    (found,) = run_models([(pinned, entry)], parallel=1, engine=Engine.TABLES)
    assert found.mismatches == ()
    assert found.verdict is Verdict.HOLDS
