"""The steps that nodes of DLedger recorded while they ran, taken again in a simulated group: the events of a trace.

A node records its own steps alone, and knows nothing of calls that others have given up, nor of its own death. Taken
again in their order, by the same core, the steps give whole events; whatever a node showed otherwise than the group
does is a mistake of the node's driver or of its files, and refused. A process that dies may have written one step more
than it has recorded: see `unrecorded_step`.

Two things that a published node does are no steps of the spec, and refused as well. A loss of power may take the files
of term and vote, and of the checkpoint, which are never forced. And a follower deals with an APPEND after a gap whose
sender has died: in the spec nobody awaits that answer any more, and the request stays (RepeatedPush).

The spec has no full disks either. The group of the reference has, and takes such steps; but a trace with one that was
refused for it is none of the spec's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from raftref.action import NotEnabled
from raftref.dledger.choices import Flaw
from raftref.dledger.election_rules import answered_term, heart_beat_code, vote_code
from raftref.dledger.messages import (
    CommitRequest,
    ElectionResponse,
    HeartBeatMessage,
    Message,
    PushType,
    Request,
    Response,
    Term,
    VoteMessage,
)
from raftref.dledger.runtime.taken_answer import is_answer_taken
from raftref.dledger.runtime.unrecorded_step import unrecorded_step
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.steps import Effects
from raftref.runtime.driver import DISK_FULL, DISK_HAS_SPACE, START, NodeStep
from raftref.runtime.replay import ListenedSteps, ReplayError, StepListener, StepQueue, where
from raftref.runtime.virtual import KILLED
from raftref.simulation.group import Event

#: An answer to a request of an election: its code, and that to a vote with its term. On the wire not every answer to a
#: heartbeat has one.
_ElectionAnswer: TypeAlias = tuple[str, Term | None]

#: What a node shows that depends on what others have given up.
_NOT_COMPARED = frozenset({"log", "writeRequestMap", "compareOrTruncateRequests", "acknowledged"})


class _ListenedCluster(ListenedSteps, Cluster):
    """A group whose steps are listened to."""

    def step(self, node: str, action: str, *args: Any) -> Effects | None:
        """Take an action, and let the listener hear of it."""
        effects: Effects | None = self.take_step(super().step, node, action, args)
        return effects


class _Replay:
    def __init__(
        self, plan: FaultPlan, steps: Iterable[NodeStep], listen: Callable[[Cluster], StepListener] | None
    ) -> None:
        self._cluster = _ListenedCluster(plan)
        if listen is not None:
            self._cluster.listener = listen(self._cluster)
        self._steps = StepQueue(steps)
        self._started: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Take all steps, with those that they stand for; yield their events."""
        while (step := self._steps.first()) is not None:
            self._steps.pop()
            yield from self._take(step)

    def _take(self, step: NodeStep) -> Iterator[Event]:
        if step.action == KILLED:
            return
        if step.action in (DISK_FULL, DISK_HAS_SPACE):
            self._cluster.servers[step.node].ledger_store.is_disk_full = step.action == DISK_FULL
            return
        if step.action == START:
            self._cluster.servers[step.node].ledger_store.is_disk_full = False
            yield from self._start(step)
            return
        args = self._cluster.arguments(step.action, step.args)
        if args is None:
            raise ReplayError(f"{where(step)}: no such action, or an argument is missing")
        taken = [self._under_way(step, arg) if name == "m" else arg for name, arg in zip(step.args, args, strict=True)]
        try:
            event = self._cluster.take(step.node, step.action, *taken)
        except (NotEnabled, LookupError) as error:
            raise ReplayError(f"{where(step)}: {error}") from error
        self._compare(step, event["shows"])
        yield event

    def _under_way(self, step: NodeStep, m: Message) -> Message:
        """Return a message as it is in the group, where its caller may have given it up.

        Where it was sent again after that, several are there that differ in nothing else. The one whose answer the
        caller takes is the one that is awaited; of APPENDs, those that were given up come first, if all come.
        """
        found = [each for each in self._messages(m) if _awaited(each) == _awaited(m)]
        if not found:
            raise ReplayError(f"{where(step)}: no such message is under way: {m}")
        possible = [each for each in found if self._cluster.enabled(step.node, step.action, each)] or found
        if len(possible) == 1:
            return possible[0]
        given_up = self._comes_again(step, m)
        if isinstance(m, VoteMessage | HeartBeatMessage):
            taken = self._next_answer(m)
            given_up = taken is not None and taken != self._answer(m)
        elif isinstance(m, Request) and m.type is not PushType.APPEND:
            given_up = not self._is_answer_taken(m)
        return min(possible, key=lambda each: getattr(each, "awaited", False) is given_up)

    def _is_answer_taken(self, m: Request) -> bool:
        waiting = len(self._cluster.servers[m.dst].compare_or_truncate_requests)
        obeys_all = self._cluster.plan.has(Flaw.PUSH_TERM_CHECK)
        return is_answer_taken(m, waiting, self._steps.upcoming(), obeys_all=obeys_all)

    def _answer(self, m: VoteMessage | HeartBeatMessage) -> _ElectionAnswer:
        """Return the answer to a request, handled now."""
        member = self._cluster.servers[m.dst].member()
        if isinstance(m, VoteMessage):
            code = vote_code(member, m, to_self=False)
            return code.value, answered_term(member, code)
        return heart_beat_code(member, m).value, None

    def _next_answer(self, m: VoteMessage | HeartBeatMessage) -> _ElectionAnswer | None:
        """Return the next answer of this type that the caller takes from this node, None if it dies."""
        for later in self._steps.upcoming():
            answer = later.args.get("m", {})
            if later.node != m.src:
                continue
            if later.action in (START, KILLED):
                return None
            if answer.get("kind") == "response" and (answer["src"], answer["type"]) == (m.dst, m.type):
                return str(answer["code"]), answer["term"] if isinstance(m, VoteMessage) else None
        return None

    def _messages(self, like: Message) -> Iterator[Message]:
        """Yield the messages that are like one by type, index, sender and receiver: under way, or waiting there."""
        receiver, index = self._cluster.servers[like.dst], getattr(like, "index", None)
        waiting = (*receiver.write_request_map.values(), *receiver.compare_or_truncate_requests)
        for each in (*self._cluster.network.channels[like.src, like.dst], *waiting):
            is_like = type(each) is type(like) and each.type is like.type and each.src == like.src
            if is_like and getattr(each, "index", None) == index:
                yield each

    def _comes_again(self, step: NodeStep, m: Message) -> bool:
        """Return whether a node takes the same request once more before its sender takes an answer to it."""
        for later in self._steps.upcoming():
            other = later.args.get("m")
            if other is None:
                continue
            if (later.node, later.action) == (step.node, step.action) and _is_same(other, step.args["m"]):
                return True
            answers = other["kind"] == "response" and (other["src"], other["type"]) == (m.dst, m.type)
            if later.node == m.src and answers and other.get("index") == step.args["m"].get("index"):
                return False
        return False

    def _start(self, step: NodeStep) -> Iterator[Event]:
        """Let a process come up: the first time as it is, later after a crash or a loss of power."""
        server = self._cluster.servers[step.node]
        if step.node not in self._started:
            self._started.add(step.node)
            self._compare(step, server.observe())
            return
        lost = unrecorded_step(server, self._cluster.messages(), step.shows)
        if lost is not None:
            yield self._cluster.take(step.node, lost[0], *lost[1])
        store, log = server.ledger_store, step.shows["log"]
        fewer = len(log) < min(len(store.log), store.scanned_count())
        try:
            if fewer:
                yield self._cluster.take(step.node, "LosePower", len(log))
            elif server.is_up:
                yield self._cluster.take(step.node, "Crash")
            event = self._cluster.take(step.node, "Restart", max(0, len(log) - len(server.ledger_store.log)))
        except NotEnabled as error:
            raise ReplayError(f"{where(step)}: {error}") from error
        if event["shows"]["log"] != log:
            raise ReplayError(f"{where(step)}: the log came back as {log}, and not as {event['shows']['log']}")
        self._compare(step, event["shows"])
        yield event

    def _compare(self, step: NodeStep, shows: Mapping[str, Any]) -> None:
        for name, value in step.shows.items():
            if name not in _NOT_COMPARED and name in shows and not _is_equal(shows[name], value):
                raise ReplayError(f"{where(step)}: {name} is {value}, and {shows[name]} in the group")


def _awaited(m: Message) -> Message:
    """Return a message as if its caller still waited for the answer."""
    if isinstance(m, Response | ElectionResponse | CommitRequest) or m.awaited:
        return m
    return replace(m, awaited=True)


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two recorded messages differ at most in whether their callers still wait."""
    return {**one, "awaited": True} == {**other, "awaited": True}


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same as JSON, where the elements of a set may come in any order."""
    if one == other:
        return True
    if isinstance(one, dict) and set(one) == {"#set"}:
        return sorted(map(repr, one["#set"])) == sorted(map(repr, other["#set"]))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_equal(one[name], other[name]) for name in one)
    return False


def replayed(
    plan: FaultPlan, steps: Iterable[NodeStep], listen: Callable[[Cluster], StepListener] | None = None
) -> Iterator[Event]:
    """Yield the events of a trace that recorded steps stand for.

    Args:
        plan: The shape of the group, with the features and flaws of its nodes.
        steps: The steps of all nodes, in the order in which they were taken.
        listen: Makes what hears of the steps of the group.

    Raises:
        ReplayError: A step is impossible in the group, or a node showed something else after it.
    """
    yield from _Replay(plan, steps, listen).events()
