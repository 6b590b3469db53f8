"""Traces and counterexamples in the forms of other tools, each read again."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import sync_playwright

import lockstep
from lockstep.jobs.export_behaviour import NotExportedError, export_itf
from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import ShownBehaviour
from lockstep.report.space_time_diagram import Diagram, DiagramMessage, DiagramStep, diagram_svg, draw_diagram
from lockstep.systems.registry import model_named
from lockstep.systems.trace_files import write_cluster
from tests.support.places import ROOT
from tests.support.programs.inner_runs import prepare
from tests.support.programs.lockstep_command import lockstep as command
from tests.support.programs.pages import HOSTILE, hostile_trace

SERVICE = ROOT / "docs" / "lock_service"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SVG = "{http://www.w3.org/2000/svg}"

pytest_plugins = ["pytester"]

#: A text that every form must distinguish from its own syntax.
ODD = 'end; a:b #35; %% <b>&"\n::error\r\x1b\u2028 \\n {"x": 1}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def violating(folder: Path) -> Path:
    """A cluster of the published code whose 63rd step violates a property."""
    return write_cluster(folder, "published", 10, 70)


@pytest.fixture(scope="module")
def behaviour(violating: Path) -> tuple[ShownBehaviour, PageContext]:
    return view_trace(violating, {}, whole=True)


@pytest.fixture(scope="module")
def diagram(behaviour: tuple[ShownBehaviour, PageContext]) -> Diagram:
    return draw_diagram(*behaviour)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Diagram:
    return draw_diagram(*view_trace(hostile_trace(tmp_path_factory.mktemp("hostile"), 70), {}, whole=True))


def odd() -> Diagram:
    """A diagram whose texts are all hostile, with a message of each fate."""
    messages = tuple(
        DiagramMessage(ODD, ODD, "n2", 1, ended, fate)
        for ended, fate in ((2, "received"), (2, "lost"), (None, "under way"), (2, "received"))
    )
    steps = (DiagramStep(1, ODD, ODD), DiagramStep(2, "n2", ODD, ODD), DiagramStep(3, "", ODD))
    return Diagram(ODD, ODD, (ODD, "n2"), steps, messages)


# ---- ITF ----


def test_a_behaviour_in_itf_has_the_verdict_of_the_trace(
    violating: Path, behaviour: tuple[ShownBehaviour, PageContext], folder: Path
) -> None:
    file = folder / "violating.itf.json"
    file.write_bytes(export_itf(*behaviour))
    checked, again = lockstep.check(violating), lockstep.check(file)
    assert (again.verdict, again.reason) == (checked.verdict, checked.reason)
    assert {name: each.seq for name, each in again.violations.items()} == {
        name: each.line - 1 for name, each in checked.violations.items()
    }


def test_a_state_that_is_changed_in_the_itf_is_refused(
    behaviour: tuple[ShownBehaviour, PageContext], folder: Path
) -> None:
    tree = json.loads(export_itf(*behaviour))
    node = tree["states"][30]["node"]["n2"]
    node["currTerm"] += 1
    file = folder / "changed.itf.json"
    file.write_text(json.dumps(tree))
    refused = lockstep.check(file).deviation
    assert refused is not None
    assert (refused.code, refused.seq) == ("LS207", 30)
    assert "no list has all steps" in refused.details[0]


def test_the_action_in_an_itf_file_is_only_a_hint(folder: Path) -> None:
    """Where the spec's steps can be listed, another one that leads to the state is found."""
    trace = own_trace(folder, "named", [("Lock", 1), ("Unlock", 1)])
    file = folder / "named.itf.json"
    done = command("export", "--spec", SERVICE / "LockService.tla", trace, "--to", "itf", "-o", file, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    tree = json.loads(file.read_text())
    assert [state["#meta"]["action"] for state in tree["states"]] == ["Init", "Lock", "Unlock"]
    for action, args in (("Unlock", {"c": "a"}), ("Nothing", {}), ("Lock", {"d": "a"}), ("Lock", {"c": "b"})):
        tree["states"][1]["#meta"] |= {"action": action, "args": args}
        file.write_text(json.dumps(tree))
        assert str(lockstep.check(file, spec=SERVICE / "LockService.tla").verdict) == "holds"
    tree["states"][2]["token"] = 7
    file.write_text(json.dumps(tree))
    assert str(lockstep.check(file, spec=SERVICE / "LockService.tla").verdict) == "violated"


def own_trace(folder: Path, name: str, steps: list[tuple[str, int]]) -> Path:
    """A trace of the lock service: actions of the client a, and the token after each."""
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": "LockService"}
    lines: list[dict[str, object]] = [{**head, "nodes": ["a"], "constants": {}}]
    for seq, (action, token) in enumerate(steps):
        lines.append({"kind": "event", "seq": seq, "node": "a", "action": action, "shows": {"token": token}})
    path = folder / f"{name}.trace.ndjson"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*lines, {"kind": "end", "events": len(steps)}]))
    return path


