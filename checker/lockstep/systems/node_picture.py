"""What a picture needs to know of a system: which of its state is a node's log, which are indexes into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lockstep.tla.values.kinds import Value, format_value

#: The variables of a state by name.
Variables: TypeAlias = Mapping[str, Value]


def shown(value: Value) -> str:
    """Return a value as a picture has it: as TLA+ writes it, but for strings, which need no quotation marks here."""
    return value if isinstance(value, str) else format_value(value)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a node's log: its index and term, what it holds, and whether the node knows it to be committed."""

    index: int
    term: int
    text: str
    is_committed: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """An index that a node keeps: its name, as the spec has it, and where it points."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Look:
    """How a node is drawn: its role, whether it runs, what else is said of it, its log, and the indexes into that.

    `facts` are pairs of a name and a value. `snapshot` is the last index that a snapshot stands for, None where there
    is none.
    """

    role: str
    is_up: bool
    facts: tuple[tuple[str, str], ...]
    log: tuple[Entry, ...]
    marks: tuple[Mark, ...]
    snapshot: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """How the states of a system are drawn.

    `nodes` is the variable that holds, by node, what a node knows; `look` says how one node is drawn, without the
    entries of its log below an index, and `end` which index its last entry has, -1 where it has none. `label` names a
    message in a word or two. `loses` and `doubles` are the actions by which the network loses a message, and delivers
    it once more; `changes` are the fields of a message that may change while it is under way.
    """

    nodes: str
    look: Callable[[Variables, Value, int], Look]
    end: Callable[[Variables, Value], int]
    label: Callable[[Value], str]
    loses: frozenset[str]
    doubles: frozenset[str]
    changes: frozenset[str]
