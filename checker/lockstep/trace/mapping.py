"""Anyone's NDJSON as a trace: a mapping file tells which line is which action, and what it shows.

kind = "what"                 # the field whose value is the kind of a line; `a.b` is b within a
null = "NoClient"             # the constant that JSON's null stands for; it may be left out
observe = "Shown"             # the definition that lines show; `Observe` where it is left out

[codes]                       # the codes that findings have where these properties fail; LS100 where there is none
TypeOK = "LK101"

[lines.locked]                # what a line of kind "locked" is
action = "Lock"
args = { c = "client" }       # each parameter of the action: a field of the line
shows = { owner = "held_by" } # each observed name: a field; or one field that holds them all

[lines.started]
ignore = true
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.text_files import NotUtf8Error, text_of
from lockstep.trace.format import Event
from lockstep.trace.json_lines import TraceError, explained, file_lines, json_object, source_name, unreasonable

#: The code of a property; those of lockstep itself begin with LS.
Code = Annotated[str, msgspec.Meta(pattern=r"^(?!LS)[A-Z]{2,8}[0-9]{1,6}$")]


class Line(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a kind of line is: an action with its parameters and what it shows, or nothing (`ignore`)."""

    action: str | None = None
    args: dict[str, str] = {}
    shows: dict[str, str] | str = {}
    ignore: bool = False


class Mapping(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which field tells the kind of a line, what null stands for, and what each kind of line is.

    `observe` names the definition of the spec that lines show; `codes` gives properties codes of their own.
    """

    kind: str
    lines: dict[str, Line]
    null: str | None = None
    observe: str | None = None
    codes: dict[str, Code] = {}


class MappingError(BadInputError):
    """A mapping file that cannot be used; the message names the file and the field."""


def read_mapping(path: Path) -> Mapping:
    """Read a mapping file; raises MappingError where it is malformed and OSError where it cannot be read."""
    try:
        tree = tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise MappingError(f"{path}: {error}") from error
    except NotUtf8Error as error:
        raise MappingError(str(error)) from error
    except RecursionError as error:
        raise MappingError(f"{path}: nested too deep") from error
    try:
        mapping = msgspec.convert(tree, Mapping)
    except msgspec.ValidationError as error:
        raise MappingError(f"{path}: {explained(error, tree)}") from error
    for kind, line in mapping.lines.items():
        if (line.action is None) != line.ignore:
            raise MappingError(f"{path}: field `lines.{kind}`: give either `action` or `ignore = true`")
    return mapping


@dataclass(frozen=True, slots=True)
class MappedTrace:
    """A log as a trace: its lines become events while it is iterated.

    `source` is the file; iterating yields (line number, event) and raises TraceError where a line is no JSON
    object, is of a kind that the mapping does not have, or lacks a field that the mapping names.
    """

    path: Path
    mapping: Mapping

    @property
    def source(self) -> str:
        """The file."""
        return source_name(self.path)

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""
        for number, text in enumerate(file_lines(self.path), start=1):
            tree = json_object(text, self.source, number, "log")
            kind = self._field(tree, self.mapping.kind, number)
            line = self.mapping.lines.get(kind) if isinstance(kind, str) else None
            if line is None:
                problem = f"field `{self.mapping.kind}`: the mapping has no lines of kind {kind!r}"
                raise TraceError(self.source, number, problem)
            if line.action is not None:
                yield number, self._event(line, line.action, tree, number)

    def _event(self, line: Line, action: str, tree: dict[str, Any], number: int) -> Event:
        args = {name: self._field(tree, path, number) for name, path in line.args.items()}
        shows = self._shows(line.shows, tree, number)
        return Event(number, "", action, args, shows)

    def _shows(self, shows: dict[str, str] | str, tree: dict[str, Any], number: int) -> dict[str, Any]:
        if isinstance(shows, dict):
            return {name: self._field(tree, path, number) for name, path in shows.items()}
        found = self._field(tree, shows, number)
        if not isinstance(found, dict):
            raise TraceError(self.source, number, f"field `{shows}`: it is no object")
        return found

    def _field(self, tree: dict[str, Any], path: str, number: int) -> Any:
        found: Any = tree
        for name in path.split("."):
            if not isinstance(found, dict) or name not in found:
                raise TraceError(self.source, number, f"field `{path}`: missing")
            found = found[name]
        problem = unreasonable(found, path)
        if problem:
            raise TraceError(self.source, number, problem)
        return found
