"""Traces that the arguments of a command name: files, folders, patterns, standard input."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.trace.json_lines import STDIN


@dataclass(frozen=True, slots=True)
class MissingTrace:
    """An argument that names no file, with the reason."""

    word: str
    reason: str


def _is_trace(path: Path) -> bool:
    return path.suffix == ".ndjson"


#: Whether a file of a folder is wanted.
Wanted = Callable[[Path], bool]


def trace_paths(given: Sequence[str], wanted: Wanted = _is_trace, kinds: str = ".ndjson") -> list[Path | MissingTrace]:
    """Return the files that arguments name, each once, and in their places the arguments without any.

    A folder stands for every file in it and its folders that is `wanted`, these are of `kinds`; a pattern (`*`, `?`,
    `[`) for the files that match, `-` for standard input.
    """
    found: dict[Path | MissingTrace, None] = {}
    for word in given:
        paths = _paths(word, wanted)
        found.update(dict.fromkeys(paths))
        if not paths:
            found[MissingTrace(word or "''", _why(word, kinds))] = None
    return list(found)


def _paths(word: str, wanted: Wanted) -> list[Path]:
    if not word:  # an unset variable of the shell; to Path it is the current folder
        return []
    path = Path(word)
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if wanted(each) and each.is_file())
    if path == STDIN or path.exists():
        return [path]
    if any(sign in word for sign in "*?["):
        matching = glob.glob(word, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        return sorted(Path(each) for each in matching if Path(each).is_file())
    return []


def _why(word: str, kinds: str) -> str:
    if not word:
        return "an empty word names no trace"
    if not Path(word).is_dir():
        return "there is no such file"
    logs = ".log" not in kinds and next(Path(word).rglob("*.log"), None)
    return f"there is no {kinds} file in this folder" + (
        "; for its .log files give --spec and --mapping" if logs else ""
    )
