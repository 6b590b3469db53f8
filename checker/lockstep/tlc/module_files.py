"""The modules of a project: the root's file, and those of the modules that it mentions."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.text_files import text_of

STANDARD_MODULES = frozenset(
    {"Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "Bags", "TLC", "Toolbox", "Randomization"}
)


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module's file and its text."""

    path: Path
    text: str


def project_files(root: Path, directories: Iterable[Path]) -> dict[str, ModuleFile]:
    """Read all modules of a project by name: the root, and what it mentions that lies in the directories.

    A word too many does no harm: a module that nobody names is not parsed.

    Arguments: `root`, the root module's file; `directories`, where modules are looked for, the first one first.
    Raises NotUtf8Error where a file is no UTF-8, and OSError where one cannot be read.
    """
    found = {file.stem: file for folder in reversed([*directories]) for file in folder.glob("*.tla") if file.is_file()}
    files = {root.stem: ModuleFile(root, text_of(root))}
    pending = [root.stem]
    while pending:
        for word in sorted(found.keys() & _words(files[pending.pop()].text)):
            if word not in files and word not in STANDARD_MODULES:
                files[word] = ModuleFile(found[word], text_of(found[word]))
                pending.append(word)
    return files


def comment_end(text: str, start: int) -> int | None:
    """Return the end of a comment, which may have others within; None where it does not end."""
    depth = 0
    for found in re.finditer(r"\(\*|\*\)", text[start:]):
        depth += 1 if found[0] == "(*" else -1
        if depth == 0:
            return start + found.end()
    return None


@functools.lru_cache(maxsize=64)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\b\w+\b", text))
