"""The order in which TLC reads the names of a project, by which it orders strings and model values.

TLC gives each name a number when it reads it for the first time, as a model value, an identifier or a string, and
compares strings, model values and the fields of records by these numbers. So the set that a CHOOSE looks through, or
the records that a quantifier takes one by one, come in an order that depends on the text of the modules. It reads:

1. the configuration: model values and strings, one after the other;
2. the words that SANY has of its own, and the root module's name;
3. the words of each module, as it is parsed: all that the root extends, directly and indirectly, then the first
   module that is instanced, all that this one extends, and so on;
4. the strings of each module, as it is analysed: a module comes after those that it extends or instances.

Names with an unknown place are left out, and a choice that depends on them is refused: strings that are spelled like a
number or an operator, which SANY has read before or splits otherwise, and strings that the text has and the syntax tree
lacks, as in ``INSTANCE ... WITH`` and in theorems without a name.

Source: util.UniqueString, tlc2.tool.impl.ModelConfig, tla2sany.modanalyzer.SpecObj of TLC.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lockstep.tla.syntax.tree import Expr, Let, Location, OperatorArg, String, SyntaxTree, children
from lockstep.tla.values.printed_values import unescape
from lockstep.tlc.module_files import comment_end

#: The words that SANY knows before it reads a module, as far as a string can be alike.
_BUILT_IN = ("ENABLED", "UNCHANGED", "SUBSET", "UNION", "DOMAIN", "STRING", "FALSE", "TRUE", "BOOLEAN")

#: Strings that are spelled like a token that is no word, or like a number.
_LIKE_A_SIGN = re.compile(r"\d+|\\\w+|[^\w\s]+")

_TOKEN = re.compile(
    r"""(?P<header>-{4,}[ \t]*MODULE[ \t]+(?P<module>\w+)[ \t]*-{4,})
      | (?P<end>={4,})
      | (?P<line>\\\*[^\n]*)
      | (?P<comment>\(\*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<subscript>\]_|>>_|⟩_|[WS]F_)
      | (?P<word>[A-Za-z0-9_]+)
      | (?P<operator>\\[A-Za-z]+)
      | (?P<sign>\S)
    """,
    re.VERBOSE,
)


@dataclass
class _ModuleWords:
    """A module: its words and strings in the order of its text, and the modules that it names."""

    words: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    extends: list[str] = field(default_factory=list)
    instances: list[str] = field(default_factory=list)
    inner: dict[str, _ModuleWords] = field(default_factory=dict)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each token, leaving out comments and what is no word."""
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        kind = str(match.lastgroup)
        if kind == "comment":
            position = comment_end(text, match.start()) or len(text)
        elif match["module"] is not None:
            yield "header", match["module"]
        elif kind != "line":
            yield kind, match[0]


@functools.lru_cache(maxsize=200)  # the models of a spec share its modules, and all share the standard ones
def _read(text: str) -> _ModuleWords:
    """Read the module of a file, with those within it; what stands before and behind it is passed over."""
    outermost = _ModuleWords()
    open_modules: list[_ModuleWords] = []
    clause = ""  # the keyword whose list of modules is being read
    for kind, token in _tokens(text):
        if kind == "header":
            within = _ModuleWords() if open_modules else outermost
            if open_modules:
                open_modules[-1].inner[token] = within
            open_modules.append(within)
            outermost.words.append(token)
            clause = ""
        elif not open_modules:
            continue
        elif kind == "end":
            open_modules.pop()
            if not open_modules:
                break
        elif kind == "string":
            outermost.strings.append(unescape(token[1:-1]))
        elif kind in ("word", "sign"):
            outermost.words += [token] if kind == "word" else []
            clause = _clause(open_modules[-1], clause, token)
    return outermost


def _clause(module: _ModuleWords, clause: str, token: str) -> str:
    """Take in a token that may name a module; return what the next is read after: a keyword, or a list's module."""
    if token in ("EXTENDS", "INSTANCE"):
        return token
    if clause == "INSTANCE":
        module.instances.append(token)
    elif clause == "EXTENDS":
        module.extends.append(token)
        return "a module"
    elif clause == "a module" and token == ",":
        return "EXTENDS"
    return ""


