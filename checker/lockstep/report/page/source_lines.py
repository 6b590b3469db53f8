"""The source lines of an action: in the spec, and in the Python reference."""

from __future__ import annotations

import ast
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
    begin = place.line - 1
    while begin > 0 and lines[begin - 1].lstrip().startswith("\\*"):
        begin -= 1
    return "\n".join(lines[begin : place.end_line])


@cache
def reference_lines(location: str) -> str:
    """Return the lines of the function at FILE:LINE, a file of the reference; "" where there is none."""
    name, _, line = location.rpartition(":")
    file = _reference_file(Path(name)) if name else None
    if file is None:
        return ""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            begin = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if begin <= int(line) <= node.lineno:
                lines = text.splitlines()[begin - 1 : node.end_lineno]
                indent = len(lines[0]) - len(lines[0].lstrip())
                return "\n".join(each[indent:] for each in lines)
    return ""


def _reference_file(name: Path) -> Path | None:
    """Find a file of the reference, in a checkout or where the package is installed."""
    import raftref

    package = Path(raftref.__file__).parent
    within = name.parts[name.parts.index("raftref") + 1 :] if "raftref" in name.parts else name.parts
    file = package.joinpath(*within)
    return file if file.is_file() else None
