"""Tampering: change one thing of a conforming trace at a time, and see whether the check notices.

Each tampering changes one value that an event shows, sends or
takes, or one event: its node, its action, its place. The spec is deterministic given action and parameters, so the
check of a tampered trace begins in the state in which the changed event stands, and ends where it is refused, or
where the spec is again in the state that the trace as it was led to: from there on nothing differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from lockstep.base.characters import visible_line
from lockstep.base.verdict import Verdict
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.conformance.trace_verdict import Finding
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import OBSERVE, Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace


class TamperingKind(StrEnum):
    """The thing that is changed."""

    SHOWS = "a value that is shown"
    SENT = "a value of a message that was sent"
    ARGS = "a value of a parameter"
    SENT_MESSAGES = "a message that was sent: dropped, doubled"
    NODE = "the node of an event"
    ACTION = "the action of an event"
    EXCHANGED = "parameters: those of the next event of that action"
    DROPPED = "an event: dropped"
    REPEATED = "an event: repeated"
    SWAPPED = "two events: swapped"
    SEQUENCE = "the order that seq gives"


#: The kinds that are compared with the spec at the event itself.
COMPARED = (TamperingKind.SHOWS, TamperingKind.SENT, TamperingKind.SENT_MESSAGES)


@dataclass(frozen=True, slots=True)
class Tampering:
    """One change: the events `at` .. `at + width - 1` are replaced; `path` names the value, if only one differs."""

    kind: TamperingKind
    at: int
    replaced: tuple[Event, ...]
    width: int = 1
    path: str = ""

    def applied(self, events: Sequence[Event]) -> list[Event]:
        """Return the whole tampered trace, numbered anew."""
        changed = [*events[: self.at], *self.replaced, *events[self.at + self.width :]]
        return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(changed)]


class TamperingOutcome(StrEnum):
    """The result of checking a tampered trace."""

    AT_ONCE = "at its event"
    LATER = "later"
    MALFORMED = "malformed"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class JudgedTampering:
    """A tampering and its outcome; `index` is that of the event refused in the tampered trace, `names` why."""

    tampering: Tampering
    outcome: TamperingOutcome
    index: int = -1
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """The number of tamperings by kind and outcome."""

    counts: Counter[tuple[TamperingKind, TamperingOutcome]] = field(default_factory=Counter)

    def add(self, judged: JudgedTampering) -> None:
        """Count one more."""
        self.counts[judged.tampering.kind, judged.outcome] += 1

    def unnoticed(self) -> int:
        """Count the values, shown or sent, whose change was not reported at their event."""
        late = (TamperingOutcome.LATER, TamperingOutcome.ALLOWED)
        return sum(self.counts[kind, outcome] for kind in COMPARED for outcome in late)

    def verdict(self) -> Verdict:
        """Return whether every such value was noticed; where there was none, nothing was tried."""
        if self.unnoticed():
            return Verdict.VIOLATED
        tried = any(self.counts[kind, outcome] for kind in COMPARED for outcome in TamperingOutcome)
        return Verdict.HOLDS if tried else Verdict.INCONCLUSIVE

    def rows(self) -> list[tuple[object, ...]]:
        """Return a row for each kind there was: how many, how many of each outcome, the share refused in percent."""
        rows: list[tuple[object, ...]] = []
        for kind in TamperingKind:
            counts = [self.counts[kind, outcome] for outcome in TamperingOutcome]
            if total := sum(counts):
                rows.append((str(kind), total, *counts, 100 * (total - counts[-1]) / total))
        return rows


#: The heads of the columns of Tally.rows.
TALLY_HEADS = ("changed", "times", *map(str, TamperingOutcome), "refused, %")


class NotConformingError(Exception):
    """Only a trace that conforms can be tampered with; the message says where it does not."""


class Tampered:
    """A conforming trace with the state before each of its events, ready to judge tamperings."""

    def __init__(
        self, header: Header, events: Sequence[Event], spec: Spec, interface: Interface, source: str = "trace"
    ) -> None:
        """Take the trace of `source` through the spec; raises NotConformingError where it is not the spec's."""
        self.header, self.events, self.spec, self.interface = header, events, spec, interface
        check = self._check()
        self._states: list[State] = [check.initial()]
        for index, event in enumerate(events):
            after = check.advance(self._states[-1], index, event)
            if after is None:
                found = check.result.findings[0]
                where = f"{source}: event {event.seq} ({found.action} of {visible_line(found.node)}) is not the spec's"
                raise NotConformingError(f"{where}; only a conforming trace can be tampered with")
            self._states.append(after)

    def judge(self, tampering: Tampering) -> JudgedTampering:
        """Check the trace with this change, from where it begins to differ."""
        if tampering.kind is TamperingKind.SEQUENCE:
            return self._read(tampering)
        begin, end = tampering.at, tampering.at + tampering.width
        check = self._check()
        state: State | None = self._states[begin]
        position = begin
        for event in (*tampering.replaced, *self.events[end:]):
            assert state is not None
            unchanged = position - begin - len(tampering.replaced)  # events as they were, since the change
            if unchanged >= 0 and state == self._states[end + unchanged]:
                break
            try:
                state = check.advance(state, position, event)
            except TraceError as error:
                return JudgedTampering(tampering, TamperingOutcome.MALFORMED, position, (error.problem,))
            if state is None:
                changed = position < begin + max(1, len(tampering.replaced))
                outcome = TamperingOutcome.AT_ONCE if changed else TamperingOutcome.LATER
                return JudgedTampering(tampering, outcome, position, _names(check.result.findings[0]))
            position += 1
        return JudgedTampering(tampering, TamperingOutcome.ALLOWED)

    def _check(self) -> TraceCheck:
        return TraceCheck(Trace(trace_lines(self.header, ()), "tampered"), self.spec, self.interface)

    def _read(self, tampering: Tampering) -> JudgedTampering:
        """Judge a change that the reader of traces must notice."""
        around = [*self.events[max(0, tampering.at - 1) : tampering.at], *tampering.replaced]
        try:
            for _ in Trace(trace_lines(self.header, around), "tampered"):
                pass
        except TraceError as error:
            return JudgedTampering(tampering, TamperingOutcome.MALFORMED, tampering.at, (error.problem,))
        return JudgedTampering(tampering, TamperingOutcome.ALLOWED)


