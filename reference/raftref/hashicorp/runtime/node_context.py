"""The parts of a server that its goroutines share: stores, time, and the way in which steps are taken."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from random import Random
from typing import Any

from raftref.action import Action
from raftref.hashicorp.failures import start
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.messages import Message
from raftref.hashicorp.runtime.durable_stores import DurableStores
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import DONE, MAX_WRITES, Effects, Outcome, Result
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import Configuration, Index, NodeId
from raftref.runtime.driver import START, Driver, Output, Seconds, Timers

#: The action that handles each class of messages.
_HANDLERS = {kind: name for name, action in ACTIONS.items() for kind in action.messages}

#: What grows with the log: it is recorded when a process comes up, and follows from the steps after that.
_GROWING = frozenset({"log", "fsm", "fsmQueue"})


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step that a server has taken, with the server as it was before, and what the step asks for.

    `key` is that of the request it handles, whose answer is among the effects. `data` is the state of the FSM that
    came with an InstallSnapshot.
    """

    action: str
    before: Server
    effects: Effects
    key: Hashable = None
    data: bytes = b""

    @property
    def committed(self) -> Index:
        """The index up to which all was committed in the leadership that may have ended with the step."""
        # A leader that removes itself may go down, and forget what it has just committed.
        return self.before.commitment.commit_index if self.action == "ProcessLogs" else self.before.commit_index


class NodeContext:
    """One server as its goroutines see it. None of them changes it but by `take`.

    A step is recorded before its writes begin, and they have ended before anything leaves the server: where a process
    dies in between, `replayed` finds out which of them were done.
    """

    def __init__(
        self,
        driver: Driver,
        server: Server,
        stores: DurableStores,
        random: Random,
        settings: Settings,
        after_step: Callable[[TakenStep], None],
    ) -> None:
        """Make the context of a server whose process has not come up yet.

        Args:
            driver: Has the time, records steps, and passes on what is to leave the server.
            server: The server.
            stores: What is durable.
            random: Draws the times between once and twice a constant.
            settings: Its times and bounds.
            after_step: Called after each step.
        """
        self.server = server
        self.settings = settings
        self.timers = Timers()
        #: Whether the disk is full, so that writes fail.
        self.disk_is_full = False
        #: Where the library has panicked beside a step of the spec.
        self.panics_in: str | None = None
        self._driver = driver
        self._durable = stores
        self._random = random
        self._after_step = after_step

    @property
    def node_id(self) -> NodeId:
        """The server."""
        return self._driver.node_id

    @property
    def now(self) -> Seconds:
        """The moment of the event that is being handled."""
        return self._driver.now

    def between(self, time: Seconds) -> Seconds:
        """Draw a time between once and twice another. Source: randomTimeout."""
        return self._random.uniform(time, 2 * time)

    def put(self, output: Output) -> None:
        """Let something leave the server."""
        self._driver.put(output)

    def next_number(self) -> int:
        """Return a number that no call has had."""
        return self._driver.next_number()

    # ---- Coming up -----------------------------------------------------------------------------------

    def start(self, configuration: Configuration) -> bool:
        """Come up as a follower on what is durable, or bootstrap with the first configuration.

        Returns False for a server that stays down, since its log has a gap.

        Source: BootstrapCluster, NewRaft.
        """
        server, loaded = self.server, self._durable.load()
        if loaded is None:
            if self.node_id in configuration.servers:
                server.stores = bootstrap_cluster(configuration)
            self._durable.persist(Stores(), server.stores)
            start(server)
            return True
        server.stores = loaded
        server.go_down()
        restart = ACTIONS["Restart"]
        if not restart.enabled(server):
            return False
        restart.perform(server)
        return True

    def record_start(self) -> None:
        """Record that the process has come up."""
        self._driver.record_step(START, {}, observe(self.server))

    # ---- Steps ---------------------------------------------------------------------------------------

    def take(self, action: str, *args: Any) -> bool:
        """Take a step if the server may: it is recorded, and its writes are durable, before anything leaves.

        Returns whether it was taken.
        """
        return self._take(action, args) is not None

    def panic(self, function: str) -> bool:
        """End the process, as a function of the library does that panics where the spec has no step: by a crash."""
        self.panics_in = function
        return self.take("Crash")

    def take_message(self, m: Message, key: Hashable = None, data: bytes = b"") -> Effects | None:
        """Handle a message, and return the effects; None where it cannot be handled.

        Args:
            m: A request, or the answer to one.
            key: That of the request, for its answer.
            data: The state of the FSM that comes with an InstallSnapshot.
        """
        action = _HANDLERS[type(m)]
        args = (m, DONE) if "outcome" in ACTIONS[action].parameters else (m,)
        return self._take(action, args, key, data)

    def _take(self, action: str, args: tuple[Any, ...], key: Hashable = None, data: bytes = b"") -> Effects | None:
        known = ACTIONS[action]
        if not known.enabled(self.server, *args):
            return None
        if self.disk_is_full:
            args = self._with_failing_write(known, args)
        before = copy.copy(self.server)
        effects: Effects = known.perform(self.server, *args)
        shows = observe(self.server, omitted=_GROWING)
        self._driver.record_step(action, dict(zip(known.parameters, args, strict=True)), shows)
        self._persist(before.stores)
        self._after_step(TakenStep(action, before, effects, key, data))
        return effects

    def _with_failing_write(self, action: Action, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a step with one of its writes failing, if it has any."""
        tried = [Outcome(Result.FAIL, write) for write in range(1, MAX_WRITES + 1)]
        failing = [tuple(outcome if each is DONE else each for each in args) for outcome in tried]
        possible = [each for each in failing if each != args and action.enabled(self.server, *each)]
        return self._random.choice(possible) if possible else args

    def _persist(self, before: Stores) -> None:
        """Let each write of a step be durable, one after the other: a process may die between two of them."""
        try:
            for stores in self.server.written:
                self._durable.persist(before, stores)
                before = stores
        except BaseException:
            self.server.go_down()  # nobody knows what is durable now
            raise
