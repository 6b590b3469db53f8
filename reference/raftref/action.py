"""What an action is: a method whose name is the spec's, with the condition under which it may be taken.

The method's positional parameters are those of the spec's action after the node itself. Keyword parameters
are what reaches the node by messages that the spec's grain leaves out: votes, heartbeats, terms heard of.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args, get_type_hints

S = TypeVar("S")
P = ParamSpec("P")
E = TypeVar("E")


class NotEnabled(Exception):  # noqa: N818 - the word of the spec: an action is enabled or it is not.
    """An action was asked for in a state that does not allow it; nothing has changed."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the protocol: its trace name, its parameters by the spec's names, and how to take it.

    `messages` are the classes of what it handles, where it handles a message: it is asked about no other.
    """

    name: str
    parameters: tuple[str, ...]
    enabled: Callable[..., bool]
    perform: Callable[..., Any]
    messages: tuple[type, ...] = ()


def trace_name(method_name: str) -> str:
    """Return the spec's name of a method: `handle_do_append` is `HandleDoAppend`."""
    return "".join(part.capitalize() for part in method_name.split("_"))


def action(
    when: Callable[Concatenate[S, P], bool], spec_name: str | None = None
) -> Callable[[Callable[Concatenate[S, P], E]], Callable[Concatenate[S, P], E]]:
    """Declare the method that follows an action, enabled when `when` holds of the same arguments.

    Called where it is not enabled, the method raises NotEnabled and its node stays as it is. `spec_name` is the spec's
    name of the action, where that does not follow from the method's.
    """

    def declare(method: Callable[Concatenate[S, P], E]) -> Callable[Concatenate[S, P], E]:
        name = spec_name or trace_name(method.__name__)

        @functools.wraps(method)
        def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> E:
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


def _messages(method: Callable[..., Any]) -> tuple[type, ...]:
    """Return the classes that the parameter `m` of a method is annotated with."""
    annotated = get_type_hints(method).get("m")
    return () if annotated is None else get_args(annotated) or (annotated,)


def actions_of(owner: type) -> dict[str, Action]:
    """Return the actions that a class declares or inherits, by their trace names."""
    members = (member for _, member in inspect.getmembers(owner, inspect.isfunction))
    declared = (vars(member).get("action") for member in members)
    return {each.name: each for each in declared if isinstance(each, Action)}


@functools.cache
def declared_at(owner: type, name: str) -> str:
    """Return FILE:LINE of the method of a class that is an action, from this package on, or "" where there is none."""
    found = actions_of(owner).get(name)
    if found is None:
        return ""
    method = inspect.unwrap(found.perform)
    path = Path(inspect.getsourcefile(method) or "")
    root = path.parents[path.parts[::-1].index("raftref") + 1] if "raftref" in path.parts else path.parent
    return f"{path.relative_to(root)}:{inspect.getsourcelines(method)[1]}"
