"""Reading plans of faults, strictly: what is unknown, of the wrong type or out of range is an error."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class PlanError(ValueError):
    """A fault plan is malformed; the message names the field."""

    def __init__(self, field_name: str, problem: str, source: str = "") -> None:
        """Name the field, the problem, and the file if it was read from one."""
        place = f"{source}: " if source else ""
        super().__init__(f"{place}field `{field_name}`: {problem}" if field_name else f"{place}{problem}")
        self.field_name, self.problem = field_name, problem


def read_plan(path: Path, from_dict: Callable[[Mapping[str, Any]], T]) -> T:
    """Read the plan in a .json or .toml file.

    Args:
        path: The file.
        from_dict: Makes the plan of its table of fields.

    Raises:
        PlanError: The file is of neither type or malformed, or a field is wrong.
        OSError: The file cannot be read.
    """
    if path.suffix not in (".json", ".toml"):
        raise PlanError("", "a plan is a .json or .toml file", str(path))
    try:
        text = path.read_text(encoding="utf-8")
        return from_dict(_read_json(text) if path.suffix == ".json" else tomllib.loads(text))
    except PlanError as error:
        raise PlanError(error.field_name, error.problem, str(path)) from error
    except (ValueError, RecursionError) as error:  # JSONDecodeError, TOMLDecodeError and UnicodeDecodeError are such
        raise PlanError("", str(error), str(path)) from error


def _read_json(text: str) -> Any:
    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise PlanError(next(name for name in names if names.count(name) > 1), "it is there twice")
        return found

    return json.loads(text, object_pairs_hook=table)


def check_fields(data: Any, known: Sequence[str]) -> None:
    """Raise PlanError unless `data` is a table that has no other fields than these."""
    if not isinstance(data, Mapping):
        raise PlanError("plan", "it must be a table of fields")
    for name in data:
        if name not in known:
            raise PlanError(str(name), f"unknown; a plan has {', '.join(known)}")


def check_integer(name: str, value: object, least: int, most: int) -> None:
    """Raise PlanError unless a field is an integer in a range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanError(name, f"{value!r} is no integer")
    if not least <= value <= most:
        raise PlanError(name, f"{value} is not between {least} and {most}")


def check_boolean(name: str, value: object) -> None:
    """Raise PlanError unless a field is true or false."""
    if not isinstance(value, bool):
        raise PlanError(name, f"{value!r} is neither true nor false")


def check_probability(name: str, value: object) -> None:
    """Raise PlanError unless a field is a probability."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanError(name, f"{value!r} is no number")
    if not 0 <= value <= 1:
        raise PlanError(name, f"{value} is not between 0 and 1")


def check_total(plan: object, names: Sequence[str]) -> None:
    """Raise PlanError where fields that exclude each other make more than 1 together."""
    total = math.fsum(getattr(plan, name) for name in names)
    if total > 1:
        raise PlanError(names[0], f"it makes {total:g} with {', '.join(names[1:])}: more than 1")
