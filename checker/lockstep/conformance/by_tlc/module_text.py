"""Text of the modules for TLC: their own names, values, pieces of the spec, and what TLC prints when it runs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Call, Expr, Location
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    Value,
    as_fcn,
    format_value,
    sort_key,
)
from lockstep.tla.values.lazy_sets import LazySet
from lockstep.tla.values.printed_values import parse_value

#: Subjects of the module's output: an event that shows or sent something else, and the value being compared.
SHOWS, SENT, PROBE = "shows", "sent", "probe"


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The names of a module's own: all begin with `prefix`, and none of the spec does.

    `probing`: the module prints what it is about to compare, so that its last words before an error show whose
    fault that is. The values of the spec are evaluated first: an error in those is not the trace's.
    """

    prefix: str
    probing: bool

    @property
    def operators(self) -> str:
        """The INSTANCE of LockstepOperators."""
        return f"{self.prefix}ops"

    @property
    def next_event(self) -> str:
        """The variable that holds the number of the event to come, from 1 on."""
        return f"{self.prefix}l"

    @property
    def observed(self) -> str:
        """The operator that gives what is observed of a node."""
        return f"{self.prefix}observed"

    @property
    def added(self) -> str:
        """The operator that gives the messages a step adds to the outbox of a node."""
        return f"{self.prefix}added"

    def event(self, number: int) -> str:
        """Name the action that is an event."""
        return f"{self.prefix}event{number}"

    @property
    def print_start(self) -> str:
        """The beginning of what the module prints."""
        return f'<<"{self.prefix}", '

    def printed(self, what: str, first: str, second: str) -> str:
        """Write a formula that prints two values, and holds."""
        return f'{self.operators}!PrintT({self.print_start}"{what}", {first}, {second}>>)'

    def probe(self, field: str, event: int = 0) -> list[str]:
        """Write the conjunct that prints which field is compared next, or which event is taken (0: the same).

        A module that does not probe has none.
        """
        return [self.printed(PROBE, f'"{field}"', str(event))] if self.probing else []

    def evaluated(self, value: str) -> list[str]:
        """Write the conjunct that evaluates a value of the spec's; none in a module that does not probe."""
        return [*self.probe(""), f"{self.operators}!Evaluated({value})"] if self.probing else []


_MAX_INTEGER = 2**31 - 1
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
_RESERVED = frozenset(
    """
    ACTION ASSUME ASSUMPTION AXIOM BOOLEAN BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE
    ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER
    PICK PROOF PROPOSITION PROVE QED RECURSIVE SF STATE STEP STRING SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM TRUE
    UNCHANGED UNION USE VARIABLE VARIABLES WF WITH WITNESS
    """.split()  # noqa: SIM905 - a list of a hundred strings is no list to read
)
_ESCAPED = "lockstep:"
_PRINTABLE = re.compile(r"[ -~]*\Z")


