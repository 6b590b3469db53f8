"""The pages of the course in a folder: what they show before an answer, what they carry, and where they lead."""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.base.package_data import course_dir
from lockstep.cli.play_command import command
from lockstep.jobs.course.course_exercises import (
    TRACE,
    FindBug,
    UnknownExerciseError,
    exercise_names,
    load_exercise,
)
from lockstep.jobs.play.opened_game import GameFiles, open_game
from lockstep.jobs.play.page_requests import RefusedError, RequestHandler
from lockstep.jobs.play.play_game import play_guard
from lockstep.jobs.play_folder.chapter_pages import chapter_page, chapters, course_page_names
from lockstep.jobs.play_folder.engine_files import engine_scripts
from lockstep.jobs.play_folder.exercise_pages import exercise_page
from lockstep.jobs.play_folder.write_folder import FolderError, Page, PlayFolder
from lockstep.systems.registry import model_named
from lockstep.trace.trace_reader import read_trace
from tests.support.programs.courses import BUGS, GUARDS, PREDICTIONS, right_fields
from tests.support.programs.page_engine import answered_without_java
from tests.support.programs.pyodide import no_pyodide
from tests.support.sampling import sampled


def block(page: Page, name: str) -> Any:
    """A block of JSON of a page."""
    (text,) = re.findall(rf'id="{name}">(.*)</script>', page.text)
    return json.loads(text)


def written(name: str) -> Page:
    return exercise_page(name, ["worker.js"])


def carried(page: Page, folder: Path) -> Path:
    """The files that a page carries, in a folder."""
    packed = gzip.decompress(base64.b64decode(block(page, "engine")["game"]))
    zipfile.ZipFile(io.BytesIO(packed)).extractall(folder)
    return folder


# ---- Before an answer ----


@pytest.mark.parametrize("name", sampled(PREDICTIONS, ["1", "5"]))
def test_a_prediction_shows_the_steps_of_its_trace_and_no_state_after_one(name: str) -> None:
    page = written(name)
    content, exercise = block(page, "content"), block(page, "exercise-data")
    assert [step["number"] for step in content["steps"]] == [0]
    assert (content["remarks"], content["verdict"]) == ([], "holds")
    events = [event for _, event in read_trace(course_dir() / name / TRACE)]
    assert [(each["event"], each["node"], each["action"]) for each in exercise["events"]] == [
        (event.seq, event.node, event.action) for event in events
    ]
    assert [{arg for arg, _, _ in each["args"]} for each in exercise["events"]] == [set(event.args) for event in events]
    assert "play" not in content


def test_a_vote_for_oneself_is_shown_with_its_candidate() -> None:
    votes = [each for each in block(written("5"), "exercise-data")["events"] if each["action"] == "SetCurrVoteFor"]
    assert ("n1", [["candidate", '"n1"', False]]) in [(each["node"], each["args"]) for each in votes]


@pytest.mark.parametrize("name", PREDICTIONS)
def test_the_state_before_is_shown_unless_a_question_is_about_it(name: str) -> None:
    assert block(written(name), "exercise-data")["showsBefore"] == (name != "1")


