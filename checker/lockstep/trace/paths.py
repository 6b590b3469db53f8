"""Which traces a command is about: files, folders, patterns, standard input."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.trace.json_lines import STDIN


class NoTraceError(BadInputError):
    """There is no file of that name, or none that it stands for."""


def trace_paths(given: Sequence[str]) -> list[Path]:
    """Return the files that the words of a command stand for, each once.

    A folder stands for every `.ndjson` file in it and its folders, a pattern (`*`, `?`, `[`) for the files that match,
    `-` for standard input.
    Raises NoTraceError where a word stands for none.
    """
    found: dict[Path, None] = {}
    for word in given:
        paths = _paths(word)
        if not paths:
            raise NoTraceError(_nothing(word))
        found.update(dict.fromkeys(paths))
    return list(found)


def _paths(word: str) -> list[Path]:
    if not word:  # an unset variable of the shell; to Path it is the current folder
        return []
    path = Path(word)
    if path.is_dir():
        return sorted(each for each in path.rglob("*.ndjson") if each.is_file())
    if path == STDIN or path.exists():
        return [path]
    if any(sign in word for sign in "*?["):
        matching = glob.glob(word, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        return sorted(Path(each) for each in matching if Path(each).is_file())
    return []


def _nothing(word: str) -> str:
    if not word:
        return "an empty word names no trace"
    if Path(word).is_dir():
        return f"{word}: there is no .ndjson file in this folder"
    return f"{word}: there is no such file"
