"""Facts that lines of nodes' own logs establish, in the words of spec/logged/LoggedGroup.tla."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Fact:
    """An action of LoggedGroup, with its arguments but for the node that wrote the line."""

    action: str
    args: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The contents of a line.

    `kind` names what it is about; `facts` are what it establishes, often nothing. `is_own`: the line is one of the
    replicated log's library, and not of another part of the program. `writer` keeps the nodes of one log apart, where
    its lines name them; `name` is the name of the node, where the line has it, `others` are other nodes that it names;
    `group` is the group that it is of, where one program may be a member of several.
    """

    kind: str
    facts: tuple[Fact, ...] = ()
    is_own: bool = True
    writer: str = ""
    name: str = ""
    others: tuple[str, ...] = ()
    group: str = ""


class LineReader(Protocol):
    """Reads the lines of one log in their order."""

    def read(self, text: str) -> ReadLine:
        """Return what a line says."""


MakeReader: TypeAlias = Callable[[], LineReader]


@dataclass(frozen=True, slots=True)
class OwnLogs:
    """The logs that the nodes of a system write for their operators.

    `reader` makes what reads the lines of one log; `forgets_term`: a process that dies while it writes its term may
    leave term 0; `blind` names what its lines never show.
    """

    reader: MakeReader
    forgets_term: bool
    blind: str


def fact(action: str, **args: int | str) -> Fact:
    """Return a fact."""
    return Fact(action, args)