def test_a_trace_that_leaves_the_spec_is_not_written_as_itf_for_it_would_hold(folder: Path) -> None:
    trace = own_trace(folder, "leaves", [("Lock", 1), ("Unlock", 5)])
    target = folder / "leaves.itf.json"
    done = command("export", "--spec", SERVICE / "LockService.tla", trace, "--to", "itf", "-o", target, cwd=folder)
    assert (done.returncode, done.stdout, target.exists()) == (2, "", False)
    assert "after that no state is known" in done.stderr


def test_a_string_that_is_called_like_a_model_value_is_refused_in_itf(violating: Path, folder: Path) -> None:
    confused = folder / "confused.trace.ndjson"
    confused.write_text(violating.read_text().replace('"v1"', '"NoNode"'))
    with pytest.raises(NotExportedError, match=r"node of state \d+ has a string .* called like a model value"):
        export_itf(*view_trace(confused, {}, whole=True))


def test_the_counterexample_of_a_model_is_checked_again_as_itf(folder: Path) -> None:
    done = command("export", "late_truncate_bug", "--to", "itf", "-o", "late.itf.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("late.itf.json: late_truncate_bug: CommittedEntriesStayProp: violated: ")
    manifest, model = model_named("late_truncate_bug")
    module, cfg = manifest.files(model)
    again = lockstep.check(folder / "late.itf.json", spec=module, cfg=cfg)
    assert [*again.violations] == [model.violates]


# ---- SVG ----


@pytest.mark.parametrize("which", ["diagram", "hostile", "odd"])
def test_a_picture_has_every_step_and_message_and_nothing_that_runs_or_loads(
    which: str, request: pytest.FixtureRequest
) -> None:
    shown: Diagram = odd() if which == "odd" else request.getfixturevalue(which)
    root = ElementTree.fromstring(diagram_svg(shown))
    groups = [each.get("class") or "" for each in root.iter(f"{SVG}g")]
    assert groups.count("step") == len(shown.steps)
    assert sorted(each for each in groups if each != "step") == sorted(
        f"message {each.fate.replace(' ', '-')}" for each in shown.messages
    )
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "marker", "path", "rect", "text", "g", "circle"}
    attributes = {(name, value) for each in root.iter() for name, value in each.attrib.items()}
    assert not [pair for pair in attributes if pair[0].startswith("on") or "href" in pair[0] or "//" in pair[1]]


def test_the_verdict_stands_within_the_picture_and_names_no_folder(violating: Path, diagram: Diagram) -> None:
    assert str(violating.parent) not in diagram.verdict_line
    assert diagram.verdict_line.startswith("violated: ")
    root = ElementTree.fromstring(diagram_svg(diagram))
    lines = [each.text or "" for each in root.findall(f"{SVG}text") if each.get("y") in ("41", "56")]
    assert " ".join(lines) == diagram.verdict_line
    assert all(int(root.get("width", "0")) > 20 + 8 * len(line) for line in lines)


