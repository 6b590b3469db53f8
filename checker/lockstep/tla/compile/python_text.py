"""Text of generated Python: blocks of lines, and names that cannot clash."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

__all__ = ["Block", "Names", "python_name"]

_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "State", "Next", "variables", "as_dict", "replace"}
)


def python_name(name: str) -> str:
    """Answer a Python identifier for a TLA+ name; a name such as ``I!Send`` becomes ``I__Send``."""
    plain = name.replace("!", "__")
    plain = re.sub(r"[^A-Za-z0-9_]", lambda m: f"op{ord(m[0]):x}_", plain)
    if plain.startswith("_") or plain[0].isdigit():
        plain = "u" + plain
    return plain + "_" if plain in _RESERVED else plain


class Names:
    """Hands out names, each once."""

    def __init__(self, taken: Iterable[str] = (), separator: str = "_") -> None:
        """Begin with some names taken; the separator comes between a name and the number that makes it another."""
        self._taken = set(taken)
        self._separator = separator

    def fresh(self, wanted: str) -> str:
        """Answer ``wanted``, or ``wanted`` with a number if that is taken."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}{self._separator}{number}"
        self._taken.add(name)
        return name


class Block:
    """Lines of Python at one depth of indentation."""

    def __init__(self) -> None:
        """Begin an empty block."""
        self.lines: list[str] = []

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
