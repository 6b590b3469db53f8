"""Writes pages that are played without a server into a folder, which all of its pages share Python in."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.scratch import scratch
from lockstep.base.whole_files import writing_whole
from lockstep.jobs.play.opened_game import GameFiles
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play_folder.carried_game import carry_game
from lockstep.jobs.play_folder.engine_files import ENGINE_FOLDER, compressed, engine_digest, engine_scripts, zipped
from lockstep.jobs.play_folder.first_answers import Answers, first_answers
from lockstep.jobs.play_folder.levels import PlayLevel, level_tree
from lockstep.jobs.play_folder.pyodide_files import pins
from lockstep.report.page.build_page import build_folder_page, build_index
from lockstep.report.page.page_content import Tree

__all__ = ["CoursePage", "FolderError", "Page", "PlayFolder", "engine_tree", "game_engine", "page_of"]

FORMAT = "lockstep-play-folder/1"

#: The files of a folder beside its pages and scripts.
_LIST, _INDEX, _NOTICE = "folder.json", "index.html", "NOTICE.txt"


class FolderError(BadInputError):
    """A page cannot be written into a folder; the message says why."""


class LevelGoal(msgspec.Struct, frozen=True):
    """The goal of a page that is a level, for the list of levels."""

    name: str
    flaw: str
    violated: str
    system: str
    par: int


class CoursePage(msgspec.Struct, frozen=True):
    """The exercise that a page has, for the list of exercises; `par` is 0 where the page grades answers."""

    name: str
    title: str
    chapter: str
    chapter_file: str
    par: int = 0


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a folder: its file, its title and its text; its goal if it is a level, its exercise if it has one.

    `is_chapter`: it is a chapter, which the exercises link to.
    """

    file: str
    title: str
    goal: LevelGoal | None = None
    exercise: CoursePage | None = None
    is_chapter: bool = False
    text: str = ""


class _Listed(msgspec.Struct, frozen=True):
    """The content of a folder: the digest of its scripts, and its pages."""

    format: str
    engine: str
    pages: tuple[Page, ...]


def page_of(files: GameFiles, game: Game, at: int, scripts: Sequence[str], level: PlayLevel | None = None) -> Page:
    """Return the page of a game.

    Arguments: `files` that it was opened from, the state `at` that is shown first, the names of the folder's
    `scripts`, and the `level` where the game is one.
    Raises as carry_game and build_folder_page do.
    """
    engine = game_engine(files, game, at, scripts)
    goal = None
    if level is not None:
        goal = LevelGoal(game.name, level.flaw, level.violated, game.system.title, level.par)
    text = build_folder_page(RequestHandler(game, at).page(), engine, None if level is None else level_tree(level))
    return Page(f"{game.name}.html", game.title, goal, text=text)


def game_engine(files: GameFiles, game: Game, at: int, scripts: Sequence[str]) -> Tree:
    """Return what `engine.js` reads of the page of a game; arguments and errors as of page_of."""
    return engine_tree(lambda folder: carry_game(files, game, folder), first_answers(game, at), scripts)


def engine_tree(carry: Callable[[Path], None], first: Answers, scripts: Sequence[str]) -> Tree:
    """Return what `engine.js` reads of a page.

    Arguments: `carry`, which writes what Python opens into a folder; the `first` answers; the names of the folder's
    `scripts`.
    """
    with scratch("play-") as folder:
        carry(folder)
        contents = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
    answers = json.dumps(first, separators=(",", ":")).encode()
    return {
        "folder": ENGINE_FOLDER,
        "files": list(scripts),
        "game": compressed(zipped(contents)),
        "first": compressed(answers),
    }


