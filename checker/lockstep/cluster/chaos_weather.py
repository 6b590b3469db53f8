"""The weather of a run of chaos: which faults happen how often, how hard they are, and what nodes and clients are like.

Each run draws its own, so that runs differ in kind (swarm testing: Groce and others, 2012): most have some kinds of
faults alone, which then come often enough for what takes several of them in a row. Nothing in it is about a flaw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

#: The share of the kinds of faults that a run has not.
LEFT_OUT = 0.5
#: The bounds of what is drawn, in seconds: the mean time between two faults, the longest that one lasts, the longest
#: that a message usually takes.
FAULT_EVERY, FAULT_LASTS, USUAL_DELAY = (0.4, 3.0), (1.0, 12.0), (0.002, 0.05)
#: The share of faults that may be long, and the shortest that a short one lasts, in seconds.
LONG, MIN_LASTS = 0.7, 0.05
#: The most clients, and the bounds of how much all of them ask for in a second.
MAX_CLIENTS, REQUESTS = 5, (1.0, 5.0)
#: How much more often than others some faults happen: without cuts a group seldom has two leaders.
OFTEN = {"cut": 3.0, "kill within a step": 2.0}
#: The share of the kinds of steps that faults never wait for.
UNNOTICED = 0.6


def log_uniform(chance: Random, least: float, most: float) -> float:
    """Draw a number whose logarithm is even between those of two."""
    return float(least * (most / least) ** chance.random())


def often_none(chance: Random, most: float, none: float = 0.5) -> float:
    """Draw a share: 0 with the odds `none`, else one up to `most`."""
    return 0.0 if chance.random() < none else chance.uniform(0, most)


@dataclass(frozen=True, slots=True)
class ChaosWeather:
    """The odds and bounds of one run. Times are in seconds, what has no unit is a share, from 0 to 1.

    `rates` are how often each kind of fault happens beside the others; `every` is the mean time between two faults, and
    `lasts` the longest that one lasts. `at_leader`: faults of the leader; `at_once`: faults that strike several nodes;
    `after_step`: faults that wait for a node to take a step of a kind that is drawn; `until_step`: those that last
    until then.
    `alone`: cuts of a node from all others; `holding`: cuts that hold what is sent; `one_way`: cuts in one direction.

    `usual_delay` is the longest that a message takes without faults. `clients` is how many there are, `rest` the
    longest that one rests; of their requests `reads` are reads, and of the others `verifies` ask whether a leader still
    leads. `bursts`: faults of a leader at which other clients append there at the same time.
    """

    rates: Mapping[str, float]
    every: float
    lasts: float
    at_leader: float
    at_once: float
    after_step: float
    until_step: float
    alone: float
    holding: float
    one_way: float
    usual_delay: float
    clients: int
    rest: float
    reads: float
    verifies: float
    bursts: float

    @classmethod
    def drawn(cls, chance: Random, kinds: Sequence[str]) -> ChaosWeather:
        """Draw the weather of a run that may have faults of these kinds."""
        clients = chance.randint(1, MAX_CLIENTS)
        kept = [each for each in kinds if chance.random() >= LEFT_OUT] or [chance.choice(kinds)]
        return cls(
            rates={kind: OFTEN.get(kind, 1.0) * log_uniform(chance, 0.1, 1.0) for kind in kept},
            every=log_uniform(chance, *FAULT_EVERY),
            lasts=log_uniform(chance, *FAULT_LASTS),
            at_leader=chance.uniform(0.2, 0.9),
            at_once=often_none(chance, 0.5),
            after_step=often_none(chance, 1.0, none=0.3),
            until_step=often_none(chance, 1.0, none=0.3),
            alone=chance.random(),
            holding=often_none(chance, 1.0),
            one_way=often_none(chance, 0.5),
            usual_delay=log_uniform(chance, *USUAL_DELAY),
            clients=clients,
            rest=2 * clients / log_uniform(chance, *REQUESTS),
            reads=often_none(chance, 0.5, none=0.2),
            verifies=often_none(chance, 0.5),
            bursts=often_none(chance, 1.0, none=0.3),
        )

    def length(self, chance: Random) -> float:
        """Draw how long a fault lasts: many of them any time, the others a short one."""
        return chance.uniform(0, self.lasts) if chance.random() < LONG else log_uniform(chance, MIN_LASTS, self.lasts)

    def kind(self, chance: Random) -> str:
        """Draw the kind of the next fault."""
        return chance.choices(list(self.rates), list(self.rates.values()))[0]


class Moments:
    """The kinds of steps that faults wait for, to begin or to end. Which kinds there are shows as nodes take steps."""

    def __init__(self, chance: Random, often: Mapping[str, float]) -> None:
        """Begin without a step. Arguments: `chance`; `often`, the weights of kinds for which faults often wait."""
        self._chance, self._often = chance, often
        self._weights: dict[str, float] = {}
        #: What waits, by the kind of step that it waits for.
        self._waiting: dict[str, list[Callable[[str], None]]] = {}

    def take_step(self, node: str, kind: str) -> None:
        """Note a step of a node, and let what waits for one of its kind happen."""
        if kind not in self._weights:
            unnoticed = self._chance.random() < UNNOTICED
            self._weights[kind] = self._often.get(kind, 0.0 if unnoticed else log_uniform(self._chance, 0.1, 1.0))
        for happens in self._waiting.pop(kind, ()):
            happens(node)

    def wait(self, happens: Callable[[str], None]) -> bool:
        """Let something happen at the next step of a kind that is drawn, at any node; return whether there are kinds.

        `happens` is called with the node.
        """
        if not any(self._weights.values()):
            return False
        kind = self._chance.choices(list(self._weights), list(self._weights.values()))[0]
        self._waiting.setdefault(kind, []).append(happens)
        return True


class Once:
    """Something that happens once, whoever calls first."""

    def __init__(self, happens: Callable[[str | None], None]) -> None:
        """Wait to be called."""
        self._happens: Callable[[str | None], None] | None = happens

    def __call__(self, node: str | None) -> None:
        """Let it happen, if it has not yet; `node` is whose step it happens after, None for no step."""
        happens, self._happens = self._happens, None
        if happens is not None:
            happens(node)
