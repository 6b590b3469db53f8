"""`lockstep play --static`: what a page carries, what a folder has, and what is refused."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

import lockstep.jobs.play_folder.write_folder as write_folder
from lockstep.cli.play_command import command
from lockstep.jobs.play.opened_game import GameFiles, first_state, open_game
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_scenario import read_scenario
from lockstep.jobs.play_folder.carried_game import carry_game
from lockstep.jobs.play_folder.engine_files import ENGINE_FOLDER, engine_scripts
from lockstep.jobs.play_folder.first_answers import Answers, first_answers
from lockstep.jobs.play_folder.pyodide_files import MissingPyodideError, WrongPyodideError, pins, read_pyodide
from lockstep.jobs.play_folder.write_folder import FolderError, Page, PlayFolder, page_of
from lockstep.models.search_result import SpecFiles
from tests.support.places import ROOT
from tests.support.programs.page_engine import answered_without_java
from tests.support.programs.plays import LOCK_SERVICE, SCENARIO, flawed, lock_service, ways
from tests.support.programs.pyodide import no_pyodide
from tests.support.sampling import sampled

TRACE = ROOT / "traces" / "counterexamples" / "hashicorp" / "elections" / "transfer_flag_left.trace.ndjson"

#: What games are opened from.
FILES: Mapping[str, Callable[[], GameFiles]] = {
    "model": lambda: GameFiles(model="late_truncate_bug"),
    "trace": lambda: GameFiles(trace=TRACE),
    "spec": lambda: GameFiles(own=SpecFiles(LOCK_SERVICE)),
    "scenario": lambda: GameFiles(scenario=read_scenario(SCENARIO)),
}

# ---- The game that a page carries ----


def parsed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in which a saved text is what its lines mean: the fields of a record have no order."""
    if "text" not in answer["tree"]:
        return answer
    lines = [json.loads(line) for line in answer["tree"]["text"].splitlines()]
    return {**answer, "tree": {**answer["tree"], "text": lines}}


@pytest.mark.parametrize("kind", sampled(FILES, ["model", "spec"]))
def test_a_carried_game_answers_as_the_one_that_was_opened_and_needs_no_java(kind: str, tmp_path: Path) -> None:
    files = FILES[kind]()
    game = open_game(files)
    carry_game(files, game, tmp_path)
    at = first_state(game, files.scenario)
    handler = RequestHandler(game, at)
    requests: list[dict[str, Any]] = [
        {"type": "show", "at": at},
        {"type": "take", "at": 0, "offer": 0},
        {"type": "why", "at": 0, "action": [*game.session.spec.actions][-1]},
        {"type": "save", "at": len(game.session.visits), "form": "trace"},
        {"type": "save", "at": len(game.session.visits), "form": "scenario"},
    ]
    if at:  # there is the first step already
        requests[3]["at"] = requests[4]["at"] = at
    here = [{"ok": True, "tree": handler.handle(json.dumps(request).encode())} for request in requests]
    there = answered_without_java(tmp_path, requests)
    assert [parsed(answer) for answer in there] == [parsed(answer) for answer in json.loads(json.dumps(here))]


def test_what_the_session_refuses_is_refused_in_a_page_in_the_same_words(tmp_path: Path) -> None:
    files = FILES["spec"]()
    carry_game(files, open_game(files), tmp_path)
    asked = [{"type": "step", "at": 0, "action": "Unlock", "args": {"c": "a"}}, {"type": "run"}]
    not_enabled, unknown = answered_without_java(tmp_path, asked)
    assert not not_enabled["ok"]
    assert not_enabled["tree"]["error"] == "Unlock is not enabled with these arguments"
    assert any("queue" in line for line in not_enabled["tree"]["lines"])
    assert unknown == {"ok": False, "tree": {"error": "field `type`: invalid value 'run'", "lines": []}}


def test_a_page_says_that_it_cannot_watch_expressions_as_there_is_no_java(tmp_path: Path) -> None:
    files = FILES["spec"]()
    carry_game(files, open_game(files), tmp_path)
    (answer,) = answered_without_java(tmp_path, [{"type": "watch", "at": 0, "texts": ["token"]}])
    (value,) = answer["tree"]["values"]
    assert value["error"].startswith("expressions cannot be watched here: Java must parse them")


def test_the_spec_of_a_carried_game_is_not_compiled_anew(tmp_path: Path) -> None:
    """Without it the page would need Java; so the test above fails where it is not found."""
    files = FILES["spec"]()
    carry_game(files, open_game(files), tmp_path)
    for file in (tmp_path / "lockstep").iterdir():
        file.unlink()
    with pytest.raises(subprocess.CalledProcessError) as caught:
        answered_without_java(tmp_path, [])
    assert "ava" in caught.value.stderr


