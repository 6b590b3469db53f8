"""Decoding and encoding of JSON in traces: TLA+ values, and the words that stand for constants of a spec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockstep.tla.values.growing_functions import GrowingFcn
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, as_fcn, sort_key

#: How a key writes an integer; one of more digits is none that a spec computes with.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Words:
    """The meaning of words of JSON: null (None: nothing), and those strings that name a constant of the spec."""

    null: Value | None = None
    strings: Mapping[str, Value] = field(default_factory=dict)
    meanings: Meanings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out the meanings outside of a value with an ITF tag, and within one."""
        named: dict[str, Value] = {word: ModelValue(word) for word in self.strings}
        tagged = Meanings(self.null, named, {})
        object.__setattr__(self, "meanings", Meanings(self.null, self.strings, self.strings, tagged))


@dataclass(frozen=True, slots=True)
class Meanings:
    """The meaning of words at a place of a JSON value: `values` in the place of a value, `keys` as keys of objects.

    Within a value that has an ITF tag (`tagged`; None: this is within one) a string that names a constant is the model
    value of its name, and keys are what they are.
    """

    null: Value | None
    values: Mapping[str, Value]
    keys: Mapping[str, Value]
    tagged: Meanings | None = None


WORDS = Words()


def to_value(tree: Any, words: Words = WORDS) -> Value:
    """Decode a JSON value of a trace: ITF, and the words agreed on; raises ValueError if it is none."""
    if tree is None:
        if words.null is None:
            raise ValueError("null stands for nothing here")
        return words.null
    if isinstance(tree, str):
        return words.strings.get(tree, tree)
    if isinstance(tree, list):
        return tuple(to_value(item, words) for item in tree)
    if isinstance(tree, dict) and not is_tagged(tree):
        return as_fcn({words.strings.get(name, name): to_value(item, words) for name, item in tree.items()})
    return from_itf(tree, words.strings, words.null)


def to_tree(value: Value, words: Words = WORDS) -> Any:
    """Encode a value as JSON of a trace, the inverse of to_value."""
    if value == words.null:
        return None
    if isinstance(value, ModelValue):
        return next((name for name, each in words.strings.items() if each == value), value.name)
    if isinstance(value, tuple | GrowingSeq):
        return [to_tree(part, words) for part in value]
    if isinstance(value, frozenset | GrowingSet):
        return {"#set": [to_tree(part, words) for part in sorted(value, key=sort_key)]}
    if isinstance(value, GrowingFcn):
        return to_tree(value.force(), words)
    if isinstance(value, Fcn) and all(isinstance(key, str | ModelValue) for key in value.d):
        return {to_tree(key, words): to_tree(part, words) for key, part in value.d.items()}
    if isinstance(value, Fcn):
        pairs = sorted(value.d.items(), key=lambda item: sort_key(item[0]))
        return {"#map": [[to_tree(key, words), to_tree(part, words)] for key, part in pairs]}
    return to_itf(value)


def integer_of(key: str) -> int | None:
    """Return the integer that a key writes, if it writes one."""
    return int(key) if _INTEGER.fullmatch(key) else None


def is_tagged(tree: Mapping[str, Any]) -> bool:
    """Return whether an object is a value in ITF, and so compared whole."""
    return any(name[:1] == "#" for name in tree)
