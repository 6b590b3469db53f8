"""The weather of a run of chaos: which faults happen how often, how hard they are, and what nodes and clients are like.

Each run draws its own, so that runs differ in kind (swarm testing: Groce and others, 2012): most have some kinds of
faults alone, which then come often enough for what takes several of them in a row. Nothing in it is about a flaw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

#: The shares of the kinds of faults that a run may not have.
LEFT_OUT = (0.35, 0.5, 0.75)
#: The bounds of what is drawn, in seconds: the mean time between two faults, the longest that one lasts, the longest
#: that a message usually takes.
FAULT_EVERY, FAULT_LASTS, USUAL_DELAY = (0.5, 4.0), (0.5, 6.0), (0.002, 0.05)
#: The share of faults that may be long, and the shortest that a short one lasts, in seconds.
LONG, MIN_LASTS = 0.7, 0.05
#: The most clients, and the bounds of how much all of them ask for in a second.
MAX_CLIENTS, REQUESTS = 5, (1.0, 8.0)
#: How much more often than others some faults and orders happen, and so fewer runs have none: without cuts a group
#: seldom has two leaders.
OFTEN = {"cut": 3.0, "kill within a step": 2.0, "transfer": 2.0, "members": 2.0}
#: Those that may be a leader's alone until another node leads. A run has one of them at least.
DEPOSING = frozenset({"kill", "pause", "cut"})
#: The share of the kinds of steps that faults never wait for.
UNNOTICED = 0.6
#: The powers of how often each kind of steps or messages was seen; kinds are drawn by the inverse.
RARITIES = (0.0, 0.5, 1.0)


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
    until then. Of both the share `elected` waits for another leader instead. `rarity` is how much more often rare kinds
    of steps and of messages are drawn than frequent ones. `followed`: faults after which another one comes soon.
    `deposing`: cuts, pauses and deaths that are the leader's alone, until another node leads; `spared`: faults that do
    not happen meanwhile.
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
    elected: float
    rarity: float
    followed: float
    deposing: float
    spared: float
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
        left_out = chance.choice(LEFT_OUT)
        kept = [each for each in kinds if chance.random() >= left_out ** OFTEN.get(each, 1.0)]
        deposing = [each for each in kinds if each in DEPOSING]
        if deposing and DEPOSING.isdisjoint(kept):
            kept.append(chance.choice(deposing))
        return cls(
            rates={kind: OFTEN.get(kind, 1.0) * log_uniform(chance, 0.1, 1.0) for kind in kept},
            every=log_uniform(chance, *FAULT_EVERY),
            lasts=log_uniform(chance, *FAULT_LASTS),
            at_leader=chance.uniform(0.2, 0.9),
            at_once=often_none(chance, 0.8),
            after_step=often_none(chance, 1.0, none=0.3),
            until_step=often_none(chance, 1.0, none=0.3),
            elected=often_none(chance, 1.0, none=0.3),
            rarity=chance.choice(RARITIES),
            followed=often_none(chance, 0.6),
            deposing=often_none(chance, 1.0, none=0.2),
            spared=often_none(chance, 1.0, none=0.2),
            alone=chance.random(),
            holding=often_none(chance, 1.0),
            one_way=often_none(chance, 0.5),
            usual_delay=log_uniform(chance, *USUAL_DELAY),
            clients=clients,
            rest=2 * clients / log_uniform(chance, *REQUESTS),
            reads=often_none(chance, 0.5, none=0.2),
            verifies=often_none(chance, 0.5),
            bursts=often_none(chance, 1.0, none=0.2),
        )

    def length(self, chance: Random) -> float:
        """Draw how long a fault lasts: many of them any time, the others a short one."""
        return chance.uniform(0, self.lasts) if chance.random() < LONG else log_uniform(chance, MIN_LASTS, self.lasts)

    def kind(self, chance: Random) -> str:
        """Draw the kind of the next fault."""
        return chance.choices(list(self.rates), list(self.rates.values()))[0]


class SeenKinds:
    """The kinds of something that were seen so far; most of them never count, and the others are drawn by weights."""

    def __init__(self, chance: Random, rarity: float) -> None:
        """Begin without a kind; `rarity` is how much more often rare kinds are drawn than frequent ones."""
        self._chance, self._rarity = chance, rarity
        self._weights: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def see(self, kind: str) -> None:
        """Note one of a kind."""
        self._counts[kind] += 1
        if kind not in self._weights:
            unnoticed = self._chance.random() < UNNOTICED
            self._weights[kind] = 0.0 if unnoticed else log_uniform(self._chance, 0.1, 1.0)

    def draw(self) -> str | None:
        """Draw a kind; None if there is none that counts."""
        weights = {kind: weight / self._counts[kind] ** self._rarity for kind, weight in self._weights.items()}
        if not any(weights.values()):
            return None
        return self._chance.choices(list(weights), list(weights.values()))[0]


class Moments:
    """The kinds of steps that faults wait for, to begin or to end. Which kinds there are shows as nodes take steps."""

    def __init__(self, chance: Random, rarity: float = 0.0) -> None:
        """Begin without a step; `rarity` is how much more often what waits is for rare kinds."""
        self._seen = SeenKinds(chance, rarity)
        #: What waits, by the kind of step that it waits for.
        self._waiting: dict[str, list[Callable[[str], None]]] = {}

    def take_step(self, node: str, kind: str) -> None:
        """Note a step of a node, and let what waits for one of its kind happen."""
        self._seen.see(kind)
        self.come(node, kind)

    def come(self, node: str, moment: str) -> None:
        """Let what waits for a moment, or a step of that kind, happen at a node."""
        for happens in self._waiting.pop(moment, ()):
            happens(node)

    def wait(self, happens: Callable[[str], None], moment: str | None = None) -> bool:
        """Let something happen at a moment, None for the next step of a kind that is drawn, at any node.

        `happens` is called with the node. Returns whether there is what it may wait for.
        """
        awaited = self._seen.draw() if moment is None else moment
        if awaited is not None:
            self._waiting.setdefault(awaited, []).append(happens)
        return awaited is not None


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
