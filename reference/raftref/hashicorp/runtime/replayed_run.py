"""The steps that servers of hashicorp/raft recorded while they ran, taken again in a simulated group.

A server records its own steps alone, and knows nothing of calls that others have given up, nor of its own death. Taken
again in their order, by the same core, the steps give the events of a trace; whatever a server showed otherwise than
the group does is a mistake of the server's driver or of its files, and refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from raftref.action import NotEnabled
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.messages import Message, Request, Response
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.steps import MAX_WRITES, Effects, Outcome, Result
from raftref.hashicorp.values import NodeId
from raftref.runtime.driver import START, NodeStep
from raftref.runtime.replay import ListenedSteps, ReplayError, StepListener, StepQueue, where
from raftref.runtime.virtual import KILLED
from raftref.simulation.group import Event

#: What a server shows of its stores.
_DURABLE = ("currentTerm", "lastVoteTerm", "lastVoteCand", "log", "snapshots")

#: The longest that a call lasts, in seconds.
MAX_CALL = 30.0


class _ListenedCluster(ListenedSteps, Cluster):
    """A group whose steps are listened to."""

    def step(self, node: NodeId, action: str, *args: Any) -> Effects | None:
        """Take an action, and let the listener hear of it."""
        effects: Effects | None = self.take_step(super().step, node, action, args)
        return effects


class _Replay:
    """Takes steps again while more of them come.

    The last step of a process may have been cut short in its writes, which the start of the next process shows. So a
    step that writes waits until its server takes another one, or a message is taken that comes of it: nothing left the
    server before the writes were done.
    """

    def __init__(
        self, plan: FaultPlan, steps: Iterable[NodeStep], listen: Callable[[Cluster], StepListener] | None
    ) -> None:
        self._cluster = _ListenedCluster(plan)
        if listen is not None:
            self._cluster.listener = listen(self._cluster)
        self._steps = StepQueue(steps)
        self._started: set[str] = set()
        #: The last step of a server, if it writes and waits.
        self._waiting: dict[str, NodeStep] = {}

    def events(self) -> Iterator[Event]:
        """Take all steps, with those that they stand for; yield their events."""
        while (step := self._steps.first()) is not None:
            if step.node not in self._cluster.servers:
                raise ReplayError(f"{where(step)}: there is no such server")
            yield from self._explained(step, self._take)
            self._steps.pop()
        for node in [*self._waiting]:
            yield from self._catch_up(node)

    @staticmethod
    def _explained(step: NodeStep, take: Callable[[NodeStep], Iterator[Event]]) -> Iterator[Event]:
        """Take a step; what goes wrong raises ReplayError."""
        try:
            yield from take(step)
        except (NotEnabled, LookupError, TypeError, ValueError) as error:
            raise ReplayError(f"{where(step)}: {error}") from error

    def _take(self, step: NodeStep) -> Iterator[Event]:
        if step.action == KILLED:
            if step.node not in self._waiting:
                yield from self._crash(step.node)
            return
        if step.action == START:
            yield from self._start(step)
            return
        yield from self._catch_up(step.node)
        sender = step.args.get("m", {}).get("src")
        if sender in self._waiting and not self._found(self._message(step)):
            yield from self._catch_up(sender)
        if "outcome" in step.args:
            self._waiting[step.node] = step
            return
        yield from self._perform(step)

    def _catch_up(self, node: str) -> Iterator[Event]:
        """Take the step of a server that waits: all its writes were done."""
        step = self._waiting.pop(node, None)
        if step is not None:
            yield from self._explained(step, self._perform)

    def _perform(self, step: NodeStep) -> Iterator[Event]:
        event = self._cluster.take(step.node, step.action, *self._arguments(step))
        _compare(step, event["shows"])
        yield event

    def _arguments(self, step: NodeStep) -> list[Any]:
        args = self._cluster.arguments(step.action, step.args)
        if args is None:
            raise ReplayError(f"{where(step)}: no such action, or an argument is missing")
        if "m" in step.args:
            args[0] = self._under_way(step, args)
        return args

    # ---- Processes -----------------------------------------------------------------------------------

    def _crash(self, node: str) -> Iterator[Event]:
        if self._cluster.servers[node].is_up:
            yield self._cluster.take(node, "Crash")

    def _start(self, step: NodeStep) -> Iterator[Event]:
        """Let a process come up: the first time as it is, later after a crash."""
        if step.node not in self._started:
            self._started.add(step.node)
            _compare(step, self._cluster.observe(step.node))
            return
        last = self._waiting.pop(step.node, None)
        if last is not None:
            yield from self._explained(last, lambda each: self._end(each, step))
        yield from self._crash(step.node)
        event = self._cluster.take(step.node, "Restart")
        _compare(step, event["shows"])
        yield event

    def _end(self, last: NodeStep, comes_up: NodeStep) -> Iterator[Event]:
        """Take the last step of a process as far as it came."""
        cut_short = self._cut_short(last, self._arguments(last), comes_up)
        if cut_short is None:
            yield from self._perform(last)
        elif cut_short:
            yield self._cluster.take(last.node, last.action, *cut_short)

    def _cut_short(self, step: NodeStep, args: Sequence[Any], comes_up: NodeStep) -> list[Any] | None:
        """Return the arguments of the last step of a process with the writes that were done before it died.

        None: all were, or none explain what the next process found. No arguments: none were done.
        """
        server, found = self._cluster.servers[step.node], {name: comes_up.shows.get(name) for name in _DURABLE}
        if self._after(server, step.action, args) == found:
            return None
        if _durable(server) == found:
            return []
        for write in range(1, MAX_WRITES + 1):
            outcome = Outcome(Result.CRASH, write)
            # Requests for votes leave with the step, and so none did.
            tried = [frozenset() if name == "asked" else arg for name, arg in zip(step.args, args, strict=True)]
            tried[list(step.args).index("outcome")] = outcome
            if self._after(server, step.action, tried) == found:
                return tried
        return None

    @staticmethod
    def _after(server: Server, action: str, args: Sequence[Any]) -> dict[str, Any] | None:
        """Return what a server would have on its disk after a step, None if it cannot take it."""
        tried = copy.copy(server)
        try:
            ACTIONS[action].perform(tried, *args)
        except NotEnabled:
            return None
        return _durable(tried)

    # ---- Messages ------------------------------------------------------------------------------------

    def _message(self, step: NodeStep) -> Message:
        args = self._cluster.arguments(step.action, step.args)
        if args is None:
            raise ReplayError(f"{where(step)}: no such action, or an argument is missing")
        m: Message = args[0]
        return m

    def _found(self, m: Message) -> list[Message]:
        """Return the messages under way that a recorded one may be."""
        channel, wanted = self._cluster.network.channels[m.src, m.dst], _awaited(m)
        return [each for each in channel if type(each) is type(m) and _awaited(each) == wanted]

    def _under_way(self, step: NodeStep, args: Sequence[Any]) -> Message:
        """Return a message as it is in the group, where its caller may have given it up.

        Where it was sent again after that, two are under way that differ in nothing else: the one that is handled is
        the one whose answer the caller takes.
        """
        m: Message = args[0]
        found = self._found(m)
        if not found:
            raise ReplayError(f"{where(step)}: no such message is under way: {m}")
        if len(found) == 1:
            return found[0]
        waited_for = next(each for each in found if isinstance(each, Request) and each.awaited)
        given_up = next(each for each in found if each is not waited_for)
        taken = self._next_answer(step, m)
        return waited_for if taken is None or self._answer(step, [waited_for, *args[1:]]) == taken else given_up

    def _answer(self, step: NodeStep, args: Sequence[Any]) -> Message | None:
        tried = copy.copy(self._cluster.servers[step.node])
        effects = ACTIONS[step.action].perform(tried, *args)
        return next((m for m in effects.sent if isinstance(m, Response)), None)

    def _next_answer(self, step: NodeStep, m: Message) -> Message | None:
        """Return the answer to a call of this type that its caller takes next, None if it gives the call up, or dies.

        A caller that does neither for longer than a call lasts is dead, or takes the answer when it goes on.
        """
        for later in self._steps.upcoming():
            if later.at > step.at + MAX_CALL:
                return None
            if later.node != m.src:
                continue
            if later.action in (START, KILLED):
                return None
            if later.action == "RPCError" and (later.args["peer"], later.args["type"]) == (m.dst, m.type):
                return None
            answer = later.args.get("m", {})
            if answer.get("kind") == "response" and (answer["src"], answer["type"]) == (m.dst, m.type):
                args = self._cluster.arguments(later.action, later.args)
                return None if args is None or HANDLERS.get(type(args[0])) != later.action else args[0]
        return None


def _awaited(m: Message) -> Message:
    """Return a message as if its caller still waited for the answer."""
    return replace(m, awaited=True) if isinstance(m, Request) and not m.awaited else m


def _durable(server: Server) -> dict[str, Any]:
    shown = observe(server)
    return {name: shown[name] for name in _DURABLE}


def _compare(step: NodeStep, shows: Mapping[str, Any]) -> None:
    for name, value in step.shows.items():
        if name in shows and shows[name] != value:
            raise ReplayError(f"{where(step)}: {name} is {value}, and {shows[name]} in the group")


def replayed(
    plan: FaultPlan, steps: Iterable[NodeStep], listen: Callable[[Cluster], StepListener] | None = None
) -> Iterator[Event]:
    """Yield the events of a trace that recorded steps stand for.

    Args:
        plan: The shape of the group, with the features, flaws and bounds of its servers.
        steps: The steps of all servers, in the order in which they were taken; they may still be coming.
        listen: Makes what hears of the steps of the group.

    Raises:
        ReplayError: A step is impossible in the group, or a server showed something else after it.
    """
    yield from _Replay(plan, steps, listen).events()
