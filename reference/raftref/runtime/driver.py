"""A node's driver: it decides when the node takes which step of the protocol.

The core says which steps a node may take, a driver when it takes them: on a message, when a timer runs out, as soon as
it is possible. A driver has no clock, no socket and no thread. Its caller gives it the time with each event, and
carries out what it asks for: `lockstep node` on sockets, `raftref.runtime.virtual` in simulated time.

Every change of the node is an action of the spec. Before anything that an action asks for leaves the node, its durable
part is written to files, and the step is recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from raftref.records import record

#: A moment or a duration, in seconds. Moments are those of one clock that never goes back.
Seconds: TypeAlias = float

NEVER = float("inf")
#: The least time after which a node does something again: with none at all it would do nothing else.
LEAST_TIME: Seconds = 0.0001


def refuse_short_times(times: Mapping[str, Seconds]) -> None:
    """Raise ValueError where one of the times of a node, by their names, is under LEAST_TIME, or is no number."""
    for name, time in times.items():
        if not time >= LEAST_TIME:
            raise ValueError(f"{name} is {time:g} s, where the least is {LEAST_TIME:g} s")


@dataclass(frozen=True, slots=True)
class PeerCall:
    """A request to a peer, whose answer or failure is reported with `number`.

    After `timeout` without an answer the call has failed; None: nobody waits for an answer. Requests of one `stream`
    to a peer arrive, and are answered, in their order; where one of them comes to nothing, so do those behind it.
    """

    number: int
    peer: str
    message: Any
    timeout: Seconds | None
    stream: Hashable = None


@dataclass(frozen=True, slots=True)
class PeerReply:
    """The answer to a request of a peer, which was handed over with this key."""

    key: Hashable
    message: Any


@dataclass(frozen=True, slots=True)
class NoReply:
    """There will be no answer to a request of a peer, which was handed over with this key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """The answer to a client, whose request was handed over with this key."""

    key: Hashable
    answer: Any


Output: TypeAlias = PeerCall | PeerReply | NoReply | ClientAnswer


@dataclass(frozen=True, slots=True)
class NodeStep:
    """A step as it is recorded: when, which node, the action with its arguments, and what the node shows after it.

    The action START is none of the spec: the process has come up with what its disk holds.
    """

    at: Seconds
    node: str
    action: str
    args: Mapping[str, Any]
    shows: Mapping[str, Any]


#: Where a process comes up.
START = "Start"
#: Where a node hears that its disk is full, and that it has space again. None of the spec.
DISK_FULL, DISK_HAS_SPACE = "DiskFull", "DiskHasSpace"


class Timers:
    """Moments by name."""

    def __init__(self) -> None:
        """Begin with none."""
        self._at: dict[Hashable, Seconds] = {}

    def set(self, name: Hashable, at: Seconds) -> None:
        """Let a timer run out at a moment, whenever it would have before."""
        self._at[name] = at

    def clear(self, name: Hashable) -> None:
        """Stop a timer, if it runs."""
        self._at.pop(name, None)

    def is_set(self, name: Hashable) -> bool:
        """Return whether a timer runs."""
        return name in self._at

    def moment(self, name: Hashable) -> Seconds:
        """Return when a timer runs out, NEVER if it does not run."""
        return self._at.get(name, NEVER)

    def is_due(self, name: Hashable, now: Seconds) -> bool:
        """Return whether a timer has run out; one that was never set has."""
        return self._at.get(name, now) <= now

    def every(self, name: Hashable, now: Seconds, period: Seconds) -> bool:
        """Return whether a timer has run out, and let it run for a period again if so."""
        if not self.is_due(name, now):
            return False
        self.set(name, now + period)
        return True

    def next_after(self, now: Seconds) -> Seconds:
        """Return when the next timer runs out; those that have run out already are not counted."""
        return min((at for at in self._at.values() if at > now), default=NEVER)


class ThreadTurns:
    """Lets threads work, but for those that are held up.

    A driver lets all of its threads work until none can do more. A real thread may stand still at any moment, for a
    page fault or for want of a processor: what happens between two steps of it is a matter of chance.
    """

    def __init__(self) -> None:
        """Begin without a thread that is held up."""
        #: Draws for how long a thread is held up that has taken a step, 0 for not at all; None: none ever is.
        self.delay: Callable[[], Seconds] | None = None
        self._held_up = Timers()

    def take(self, thread: Hashable, now: Seconds, work: Callable[[], bool]) -> bool:
        """Let a thread work unless it is held up; return whether it took a step."""
        if not self._held_up.is_due(thread, now) or not work():
            return False
        wait = 0.0 if self.delay is None else self.delay()
        if wait:
            self._held_up.set(thread, now + wait)
        return True

    def next_after(self, now: Seconds) -> Seconds:
        """Return when the next thread goes on that is held up, NEVER if none is."""
        return self._held_up.next_after(now)


class Driver(ABC):
    """Drives one node. Each method is an event; the outputs it leads to are then in `outputs`, for `take_outputs`."""

    def __init__(self, node_id: str, recorded: Callable[[NodeStep], None]) -> None:
        """Make the driver of a node.

        Args:
            node_id: The node.
            recorded: Called with each step, before anything that it asks for leaves the node.
        """
        self.node_id = node_id
        self.now: Seconds = 0.0
        #: Why the node is down, where the real one ends its own process; None as long as it is not.
        self.failure: str | None = None
        self.turns = ThreadTurns()
        self._recorded = recorded
        self._outputs: list[Output] = []
        self._call_count = 0

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Whether the node runs. One that has gone down by itself does nothing until its process is started again."""

    # ---- Events --------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, now: Seconds) -> None:
        """Come up with what the disk holds."""

    @abstractmethod
    def on_request(self, now: Seconds, key: Hashable, m: Any) -> None:
        """Take a request of a peer, whose answer carries `key`; there may never be one."""

    @abstractmethod
    def on_answer(self, now: Seconds, number: int, m: Any) -> None:
        """Take the answer to a call."""

    @abstractmethod
    def on_failure(self, now: Seconds, number: int) -> None:
        """Hear that a call came to nothing: no connection, or no answer in time."""

    @abstractmethod
    def on_client(self, now: Seconds, key: Hashable, request: Any) -> None:
        """Take a client's request, whose answer carries `key`."""

    def on_clients(self, now: Seconds, requests: Iterable[tuple[Hashable, Any]]) -> None:
        """Take requests of clients that came together, each with the key of its answer."""
        for key, request in requests:
            self.on_client(now, key, request)

    @abstractmethod
    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        """Hear that the disk is full from now on, or has space again; a disk that was never heard of has space."""

    @abstractmethod
    def on_time(self, now: Seconds) -> None:
        """Do what is due."""

    @abstractmethod
    def next_time(self) -> Seconds:
        """Return the moment at which something is due, NEVER if nothing is."""

    def take_outputs(self) -> list[Output]:
        """Return what is to be carried out, in its order, and forget it."""
        outputs, self._outputs = self._outputs, []
        return outputs

    # ---- For drivers ---------------------------------------------------------------------------------

    def put(self, output: Output) -> None:
        """Ask for something."""
        self._outputs.append(output)

    def next_number(self) -> int:
        """Return a number that no call has had."""
        self._call_count += 1
        return self._call_count

    def record_step(self, action: str, args: Mapping[str, Any], shows: Mapping[str, Any]) -> None:
        """Record a step that the node has taken."""
        as_json = {name: record(value) for name, value in args.items()}
        self._recorded(NodeStep(self.now, self.node_id, action, as_json, shows))
