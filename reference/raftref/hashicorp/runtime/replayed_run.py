"""The steps that servers of hashicorp/raft recorded while they ran, taken again in a simulated group.

A server records its own steps alone, and knows nothing of calls that others have given up, nor of its own death. Taken
again in their order, by the same core, the steps give the events of a trace; whatever a server showed otherwise than
the group does is a mistake of the server's driver or of its files, and refused.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from raftref.action import NotEnabled
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.messages import Message, Request, Response
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.steps import Outcome, Result
from raftref.runtime.driver import START, NodeStep
from raftref.runtime.virtual import KILLED
from raftref.simulation.group import Event

#: What a server shows of its stores.
_DURABLE = ("currentTerm", "lastVoteTerm", "lastVoteCand", "log", "snapshots")

#: The most writes that a step has.
MAX_WRITES = 3


class ReplayError(Exception):
    """A recorded step is none of the group, or the server showed something else after it."""


class _Replay:
    def __init__(self, plan: FaultPlan, steps: Sequence[NodeStep]) -> None:
        self._cluster = Cluster(plan)
        self._steps = steps
        self._started: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Take all steps, with those that they stand for; yield their events."""
        for number, step in enumerate(self._steps):
            if step.node not in self._cluster.servers:
                raise ReplayError(f"{_where(step)}: there is no such server")
            try:
                yield from self._take(number, step)
            except (NotEnabled, LookupError, TypeError, ValueError) as error:
                raise ReplayError(f"{_where(step)}: {error}") from error

    def _take(self, number: int, step: NodeStep) -> Iterator[Event]:
        if step.action == KILLED:
            yield from self._crash(step.node)
            return
        if step.action == START:
            yield from self._start(step)
            return
        args = self._cluster.arguments(step.action, step.args)
        if args is None:
            raise ReplayError(f"{_where(step)}: no such action, or an argument is missing")
        if "m" in step.args:
            args[0] = self._under_way(number, step, args)
        if "outcome" in step.args:
            comes_up = self._comes_up_next(number)
            cut_short = None if comes_up is None else self._cut_short(step, args, comes_up)
            if cut_short is not None:
                if cut_short:
                    yield self._cluster.take(step.node, step.action, *cut_short)
                return
        event = self._cluster.take(step.node, step.action, *args)
        _compare(step, event["shows"])
        yield event

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
        yield from self._crash(step.node)
        event = self._cluster.take(step.node, "Restart")
        _compare(step, event["shows"])
        yield event

    def _comes_up_next(self, number: int) -> NodeStep | None:
        """Return the start of the next process, where the one that recorded a step recorded nothing after it."""
        node = self._steps[number].node
        for later in self._steps[number + 1 :]:
            if later.node == node and later.action != KILLED:
                return later if later.action == START else None
        return None

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

    def _under_way(self, number: int, step: NodeStep, args: Sequence[Any]) -> Message:
        """Return a message as it is in the group, where its caller may have given it up.

        Where it was sent again after that, two are under way that differ in nothing else: the one that is handled is
        the one whose answer the caller takes.
        """
        m: Message = args[0]
        channel = self._cluster.network.channels[m.src, m.dst]
        found = [each for each in channel if each == m or (isinstance(m, Request) and _awaited(each) == _awaited(m))]
        if not found:
            raise ReplayError(f"{_where(step)}: no such message is under way: {m}")
        if len(found) == 1:
            return found[0]
        waited_for = next(each for each in found if isinstance(each, Request) and each.awaited)
        given_up = next(each for each in found if each is not waited_for)
        taken = self._next_answer(number, m)
        return waited_for if taken is None or self._answer(step, [waited_for, *args[1:]]) == taken else given_up

    def _answer(self, step: NodeStep, args: Sequence[Any]) -> Message | None:
        tried = copy.copy(self._cluster.servers[step.node])
        effects = ACTIONS[step.action].perform(tried, *args)
        return next((m for m in effects.sent if isinstance(m, Response)), None)

    def _next_answer(self, number: int, m: Message) -> Message | None:
        """Return the answer to a call of this type that its caller takes next, None if it gives the call up."""
        for later in self._steps[number + 1 :]:
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
    return replace(m, awaited=True) if isinstance(m, Request) else m


def _durable(server: Server) -> dict[str, Any]:
    shown = observe(server)
    return {name: shown[name] for name in _DURABLE}


def _compare(step: NodeStep, shows: Mapping[str, Any]) -> None:
    for name, value in step.shows.items():
        if name in shows and shows[name] != value:
            raise ReplayError(f"{_where(step)}: {name} is {value}, and {shows[name]} in the group")


def _where(step: NodeStep) -> str:
    return f"{step.node} {step.action} at {step.at:.6f} s"


def replayed(plan: FaultPlan, steps: Iterable[NodeStep]) -> Iterator[Event]:
    """Yield the events of a trace that recorded steps stand for.

    Args:
        plan: The shape of the group, with the features, flaws and bounds of its servers.
        steps: The steps of all servers, in the order in which they were taken.

    Raises:
        ReplayError: A step is impossible in the group, or a server showed something else after it.
    """
    yield from _Replay(plan, list(steps)).events()