@pytest.mark.nightly
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: the picture was not drawn by a browser")
def test_a_browser_draws_the_picture_and_runs_nothing(hostile: Diagram, folder: Path) -> None:
    file = folder / "hostile.svg"
    file.write_bytes(diagram_svg(hostile))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        requests: list[str] = []
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(file.as_uri())
        box = tab.locator("g.step").last.bounding_box()
        titles = tab.locator("title").all_text_contents()
        hacked = tab.evaluate("window.hacked")
        browser.close()
    assert box is not None
    assert box["width"] > 100
    assert HOSTILE in titles
    assert (hacked, requests) == (None, [file.as_uri()])


# ---- A test of pytest ----


def test_a_trace_becomes_a_test_that_passes_and_fails_where_the_verdict_is_another(
    folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(monkeypatch)
    shutil.copytree(SERVICE, pytester.path / "specs")
    trace = own_trace(folder, "leaves", [("Lock", 1), ("Unlock", 5)])
    words = ("export", "--spec", "specs/LockService.tla", trace, "--to", "pytest", "-o", "test_leaves.py")
    assert command(*words, cwd=pytester.path).returncode == 0
    text = (pytester.path / "test_leaves.py").read_text()
    assert "Path(__file__).parent / 'specs/LockService.tla'" in text
    assert "('LS202', 3, 'token')" in text
    pytester.makepyfile(test_repaired=text.replace('"token": 5', '"token": 1'))
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["FAILED test_repaired.py::test_leaves - *"])


def test_hostile_text_is_nothing_but_text_in_a_test(folder: Path, tmp_path: Path) -> None:
    trace = hostile_trace(tmp_path, 20)
    renamed = trace.rename(tmp_path / '""" import os.trace.ndjson')
    done = command("export", renamed, "--to", "pytest", cwd=folder)
    tree = ast.parse(done.stdout)
    assert done.stdout.isascii()
    assert [type(each).__name__ for each in tree.body][:4] == ["Expr", "ImportFrom", "Import", "AnnAssign"]
    (text,) = [
        each.value for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "TRACE"
    ]
    assert ast.literal_eval(text) == renamed.read_text()


# ---- The command ----


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("nowhere", "--to", "svg"), 2, "no file 'nowhere', and no model 'nowhere'"),
        (("{}", "--to", "itf", "--last", "3"), 2, "--last leaves steps out, and itf needs them all"),
        (("{}", "--to", "svg", "-o", "{}"), 2, "the export would overwrite what it is made of"),
        (("{}", "--to", "svg", "--cfg", "{}"), 2, "--cfg, -I and --mapping go with --spec"),
        (("{}", "--to", "pytest", "--last", "3"), 2, "--last leaves steps out, and pytest needs them all"),
        (("late_truncate_bug", "--to", "pytest"), 2, "is a model, and a regression test holds a trace"),
        (("torn", "--to", "svg"), 2, "LS301 malformed"),
        (("torn", "--to", "pytest"), 2, "LS301 malformed"),
    ],
)
def test_an_export_that_is_refused_writes_nothing(
    words: tuple[str, ...], code: int, problem: str, violating: Path, folder: Path
) -> None:
    (folder / "torn").write_bytes(violating.read_bytes()[:3_000])
    had = violating.read_bytes()
    done = command("export", *(word.replace("{}", str(violating)) for word in words), cwd=folder)
    assert (done.returncode, done.stdout, problem in done.stderr) == (code, "", True), done.stderr
    assert violating.read_bytes() == had


def test_the_last_steps_are_those_up_to_what_is_wrong(behaviour: tuple[ShownBehaviour, PageContext]) -> None:
    last = draw_diagram(*behaviour, 10)
    assert [step.number for step in last.steps] == list(range(54, 64))
    assert "CommittedEntriesStayProp is violated" in last.steps[-1].wrong
    assert any(each.sent is None for each in last.messages)