class Literals:
    """Values as text, with what the module must define for them.

    Attributes:
        definitions: lines of definitions, each before its use.
        model_values: the constants the module must declare, and the model value of each.
    """

    def __init__(self, prefix: str, operators: str) -> None:
        """Name definitions with `prefix`; `operators` is the INSTANCE of LockstepOperators."""
        self._prefix, self._operators = prefix, operators
        self._names: dict[str, str] = {}
        self.definitions: list[str] = []
        self.model_values: dict[str, str] = {}

    def text(self, value: Value) -> str:
        """Return the text of a value."""
        kind = type(value)
        if kind is bool:
            return "TRUE" if value else "FALSE"
        if kind is int:
            return self._integer(value)
        if kind is str:
            return format_value(encoded(value))
        if kind is ModelValue:
            return self._model_value(value.name)
        if kind is tuple:
            return self._tuple(value)
        if kind is frozenset:
            return self._defined("{" + ", ".join(map(self.text, sorted(value, key=sort_key))) + "}")
        if kind is Fcn:
            return self._function(value)
        return self._lazy(value)

    def _integer(self, value: int) -> str:
        if abs(value) > _MAX_INTEGER:
            # TLC has no such number, so no value of the spec's equals it; neither does any equal this model value.
            return self._model_value(f"{self._prefix}integer{'n' if value < 0 else ''}{abs(value)}")
        return str(value) if value >= 0 else self._defined(f"{self._operators}!Negative({-value})")

    def _model_value(self, name: str) -> str:
        known = next((constant for constant, of in self.model_values.items() if of == name), None)
        if known is None:
            known = f"{self._prefix}m{len(self.model_values) + 1}"
            self.model_values[known] = name
        return known

    def _tuple(self, value: tuple[Value, ...]) -> str:
        parts = [self.text(element) for element in value]
        whole, before = f"<<{', '.join(parts)}>>", f"<<{', '.join(parts[:-1])}>>"
        if whole not in self._names and before in self._names:
            # Logs grow entry by entry: written whole, the module would grow with their square.
            return self._defined(f"{self._operators}!Append({self._names[before]}, {parts[-1]})", whole)
        return self._defined(whole)

    def _function(self, value: Fcn) -> str:
        keys = sorted(value.d, key=sort_key)
        if all(type(key) is str and _NAME.match(key) and key not in _RESERVED for key in keys):
            return self._defined("[" + ", ".join(f"{key} |-> {self.text(value.d[key])}" for key in keys) + "]")
        pairs = ", ".join(f"<<{self.text(key)}, {self.text(value.d[key])}>>" for key in keys)
        return self._defined(f"{self._operators}!Function(<<{pairs}>>)")

    def _lazy(self, value: Value) -> str:
        if isinstance(value, LazySet) and not value.finite:
            name = format_value(value)
            return name if name in _RESERVED else f"{self._operators}!{name}"
        return self.text(value.force())

    def _defined(self, text: str, key: str = "") -> str:
        name = self._names.get(key or text)
        if name is None:
            name = self._names[key or text] = f"{self._prefix}v{len(self._names) + 1}"
            self.definitions.append(f"{name} == {text}")
        return name


def encoded(text: str) -> str:
    """Return a string of printable ASCII for any string: its own, or one that no other string has."""
    if _PRINTABLE.match(text) and not text.startswith(_ESCAPED):
        return text
    return _ESCAPED + text.encode("utf-8", "surrogatepass").hex()


def decoded(value: Value) -> Value:
    """Return a value that TLC printed, with the strings that `encoded` made turned back."""
    if type(value) is str:
        if not value.startswith(_ESCAPED):
            return value
        return bytes.fromhex(value.removeprefix(_ESCAPED)).decode("utf-8", "surrogatepass")
    if type(value) is tuple:
        return tuple(map(decoded, value))
    if type(value) is frozenset:
        return frozenset(map(decoded, value))
    if type(value) is Fcn:
        return as_fcn({decoded(key): decoded(part) for key, part in value.d.items()})
    return value


def printed_values(lines: tuple[str, ...], start: str) -> Iterator[Any]:
    """Yield the values that TLC printed; it breaks long ones into lines."""
    pending: list[str] = []
    for line in lines:
        if line.startswith(start):
            pending = []
        pending.append(line)
        if not line.endswith(">>"):
            continue
        try:
            yield parse_value("\n".join(pending))
        except ValueError:
            continue
        pending = []


class SpecText:
    """The text of the spec's modules, to cut pieces out of."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        # SANY counts columns with tabs every eight characters.
        self._lines = {name: text.expandtabs(8).split("\n") for name, text in modules.items()}
        self._words = {word for text in modules.values() for word in re.findall(r"\w+", text)}

    def cut(self, location: Location, until: Location | None = None) -> str:
        """Return the text of a place, or of what begins there and ends where another place begins.

        Every line keeps its columns: the lists of conjuncts of TLA+ stand and fall by them.
        """
        end_line, end = location.end_line, location.end_column
        if until is not None:
            end_line, end = until.line, until.column - 1
        lines = self._lines[location.module][location.line - 1 : end_line]
        lines[-1] = lines[-1][:end]
        lines[0] = " " * (location.column - 1) + lines[0][location.column - 1 :]
        return "\n".join(line.rstrip() for line in lines)

    def fresh_prefix(self, wanted: str, others: Iterable[str] = ()) -> str:
        """Return a prefix that no name of the spec begins with, nor any of `others`."""
        taken = self._words | set(others)
        while any(word.startswith(wanted) for word in taken):
            wanted = f"x{wanted}"
        return wanted


def text_of(expr: Expr, program: Program, source: SpecText) -> str:
    """Return the text of a formula of the spec: the name of a definition where it is one, or what stands there."""
    if isinstance(expr, Call) and not expr.args:
        return f"    {program.tree.name_of(expr.op)}"
    return source.cut(expr.loc)
