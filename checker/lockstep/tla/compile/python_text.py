"""Text of generated Python: blocks of lines, and names that cannot clash."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "State", "Next", "variables", "as_dict", "replace"}
)


def python_name(name: str) -> str:
    """Return a Python identifier for a TLA+ name; a name such as ``I!Send`` becomes ``I__Send``."""
    plain = name.replace("!", "__")
    plain = re.sub(r"[^A-Za-z0-9_]", lambda m: f"op{ord(m[0]):x}_", plain)
    if plain.startswith("_") or plain[0].isdigit():
        plain = "u" + plain
    return plain + "_" if plain in _RESERVED else plain


class FreshNames:
    """Names, each returned once."""

    def __init__(self, taken: Iterable[str] = (), separator: str = "_") -> None:
        """Begin with some names taken; the separator comes before the number that makes a name another."""
        self._taken = set(taken)
        self._separator = separator

    def fresh(self, wanted: str) -> str:
        """Return ``wanted``, or ``wanted`` with a number if that is taken."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}{self._separator}{number}"
        self._taken.add(name)
        return name


class Block:
    """Lines of Python at one depth of indentation."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def emit(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)

    def nest(self, head: str, inner: Block) -> None:
        """Add a compound statement: its head, and an indented block."""
        self.lines.append(head)
        self.lines.extend("    " + line for line in inner.lines or ["pass"])

    def extend(self, other: Block) -> None:
        """Add the lines of another block at this depth."""
        self.lines.extend(other.lines)


def function_text(name: str, params: Iterable[str], body: Block, note: object) -> str:
    """Return the text of a function, with a note beside its head."""
    head = Block()
    head.nest(f"def {name}({', '.join(params)}):  # {note}", body)
    return "\n".join(head.lines)


def pattern_text(names: list[str]) -> str:
    """Return the text of a tuple without parentheses, as a loop assigns to it."""
    return f"{', '.join(names)}{',' * (len(names) == 1)}"


def tuple_text(items: list[str]) -> str:
    """Return the text of a tuple."""
    return f"({pattern_text(items)})"
