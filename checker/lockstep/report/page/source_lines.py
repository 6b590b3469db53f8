"""Source lines: of an action, in the spec and in the Python reference, and around a place in either."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lockstep.tla.syntax.tree import Location


def spec_lines(texts: dict[str, str], place: Location) -> str:
    """Return the lines of a definition, with the comment above it; "" where they are unknown.

    Arguments: `texts`, the text of each module by its name.
    """
    lines = texts.get(place.module, "").splitlines()
    if place.end_line > len(lines):
        return ""
    return "\n".join(lines[_with_comment(lines, place.line - 1) : place.end_line])


def _with_comment(lines: list[str], begin: int) -> int:
    while begin > 0 and lines[begin - 1].lstrip().startswith("\\*"):
        begin -= 1
    return begin


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file; `begin` is the number of the first."""

    file: str
    begin: int
    text: str


#: Of a longer definition, this number of lines is shown, around the place.
MAX_EXCERPT = 120


def definition_at(texts: Mapping[str, str], module: str, line: int) -> Excerpt | None:
    """Return the definition that holds a line of a module, with the comment above it; None where it is unknown.

    A definition begins at the margin, and goes on to the next line that does.
    """
    lines = texts.get(module, "").splitlines()
    if not 0 < line <= len(lines):
        return None
    begin, end = line - 1, line
    while begin > 0 and not _is_at_margin(lines[begin]):
        begin -= 1
    while end < len(lines) and not _is_at_margin(lines[end]):
        end += 1
    while end > line and not lines[end - 1].strip():
        end -= 1
    begin = _with_comment(lines, begin)
    if end - begin > MAX_EXCERPT:
        begin = max(begin, line - 1 - MAX_EXCERPT // 2)
        end = min(end, begin + MAX_EXCERPT)
    return Excerpt(f"{module}.tla", begin + 1, "\n".join(lines[begin:end]))


def _is_at_margin(line: str) -> bool:
    return line[:1].strip() != ""


def reference_lines(location: str) -> str:
    """Return the lines of the function at FILE:LINE, a file of the reference; "" where there is none."""
    found = function_at(location)
    return "" if found is None else found.text


@cache
def function_at(location: str) -> Excerpt | None:
    """Return the function at FILE:LINE, a file of the reference; None where there is none."""
    name, _, line = location.rpartition(":")
    file = _reference_file(Path(name)) if name else None
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            begin = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if begin <= int(line) <= node.lineno:
                lines = text.splitlines()[begin - 1 : node.end_lineno]
                indent = len(lines[0]) - len(lines[0].lstrip())
                return Excerpt(name, begin, "\n".join(each[indent:] for each in lines))
    return None


def _reference_file(name: Path) -> Path | None:
    """Find a file of the reference, in a checkout or where the package is installed."""
    import raftref

    package = Path(raftref.__file__).parent
    within = name.parts[name.parts.index("raftref") + 1 :] if "raftref" in name.parts else name.parts
    if ".." in within or Path(*within).is_absolute():  # a trace may name any file
        return None
    file = package.joinpath(*within)
    return file if file.is_file() else None