# ---- The first answers ----


def ways_of(answers: Answers, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [before] if before else []
    for key, answer in answers.items():
        found += ways_of(answer["then"], (*before, key))
    return found


@pytest.mark.parametrize("make", [flawed, lock_service, ways])
def test_the_first_answers_are_those_of_a_session_that_is_asked_the_same(make: Callable[[], Game]) -> None:
    answers = first_answers(make(), 0)
    known = ways_of(answers)
    assert max(map(len, known)) == 2
    for way in known:
        handler, table = RequestHandler(make()), answers
        for key in way:
            at, offer = map(int, key.split())
            tree = handler.handle(json.dumps({"type": "take", "at": at, "offer": offer}).encode())
            assert table[key]["tree"] == tree
            table = table[key]["then"]


def test_no_more_first_answers_are_made_than_a_page_should_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockstep.jobs.play_folder.first_answers.MAX_BYTES", 1)
    assert len(ways_of(first_answers(flawed(), 0))) == 1


def test_a_copy_of_a_session_goes_on_by_itself() -> None:
    game = lock_service()
    other = game.session.copy()
    other.take(0, other.offers(0).steps[0])
    assert (len(other.visits), len(game.session.visits)) == (2, 1)
    game.session.take(0, game.session.offers(0).steps[1])
    assert other.visits[1].state != game.session.visits[1].state


# ---- The page ----


def page(game: Game | None = None) -> Page:
    files = FILES["spec"]()
    return page_of(files, game or open_game(files), 0, ["worker.js"])


def test_the_policy_of_a_page_lets_it_load_the_scripts_of_its_folder_and_connect_to_nobody() -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page().text)
    parts = dict(part.strip().partition(" ")[::2] for part in policy.replace("&#39;", "'").split(";"))
    assert parts["default-src"] == "'none'"
    assert "connect-src" not in parts
    (data,) = re.findall(r'id="engine">(.*)</script>', page().text)
    nonce = json.loads(data)["nonce"]
    words = [word for word in parts["script-src"].split() if not word.startswith("'sha256-")]
    assert words == [f"'nonce-{nonce}'", "blob:", "'wasm-unsafe-eval'"]
    assert parts["worker-src"] == "blob:"
    assert "unsafe-inline" not in policy


def test_the_same_game_makes_the_same_page() -> None:
    assert page() == page()


def test_each_script_brings_its_file_and_python_the_packages_that_it_needs() -> None:
    scripts = engine_scripts(no_pyodide())
    for name, script in scripts.items():
        assert re.fullmatch(rf'lockstepFile\("{re.escape(name)}", "[A-Za-z0-9+/=]+"\);\n'.encode(), script)
    assert scripts == engine_scripts(no_pyodide())


# ---- The folder ----


def test_pages_are_added_to_a_folder_and_listed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    PlayFolder(folder, no_pyodide()).add([Page("a.html", "the first", text="A")])
    PlayFolder(folder, no_pyodide()).add([Page("b.html", "the <second>", text="B")])
    assert {each.name for each in folder.iterdir()} == {
        *("a.html", "b.html", "index.html", "folder.json", "engine"),
    }
    assert {each.name for each in (folder / ENGINE_FOLDER).iterdir()} == {
        *(f"{name}.js" for name in engine_scripts(no_pyodide())),
        "NOTICE.txt",
    }
    listed = (folder / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)">([^<]+)</a>', listed) == [
        ("a.html", "the first"),
        ("b.html", "the &lt;second&gt;"),
    ]


