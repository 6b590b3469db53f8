"""The SANY that stays for all tests gives what a SANY of its own gives, whatever it parsed before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from py4j import java_gateway
from pyspark.errors.exceptions.captured import install_exception_handler

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.sany import SanyError, export
from tests.support.places import ROOT, SPECS
from tests.support.tla.ready_sany import SANY_OF_ITS_OWN, ReadySany

MODULES = (
    ROOT / "docs" / "own_logs" / "PrimaryBackup.tla",
    ROOT / "docs" / "lock_service" / "LockService.tla",
    SPECS / "systems" / "BagQueue.tla",
)


def texts(cache: Path) -> list[str]:
    return [load_spec(module, module.with_suffix(".cfg"), cache_dir=cache).source for module in MODULES]


def ready() -> ReadySany:
    found = sany._run
    assert isinstance(found, ReadySany)
    return found


@pytest.mark.nightly
def test_a_spec_is_compiled_to_the_same_text_whichever_sany_parsed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = ready().parsed
    by_ready = texts(tmp_path / "ready")
    assert ready().parsed == parsed + len(MODULES)
    monkeypatch.setattr(sany, "_run", SANY_OF_ITS_OWN)
    assert by_ready == texts(tmp_path / "own")


def test_after_a_module_that_is_refused_the_next_one_is_parsed_as_ever(tmp_path: Path) -> None:
    module = tmp_path / "M.tla"
    for body in ("A == B", "A == 1 +", "A == 1"):
        module.write_text(f"---- MODULE M ----\n{body}\n====\n")
        if body == "A == 1":
            assert b"<modules>" in export(module)
        else:
            with pytest.raises(SanyError):
                export(module)


def test_a_module_is_refused_as_ever_once_spark_has_run_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark puts a function of its own into py4j, which asks Spark's JVM about each exception of Java."""
    name = "py4j.java_gateway.get_return_value"
    monkeypatch.setattr(name, java_gateway.get_return_value)  # it is put back in the end
    install_exception_handler()
    module = tmp_path / "M.tla"
    module.write_text("---- MODULE M ----\nA == 1 +\n====\n")
    with pytest.raises(SanyError, match=r"M\.tla:3"):
        export(module)


def test_another_java_or_another_jar_is_run_and_not_replaced(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\necho "openjdk version \\"17.0.1\\"" >&2\n')
    java.chmod(0o755)
    parsed = ready().parsed
    with pytest.raises(sany.ToolDied, match="SANY did not run"):
        export(MODULES[0], java=str(java))
    assert ready().parsed == parsed


def test_a_process_that_was_forked_runs_a_sany_of_its_own() -> None:
    parsed = ready().parsed
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            export(MODULES[0])
            status = 0 if ready().parsed == parsed else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
