"""The functions that the package offers at its top, the page about them, and the notebook."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import lockstep
from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.systems.trace_files import open_trace
from lockstep.trace.trace_format import write_trace
from tests.support.places import ROOT
from tests.support.systems.simulated_traces import simulated

DOCS = ROOT / "docs"
SERVICE = DOCS / "lock_service"


def printed_by(code: str) -> str:
    """Run a program in a Python of its own and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


# ---- The names ----


def test_importing_lockstep_imports_nothing_else_of_it_and_no_package() -> None:
    code = "import sys; had = set(sys.modules); import lockstep; print(sorted(set(sys.modules) - had))"
    imported = set(ast.literal_eval(printed_by(code)))
    assert {each for each in imported if each.partition(".")[0] not in sys.stdlib_module_names} == {"lockstep"}


def test_every_name_is_what_the_commands_use() -> None:
    from lockstep.models.counterexample_picture import draw
    from lockstep.models.spec_graph import graph
    from lockstep.systems.file_check import check
    from lockstep.tla.explore import explore
    from lockstep.tla.loading.load_spec import load_spec

    assert (lockstep.draw, lockstep.check, lockstep.explore, lockstep.load_spec) == (draw, check, explore, load_spec)
    assert lockstep.graph is graph
    assert lockstep.__version__ == version("lockstep-raft")


def test_names_are_listed_before_they_are_imported_and_unknown_ones_are_refused() -> None:
    listed = ast.literal_eval(printed_by("import lockstep; print(dir(lockstep))"))
    assert set(lockstep.__all__) <= set(listed)
    assert printed_by("from lockstep import *; print(check.__name__, draw.__name__)") == "check draw\n"
    with pytest.raises(AttributeError, match="has no attribute 'chekc'"):
        lockstep.chekc  # type: ignore[attr-defined]  # noqa: B018


def test_a_type_checker_knows_every_name() -> None:
    tree = ast.parse(Path(lockstep.__file__).read_text(encoding="utf-8"))
    (typed,) = [each for each in tree.body if isinstance(each, ast.If)]
    imported = {name.name for each in typed.body if isinstance(each, ast.ImportFrom) for name in each.names}
    annotated = {ast.unparse(each.target) for each in typed.body if isinstance(each, ast.AnnAssign)}
    assert imported | annotated == set(lockstep.__all__)


# ---- check ----


def test_check_takes_a_path_a_word_and_an_open_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    head, events = simulated()
    write_trace(path, head, events[:12])
    for given in (path, str(path), open_trace(path)):
        verdict = lockstep.check(given)
        assert (verdict.verdict, verdict.events, verdict.source) == (Verdict.HOLDS, 12, str(path))


def test_check_holds_a_trace_against_the_switches_it_is_given(tmp_path: Path) -> None:
    path, recording = tmp_path / "f.ndjson", ROOT / "traces" / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson"
    subprocess.run([sys.executable, "-m", "lockstep", "import", recording, "-o", path], check=True, timeout=60)
    published, repaired = lockstep.check(path), lockstep.check(path, switches={"PriorTermCommit": "repaired"})
    assert (published.deviation, "LeaderCompleteness" in published.violations) == (None, True)
    assert repaired.deviation is not None
    assert repaired.deviation.recorded_line == 934


def test_check_gives_a_verdict_on_what_is_malformed_and_raises_where_the_call_is_wrong(tmp_path: Path) -> None:
    assert lockstep.check(tmp_path / "nowhere").verdict is Verdict.MALFORMED
    with pytest.raises(BadInputError, match="go with a spec"):
        lockstep.check(tmp_path / "nowhere", mapping=SERVICE / "mapping.toml")


def test_an_open_trace_of_an_own_spec_is_checked_and_needs_no_mapping(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_text(
        '{"kind":"header","format":"lockstep-trace/1","system":"s","version":"1","spec":"LockService","nodes":["a"],'
        '"constants":{}}\n'
        '{"kind":"event","seq":0,"node":"a","action":"Lock","shows":{"token":1}}\n{"kind":"end","events":1}\n'
    )
    spec = SERVICE / "LockService.tla"
    assert lockstep.check(open_trace(path), spec=spec).verdict is Verdict.HOLDS
    refused = lockstep.check(open_trace(path), spec=spec, mapping=SERVICE / "mapping.toml")
    assert (refused.verdict, "needs no mapping" in refused.reason) == (Verdict.MALFORMED, True)


# ---- The page, and the notebook ----


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the lock service, in which the examples run."""
    folder = tmp_path / "lock_service"
    shutil.copytree(SERVICE, folder)
    monkeypatch.chdir(folder)
    return folder


def test_the_page_shows_what_its_examples_print(service: Path) -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "text"] * 7
    names: dict[str, Any] = {}
    for (_, program), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(program, names)
        assert said.getvalue() == shown


@pytest.mark.parametrize("name", lockstep.__all__)
def test_the_page_has_a_section_for_every_name(name: str) -> None:
    heads = re.findall(r"^## lockstep\.([\w\\]+)", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert name in [each.replace("\\", "") for each in heads]


def as_written(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs of a cell with each text in one piece; the kernel may send it in several."""
    found: list[dict[str, Any]] = []
    for each in outputs:
        if found and each["output_type"] == found[-1]["output_type"] == "stream" and each["name"] == found[-1]["name"]:
            found[-1] = {**found[-1], "text": found[-1]["text"] + each["text"]}
        else:
            found.append(each)
    return found


def test_the_notebook_runs_and_its_outputs_are_those_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    shutil.copytree(SERVICE, tmp_path / "lock_service")
    folder = tmp_path / "course"
    folder.mkdir()
    kept = nbformat.read(DOCS / "course" / "tour.ipynb", as_version=4)
    ran = nbformat.read(DOCS / "course" / "tour.ipynb", as_version=4)
    for cell in ran.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(ran, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [[as_written(cell.get("outputs", [])) for cell in book.cells] for book in (ran, kept)]
    assert outputs[0] == outputs[1]
    assert "violated: not a behaviour of the spec" in str(outputs[0])