class PlayFolder:
    """A folder of pages: an empty one, or one that lockstep has written pages into."""

    def __init__(self, path: Path, pyodide: Mapping[str, bytes]) -> None:
        """Look at a folder, which need not be there yet.

        Arguments: `pyodide`, the pinned files by name.
        Raises FolderError where it has other files, or was written by another version of lockstep.
        """
        self.path = path
        self.scripts = engine_scripts(pyodide)
        self._digest = engine_digest(self.scripts)
        self._pages = self._listed()

    def _listed(self) -> tuple[Page, ...]:
        if not self.path.exists():
            return ()
        if not self.path.is_dir():
            raise FolderError(f"{self.path} is no folder")
        file = self.path / _LIST
        if not file.is_file():
            if any(self.path.iterdir()):
                raise FolderError(f"{self.path} is not empty, and is no folder that lockstep has written pages into")
            return ()
        try:
            listed = msgspec.json.decode(file.read_bytes(), type=_Listed)
        except msgspec.MsgspecError as error:
            raise FolderError(f"{file}: {error}") from error
        if listed.format != FORMAT or listed.engine != self._digest:
            raise FolderError(f"{self.path} was written by another version of lockstep: write into an empty folder")
        return listed.pages

    def refuse_taken(self, names: Sequence[str]) -> None:
        """Raise FolderError where the folder has a page of one of these names, or any other file there."""
        taken = {_INDEX, *(page.file for page in self._pages)}
        for name in names:
            file = self.path / f"{name}.html"
            if file.name in taken or os.path.lexists(file):
                raise FolderError(f"{file}: it is there already, and is not overwritten")

    def add(self, pages: Sequence[Page]) -> None:
        """Write pages, and list them.

        An interruption leaves no part of a new folder. In one that is there it leaves each file whole, but may leave
        pages that are not listed: refuse_taken refuses their names until they are removed.
        Raises OSError where a file cannot be written.
        """
        listed = (*self._pages, *(msgspec.structs.replace(page, text="") for page in pages))
        texts = {page.file: page.text.encode() for page in pages}
        texts[_INDEX] = _index(listed)
        texts[_LIST] = msgspec.json.encode(_Listed(FORMAT, self._digest, listed))
        if self._pages:
            self._add_files(texts)
        else:
            self._make(texts)
        self._pages = listed

    def _make(self, texts: Mapping[str, bytes]) -> None:
        """Write the whole folder beside its place, and put it there."""
        path = self.path.absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{path.name}.", suffix=".partial", dir=path.parent) as aside:
            partial = Path(aside) / path.name
            (partial / ENGINE_FOLDER).mkdir(parents=True)
            for name, script in self.scripts.items():
                (partial / ENGINE_FOLDER / f"{name}.js").write_bytes(script)
            (partial / ENGINE_FOLDER / _NOTICE).write_text(_notice(), encoding="utf-8")
            for name, text in texts.items():
                (partial / name).write_bytes(text)
            partial.replace(path)

    def _add_files(self, texts: Mapping[str, bytes]) -> None:
        """Write files into the folder that is there: each takes its place once all are written, the list last."""
        last = [_LIST, _INDEX]
        with ExitStack() as stack:
            for name in [*last, *(name for name in texts if name not in last)]:
                stack.enter_context(writing_whole(self.path / name)).write(texts[name])


def _index(pages: Sequence[Page]) -> bytes:
    """Return the page that lists the others, levels and exercises apart."""
    shown: tuple[list[Tree], list[Tree], list[Tree]] = ([], [], [])
    others, levels, exercises = shown
    for page in pages:
        file = quote(page.file)
        if page.exercise is not None:
            exercises.append({"file": file, **msgspec.structs.asdict(page.exercise)})
        elif page.goal is not None:
            levels.append({"file": file, **msgspec.structs.asdict(page.goal)})
        elif not page.is_chapter:
            others.append({"file": file, "title": page.title})
    return build_index(*shown).encode()


def _notice() -> str:
    """Return the licences of what the scripts have of others."""
    pyodide, wheel = pins().pyodide, pins().msgspec
    return (
        f"These scripts have the files of Pyodide {pyodide.version} ({pyodide.license}) unchanged, with CPython\n"
        f"(PSF-2.0), msgspec {wheel.version} ({wheel.license}), platformdirs (MIT) and lockstep (Apache-2.0).\n"
    )
