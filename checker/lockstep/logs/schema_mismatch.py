"""The first mismatch between the tree of a file and its type, in words for the file's author."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import inspect

from lockstep.base.spelling import did_you_mean

#: A field, as `a.b[0].c`, and what is wrong there.
Misfit: TypeAlias = tuple[str, str]

#: How alike a key must be to a known one for a hint.
MIN_LIKENESS = 0.7

#: A longer value is cut.
MAX_TEXT = 60


def first_misfit(tree: Any, wanted: Any) -> Misfit | None:
    """Return the first field in which a tree does not fit a type; None where it fits.

    The words for what is expected are the `description` of msgspec.Meta, or follow from the type.
    """
    return next(_misfits(tree, inspect.type_info(wanted), ""), None)


def _misfits(tree: Any, wanted: inspect.Type, path: str) -> Iterator[Misfit]:
    for kind in map(_plain, _choices(wanted)):
        match kind:
            case inspect.AnyType():
                return
            case inspect.StructType() if isinstance(tree, dict):
                yield from _struct_misfits(tree, kind, path)
                return
            case inspect.DictType() if isinstance(tree, dict):
                for key, part in tree.items():
                    yield from _misfits(part, kind.value_type, f"{path}.{key}")
                return
            case inspect.ListType() if isinstance(tree, list):
                for index, part in enumerate(tree):
                    yield from _misfits(part, kind.item_type, f"{path}[{index}]")
                return
            case _ if _is(tree, kind):
                return
    yield path.lstrip("."), f"it should be {_expected(wanted)}, not {_shown(tree)}{_near(tree, wanted)}"


def _struct_misfits(tree: dict[str, Any], wanted: inspect.StructType, path: str) -> Iterator[Misfit]:
    known = {field.encode_name: field for field in wanted.fields}
    for key, part in tree.items():
        if key in known:
            yield from _misfits(part, known[key].type, f"{path}.{key}")
        else:
            near = did_you_mean(key, known, likeness=MIN_LIKENESS) or f"; known are {', '.join(known)}"
            yield f"{path}.{key}".lstrip("."), f"unknown field{near}"
    for name, field in known.items():
        if field.required and name not in tree:
            yield f"{path}.{name}".lstrip("."), "missing"


def _is(tree: Any, kind: inspect.Type) -> bool:
    """Return whether a value that is no table and no list is of a type."""
    match kind:
        case inspect.LiteralType():
            return tree in kind.values
        case inspect.NoneType():
            return tree is None
        case inspect.BoolType():
            return isinstance(tree, bool)
        case inspect.IntType():
            if isinstance(tree, bool) or not isinstance(tree, int):
                return False
            return (kind.ge is None or kind.ge <= tree) and (kind.le is None or tree <= kind.le)
        case inspect.StrType():
            return isinstance(tree, str) and (kind.pattern is None or re.search(kind.pattern, tree) is not None)
    return False


def _choices(wanted: inspect.Type) -> tuple[inspect.Type, ...]:
    """Return the types of a union; TOML has no null, so that is none of them."""
    types = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    return tuple(each for each in types if not isinstance(each, inspect.NoneType)) or types


def _plain(wanted: inspect.Type) -> inspect.Type:
    return wanted.type if isinstance(wanted, inspect.Metadata) else wanted


def _expected(wanted: inspect.Type) -> str:
    return _one_of(list(dict.fromkeys(map(_described, _choices(wanted)))))


def _one_of(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _described(wanted: inspect.Type) -> str:
    if isinstance(wanted, inspect.Metadata) and wanted.extra_json_schema:
        return str(wanted.extra_json_schema["description"])
    match kind := _plain(wanted):
        case inspect.LiteralType():
            return _one_of([f'"{each}"' for each in kind.values])
        case inspect.StrType():
            return "a string"
        case inspect.IntType():
            return "an integer" if kind.ge is None else f"an integer from {kind.ge} to {kind.le}"
        case inspect.BoolType():
            return "true or false"
        case inspect.ListType():
            return "a list"
    return "a table"


def _shown(tree: Any) -> str:
    if isinstance(tree, dict | list):
        return "a table" if isinstance(tree, dict) else "a list"
    text = json.dumps(tree) if isinstance(tree, str | bool) else str(tree)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


def _near(tree: Any, wanted: inspect.Type) -> str:
    words = [word for kind in _choices(wanted) if isinstance(kind, inspect.LiteralType) for word in kind.values]
    return did_you_mean(tree, map(str, words)) if isinstance(tree, str) else ""
