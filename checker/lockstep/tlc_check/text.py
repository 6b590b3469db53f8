"""The text of a generated module, which knows what each of its lines is about; and text cut out of the spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lockstep.tla.syntax import Location


class Text:
    """Lines of a module, some of them marked: by the event they take, or by the field of an event they compare."""

    def __init__(self) -> None:
        """Begin with no line."""
        self.lines: list[str] = []
        self.events: dict[int, int] = {}
        self.fields: dict[int, str] = {}

    def add(self, text: str, *, event: int | None = None, field: str | None = None) -> None:
        """Add text of one line or several."""
        for line in text.split("\n"):
            self.lines.append(line)
            if event is not None:
                self.events[len(self.lines)] = event
            if field is not None:
                self.fields[len(self.lines)] = field

    def extend(self, other: Text) -> None:
        """Add the lines of another text, with their marks."""
        shift = len(self.lines)
        self.lines += other.lines
        self.events |= {line + shift: event for line, event in other.events.items()}
        self.fields |= {line + shift: field for line, field in other.fields.items()}

    def __str__(self) -> str:
        """Write the lines, each with its end."""
        return "".join(f"{line}\n" for line in self.lines)


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
