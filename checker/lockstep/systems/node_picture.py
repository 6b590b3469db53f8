"""Drawings of a system's nodes: their logs, and the indexes into these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lockstep.tla.values.kinds import Fcn, Value, format_value

#: The variables of a state by name.
Variables: TypeAlias = Mapping[str, Value]


def shown(value: Value) -> str:
    """Return a value as a picture has it: as TLA+ writes it, but for strings, which need no quotation marks here."""
    return value if isinstance(value, str) else format_value(value)


def is_message(value: Value) -> bool:
    """Return whether a value is a message from one node to another."""
    return isinstance(value, Fcn) and value.d.keys() >= {"kind", "src", "dst"}


@dataclass(frozen=True, slots=True)
class DrawnEntry:
    """An entry of a node's log: its index and term, its content, and whether the node knows it to be committed."""

    index: int
    term: int
    text: str
    is_committed: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """An index that a node keeps: its name in the spec, and its value."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A drawn node: its role, whether it runs, other facts, its log, and the indexes into that.

    `facts` are pairs of a name and a value. `snapshot` is the last index that a snapshot stands for, None where there
    is none.
    """

    role: str
    is_up: bool
    facts: tuple[tuple[str, str], ...]
    log: tuple[DrawnEntry, ...]
    marks: tuple[Mark, ...]
    snapshot: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """The drawing of a system's states.

    `nodes` is the variable that holds the state of each node; `draw` draws one node, without the entries of its log
    below an index, and `end` returns the index of its last entry, -1 where it has none. `label` names a
    message in a word or two. `loses` and `doubles` are the actions by which the network loses a message, and delivers
    it once more; `changes` are the fields of a message that may change while it is under way. `log` is the field of a
    node that holds its log, `log_begins` the index of its first entry, and `entry` names an entry with its term.
    `grants` says whether a message is a vote that is granted; `votes` returns the votes that a step of an action with
    its arguments grants without a message, each the node that votes and the one that it votes for.
    """

    nodes: str
    draw: Callable[[Variables, Value, int], DrawnNode]
    end: Callable[[Variables, Value], int]
    label: Callable[[Value], str]
    loses: frozenset[str]
    doubles: frozenset[str]
    changes: frozenset[str]
    log: str
    log_begins: int
    entry: Callable[[Value], str]
    grants: Callable[[Value], bool]
    votes: Callable[[str, Mapping[str, Value]], Sequence[tuple[Value, Value]]]
