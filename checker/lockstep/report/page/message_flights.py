"""The messages of a behaviour: the step that sends each, and the step that receives or loses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lockstep.report.page.shown_behaviour import ShownStep
from lockstep.systems.node_picture import Picture, shown
from lockstep.tla.values.kinds import Fcn, Value, sort_key

#: The fates of a message.
UNDER_WAY, RECEIVED, LOST = "under way", "received", "lost"


@dataclass(slots=True)
class Flight:
    """A message between two nodes.

    `sent` is the number of the step that sent it, None where it was under way before the first step; `ended` that of
    the step that received or lost it, None where it is under way to the end. `is_copy`: the network made it.
    """

    message: Value
    src: str
    dst: str
    sent: int | None
    ended: int | None = None
    fate: str = UNDER_WAY
    is_copy: bool = False


def flights(steps: Sequence[ShownStep], network: str, picture: Picture) -> list[Flight]:
    """Follow every message from its sender to where it ends.

    The oldest of equal messages in one channel arrives first. Arguments: `network`, the variable that holds the
    channels, `[src][dst]`, each a sequence or a bag of messages.
    """
    tracker = _FlightTracker(picture)
    known: dict[tuple[str, str], Value] = {}
    for at, step in enumerate(steps):
        for key, channel in _channels(step.state[network]):
            before = known.get(key, ())
            if channel is not before:
                tracker.record(key, _counted(before), _counted(channel), None if at == 0 else step)
                known[key] = channel
        if step.is_refused:
            tracker.receive_refused(step)
    return tracker.flights


def channels(network: Value) -> Iterator[tuple[tuple[str, str], Counter[Value]]]:
    """Yield the messages of each channel of a network, counted, by the names of its sender and its receiver."""
    for ends, channel in _channels(network):
        yield ends, _counted(channel)


class _FlightTracker:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.flights: list[Flight] = []
        self._under_way: dict[tuple[str, str], list[Flight]] = {}

    def record(
        self, key: tuple[str, str], before: Counter[Value], after: Counter[Value], step: ShownStep | None
    ) -> None:
        """Record what a step changed in one channel."""
        flying = self._under_way.setdefault(key, [])
        gone, come = [sorted(each.elements(), key=sort_key) for each in (before - after, after - before)]
        for message in gone:
            flight = next(each for each in flying if each.message == message)
            other = next((each for each in come if self._is_same(message, each)), None)
            if other is not None:
                come.remove(other)
                flight.message = other
                continue
            flying.remove(flight)
            assert step is not None
            flight.ended = step.number
            flight.fate = RECEIVED if step.node == flight.dst and step.action not in self.picture.loses else LOST
        for message in come:
            is_copy = step is not None and step.action in self.picture.doubles
            flight = Flight(message, *key, None if step is None else step.number, is_copy=is_copy)
            flying.append(flight)
            self.flights.append(flight)

    def receive_refused(self, step: ShownStep) -> None:
        """Let the message that a refused step takes, or loses, end there, though the spec's state keeps it."""
        if step.action in self.picture.doubles:
            return
        taken = list(step.args.values())
        for (_, dst), flying in self._under_way.items():
            flight = next((each for each in flying if dst == step.node and each.message in taken), None)
            if flight is not None:
                flight.ended = step.number
                flight.fate = LOST if step.action in self.picture.loses else RECEIVED
                return

    def _is_same(self, message: Value, other: Value) -> bool:
        """Return whether two messages differ only in fields that may change under way."""
        left, right = message.d, other.d
        return left.keys() == right.keys() and all(
            left[name] == right[name] for name in left if name not in self.picture.changes
        )


def _channels(network: Value) -> Iterator[tuple[tuple[str, str], Value]]:
    for src, row in _in_order(network):
        for dst, channel in _in_order(row) if isinstance(row, Fcn) else ():  # <<>> is the row of a node without peers
            yield (shown(src), shown(dst)), channel


def _in_order(table: Value) -> list[tuple[Value, Value]]:
    """Return the pairs of a function in the order of their keys: the function's own differs from run to run."""
    return sorted(table.d.items(), key=lambda pair: sort_key(pair[0]))


def _counted(channel: Value) -> Counter[Value]:
    """Count the messages of a channel, a bag or a sequence."""
    return Counter(channel.d) if isinstance(channel, Fcn) else Counter(channel)
