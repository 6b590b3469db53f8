"""The changes of a step as rows: where, which part, and what was added, removed or put in the place of something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from lockstep.systems.node_picture import Picture, is_message, shown
from lockstep.tla.behaviour import place_text
from lockstep.tla.value_edits import EditKind, Path, ValueEdit, value_edits
from lockstep.tla.values.kinds import Fcn, Value

#: The greatest number of rows for one step.
MAX_CHANGES = 200

#: A string that reads as a name needs no quotation marks, unless it reads as a boolean.
_NAME = re.compile(r"(?!(?:TRUE|FALSE)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """The rows of steps.

    Attributes:
        picture: how nodes are drawn, if they are.
        network: the variable that holds the messages under way, if there is one.
        printer: prints a value.
    """

    picture: Picture | None
    network: str | None
    printer: Callable[[Value], str]

    def rows(self, before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[list[str]]:
        """Yield a row for each change: where, the part, the sign with its place, the old value, the new one.

        A row without a sign has both values. The last row says so where there are more than MAX_CHANGES.
        """
        found = value_edits(before, after)
        for edit in islice(found, MAX_CHANGES):
            yield self._row(edit)
        if next(found, None) is not None:
            yield ["… and more", "", "", "", ""]

    def _row(self, edit: ValueEdit) -> list[str]:
        path, kind = edit.path, edit.kind
        if kind is EditKind.CHANGED:
            return [*self._split(path), "", self._text(path, edit.old), self._text(path, edit.new)]
        if kind is EditKind.ELEMENT_ADDED or kind is EditKind.ELEMENT_REMOVED:
            is_added = kind is EditKind.ELEMENT_ADDED
            sign = f"{'+' if is_added else '-'}{self._text(path, edit.new if is_added else edit.old)}"
            return [*self._split(path), sign, "", ""]
        above, sign = path[:-1], "+" if kind is EditKind.ADDED else "-"
        place = self._place(path)
        if edit.run > 1:
            end = self._place((*above, path[-1] + edit.run - 1))
            return [*self._split(above), f"{sign}{place[:-1]}..{end[1:]}", "", ""]
        value = edit.new if kind is EditKind.ADDED else edit.old
        is_counted_once = self._is_message(path[-1]) and type(value) is int and value == 1
        text = "" if is_counted_once else self._text(path, value)
        return [*self._split(above), sign + place, *(("", text) if sign == "+" else (text, ""))]

    def _split(self, path: Path) -> tuple[str, str]:
        """Return where a part is, which stands once for all that changes there, and the way from there."""
        if self.picture is not None and path[0] == self.picture.nodes and len(path) > 1:
            return shown(path[1]), self._joined(path, 2).removeprefix(".")
        kept = 3 if path[0] == self.network else 2 if len(path) > 2 else 1
        return str(path[0]) + self._joined(path[:kept], 1), self._joined(path, kept).removeprefix(".")

    def _joined(self, path: Path, begin: int) -> str:
        return "".join(self._place(path[: end + 1]) for end in range(begin, len(path)))

    def _place(self, path: Path) -> str:
        """Return the last step of a path, as TLA+ writes it; a log of nodes counts as its picture does."""
        key, picture = path[-1], self.picture
        if self._is_message(key) and picture is not None:
            return picture.label(key)
        if type(key) is int and self._is_in_log(path) and picture is not None:
            key += picture.log_begins - 1
        return place_text(key)

    def _text(self, path: Path, value: Value) -> str:
        if self.picture is not None:
            if self._is_in_log(path) and isinstance(value, Fcn):
                return self.picture.entry(value)
            if self._is_message(value):
                return self.picture.label(value)
        return value if isinstance(value, str) and _NAME.match(value) else self.printer(value)

    def _is_message(self, value: Value) -> bool:
        return self.network is not None and self.picture is not None and is_message(value)

    def _is_in_log(self, path: Path) -> bool:
        picture = self.picture
        return picture is not None and len(path) == 4 and path[0] == picture.nodes and path[2] == picture.log
