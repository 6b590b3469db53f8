"""Parts of taking recorded steps again in a simulated group, which both systems share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from raftref.runtime.driver import NodeStep

#: A node, an action by the spec's name, and its arguments.
Move = tuple[str, str, tuple[Any, ...]]


class ReplayError(Exception):
    """A recorded step is none of the group, or the node showed something else after it."""


class StepListener(Protocol):
    """Hears of each step of a group, before it and after it."""

    def before(self, move: Move) -> None:
        """Hear that a node is about to take an action."""

    def after(self, move: Move) -> None:
        """Hear that a node has taken an action."""


class ListenedSteps:
    """A base beside a class of groups: a listener hears of their steps, if there is one."""

    listener: StepListener | None = None

    def take_step(self, step: Callable[..., Any], node: str, action: str, args: tuple[Any, ...]) -> Any:
        """Take an action by the group's own `step`, between two calls of the listener."""
        if self.listener is None:
            return step(node, action, *args)
        self.listener.before((node, action, args))
        effects = step(node, action, *args)
        self.listener.after((node, action, args))
        return effects


class StepQueue:
    """Recorded steps that may still be coming: the one to take, and those after it as far as they are looked at."""

    def __init__(self, steps: Iterable[NodeStep]) -> None:
        """Begin before the first step."""
        self._steps = iter(steps)
        self._read: deque[NodeStep] = deque()

    def first(self) -> NodeStep | None:
        """Return the step to take next, None after the last one."""
        return next(self.upcoming(), None)

    def pop(self) -> None:
        """Be done with that step."""
        self._read.popleft()

    def upcoming(self) -> Iterator[NodeStep]:
        """Yield the step to take next and those after it, waiting for them as far as they are asked for."""
        number = 0
        while True:
            if number == len(self._read):
                step = next(self._steps, None)
                if step is None:
                    return
                self._read.append(step)
            yield self._read[number]
            number += 1


def where(step: NodeStep) -> str:
    """Return which step it is, for an error."""
    return f"{step.node} {step.action} at {step.at:.6f} s"
