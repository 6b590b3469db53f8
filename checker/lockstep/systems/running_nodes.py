"""The form of what `lockstep node`, `cluster` and `client` need of a system whose reference runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from lockstep.systems.hunted_group import MoveListener
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver
from raftref.simulation.group import Event

#: Host and port.
Address: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """A node as it is started.

    `addresses` are where it reaches each member, itself included; it listens on its own. `folder` has its files.
    `features` and `flaws` are names; `time_scale` multiplies all of its times. `voters` are the members that vote at
    first, all if there are none; `without` names features that it lacks, and `settings` has other times and bounds.
    """

    node_id: str
    group: str
    addresses: Mapping[str, Address]
    folder: Path
    features: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    time_scale: float = 1.0
    voters: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


class GroupClient(Protocol):
    """A client of a group. What the group refuses raises ClientRefusedError."""

    async def append(self, value: str) -> str:
        """Append a value, and return where it was committed, as a text."""

    async def get(self, index: int) -> str:
        """Return the entry at an index, as a text."""

    async def transfer(self, node: str) -> str:
        """Let the leader hand over to a node, and return how that went."""


class ClientRefusedError(Exception):
    """The group has not done what a client asked for; the message is the code, or the name of the error."""


class Replay(Protocol):
    """Takes recorded steps again in a simulated group."""

    def __call__(
        self, plan: Any, steps: Iterable[NodeStep], listen: Callable[[Any], MoveListener] | None = None
    ) -> Iterator[Event]:
        """Yield the events of the trace; `listen` makes what hears of each step. Raises ReplayError."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """An answer to an append: its code, the index if it was confirmed, and the leader that the node names."""

    code: str
    index: int | None
    leader: str | None


@dataclass(frozen=True, slots=True)
class RunningNodes:
    """A system whose reference runs.

    `features` and `flaws` are the names that a node may be started with. `node` makes one, given what is called with
    each step. `shown` are the fields of a step's `shows` that a status line has. `plan` is that of a simulated group
    of these nodes, and `replay` takes recorded steps again in it; it raises ReplayError. `client` makes a client
    of a group, given where its members are reached. `sizes` are the numbers of nodes that a group may have, and `leads`
    says whether a node that shows these fields is a leader.

    `settings` are the times and bounds that a node may be started with, each with its default; `removable` the features
    that a node may lack, and `has_spares` whether a member may be none of the first voters.

    `driver` returns what makes the drivers of a group in simulated time, given its members, features and flaws.
    `append` is a client's request to a node, `appended` what its answer says, and `committed` yields index and value
    of what a driver's node has committed.
    """

    features: tuple[str, ...]
    flaws: tuple[str, ...]
    published: tuple[str, ...]
    node: Callable[[NodeOptions, Callable[[NodeStep], None], Log], RunningNode]
    shown: tuple[str, ...]
    plan: Callable[[int, tuple[str, ...], tuple[str, ...]], Any]
    replay: Replay
    client: Callable[[str, Mapping[str, Address]], GroupClient]
    driver: Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], MakeDriver]
    append: Callable[[str, str], Any]
    appended: Callable[[Any], AppendOutcome]
    committed: Callable[[Any], Iterable[tuple[int, str]]]
    sizes: range
    leads: Callable[[Mapping[str, Any]], bool]
    settings: Mapping[str, float] = field(default_factory=dict)
    removable: tuple[str, ...] = ()
    has_spares: bool = False
