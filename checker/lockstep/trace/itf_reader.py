"""Reading behaviours in Apalache's Informal Trace Format (ITF): one JSON object with the variables and the states.

https://apalache-mc.org/docs/adr/015adr-trace.html describes it. A state has a value for each variable and names no
action, unless its `#meta` does, as in the files that lockstep writes. Values are decoded by
:mod:`lockstep.tla.values.itf_values`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.base.errors import OUT_OF_RESOURCES
from lockstep.trace.json_lines import MAX_DEPTH, STDIN, TraceError, UnreadableError, beginning, unreasonable

#: By convention the name of such a file ends so.
SUFFIX = ".itf.json"

#: How a file begins that is one, whatever its name: with one of the keys of the format.
_BEGINNING = re.compile(rb'\s*\{\s*"(?:#meta|params|vars|states|loop)"\s*:')

MAX_BYTES = 256 * 1024 * 1024

#: Begins variables that tools write beside the spec's: Quint the action that it took, and what it chose.
_TOOL_PREFIX = "mbt::"

_META = "#meta"

#: The key of the `#meta` of a whole file that holds the header of the trace it was exported from.
HEADER = "lockstep-header"

_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class ItfState:
    """A state: the line on which it begins, and the JSON of each variable."""

    line: int
    values: dict[str, Any]

    @property
    def claimed_step(self) -> tuple[str, dict[str, Any]] | None:
        """The action that led here and the JSON of its arguments, where its `#meta` has both."""
        meta = self.values.get(_META)
        if not isinstance(meta, dict):
            return None
        action, args = meta.get("action"), meta.get("args")
        return (action, args) if isinstance(action, str) and isinstance(args, dict) else None


@dataclass(frozen=True, slots=True)
class ItfTrace:
    """A behaviour: its states in order, and the index of the one that follows the last, if it goes on for ever.

    `params` are the constants of its first state, `left_out` the variables of tools that no spec has. `meta` is the
    `#meta` of the whole file.
    """

    source: str
    variables: tuple[str, ...]
    states: tuple[ItfState, ...]
    loop: int | None = None
    params: tuple[tuple[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def is_itf(path: Path) -> bool:
    """Return whether a file is ITF, by its name or its beginning; a file that cannot be read is none."""
    if path == STDIN:
        return False
    if path.name.endswith(SUFFIX):
        return True
    try:
        with path.open("rb") as file:
            return _BEGINNING.match(file.read(200)) is not None
    except OSError:
        return False


def read_itf(path: Path) -> ItfTrace:
    """Read a file of ITF.

    Raises TraceError, with line and field, where it is malformed, UnreadableError where it cannot be read.
    """
    return _trace(_Scanner(_text(path), str(path)).document(), str(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        if error.errno in OUT_OF_RESOURCES:
            raise
        raise UnreadableError(str(path), error) from error
    if len(raw) > MAX_BYTES:
        raise TraceError(str(path), 1, f"a file of more than {MAX_BYTES:,} bytes")
    if (problem := beginning(raw, 1)) is not None:
        raise TraceError(str(path), 1, problem)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TraceError(str(path), line, f"the byte {raw[error.start]:#04x} is no UTF-8") from error


# ---- JSON, with the lines on which the states begin ----


class _DuplicateKeyError(ValueError):
    """An object has a key twice."""


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(next(key for key in keys if keys.count(key) > 1))
    return table


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_table, parse_constant=_no_number)


class _Scanner:
    """Reads one JSON object, and of its `states` each for itself."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.at = text, source, 0
        self._counted, self._line = 0, 1

    def document(self) -> dict[str, Any]:
        """Return the object; its states are ItfStates."""
        found: dict[str, Any] = {}
        self._expect("{", "not ITF: it is no JSON object")
        more = not self._takes("}")
        while more:
            key = self._value("")
            if not isinstance(key, str):
                raise self._error("not ITF: a key is no string")
            if key in found:
                raise self._error(f"field `{key}`: it is there twice")
            self._expect(":", f"field `{key}`: no value follows")
            found[key] = self._states() if key == "states" else self._value(key)
            more = not self._takes("}")
            if more:
                self._expect(",", f"not ITF: no comma and no closing brace after `{key}`")
        self._skip()
        if self.at < len(self.text):
            raise self._error("not ITF: something follows the object")
        return found

    def _states(self) -> list[ItfState]:
        self._expect("[", "field `states`: it is no array")
        found: list[ItfState] = []
        more = not self._takes("]")
        while more:
            self._skip()
            path, line = f"states[{len(found)}]", self._line_here()
            state = self._value(path)
            if not isinstance(state, dict):
                raise TraceError(self.source, line, f"field `{path}`: it is no object")
            found.append(ItfState(line, state))
            more = not self._takes("]")
            if more:
                self._expect(",", f"field `{path}`: no comma and no closing bracket after it")
        return found

    def _value(self, path: str) -> Any:
        self._skip()
        try:
            found, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self._error(f"{_field_prefix(path)}no JSON: {error.msg[:1].lower()}{error.msg[1:]}") from error
        except _DuplicateKeyError as error:
            raise self._error(f"field `{f'{path}.' if path else ''}{error}`: it is there twice") from error
        except ValueError as error:
            raise self._error(f"{_field_prefix(path)}no JSON: {error}") from error
        except RecursionError as error:
            raise self._error(f"{_field_prefix(path)}nested deeper than {MAX_DEPTH} levels") from error
        return found

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = self.at if blank is None else blank.end()

    def _takes(self, sign: str) -> bool:
        self._skip()
        found = self.text.startswith(sign, self.at)
        self.at += found
        return found

    def _expect(self, sign: str, problem: str) -> None:
        if not self._takes(sign):
            raise self._error("the file is cut: it ends here" if self.at == len(self.text) else problem)

    def _line_here(self) -> int:
        if self.at >= self._counted:
            self._line += self.text.count("\n", self._counted, self.at)
            self._counted = self.at
        return self._line

    def _error(self, problem: str) -> TraceError:
        return TraceError(self.source, self._line_here(), problem)


