"""The form of what `lockstep hunt` needs of a system: groups that take steps fast, and the properties in Python.

A search takes thousands of steps a second, far more than the compiled spec does. So the properties of the spec are said
once more, of the servers of the reference; what violates them is confirmed by the spec before it is shown.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

from raftref.simulation.group import NETWORK_ACTIONS, Event, Group

AnyGroup: TypeAlias = Group[Any, Any, Any]

#: A node, an action by the spec's name, and its arguments.
Move: TypeAlias = tuple[str, str, tuple[Any, ...]]

#: The name of a violated property, and the values that violate it.
Violation: TypeAlias = tuple[str, str]


class PropertyWatch(Protocol):
    """Watches the steps of a group for violations of the properties that traces are checked for."""

    def before(self, move: Move) -> None:
        """Remember what a step is about to change."""

    def after(self, move: Move) -> Iterator[Violation]:
        """Yield the properties that the step has violated, or that do not hold after it."""

    def milestones(self) -> tuple[int, int]:
        """Return how many elections were won so far, and how many entries were committed."""

    def situations(self) -> Iterator[Hashable]:
        """Yield the situations of the group: small parts of its state, without the numbers that grow for ever."""

    def distances(self) -> Mapping[str, float]:
        """Return how far the group is from calm, by the name of each measure; more is nearer to a violation."""


class HuntSchedule(Protocol):
    """Takes one step after another by the rates of a plan.

    `held_until` is until which event a channel delivers nothing. `awake` are the nodes that act, None for all; if it is
    `silent` they send nothing to the others. `contender` is the only node that stands for election, None for any. After
    `max_attempts` in a row that come to nothing no step is possible.
    """

    cluster: Any
    random: random.Random
    held_until: dict[tuple[str, str], int]
    max_attempts: int
    awake: frozenset[str] | None
    contender: str | None
    silent: bool

    def next_event(self) -> object | None:
        """Take the next step; None where nothing is possible any more."""

    def follow_plan(self, plan: Any) -> None:
        """Go on by the rates of another plan of the same group."""

    def follow_election(self, plan: Any) -> None:
        """Go on as follow_plan does, with elections alone for ordinary work."""


class MoveListener(Protocol):
    """Hears of each step of a group, before it and after it."""

    def before(self, move: Move) -> None:
        """A node is about to take a step."""

    def after(self, move: Move) -> None:
        """A node has taken a step."""


@dataclass(frozen=True, slots=True)
class Weather:
    """The rates of a fault plan as they are drawn.

    `ordinary` are those of what a group does without faults, which are mostly on; `rare` those that take a process or a
    machine down, which stay low; `unseats` those that make a node stand for election, or a leader step down; every
    other one is a fault that may be frequent.
    """

    events: tuple[str, ...]
    messages: tuple[str, ...]
    writes: tuple[str, ...]
    orders: tuple[str, ...]
    ordinary: frozenset[str]
    rare: frozenset[str]
    unseats: frozenset[str]

    def rates(self, chance: random.Random) -> dict[str, float]:
        """Draw the rates; some are 0, so that each draw has other faults (swarm testing)."""
        share = chance.choice((0.08, 0.2, 0.5))
        rates = {name: self._rate(name, share, chance) for name in self.events}
        total = sum(rates.values())
        if total > MAX_TOTAL:
            rates = {name: rate * MAX_TOTAL / total for name, rate in rates.items()}
        for names, part in ((self.messages, share), (self.writes, share / 2)):
            rates |= {name: _power(chance, -2, -0.6) if chance.random() < part else 0.0 for name in names}
        return rates | {name: chance.choice((0.0, 0.3, 0.8)) for name in self.orders}

    def calm(self, chance: random.Random) -> dict[str, float]:
        """Draw the rates of what a group does without faults; sometimes writes fail all the same."""
        return self._but_for(chance, {name: self._rate(name, 0.0, chance) for name in self.events})

    def electing(self, chance: random.Random) -> dict[str, float]:
        """Draw the rates of a group that is to elect somebody: restarts, and what unseats leaders, now and then."""
        events = dict.fromkeys(self.events, 0.0) | dict.fromkeys(self.unseats, UNSEATED) | {"restart": RESTARTED}
        return self._but_for(chance, events)

    def _but_for(self, chance: random.Random, events: Mapping[str, float]) -> dict[str, float]:
        failing = chance.choice(FAILING_WRITES) if chance.random() < WRITES_FAIL else 0.0
        quiet = dict.fromkeys(self.messages, 0.0) | dict.fromkeys(self.writes, failing)
        return {**events, **quiet, **{name: chance.choice((0.0, 0.3, 0.8)) for name in self.orders}}

    def _rate(self, name: str, share: float, chance: random.Random) -> float:
        if name in RECOVERIES:
            return _power(chance, -1.7, -0.8)
        if name in self.ordinary:
            return _power(chance, -2.3, -1) if chance.random() < 0.85 else 0.0
        if chance.random() >= share:
            return 0.0
        return _power(chance, -3, -2) if name in self.rare else _power(chance, -2.7, -1.2)


#: A network with this many messages doubles no more of them in a random walk.
MAX_UNDER_WAY = 12
#: The most that the rates of a plan make together; the rest is ordinary work.
MAX_TOTAL = 0.5
#: The rate of each event that unseats a leader where one is to be elected.
UNSEATED = 0.01
#: The rate of restarts then.
RESTARTED = 0.05
#: The odds that writes fail while a group is calm otherwise, and the rates that each failure may have then.
WRITES_FAIL, FAILING_WRITES = 0.25, (0.1, 0.4)
#: The rates without which a group comes to nothing.
RECOVERIES = frozenset({"restart", "heal", "client"})


def _power(chance: random.Random, least: float, most: float) -> float:
    """Draw a number whose logarithm is even between two."""
    return float(10 ** chance.uniform(least, most))


def weather_of(plan: type[Any], ordinary: Iterable[str], rare: Iterable[str], unseats: Iterable[str]) -> Weather:
    """Return the rates that a class of plans has."""
    kinds = {each.name: each.metadata.get("kind") for each in fields(plan)}
    events, messages, writes = (
        tuple(name for name, kind in kinds.items() if kind == wanted) for wanted in ("event", "message", "write")
    )
    orders = tuple(name for name in ("reorder", "late") if name in kinds)
    return Weather(events, messages, writes, orders, frozenset(ordinary), frozenset(rare), frozenset(unseats))


#: The number of nodes of a group, if nothing asks for more.
NODES = 3


@dataclass(frozen=True, slots=True)
class Hunted:
    """A system as a search needs it.

    `spec` is the name of its spec. `flaws`, `features` and `properties` are names; `together` are the flaws that one
    needs beside it to show, and `nodes_needed` the number of nodes of the smallest group that shows it, where that is
    not NODES. `features_needed` are the features without which there cannot be another one.
    `may_fail_repaired` are the properties that may fail with every flaw repaired.
    `parts` are the actions by the part of the protocol, such as elections; a random walk takes those of a few parts.
    `sizes` are the numbers of nodes that a group may have.

    `plan` makes a plan of a number of nodes, features and flaws; the rest of its shape, such as the order of channels,
    is random. `group` makes the group of a plan, whose steps a listener hears of, and `schedule` begins its run;
    `recorded` makes one whose steps are events of a trace. `candidates` yields arguments with which a node may be able
    to take an action now, of a step whose writes succeed, or may fail. `watch` watches the properties.
    """

    spec: str
    flaws: tuple[str, ...]
    features: tuple[str, ...]
    properties: tuple[str, ...]
    together: Mapping[str, tuple[str, ...]]
    nodes_needed: Mapping[str, int]
    features_needed: Mapping[str, tuple[str, ...]]
    may_fail_repaired: frozenset[str]
    parts: Mapping[str, tuple[str, ...]]
    sizes: range
    weather: Weather
    plan: Callable[[int, Sequence[str], Sequence[str], random.Random], Any]
    group: Callable[[Any, MoveListener], AnyGroup]
    schedule: Callable[[Any, Any], HuntSchedule]
    recorded: Callable[[Any], AnyGroup]
    candidates: Callable[[Any, str, str, bool], Iterable[tuple[Any, ...]]]
    watch: Callable[[Any], PropertyWatch]

    @property
    def actions(self) -> tuple[str, ...]:
        """Every action."""
        return tuple(name for part in self.parts.values() for name in part)

    def nodes_for(self, word: str) -> int:
        """Return how many nodes a group needs to show a flaw; NODES for a property."""
        return self.nodes_needed.get(word, NODES)


class WatchedSteps:
    """A base beside a class of groups: their steps are no events of a trace, but are listened to."""

    step: Callable[..., Any]

    def __init__(self, plan: Any, listener: MoveListener) -> None:
        """Make the group of a plan."""
        super().__init__(plan)  # type: ignore[call-arg]  # the class of groups comes next
        self._listener = listener

    def take(self, node: str, action: str, *args: Any) -> Event:
        """Take an action; the event has its name alone."""
        move = (node, action, args)
        self._listener.before(move)
        self.step(node, action, *args)
        self._listener.after(move)
        return {"action": action}


class PhasedSchedule:
    """A base beside a class of schedules: in a phase some of the nodes sleep, and one of them alone may contend."""

    #: The nodes that act, None for all.
    awake: frozenset[str] | None = None
    #: Whether nothing is sent to those that do not act.
    silent = False
    #: The only node that stands for election, None for any.
    contender: str | None = None

    def is_left_out(self, peer: str) -> bool:
        """Return whether nothing is sent to a peer, since only those who act are sent to."""
        return self.silent and self.awake is not None and peer not in self.awake


def sign(difference: int) -> int:
    """Return -1, 0 or 1."""
    return (difference > 0) - (difference < 0)


def common_length(log: Sequence[Any], other: Sequence[Any]) -> int:
    """Return for how many entries from the first on two logs are the same."""
    least = min(len(log), len(other))
    if log is other or log[:least] == other[:least]:  # far faster where one goes on from the other
        return least
    return next(
        (place for place, (mine, its) in enumerate(zip(log, other, strict=False)) if mine != its),
        least,
    )


def is_full(group: AnyGroup) -> bool:
    """Return whether a random walk doubles no more messages."""
    return sum(map(len, group.network.channels.values())) >= MAX_UNDER_WAY


def arguments_of(
    actions: Mapping[str, Any], action: str, choices: Callable[[str], Sequence[Any]]
) -> Iterator[tuple[Any, ...]]:
    """Yield arguments of one of a reference's actions, given what a random walk may choose for a parameter."""
    names = ("m",) if action in NETWORK_ACTIONS else actions[action].parameters
    if not names:
        return iter(((),))
    return itertools.product(*map(choices, names))