def test_a_page_with_signs_in_its_name_is_linked_by_its_name(tmp_path: Path) -> None:
    PlayFolder(tmp_path / "out", no_pyodide()).add([Page("100% #1?.html", "A", text="A")])
    (link,) = re.findall(r'<a href="([^"]+)">', (tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert link == "100%25%20%231%3F.html"


def test_what_lies_beside_a_new_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "out").mkdir()
    PlayFolder(tmp_path / "out", no_pyodide()).add([Page("a.html", "A", text="A")])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "out.partial"]
    assert (tmp_path / "out.partial" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_page_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    PlayFolder(tmp_path / "out", no_pyodide()).add([Page("a.html", "A", text="A")])
    again = PlayFolder(tmp_path / "out", no_pyodide())
    again.refuse_taken(["b"])
    for name in ("a", "index"):
        with pytest.raises(FolderError, match=rf"{name}\.html: it is there already, and is not overwritten"):
            again.refuse_taken([name])


def test_a_file_that_is_not_listed_is_not_overwritten_either(tmp_path: Path) -> None:
    """It is a user's own, a link that leads nowhere, or a page of an addition that was interrupted."""
    folder = tmp_path / "out"
    PlayFolder(folder, no_pyodide()).add([Page("a.html", "A", text="A")])
    (folder / "mine.html").write_text("mine", encoding="utf-8")
    (folder / "link.html").symlink_to("nowhere")
    for name in ("mine", "link"):
        with pytest.raises(FolderError, match=rf"{name}\.html: it is there already, and is not overwritten"):
            PlayFolder(folder, no_pyodide()).refuse_taken(["b", name])
    (folder / "a.html").unlink()
    with pytest.raises(FolderError, match=r"a\.html: it is there already"):
        PlayFolder(folder, no_pyodide()).refuse_taken(["a"])


def test_a_folder_of_other_files_or_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FolderError, match="is not empty, and is no folder that lockstep has written pages into"):
        PlayFolder(tmp_path, no_pyodide())
    with pytest.raises(FolderError, match=r"notes\.txt is no folder"):
        PlayFolder(tmp_path / "notes.txt", no_pyodide())
    PlayFolder(tmp_path / "out", no_pyodide()).add([Page("a.html", "A", text="A")])
    other = {**no_pyodide(), "pyodide.mjs": b"another"}
    with pytest.raises(FolderError, match="was written by another version of lockstep"):
        PlayFolder(tmp_path / "out", other)
    (tmp_path / "out" / "folder.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FolderError, match=r"folder\.json: Object missing required field"):
        PlayFolder(tmp_path / "out", no_pyodide())


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interruption_before_a_page_has_its_place_leaves_the_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(write_folder, "_notice", interrupted)
        with pytest.raises(KeyboardInterrupt):
            PlayFolder(folder, no_pyodide()).add([Page("a.html", "A", text="A")])
    assert [*tmp_path.iterdir()] == []
    PlayFolder(folder, no_pyodide()).add([Page("a.html", "A", text="A")])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written = write_folder.writing_whole
    with monkeypatch.context() as patched:
        patched.setattr(
            write_folder, "writing_whole", lambda path: interrupted() if path.name == "b.html" else written(path)
        )
        with pytest.raises(KeyboardInterrupt):
            PlayFolder(folder, no_pyodide()).add([Page("b.html", "B", text="B")])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    PlayFolder(folder, no_pyodide()).add([Page("b.html", "B", text="B")])
    assert "b.html" in (folder / "index.html").read_text(encoding="utf-8")


def test_an_interruption_between_two_places_leaves_a_page_that_is_refused_until_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    PlayFolder(folder, no_pyodide()).add([Page("a.html", "A", text="A")])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    replace = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(
            Path, "replace", lambda path, to: interrupted() if to.name == "index.html" else replace(path, to)
        )
        with pytest.raises(KeyboardInterrupt):
            PlayFolder(folder, no_pyodide()).add([Page("b.html", "B", text="B")])
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == {**before, folder / "b.html": b"B"}
    with pytest.raises(FolderError, match=r"b\.html: it is there already"):
        PlayFolder(folder, no_pyodide()).refuse_taken(["b"])
    (folder / "b.html").unlink()
    again = PlayFolder(folder, no_pyodide())
    again.refuse_taken(["b"])
    again.add([Page("b.html", "B", text="B")])
    assert "b.html" in (folder / "index.html").read_text(encoding="utf-8")


# ---- Pyodide ----


def test_a_missing_file_of_pyodide_is_named_with_what_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(
        MissingPyodideError, match=r"pyodide\.mjs is missing: .*`make pyodide` or `python -m lockstep.*--pyodide"
    ):
        read_pyodide(tmp_path)


def test_another_file_than_the_pinned_one_is_refused_by_its_checksum(tmp_path: Path) -> None:
    for pinned in pins().files:
        (tmp_path / pinned.name).write_bytes(b"another")
    with pytest.raises(
        WrongPyodideError, match=r"pyodide\.mjs: another file than that of Pyodide 314\.0\.7 and msgspec"
    ):
        read_pyodide(tmp_path)


# ---- The command ----


def run(*words: str) -> int:
    result: int = command.main(list(words), standalone_mode=False)
    return result


@pytest.mark.parametrize("option", [("-o", "a.trace.ndjson"), ("--port", "8000"), ("--open",)])
def test_static_goes_with_nothing_that_serves_or_writes_a_trace(option: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--static serves nothing"):
        run("late_truncate_bug", "--static", str(tmp_path / "out"), *option)


def test_pyodide_goes_with_static_alone(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--pyodide is of --static DIR"):
        run("late_truncate_bug", "--pyodide", str(tmp_path))


def test_the_command_names_what_is_missing_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    words = ("--spec", str(LOCK_SERVICE), "--static", str(tmp_path / "out"), "--pyodide", str(tmp_path / "empty"))
    with pytest.raises(MissingPyodideError):
        run(*words)
    assert not (tmp_path / "out").exists()
