"""What an action is: a method whose name is the spec's, with the condition under which it may be taken.

The method's positional parameters are those of the spec's action after the node itself. Keyword parameters
are what reaches the node by messages that the spec's grain leaves out: votes, heartbeats, terms heard of.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar, get_args, get_type_hints

from raftref.dledger.messages import AppendRequest, ElectionType, HeartBeat, Message, NodeId, PushType
from raftref.dledger.replication.client_futures import Future

S = TypeVar("S")
P = ParamSpec("P")


class NotEnabled(Exception):  # noqa: N818 - the word of the spec: an action is enabled or it is not.
    """An action was asked for in a state that does not allow it; nothing has changed."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Whose answers a node stops waiting for.

    `peer` None means every peer, `type` None every type of request. Requests under way are then no longer
    awaited, and answers under way are ignored.
    """

    peer: NodeId | None = None
    type: PushType | ElectionType | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What a step asks of the world outside: it has changed nothing but its node.

    `sent` are new messages. `requeued` is a request that was taken and stays in the receiver's queue.
    `abandoned` names answers nobody waits for any more. `heart_beat` is what a new leader tells from now on.
    `acknowledged` are the clients that are told success.
    """

    sent: tuple[Message, ...] = ()
    requeued: AppendRequest | None = None
    abandoned: Abandoned | None = None
    heart_beat: HeartBeat | None = None
    acknowledged: tuple[Future, ...] = ()


NO_EFFECTS = Effects()


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the protocol: its trace name, its parameters by the spec's names, and how to take it.

    `messages` are the classes of what it handles, where it handles a message: it is asked about no other.
    """

    name: str
    parameters: tuple[str, ...]
    enabled: Callable[..., bool]
    perform: Callable[..., Effects]
    messages: tuple[type, ...] = ()


def trace_name(method_name: str) -> str:
    """Return the spec's name of a method: `handle_do_append` is `HandleDoAppend`."""
    return "".join(part.capitalize() for part in method_name.split("_"))


def action(
    when: Callable[Concatenate[S, P], bool],
) -> Callable[[Callable[Concatenate[S, P], Effects]], Callable[Concatenate[S, P], Effects]]:
    """Declare the method that follows an action, enabled when `when` holds of the same arguments.

    Called where it is not enabled, the method raises NotEnabled and its node stays as it is.
    """

    def declare(method: Callable[Concatenate[S, P], Effects]) -> Callable[Concatenate[S, P], Effects]:
        name = trace_name(method.__name__)

        @functools.wraps(method)
        def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Effects:
            if not when(self, *args, **kwargs):
                raise NotEnabled(f"{name}{args} is not enabled")
            return method(self, *args, **kwargs)

        positional = [
            p.name
            for p in inspect.signature(method).parameters.values()
            if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        ]
        guarded.__dict__["action"] = Action(name, tuple(positional[1:]), when, guarded, _messages(method))
        return guarded

    return declare


def _messages(method: Callable[..., Effects]) -> tuple[type, ...]:
    """Return the classes that the parameter `m` of a method is annotated with."""
    annotated = get_type_hints(method).get("m")
    return () if annotated is None else get_args(annotated) or (annotated,)


def actions_of(owner: type) -> dict[str, Action]:
    """Return the actions that a class declares or inherits, by their trace names."""
    members = (member for _, member in inspect.getmembers(owner, inspect.isfunction))
    declared = (vars(member).get("action") for member in members)
    return {each.name: each for each in declared if isinstance(each, Action)}
