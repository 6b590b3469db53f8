"""TLC's configuration files."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.base.errors import WRONG_CFG, BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.base.text_files import text_of
from lockstep.tla.values.equality import build_set
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import unescape
from lockstep.tlc.module_files import comment_end
from lockstep.tlc.unicode_symbols import SYMBOLS


class CfgError(BadInputError):
    """A configuration that cannot be read; the message has file, line, column and code."""


@dataclass
class Cfg:
    """The content of a configuration.

    Attributes:
        constants: values given to constants (or to defined operators without parameters).
        substitutions: names replaced by the name of another operator (``Op <- Other``).
        module_substitutions: the same, within one module (``Op <- [Module]Other``), by (module, name).
        module_constants: values within one module (``N = [Module]3``), by (module, name).
        alias: name of the record that TLC shows instead of a counterexample's states, if any.
        postcondition: name of the formula that must hold once a search is complete, if any.
        start: name of the predicate of the states to begin in, instead of the initial predicate; not from a cfg.
        names: the model values and strings in these values, in the order of the text.
        file: its name in error messages.
        places: where each word stands first, as LINE:COLUMN.
    """

    constants: dict[str, Value] = field(default_factory=dict)
    substitutions: dict[str, str] = field(default_factory=dict)
    module_substitutions: dict[tuple[str, str], str] = field(default_factory=dict)
    module_constants: dict[tuple[str, str], Value] = field(default_factory=dict)
    specification: str | None = None
    init: str | None = None
    next: str | None = None
    invariants: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    action_constraints: list[str] = field(default_factory=list)
    symmetry: str | None = None
    view: str | None = None
    alias: str | None = None
    postcondition: str | None = None
    check_deadlock: bool = True
    start: str | None = None
    names: list[str] = field(default_factory=list)
    file: str = "the configuration"
    places: dict[str, str] = field(default_factory=dict)

    def unknown_names(self, known: Container[str]) -> list[str]:
        """List the names that are given a value and are not among the known ones, nor model values of their own."""
        own = {name for name, value in self.constants.items() if type(value) is ModelValue and value.name == name}
        return [name for name in self.constants if name not in known and name not in own]


_LISTS = {
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
    "CONSTRAINT": "constraints",
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
}
_SINGLES = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
    "ALIAS": "alias",
    "POSTCONDITION": "postcondition",
}
#: The words that begin an entry.
KEYWORDS = {*_LISTS, *_SINGLES, "CONSTANT", "CONSTANTS", "CHECK_DEADLOCK"}

_TOKEN = re.compile(
    rf"""(?P<space>\s+|\\\*[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>-?\d+(?![A-Za-z0-9_]))
      | (?P<word>[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_!]*)
      | (?P<sign><-|[={{}},\[\]](?![<=|]))
      | (?P<unicode>{"|".join(SYMBOLS)})
      | (?P<symbol>\\[A-Za-z]+|(?:(?!<-)[-+*/^|&$%#?!@<>=:.~])+)
    """,
    re.VERBOSE,
)


#: A longer number has more than 32 bits, or zeros before it.
_MAX_DIGITS = 20

#: The depth to which the sets of a value may be nested.
_MAX_DEPTH = 32


@dataclass(frozen=True)
class _CfgToken:
    kind: str
    text: str
    place: str


def _refused(file: str, place: str, problem: str) -> CfgError:
    return CfgError(f"{file}:{place}: {WRONG_CFG} {problem}")


def _tokens(text: str, file: str) -> list[_CfgToken]:
    tokens, position, line, begin = [], 0, 1, 0
    while position < len(text):
        place = f"{line}:{position - begin + 1}"
        if text.startswith("(*", position):
            comment = comment_end(text, position)
            if comment is None:
                raise _refused(file, place, "this comment does not end")
            end = comment
        else:
            match = _TOKEN.match(text, position)
            kind = None if match is None else match.lastgroup
            if match is not None and kind == "unicode":
                in_ascii = _TOKEN.fullmatch(SYMBOLS[match[0]])
                kind = None if in_ascii is None else in_ascii.lastgroup
            if match is None or kind is None:
                raise _refused(file, place, f"cannot read {text[position : position + 20].splitlines()[0]!r}")
            if kind != "space":
                said = SYMBOLS.get(match[0], match[0])
                tokens.append(_CfgToken(kind, said, place))
            end = match.end()
        line += text.count("\n", position, end)
        begin = max(begin, text.rfind("\n", position, end) + 1)
        position = end
    return tokens


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.tokens = _tokens(text, file)
        self.index = 0
        self.cfg = Cfg(file=file)
        for token in reversed(self.tokens):
            self.cfg.places[token.text] = token.place

    def fail(self, message: str, token: _CfgToken | None) -> CfgError:
        at = token or (self.tokens[-1] if self.tokens else None)
        return _refused(self.file, "1:1" if at is None else at.place, message)

    def peek(self) -> _CfgToken | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def take(self, kind: str = "", text: str = "", near: str = "") -> _CfgToken:
        token = self.peek()
        if token is None:
            raise self.fail(f"the file ends where {text or kind or 'more'} was expected", None)
        if (kind and token.kind != kind) or (text and token.text != text):
            wanted = repr(text) if text else f"a {kind}"
            raise self.fail(f"expected {wanted}, found {token.text!r}{near}", token)
        self.index += 1
        return token

    def at_name(self) -> bool:
        token = self.peek()
        return token is not None and token.kind in ("word", "symbol") and token.text not in KEYWORDS

    def operator(self) -> _CfgToken:
        """Read the name of an operator, which may be a sign such as ++."""
        return self.take("symbol" if (token := self.peek()) is not None and token.kind == "symbol" else "word")

    def run(self) -> Cfg:
        while (token := self.peek()) is not None:
            self.index += 1
            if token.text in ("CONSTANT", "CONSTANTS"):
                while self.at_name():
                    self.constant()
            elif token.text in _LISTS:
                while self.at_name():
                    getattr(self.cfg, _LISTS[token.text]).append(self.take("word").text)
            elif token.text in _SINGLES:
                self.single(token)
            elif token.text == "CHECK_DEADLOCK":
                self.cfg.check_deadlock = self.boolean()
            else:
                raise self.fail(f"unknown statement {token.text!r}{did_you_mean(token.text, KEYWORDS)}", token)
        return self.cfg

    def single(self, statement: _CfgToken) -> None:
        attribute = _SINGLES[statement.text]
        if getattr(self.cfg, attribute) is not None:
            raise self.fail(f"a second {statement.text}", statement)
        setattr(self.cfg, attribute, self.take("word").text)

    def boolean(self) -> bool:
        token = self.take("word")
        if token.text not in ("TRUE", "FALSE"):
            raise self.fail(f"expected TRUE or FALSE, found {token.text!r}", token)
        return token.text == "TRUE"

    def constant(self) -> None:
        name = self.operator()
        sign = self.take("sign", near=did_you_mean(name.text, KEYWORDS))
        cfg = self.cfg
        if sign.text not in ("=", "<-"):
            raise self.fail(f"expected = or <- after {name.text}, found {sign.text!r}", sign)
        module = self.module()
        where = (module, name.text) if module else name.text
        if any(where in table for table in (cfg.constants, cfg.substitutions)) or any(
            where in table for table in (cfg.module_constants, cfg.module_substitutions)
        ):
            raise self.fail(f"{name.text} is given twice", name)
        if sign.text == "=" and module:
            cfg.module_constants[module, name.text] = self.value()
        elif sign.text == "=":
            cfg.constants[name.text] = self.value()
        elif module:
            cfg.module_substitutions[module, name.text] = self.operator().text
        else:
            cfg.substitutions[name.text] = self.operator().text

    def module(self) -> str:
        """Read ``[Module]``, if it is there."""
        token = self.peek()
        if token is None or token.text != "[":
            return ""
        self.take()
        name = self.take("word").text
        self.take(text="]")
        return name

    def value(self, depth: int = 0) -> Value:
        token = self.take()
        if depth > _MAX_DEPTH:
            raise self.fail(f"nested deeper than {_MAX_DEPTH} levels", token)
        if token.kind == "number":
            if len(token.text) > _MAX_DIGITS or not -(2**31) <= int(token.text) < 2**31:
                raise self.fail("a number of more than 32 bits is not supported: TLC has none", token)
            return int(token.text)
        if token.kind == "string":
            return self.named(unescape(token.text[1:-1]))
        if token.kind == "word" and token.text not in KEYWORDS:
            return token.text == "TRUE" if token.text in ("TRUE", "FALSE") else ModelValue(self.named(token.text))
        if token.text == "{":
            return self.set_value(token, depth)
        raise self.fail(f"expected a value, found {token.text!r}", token)

    def named(self, name: str) -> str:
        self.cfg.names.append(name)
        return name

    def set_value(self, opening: _CfgToken, depth: int) -> Value:
        elements: list[Value] = []
        while (token := self.peek()) is not None and token.text != "}":
            if elements:
                self.take(text=",", near="; commas stand between the elements of a set")
            elements.append(self.value(depth + 1))
        self.take(text="}")
        try:
            return build_set(elements)
        except TlaError as error:
            raise self.fail(str(error), opening) from None


def parse_cfg(text: str, file: str = "<cfg>") -> Cfg:
    """Read a configuration from its text.

    Args:
        file: its name in error messages.

    Raises:
        CfgError: on anything unknown, with file and line.
    """
    return _Parser(text, file).run()


def read_cfg(path: str | Path) -> Cfg:
    """Read a configuration file; see :func:`parse_cfg`."""
    return parse_cfg(text_of(path), str(path))
