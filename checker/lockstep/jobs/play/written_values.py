"""The arguments of a step as a person writes them: TLA+ values, of bounded size."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lockstep.base.errors import BadInputError
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import parse_value

__all__ = ["written_values"]

#: A string of TLA+.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def written_values(spec: Spec, action: str, args: Mapping[str, str]) -> dict[str, Value]:
    """Parse arguments as TLA+ writes them, in the order of the action's parameters.

    Raises BadInputError where one is no value, or a set of any size in a few letters.
    """
    info = spec.actions.get(action)
    names = info.params if info is not None and set(info.params) == set(args) else args
    return {name: _value(spec, name, args[name]) for name in names}


def _value(spec: Spec, name: str, text: str) -> Value:
    if ".." in _STRING.sub("", text):
        raise BadInputError(f"{name}: write the elements out, without `..`")
    known = [*spec.model_values, *(each.name for each in spec.constants.values() if isinstance(each, ModelValue))]
    try:
        return parse_value(text, known)
    except (ValueError, TlaError, IndexError, RecursionError) as error:
        raise BadInputError(f"{name} = {text[:80]}: {error}") from error
