"""The page on other tools: its commands print what it shows, and its test of pytest passes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import lockstep.jobs.pytest_recorder  # noqa: F401 - so that the run within this one finds it imported
from tests.support.places import ROOT
from tests.support.programs.inner_runs import prepare
from tests.support.programs.lockstep_command import lockstep as command

pytest_plugins = ["pytester"]

PAGE = (ROOT / "docs" / "traces" / "tools.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.nightly
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    printed = ""
    for line in block("text").splitlines():
        if line.startswith("$ lockstep "):
            first = command(*line.split()[2:], cwd=tmp_path).stdout.splitlines()[0]
            printed += f"{line}\n{first}\n"  # of a verdict the page shows the first line
    assert printed == block("text")


def test_every_form_and_option_of_the_page_is_one_of_the_commands(tmp_path: Path) -> None:
    helped = command("export", "--help", cwd=tmp_path).stdout
    forms = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert f"--to [{'|'.join(forms)}]" in helped
    assert "--last" in helped
    step = re.search(r"lockstep (check .*) traces/", block("yaml"))
    assert step is not None
    done = command(*step[1].split(), "nowhere", cwd=tmp_path)
    assert (done.returncode, "::error file=nowhere" in done.stdout) == (2, True)


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)
    shutil.copytree(ROOT / "docs" / "lock_service", pytester.path, dirs_exist_ok=True)
    pytester.makeini(block("ini"))
    pytester.makepyfile(test_page=block("python"))
    ran = pytester.runpytest_inprocess("-p", "lockstep.jobs.pytest_plugin", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2)