def _field_prefix(path: str) -> str:
    return f"field `{path}`: " if path else "not ITF: "


# ---- What the object must have ----


def _trace(tree: dict[str, Any], source: str) -> ItfTrace:
    names, params = _names(tree, "vars", source), _names(tree, "params", source)
    states: list[ItfState] = tree.get("states", [])
    if not states:
        raise TraceError(source, 1, f"field `states`: {'it is empty' if 'states' in tree else 'missing'}")
    for index, state in enumerate(states):
        _refuse_state(index, state, names, params, source)
    loop = tree.get("loop")
    if loop is not None and (type(loop) is not int or not 0 <= loop < len(states)):
        raise TraceError(source, 1, f"field `loop`: {str(loop)[:40]} is the index of no state")
    left_out = tuple(name for name in names if name.startswith(_TOOL_PREFIX))
    return ItfTrace(
        source=source,
        variables=tuple(name for name in names if name not in left_out),
        states=tuple(states),
        loop=loop,
        params=tuple((name, states[0].values[name]) for name in params),
        left_out=left_out,
        meta=meta if isinstance(meta := tree.get(_META), dict) else {},
    )


def _names(tree: dict[str, Any], field: str, source: str) -> list[str]:
    found = tree.get(field, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise TraceError(source, 1, f"field `{field}`: it is no array of names")
    for name in found:
        if found.count(name) > 1:
            raise TraceError(source, 1, f"field `{field}`: {name!r} is there twice")
    if field == "vars" and not found:
        raise TraceError(source, 1, "field `vars`: " + ("it is empty" if field in tree else "missing"))
    return found


def _refuse_state(index: int, state: ItfState, names: list[str], params: list[str], source: str) -> None:
    needed = [*names, *(params if index == 0 else ())]
    for name in needed:
        if name not in state.values:
            raise TraceError(source, state.line, f"field `states[{index}].{name}`: missing")
    for name, value in state.values.items():
        if name == _META:
            continue
        if name not in needed and name not in params:
            raise TraceError(source, state.line, f"field `states[{index}].{name}`: it is none of `vars`")
        if problem := unreasonable(value, f"states[{index}].{name}"):
            raise TraceError(source, state.line, problem)
