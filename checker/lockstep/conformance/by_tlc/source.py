"""Text cut out of the modules of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lockstep.tla.syntax.tree import Location


class Source:
    """The text of the spec's modules, to cut pieces out of."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Take the modules' texts by name."""
        # SANY counts columns with tabs every eight characters.
        self._lines = {name: text.expandtabs(8).split("\n") for name, text in modules.items()}
        self._words = {word for text in modules.values() for word in re.findall(r"\w+", text)}

    def cut(self, location: Location, until: Location | None = None) -> str:
        """Return the text of a place, or of what begins there and ends where another place begins.

        Every line keeps its columns: the lists of conjuncts of TLA+ stand and fall by them.
        """
        end_line, end = location.end_line, location.end_column
        if until is not None:
            end_line, end = until.line, until.column - 1
        lines = self._lines[location.module][location.line - 1 : end_line]
        lines[-1] = lines[-1][:end]
        lines[0] = " " * (location.column - 1) + lines[0][location.column - 1 :]
        return "\n".join(line.rstrip() for line in lines)

    def fresh_prefix(self, wanted: str, others: Iterable[str] = ()) -> str:
        """Return a prefix that no name of the spec begins with, nor any of `others`."""
        taken = self._words | set(others)
        while any(word.startswith(wanted) for word in taken):
            wanted = f"x{wanted}"
        return wanted
