"""What a page shows: steps with the states that they lead to, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lockstep.tla.values.kinds import Value


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; `marked` are the numbers of the rows that matter."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int]


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and the state that it leads to.

    `number` is its place in the whole behaviour; that of the initial state is 0. `action` is empty where nobody tells.
    `args` are its arguments; `node` is the node that takes it, if one does. `line` is that of the trace, of
    the file `source` where there are several. `failed` names the properties that are false there: invariants of the
    state, others of the step. `is_refused`: the spec does not allow it, and the state is that before it.
    `is_hidden`: no line of a log tells of it. `tables` tell of a step that the spec does not allow.
    """

    number: int
    action: str
    args: Mapping[str, Value]
    node: str
    state: Mapping[str, Value]
    line: int | None = None
    failed: frozenset[str] = frozenset()
    is_refused: bool = False
    source: str = ""
    is_hidden: bool = False
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What is wrong, at a step by its number: a title, lines of text, and tables."""

    number: int
    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A behaviour, or the part of it around what is wrong, with what is said of it.

    `count` is the number of the last step of the whole. `properties` names what was evaluated in each state and step.
    `back_to` is the number of the step to which a behaviour without end goes back. `deviates`: what it is of leaves the
    spec behind the last step.
    """

    title: str
    verdict: str
    reason: str
    steps: tuple[Step, ...]
    count: int
    properties: tuple[str, ...]
    said: tuple[Said, ...] = ()
    back_to: int | None = None
    deviates: bool = False