#: What is said of the kind of an answer: the same of each answer of that kind, whatever it is.
KINDS = {
    *("a number", "true or false", 'the number of an event, or "never"', 'a text, such as "n1", or "none"'),
    'a log, such as [{ term = 7, value = "z" }], or []',
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_each_question_names_the_kind_of_its_answer_and_no_more(name: str) -> None:
    kinds = [each["kind"] for each in block(written(name), "exercise-data")["questions"]]
    assert len(kinds) == 5
    assert set(kinds) <= KINDS


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_shown_with_its_finding_and_the_module_as_it_should_be(name: str) -> None:
    page = written(name)
    content, exercise = block(page, "content"), block(page, "exercise-data")
    assert content["verdict"] == "violated"
    assert content["remarks"][0]["title"].startswith("LS202 ")
    assert content["diagnosis"] is None
    ((file, text),) = exercise["files"]
    assert file.startswith("reference/raftref/")
    planted = load_exercise(name)
    assert isinstance(planted, FindBug)
    assert planted.expression in text
    assert [each["name"] for each in exercise["questions"]] == ["method", "expression"]


# ---- What a page carries ----


@pytest.mark.parametrize("name", sampled(["2", "4-bug", "7-bug"], ["2", "4-bug"]))
def test_answers_are_graded_with_what_the_page_carries_and_without_java(name: str, tmp_path: Path) -> None:
    right = right_fields(name)
    wrong = {**right, next(iter(right)): ""}
    requests = [{"type": "grade", "fields": fields} for fields in (wrong, right)]
    first, second = answered_without_java(carried(written(name), tmp_path), requests)
    assert (first["ok"], first["tree"]["solved"], first["tree"]["steps"]) == (True, False, None)
    assert (second["ok"], second["tree"]["solved"]) == (True, True)
    assert (second["tree"]["steps"] is None) == (name in BUGS)


def test_python_in_a_page_has_the_exercises_and_knows_its_version() -> None:
    script = engine_scripts(no_pyodide())["lockstep.zip"].decode()
    packed = gzip.decompress(base64.b64decode(script.split('"')[3]))
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    for name in exercise_names():
        assert any(each.endswith(f"/lockstep/_course/{name}/exercise.toml") for each in names)
    assert any(each.endswith(f"/lockstep/_course/8/{TRACE}") for each in names)
    assert [each for each in names if re.search(r"/lockstep_raft-[\w.]+\.dist-info/METADATA$", each)] != []


# ---- Guards ----


#: The guards, each with the promise that is broken without it, and in how few steps.
PROMISES = [("2-guard", "ElectionSafety", 6), ("5-guard", "LeaderCompleteness", 10)]


@pytest.mark.parametrize(("name", "promise", "fewest"), sampled(PROMISES, PROMISES[:1]))
def test_a_guard_is_played_as_it_is_left_open_until_the_promise_is_broken(
    name: str, promise: str, fewest: int, tmp_path: Path
) -> None:
    """The fewest steps are those that `lockstep course check` prints for the open guard."""
    page = written(name)
    level, exercise = block(page, "level-data"), block(page, "exercise-data")
    assert (level["property"], level["par"], exercise["questions"]) == (promise, fewest, [])
    module, cfg = exercise["files"]
    assert "TRUE" in module[1]
    assert promise in cfg[1]
    assert exercise["commands"][1].startswith(f"lockstep course check {name} ")
    requests = [{"type": "take", "at": at, "offer": step["offer"]} for at, step in enumerate(level["way"])]
    *before, last = answered_without_java(carried(page, tmp_path), requests)
    assert {answer["tree"]["verdict"] for answer in before} == {"holds"}
    assert last["tree"]["reason"] == f"{promise} fails after step {fewest}"


def test_a_way_through_an_open_guard_is_no_trace_and_no_scenario() -> None:
    game = open_game(GameFiles(guard="2-guard"))
    handler = RequestHandler(game)
    handler.handle(b'{"type":"take","at":0,"offer":0}')
    for form, what in (("trace", "it has no traces"), ("scenario", "it has no scenarios")):
        with pytest.raises(RefusedError, match=f"2-guard leaves a rule open, .*{what}"):
            handler.handle(json.dumps({"type": "save", "at": 1, "form": form}).encode())


def test_an_exercise_without_a_guard_is_not_played() -> None:
    with pytest.raises(UnknownExerciseError, match="exercise 5 has no guard"):
        play_guard("5")


# ---- The folder ----


def links(text: str) -> list[str]:
    return re.findall(r'<a href="([^"]+)"', text)


@pytest.mark.parametrize("name", sampled(exercise_names(), ["1", "2-guard"]))
def test_an_exercise_leads_to_its_chapter_and_the_chapter_to_the_exercise(name: str) -> None:
    page = written(name)
    chapter = chapter_page(load_exercise(name).page)
    assert block(page, "exercise-data")["chapter"] == {"file": chapter.file, "title": chapter.title}
    assert page.file in links(chapter.text)
    assert "index.html" in links(chapter.text)


def test_a_chapter_leads_to_nothing_that_the_folder_does_not_have() -> None:
    known = {"index.html", *(f"{name}.html" for name in course_page_names())}
    pages = [chapter_page(file) for file in chapters()]
    assert len(pages) == 8
    for page, following in itertools.pairwise(pages):
        assert set(links(page.text)) <= known
        assert following.file in links(page.text)


def test_the_text_of_a_chapter_is_no_markup() -> None:
    text = chapter_page("1_an_empty_log.md").text
    assert "<code>&lt;&lt; &gt;&gt;</code>" in text
    assert "<script" not in text
    assert "](" not in text


def test_the_list_has_the_exercises_apart_with_their_chapters(tmp_path: Path) -> None:
    pages = [written(name) for name in ("5", GUARDS[0])]
    PlayFolder(tmp_path / "out", no_pyodide()).add(
        [*pages, chapter_page("5_figure_8.md"), Page("a.html", "A", text="A")]
    )
    listed = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    rows = re.findall(
        r'<tr><td><a href="([^"]+)">([^<]+)</a></td><td>[^<]+</td><td><a href="([^"]+)">([^<]+)</a>', listed
    )
    assert rows == [
        ("exercise_5.html", "5", "chapter_5_figure_8.html", "5. Figure 8"),
        ("exercise_2-guard.html", "2-guard", "chapter_2_a_leader.html", "2. A leader"),
    ]
    assert re.findall(r'<td data-(\w+)="([^"]+)"', listed) == [("exercise", "5"), ("guard", "2-guard")]
    assert re.findall(r'<li><a href="([^"]+)">', listed) == ["a.html"]


def test_the_same_exercise_makes_the_same_page() -> None:
    assert written("4-bug") == written("4-bug")


@pytest.mark.nightly
def test_the_command_writes_every_page_of_the_course_and_the_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockstep.jobs.play_folder.pyodide_files.read_pyodide", lambda _folder: no_pyodide())
    monkeypatch.setattr("lockstep.jobs.play_folder.levels.level_models", lambda: [model_named("heartbeat_vote_bug")[1]])
    ran = CliRunner().invoke(command, ["--static", str(tmp_path / "out")])
    assert (ran.exit_code, ran.output) == (0, f"{tmp_path / 'out' / 'index.html'}: 1 level, 12 exercises\n"), ran.output
    pages = {path.stem for path in (tmp_path / "out").glob("*.html")}
    assert pages == {"index", "heartbeat_vote_bug", *course_page_names()}


def test_the_command_overwrites_no_page_of_the_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockstep.jobs.play_folder.pyodide_files.read_pyodide", lambda _folder: no_pyodide())
    PlayFolder(tmp_path / "out", no_pyodide()).add([Page("chapter_8_torn_votes.html", "mine", text="mine")])
    with pytest.raises(FolderError, match=r"chapter_8_torn_votes\.html: it is there already"):
        command.main(["--static", str(tmp_path / "out")], standalone_mode=False)
