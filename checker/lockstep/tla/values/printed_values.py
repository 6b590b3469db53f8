"""Reading values as TLC prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lockstep.tla.values.equality import build_set
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    Value,
    as_fcn,
)

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<number>-?\d+(?![A-Za-z0-9_]))
    | (?P<word>[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign><<|>>|\|->|:>|@@|\.\.|[{}\[\](),])
    )""",
    re.VERBOSE,
)
_UNESCAPES = {"n": "\n", "t": "\t", "f": "\f", "r": "\r"}


def unescape(text: str) -> str:
    """Undo the escapes of a TLA+ string literal."""
    return re.sub(r"\\(.)", lambda m: _UNESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)


class _ValueParser:
    def __init__(self, text: str, model_values: frozenset[str] | None) -> None:
        self.text = text
        self.model_values = model_values
        self.tokens: list[tuple[str, str]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"not a value printed by TLC at {text[position : position + 30]!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self.index = 0

    def peek(self) -> str:
        return self.tokens[self.index][1] if self.index < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        if self.index >= len(self.tokens):
            raise ValueError(f"the value ends too early: {self.text[:80]!r}")
        token = self.tokens[self.index]
        if wanted and token != ("sign", wanted):
            raise ValueError(f"expected {wanted!r}, found {token[1]!r} in {self.text[:80]!r}")
        self.index += 1
        return token

    def value(self) -> Value:
        kind, token = self.take()
        if kind == "string":
            return unescape(token[1:-1])
        if kind == "number":
            return self.number(int(token))
        if kind == "word":
            return self.word(token)
        if token == "<<":
            return tuple(self.listed(">>"))
        if token == "{":
            return build_set(self.listed("}"))
        if token == "[":
            return self.record()
        if token == "(":
            return self.function()
        raise ValueError(f"unexpected {token!r} in {self.text[:80]!r}")

    def number(self, low: int) -> Value:
        if self.peek() != "..":
            return low
        self.take("..")
        return frozenset(range(low, int(self.take()[1]) + 1))

    def word(self, token: str) -> Value:
        if token in ("TRUE", "FALSE"):
            return token == "TRUE"
        if self.model_values is not None and token not in self.model_values:
            raise ValueError(f"{token} is not a model value")
        return ModelValue(token)

    def listed(self, end: str) -> list[Value]:
        items: list[Value] = []
        while self.peek() != end:
            if items:
                self.take(",")
            items.append(self.value())
        self.take(end)
        return items

    def record(self) -> Value:
        table: dict[Value, Value] = {}
        while self.peek() != "]":
            if table:
                self.take(",")
            name = self.take()[1]
            self.take("|->")
            table[name] = self.value()
        self.take("]")
        return Fcn(table)

    def function(self) -> Value:
        table: dict[Value, Value] = {}
        while True:
            key = self.value()
            self.take(":>")
            table[key] = self.value()
            if self.take()[1] != "@@":
                return as_fcn(table)


def parse_value(text: str, model_values: Iterable[str] | None = None) -> Value:
    """Read a value printed by TLC.

    Args:
        model_values: the names that are model values; any identifier is one if None.

    Returns:
        The value.

    Raises:
        ValueError: if the text is not a printed value.
    """
    reader = _ValueParser(text, None if model_values is None else frozenset(model_values))
    result: Any = reader.value()
    if reader.index != len(reader.tokens):
        raise ValueError(f"text after the value: {text[:80]!r}")
    return result
