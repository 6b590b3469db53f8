"""The form of an action: the effects of a step on the world outside, and the outcome of its durable writes.

An action that writes has a parameter `outcome`: all its writes are done; the k-th fails; or the process dies right
after the k-th. So the step of such an action is one whole, and yet there is a crash between any two writes.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from raftref.action import NotEnabled, describe
from raftref.hashicorp.messages import Message, Request, RpcType
from raftref.hashicorp.values import NodeId


class Result(StrEnum):
    """The end of the writes of a step."""

    DONE = "DONE"
    FAIL = "FAIL"
    CRASH = "CRASH"


@dataclass(frozen=True, slots=True)
class Outcome:
    """DONE: all writes are done. FAIL: the `write`-th returns an error. CRASH: the process dies right after it."""

    result: Result = Result.DONE
    write: int = 0


DONE = Outcome()

#: The most writes that a step has.
MAX_WRITES = 3


class StoreError(Exception):
    """A durable write failed, and changed nothing."""


class PanicError(Exception):
    """The code panics: the process dies."""


class CrashError(Exception):
    """The process died right after a durable write."""


# ---- Effects on the world outside ----


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The calls that a server gives up: of these types, to one peer, or to all where `peer` is None.

    Their requests under way are no longer awaited, and answers under way are ignored.
    """

    types: frozenset[RpcType]
    peer: NodeId | None = None

    def includes(self, type_: RpcType) -> bool:
        """Return whether calls of a type are among them."""
        return type_ in self.types


@dataclass(slots=True)
class Effects:
    """The requests of a step, in their order: first calls are given up, then messages are sent.

    `panicked` says whether the server has gone down since the library panics there.
    """

    abandoned: list[Abandoned] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)
    panicked: bool = False

    def abandon(self, types: Collection[RpcType], peer: NodeId | None = None) -> None:
        """Wait no more for the answers to some calls."""
        self.abandoned.append(Abandoned(frozenset(types), peer))

    def await_none(self) -> None:
        """Let nobody wait for an answer to what was sent."""
        self.sent = [replace(m, awaited=False) if isinstance(m, Request) else m for m in self.sent]


# ---- Taking a step ----


class Stepping(Protocol):
    """A server that can take steps: `outcome`, `write_count`, `written` and `effects` are of the step that it takes.

    `written` are the stores after each durable write that was done.
    """

    node_id: NodeId
    outcome: Outcome
    write_count: int
    written: tuple[Any, ...]
    effects: Effects

    def go_down(self) -> None:
        """Forget all that is not durable."""


S = TypeVar("S", bound=Stepping)
P = ParamSpec("P")


def step(
    when: Callable[..., bool], name: str | None = None
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], Effects]]:
    """Declare a function that is an action of a server, and returns what it asks for.

    It is taken on a copy of the server, which the server becomes if the action has as many writes as its outcome says.
    A process that panics, or dies at a write, leaves a server that is down; what it had sent before is sent.

    Args:
        when: Whether it may be taken, given the same arguments. That a message is for this server is seen to here.
        name: The spec's name of the action, where it is not the function's.
    """

    def declare(body: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], Effects]:
        run: Callable[..., None] = body

        def allowed(server: S, args: tuple[Any, ...]) -> bool:
            return all(m.dst == server.node_id for m in args if isinstance(m, Message)) and when(server, *args)

        def taken(server: S, args: tuple[Any, ...]) -> S:
            """Return the server after the step; raise NotEnabled where it cannot be taken so."""
            after = copy.copy(server)
            after.outcome, after.write_count, after.effects = _outcome(args), 0, Effects()
            after.written = ()
            try:
                run(after, *args)
            except CrashError:
                after.effects.await_none()
                after.go_down()
            except PanicError:
                after.effects.panicked = True
                after.go_down()
            if after.outcome != DONE and not 1 <= after.outcome.write <= after.write_count:
                raise NotEnabled(f"{body.__name__} has {after.write_count} writes: no {after.outcome}")
            return after

        def enabled(server: S, *args: Any) -> bool:
            if not allowed(server, args):
                return False
            if _outcome(args) == DONE:
                return True
            try:
                taken(server, args)
            except NotEnabled:
                return False
            return True

        @functools.wraps(body)
        def perform(server: S, /, *args: P.args, **kwargs: P.kwargs) -> Effects:
            if not allowed(server, args):
                raise NotEnabled(f"{body.__name__}{args} is not enabled")
            after = taken(server, args)
            vars(server).update(vars(after))
            return after.effects

        perform.__dict__["action"] = describe(body, enabled, perform, name)
        return perform

    return declare


def _outcome(args: tuple[Any, ...]) -> Outcome:
    return next((each for each in args if isinstance(each, Outcome)), DONE)
