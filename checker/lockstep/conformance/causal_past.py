"""The causal past of what is wrong with a trace: a part of it that may have been all that happened.

Happens-before is that of Lamport: the steps of a node in their order, and the sending of a message before whatever
handles it. A part that has the past of each of its steps looks the same to every node. A property may still depend on
what such a part lacks, such as what another node committed meanwhile; so every part is checked again, against the
values that the trace has, and is taken only if the same is wrong at the same event.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lockstep.conformance.run_search import BudgetSpentError, CandidateRun, DeviationError, RunSearch
from lockstep.conformance.spec_interface import copies
from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event of a trace, with its line and its place among the events, from 0."""

    place: int
    line: int
    event: Event


def take_placed(check: TraceCheck, state: State, placed: PlacedEvent) -> tuple[PlacedEvent, State]:
    """Take an event, and compare what it shows and sent; raises DeviationError where it is not the spec's."""
    try:
        after = check.advance(state, placed.line, placed.event)
    except TraceError as error:
        raise DeviationError("malformed", str(error)) from error
    if after is None:
        found = check.result.findings.pop()
        raise DeviationError(found.kind, found.code, found.name, found.action, found.spec_line)
    return placed, after


def causes(run: CandidateRun[PlacedEvent], check: TraceCheck) -> list[set[int]]:
    """Return for each event of a run, by its place, those that happened directly before it."""
    found: list[set[int]] = []
    last: dict[str, int] = {}
    senders: dict[Value, deque[int]] = defaultdict(deque)
    for number, placed in enumerate(run.steps):
        direct = {last[placed.event.node]} if placed.event.node in last else set()
        before = under_way(run.states[number], check)
        after = under_way(run.states[number + 1], check) if number + 1 < len(run.states) else before
        for message in messages_of(placed, check):
            direct.update(list(senders[message])[:1] if message in before else ())
        for message, count in (before - after).items():
            direct.update(senders[message].popleft() for _ in range(min(count, len(senders[message]))))
        for message, count in (after - before).items():
            senders[message].extend([number] * count)
        found.append(direct)
        last[placed.event.node] = number
    return found


def under_way(state: State, check: TraceCheck) -> Counter[Value]:
    """Count the copies of each message under way; there is none if the spec does not say what a node has sent."""
    outbox = check.interface.outbox
    network = None if outbox is None or not check.interface.has_outbox(check.spec) else state[outbox.network]
    found: Counter[Value] = Counter()
    for channels in network.d.values() if isinstance(network, Fcn) else ():
        found.update(copies(channels))
    return found


def messages_of(placed: PlacedEvent, check: TraceCheck) -> Iterator[Value]:
    """Yield the messages that an event names, whether it takes them from the network or not."""
    if not check.reading.is_observation(placed.event):
        args = check.reading.arguments(placed.line, placed.event)
        yield from (value for value in args.values() if isinstance(value, Fcn))


def closure(start: int, edges: Sequence[Iterable[int]]) -> set[int]:
    """Return all that is reached from a place by edges, and the place itself."""
    found, pending = {start}, [start]
    while pending:
        new = set(edges[pending.pop()]) - found
        found |= new
        pending += new
    return found


def cut_to_past(search: RunSearch[PlacedEvent], check: TraceCheck) -> bool:
    """Cut the best run of a search to the past of its last event, and what else the verdict needs.

    First all that is not in that past is left out. If then something else is wrong, or nothing, each node is cut as
    early as may be, by bisection, and at last no event outside the past can go with all that happened after it.
    Returns False where the time was over before.
    """
    if not search.best.steps:  # the initial state is wrong
        return True
    direct = causes(search.best, check)
    effects: list[set[int]] = [set() for _ in direct]
    for place, before in enumerate(direct):
        for each in before:
            effects[each].add(place)
    past = closure(len(direct) - 1, direct)
    try:
        outside = [number for number in range(len(direct)) if number not in past]
        if not outside or search.without(outside):
            return True
        for node in sorted({placed.event.node for placed in search.best.steps}):
            _cut_node(search, outside, node, effects)
        left = 0
        while left != len(search.best.steps):
            left = len(search.best.steps)
            for place in reversed(outside):
                _leave_out(search, place, effects)
    except BudgetSpentError:
        return False
    return True


def _cut_node(search: RunSearch[PlacedEvent], outside: list[int], node: str, effects: Sequence[set[int]]) -> None:
    """Find by bisection how early the events of a node that are outside the past can end."""
    here = {placed.place: placed.event.node for placed in search.best.steps}
    mine = [place for place in outside if here.get(place) == node]
    low, high = 0, len(mine)  # with `high` of them the verdict is the same
    while low < high:
        middle = (low + high) // 2
        if _leave_out(search, mine[middle], effects):
            high = middle
        else:
            low = middle + 1


def _leave_out(search: RunSearch[PlacedEvent], place: int, effects: Sequence[set[int]]) -> bool:
    """Leave out an event with all that happened after it; return whether that can go."""
    gone = closure(place, effects)
    numbers = [number for number, placed in enumerate(search.best.steps) if placed.place in gone]
    return bool(numbers) and search.without(numbers)