def _names(found: Finding) -> tuple[str, ...]:
    return (found.name, *found.details)


def tamperings(header: Header, events: Sequence[Event], spec: Spec) -> Iterator[Tampering]:
    """Yield every single change of a trace that this module knows of, event by event."""
    known = _KnownStrings(events)
    for at, event in enumerate(events):
        yield from _value_changes(at, event, known)
        yield from _message_changes(at, event)
        yield from _event_changes(at, event, header, spec)
        yield from _place_changes(at, events)


class _KnownStrings:
    """The strings that stand at each path of a trace: a plausible lie is one that is true elsewhere."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._strings: dict[str, set[str]] = {}
        for event in events:
            for name, tree in _trees(event):
                for path, leaf in _leaves(tree, name):
                    if isinstance(leaf, str):
                        self._strings.setdefault(_general(path), set()).add(leaf)
        self.nodes = sorted({event.node for event in events})

    def others(self, path: str, leaf: Any) -> list[Any]:
        """Return what could stand at a path instead of a leaf."""
        match leaf:
            case bool():
                return [not leaf]
            case int():
                return [leaf + 1, leaf - 1] if leaf > -1 else [leaf + 1]
            case str():
                known = sorted(self._strings.get(_general(path), set()) - {leaf})
                return known[:2] or [f"{leaf}'"]
            case None:
                return self.nodes[:1]
            case _:  # a list that is not empty, without its last part
                return [leaf[:-1]]


def _trees(event: Event) -> Iterator[tuple[str, Any]]:
    yield "shows", event.shows
    yield "args", event.args
    yield "sent", list(event.sent or ())


def _general(path: str) -> str:
    """Return a path without the numbers in it."""
    return "".join(char for char in path if not char.isdigit())


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of each value that can be changed alone; a list as a whole, if it has parts, as well."""
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from _leaves(part, f"{path}.{key}")
    elif isinstance(tree, list):
        for index, part in enumerate(tree):
            yield from _leaves(part, f"{path}[{index}]")
        if tree and path != "sent":
            yield path, tree
    else:
        yield path, tree


def _replaced(tree: Any, path: str, at: str, value: Any) -> Any:
    """Return the tree with the value at a path replaced; `path` is that of the tree itself."""
    if path == at:
        return value
    if isinstance(tree, dict):
        return {key: _replaced(part, f"{path}.{key}", at, value) for key, part in tree.items()}
    if isinstance(tree, list):
        return [_replaced(part, f"{path}[{index}]", at, value) for index, part in enumerate(tree)]
    return tree


_KINDS = {"shows": TamperingKind.SHOWS, "args": TamperingKind.ARGS, "sent": TamperingKind.SENT}


def _value_changes(at: int, event: Event, known: _KnownStrings) -> Iterator[Tampering]:
    for name, tree in _trees(event):
        for path, leaf in _leaves(tree, name):
            for other in known.others(path, leaf):
                changed = _replaced(tree, name, path, other)
                if name == "sent":
                    changed = tuple(changed)
                yield Tampering(_KINDS[name], at, (msgspec.structs.replace(event, **{name: changed}),), path=path)


def _message_changes(at: int, event: Event) -> Iterator[Tampering]:
    if event.sent:
        for sent in (event.sent[:-1], (*event.sent, event.sent[-1])):
            yield Tampering(TamperingKind.SENT_MESSAGES, at, (msgspec.structs.replace(event, sent=sent),), path="sent")


def _event_changes(at: int, event: Event, header: Header, spec: Spec) -> Iterator[Tampering]:
    for node in header.nodes:
        if node != event.node:
            yield Tampering(TamperingKind.NODE, at, (msgspec.structs.replace(event, node=node),), path="node")
    if event.action == OBSERVE:
        return
    params = spec.actions[event.action].params
    for name, action in spec.actions.items():
        if action.params == params and name != event.action:
            yield Tampering(TamperingKind.ACTION, at, (msgspec.structs.replace(event, action=name),), path="action")


def _place_changes(at: int, events: Sequence[Event]) -> Iterator[Tampering]:
    event = events[at]
    yield Tampering(TamperingKind.SEQUENCE, at, (msgspec.structs.replace(event, seq=events[at - 1].seq if at else -1),))
    if event.action == OBSERVE:
        return  # an observation is no step that could be missing, or taken twice
    yield Tampering(TamperingKind.DROPPED, at, ())
    yield Tampering(TamperingKind.REPEATED, at, (event, event))
    if at + 1 < len(events):
        yield Tampering(TamperingKind.SWAPPED, at, (events[at + 1], event), width=2)
    for other in events[at + 1 :]:
        if other.action == event.action and other.args != event.args:
            yield Tampering(
                TamperingKind.EXCHANGED, at, (msgspec.structs.replace(event, args=other.args),), path="args"
            )
            return
