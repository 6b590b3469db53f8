"""The form of a step: how an action of a server is declared, taken, and cut short by a crash."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from raftref.action import action
from raftref.disks.simulated_disk import Stopped
from raftref.hashicorp.core.effects import Effects
from raftref.hashicorp.core.outcome import DONE, Outcome, Writes

P = ParamSpec("P")


class PanicError(Exception):
    """The code panics: the process dies."""


class Stepping(Protocol):
    """What a server must have to take steps."""

    writes: Writes
    effects: Effects

    def go_down(self) -> None:
        """Forget all that is not durable."""


S = TypeVar("S", bound=Stepping)


def step(
    when: Callable[Concatenate[S, P], bool], name: str | None = None
) -> Callable[[Callable[Concatenate[S, P], None]], Callable[Concatenate[S, P], Effects]]:
    """Declare a method that is an action of a server. It changes the server, and returns what it asks for.

    If one of its arguments is an Outcome, the writes of the method end so. A method that panics, or whose process dies
    at a write, leaves a server that is down; what it had sent before is sent.

    Args:
        when: Whether it may be taken, given the same arguments; that it has so many writes is seen to here.
        name: The spec's name of the action, where it is not the method's.
    """

    def declare(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], Effects]:
        def enabled(self: S, /, *args: P.args, **kwargs: P.kwargs) -> bool:
            outcome = _outcome(args)
            return when(self, *args, **kwargs) and (
                outcome == DONE or _write_count(self, method, args) >= outcome.write >= 1
            )

        @functools.wraps(method)
        def taken(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Effects:
            _take(self, method, args, _outcome(args))
            return self.effects

        return action(enabled, name)(taken)

    return declare


def _outcome(args: tuple[Any, ...]) -> Outcome:
    return next((each for each in args if isinstance(each, Outcome)), DONE)


def _take(server: Stepping, method: Callable[..., None], args: tuple[Any, ...], outcome: Outcome) -> None:
    server.effects = Effects()
    server.writes.begin(outcome)
    try:
        method(server, *args)
    except Stopped:
        server.effects.await_none()
        server.go_down()
    except PanicError:
        server.go_down()
    finally:
        server.writes.begin(DONE)


def _write_count(server: Stepping, method: Callable[..., None], args: tuple[Any, ...]) -> int:
    """Return how many writes a step would do, with its outcome, up to where it ends: tried on a copy."""
    copy = pickle.loads(pickle.dumps(server))
    copy.effects = Effects()
    copy.writes.begin(_outcome(args))
    with contextlib.suppress(Stopped, PanicError):
        method(copy, *args)
    count: int = copy.writes.count
    return count
