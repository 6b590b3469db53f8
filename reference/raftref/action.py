"""Actions: functions whose names are the spec's, each with the condition under which it may be taken.

The function changes the node that is its first argument. Its other positional parameters are those of the spec's
action. Keyword parameters are what reaches the node by messages that the spec's grain leaves out.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
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
    """An action of the protocol: the spec's name, its parameters with their types, and how to take it.

    `messages` are the classes of the message that it handles, if it handles one.
    """

    name: str
    types: Mapping[str, Any]
    enabled: Callable[..., bool]
    perform: Callable[..., Any]
    messages: tuple[type, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Its parameters by the spec's names, in their order."""
        return tuple(self.types)

    @property
    def location(self) -> str:
        """FILE:LINE of its function, from the folder of this package on."""
        function = inspect.unwrap(self.perform)
        path = Path(inspect.getsourcefile(function) or "")
        root = path.parents[path.parts[::-1].index("raftref") + 1] if "raftref" in path.parts else path.parent
        return f"{path.relative_to(root)}:{inspect.getsourcelines(function)[1]}"


def trace_name(function_name: str) -> str:
    """Return the spec's name of a function: `handle_do_append` is `HandleDoAppend`."""
    return "".join(part.capitalize() for part in function_name.split("_"))


def describe(
    function: Callable[..., Any],
    enabled: Callable[..., bool],
    perform: Callable[..., Any],
    spec_name: str | None = None,
) -> Action:
    """Return the action of a function.

    Args:
        function: Its parameters are those of the action, after the node itself.
        enabled: Whether it may be taken with these arguments.
        perform: Takes it, or raises NotEnabled.
        spec_name: The spec's name of the action, where that does not follow from the function's.
    """
    hints = get_type_hints(function)
    positional = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    types = {name: hints.get(name, Any) for name in positional[1:]}
    messages = () if "m" not in types else get_args(types["m"]) or (types["m"],)
    return Action(spec_name or trace_name(function.__name__), types, enabled, perform, messages)


def action(
    when: Callable[Concatenate[S, P], bool], spec_name: str | None = None
) -> Callable[[Callable[Concatenate[S, P], E]], Callable[Concatenate[S, P], E]]:
    """Declare the method that follows an action, enabled when `when` holds of the same arguments.

    Called where it is not enabled, the method raises NotEnabled and its node stays as it is.
    """

    def declare(method: Callable[Concatenate[S, P], E]) -> Callable[Concatenate[S, P], E]:
        name = spec_name or trace_name(method.__name__)

        @functools.wraps(method)
        def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> E:
            if not when(self, *args, **kwargs):
                raise NotEnabled(f"{name}{args} is not enabled")
            return method(self, *args, **kwargs)

        guarded.__dict__["action"] = describe(method, when, guarded, spec_name)
        return guarded

    return declare


def actions_of(*owners: object) -> dict[str, Action]:
    """Return the actions that classes and modules have, by the spec's names."""
    functions = (each for owner in owners for _, each in inspect.getmembers(owner, inspect.isfunction))
    declared = (vars(each).get("action") for each in functions)
    return {each.name: each for each in declared if isinstance(each, Action)}


def declared_at(owner: object, name: str) -> str:
    """Return FILE:LINE of the function of a class or module that is an action, or "" where there is none."""
    found = actions_of(owner).get(name)
    return "" if found is None else found.location


def definition_in(folder: Path, name: str) -> str:
    """Return FILE:LINE of the definition of an action in a folder of TLA+ modules.

    Args:
        folder: The spec's modules, a folder below `spec` in a checkout.
        name: The action, by the spec's name.

    Raises:
        LookupError: No module of the folder defines it.
    """
    begins = re.compile(rf"{re.escape(name)}(\([^)]*\))?\s*==")
    for module in sorted(folder.glob("*.tla")):
        text = module.read_text(encoding="utf-8")
        # A module that abstracts from the protocol defines actions of the same names.
        if f"\\* ACTION {name}:" not in text:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if begins.match(line):
                return f"{module.name}:{number}"
    raise LookupError(f"no module in {folder} defines {name}")