class _ModuleOrder:
    """The order in which SANY parses and analyses the modules of a project."""

    def __init__(self, root: str, text_of: Callable[[str], str | None]) -> None:
        self.text_of = text_of
        self.parsed: dict[str, _ModuleWords] = {}
        self.parse(root)
        top = self.parsed[root]
        while (
            name := self.next_unread(top, "extends", set()) or self.next_unread(top, "instances", set())
        ) is not None:
            self.parse(name)

    def parse(self, name: str) -> None:
        text = self.text_of(name)
        self.parsed[name] = _ModuleWords() if text is None else _read(text)

    def next_unread(self, module: _ModuleWords, how: str, visited: set[int]) -> str | None:
        """Find the next module that is extended, or instanced, and not read yet: first what this module names."""
        if id(module) in visited:
            return None
        visited.add(id(module))
        for name in getattr(module, how):
            if name not in self.parsed and name not in self.inner_names:
                return str(name)
        named = [self.parsed[name] for name in (*module.extends, *module.instances) if name in self.parsed]
        for each in (*named, *module.inner.values()):
            if (found := self.next_unread(each, how, visited)) is not None:
                return found
        return None

    @property
    def inner_names(self) -> set[str]:
        """The names of modules within modules, for which there is no file."""
        return {name for module in self.parsed.values() for name in module.inner}

    def analysed(self, name: str, done: dict[str, None]) -> Iterable[str]:
        """List the modules in the order of their analysis: one comes after all that it names."""
        module = self.parsed[name]
        for each in (module, *module.inner.values()):
            for named in (*each.extends, *each.instances):
                if named in self.parsed and named not in done and named != name:
                    self.analysed(named, done)
        done[name] = None
        return done


def interned(tree: SyntaxTree, text_of: Callable[[str], str | None], configured: Iterable[str]) -> dict[str, int]:
    """Number the names of a project as TLC does.

    Args:
        text_of: returns the text of a module, None if there is none.
        configured: the model values and strings of the configuration, in its order.

    Returns:
        A number for each model value and string, in the order in which TLC reads them. Those without one are made
        while TLC runs, or stand where the order is not known.
    """
    order = _ModuleOrder(tree.root, text_of)
    names = dict.fromkeys(configured)
    wanted, unknown = {*names}, set[str]()
    names.update(dict.fromkeys((*_BUILT_IN, tree.root)))
    for module in order.parsed.values():
        names.update(dict.fromkeys(module.words))
    names["LAMBDA"] = None
    analysed = _strings(tree)
    for name in order.analysed(tree.root, {}):
        strings = analysed.get(name, [])
        places = Counter(string.value for string in {*strings})
        elsewhere = Counter(order.parsed[name].strings) - places
        unknown.update(each for each in elsewhere if each not in names)
        names.update(dict.fromkeys(string.value for string in strings))
        wanted.update(places)
    unknown.update(each for each in names if _LIKE_A_SIGN.fullmatch(each))
    return {name: number for number, name in enumerate(each for each in names if each in wanted - unknown)}


def _strings(tree: SyntaxTree) -> dict[str, list[String]]:
    """List the strings of each module as SANY analyses them: the set of a bound variable before what it is bound in."""
    roots: list[tuple[Location, Expr]] = [(each.loc, each.body) for each in tree.definitions.values()]
    roots += [(each.loc, each.body) for module in tree.modules.values() for each in module.assumptions]
    found: dict[str, list[String]] = {}
    for loc, body in sorted(roots, key=lambda root: (root[0].module, root[0].line, root[0].column, -root[0].end_line)):
        found.setdefault(loc.module, []).extend(_strings_within(tree, body))
    return found


def _strings_within(tree: SyntaxTree, expr: Expr) -> Iterator[String]:
    if isinstance(expr, String):
        yield expr
    elif isinstance(expr, Let):
        for uid in expr.definitions:
            yield from _strings_within(tree, tree.definitions[uid].body)
    elif isinstance(expr, OperatorArg) and expr.op in tree.definitions and tree.name_of(expr.op) == "LAMBDA":
        yield from _strings_within(tree, tree.definitions[expr.op].body)
    for each in children(expr):
        yield from _strings_within(tree, each)
