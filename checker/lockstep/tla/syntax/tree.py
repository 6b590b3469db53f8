"""The syntax tree of a specification, typed, read from SANY's XML.

Symbols (definitions, declarations, parameters) are known by SANY's unique ids: names are resolved already, so a
consumer never handles scope.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lockstep.tlc.module_files import STANDARD_MODULES

__all__ = [
    "MODULES_PARTLY_JAVA",
    "STANDARD_MODULES",
    "At",
    "Bind",
    "Bound",
    "Builtin",
    "Call",
    "Declaration",
    "Definition",
    "Expr",
    "Let",
    "Location",
    "Module",
    "Number",
    "OperatorArg",
    "Param",
    "String",
    "Substituted",
    "Substitution",
    "SyntaxTreeError",
    "Tree",
    "children",
    "read_tree",
]

#: Modules that TLC takes from Java in part, and of which the rest is compiled from their TLA+ text. Those of the
#: community the user has, beside the spec or in a named folder.
MODULES_PARTLY_JAVA = frozenset({"Json", "IOUtils", "CSV", "SVG", "GraphViz", "Statistics", "TLCExt"})


class SyntaxTreeError(Exception):
    """The XML is not what SANY is known to write."""


@dataclass(frozen=True, slots=True)
class Location:
    """A range of a module's text; lines and columns count from 1, the end is included."""

    module: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        """Write module, line and column."""
        return f"{self.module}.tla:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Number:
    """An integer literal."""

    value: int
    loc: Location


@dataclass(frozen=True, slots=True)
class String:
    """A string literal."""

    value: str
    loc: Location


@dataclass(frozen=True, slots=True)
class Field(String):
    """The name of a field where it is selected, ``r.f``: what ``r["f"]`` is, though TLC never takes that apart."""


@dataclass(frozen=True, slots=True)
class Call:
    """The use of a definition, declaration or parameter, with its arguments if it has any."""

    op: int
    args: tuple[Expr, ...]
    loc: Location


@dataclass(frozen=True, slots=True)
class Builtin:
    """A construct of the language without bound variables, by SANY's name (``$Except``, ``\\in``, ...)."""

    name: str
    args: tuple[Expr, ...]
    loc: Location


@dataclass(frozen=True, slots=True)
class Bound:
    """``x, y \\in S``, ``<<x, y>> \\in S`` (a tuple) or, without a domain, an unbounded ``x``."""

    params: tuple[int, ...]
    is_tuple: bool
    domain: Expr | None


@dataclass(frozen=True, slots=True)
class Bind:
    """A construct that binds variables: quantifiers, CHOOSE, set and function constructors."""

    name: str
    bounds: tuple[Bound, ...]
    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class Let:
    """``LET definitions IN body``; without definitions, a part of another definition (``Inv!2``), or all of it."""

    definitions: tuple[int, ...]
    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class At:
    """``@`` within the innermost EXCEPT."""

    loc: Location


@dataclass(frozen=True, slots=True)
class OperatorArg:
    """An operator passed as an argument: a definition, a LAMBDA, a declaration or a parameter."""

    op: int
    builtin: str | None
    loc: Location


@dataclass(frozen=True, slots=True)
class Substitution:
    """``declared <- value`` of an INSTANCE."""

    declared: int
    value: Expr


@dataclass(frozen=True, slots=True)
class Substituted:
    """The body of a definition that an INSTANCE brings in."""

    substitutions: tuple[Substitution, ...]
    body: Expr
    loc: Location


Expr: TypeAlias = Number | String | Call | Builtin | Bind | Let | At | OperatorArg | Substituted


@dataclass(frozen=True, slots=True)
class Param:
    """A formal parameter or a bound variable."""

    uid: int
    name: str
    arity: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A CONSTANT or a VARIABLE."""

    uid: int
    name: str
    arity: int
    is_variable: bool
    loc: Location


@dataclass(frozen=True, slots=True)
class Definition:
    """``name(params) == body``."""

    uid: int
    name: str
    params: tuple[int, ...]
    body: Expr
    recursive: bool
    loc: Location


@dataclass(frozen=True, slots=True)
class Assumption:
    """``ASSUME body``."""

    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class Module:
    """A module: the symbols visible at its top level, in SANY's order."""

    name: str
    symbols: tuple[int, ...]
    assumptions: tuple[Assumption, ...]


@dataclass
class Tree:
    """A whole specification.

    Attributes:
        root: the root module's name.
        modules: all modules by name, standard ones included.
        definitions: by unique id.
        declarations: by unique id.
        params: by unique id.
        origins: of a definition that an INSTANCE brought in: the definition it is a copy of.
        unlisted: the definitions at the top level that no module lists as its symbols: ASSUMEs and THEOREMs with a
            name, and what SANY made of parts with parameters, as ``Inv!2!(x)``.
        own_variables: the declarations of variables that only an ENABLED within an INSTANCE knows.
    """

    root: str = ""
    modules: dict[str, Module] = field(default_factory=dict)
    definitions: dict[int, Definition] = field(default_factory=dict)
    declarations: dict[int, Declaration] = field(default_factory=dict)
    params: dict[int, Param] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)
    unlisted: set[int] = field(default_factory=set)
    own_variables: list[int] = field(default_factory=list)
    _next_uid: int = 1 << 40

    def fresh_uid(self) -> int:
        """Answer an id that nothing has yet."""
        self._next_uid += 1
        return self._next_uid

    def name_of(self, uid: int) -> str:
        """Answer the name of a symbol."""
        found = self.definitions.get(uid) or self.declarations.get(uid) or self.params.get(uid)
        if found is None:
            raise KeyError(uid)
        return found.name


def children(expr: Expr) -> tuple[Expr, ...]:
    """List the expressions directly within one (LET definitions and substitutions aside)."""
    if isinstance(expr, (Call, Builtin)):
        return expr.args
    if isinstance(expr, Bind):
        return (*(bound.domain for bound in expr.bounds if bound.domain is not None), expr.body)
    if isinstance(expr, (Let, Substituted)):
        return (expr.body,)
    return ()


_BUILTIN_NAMES = {
    "\\neg": "\\lnot",
    "/=": "#",
    "\\union": "\\cup",
    "\\intersect": "\\cap",
    "$ConjList": "\\land",
    "$DisjList": "\\lor",
    "$RcdSelect": "$FcnApply",
}


#: An ASSUME or a THEOREM with a name, which stands for what it says wherever it is used.
_NAMED = ("AssumeDef", "TheoremDefNode")

#: What SANY calls a LAMBDA, and what is a definition's name here that was one.
LAMBDA, PART = "LAMBDA", "part"


class _Reader:
    def __init__(self, root: ElementTree.Element) -> None:
        self.tree = Tree(root=_text(root, "RootModule"))
        context = root.find("context")
        if context is None:
            raise SyntaxTreeError("no context")
        self.entries = {int(_text(entry, "UID")): entry[1] for entry in context}
        self.builtins = {
            uid: _text(node, "uniquename") for uid, node in self.entries.items() if node.tag == "BuiltInKind"
        }
        self.here = Location(self.tree.root, 0, 0, 0, 0)
        self.applied: dict[int, int] = {}

    def run(self) -> Tree:
        for uid, node in self.entries.items():
            if node.tag == "FormalParamNode":
                self.tree.params[uid] = Param(uid, _text(node, "uniquename"), int(_text(node, "arity")))
            elif node.tag == "OpDeclNode":
                self.tree.declarations[uid] = self.declaration(uid, node)
        for uid, node in self.entries.items():
            if node.tag == "UserDefinedOpKind":
                self.tree.definitions[uid] = self.definition(uid, node)
            elif node.tag in _NAMED:
                self.tree.definitions[uid] = self.named(uid, node)
                self.tree.unlisted.add(uid)
        for node in self.entries.values():
            if node.tag == "ModuleNode":
                module = self.module(node)
                self.tree.modules[module.name] = module
        self.name_parts()
        self.give_parameters()
        return self.tree

    def name_parts(self) -> None:
        """Make definitions of the LAMBDAs that are applied: SANY writes ``Inv!2!(x)`` as one, with an argument."""
        for uid in self.applied.keys() & self.tree.definitions.keys():
            definition = self.tree.definitions[uid]
            if definition.name == LAMBDA:
                self.tree.definitions[uid] = replace(definition, name=PART)
                self.tree.unlisted.add(uid)

    def give_parameters(self) -> None:
        """Give the facts of an ``I(p) == INSTANCE M`` its parameters, which SANY leaves out of their XML.

        Any definition of the same INSTANCE begins with them; how many they are, a use of the fact tells.
        """
        siblings: dict[str, tuple[int, ...]] = {}
        for definition in self.tree.definitions.values():
            instance = definition.name.rpartition("!")[0]
            siblings[instance] = max(siblings.get(instance, ()), definition.params, key=len)
        for uid in self.tree.unlisted & self.applied.keys():
            fact, count = self.tree.definitions[uid], self.applied[uid]
            if fact.name != PART and count:
                params = siblings[fact.name.rpartition("!")[0]][:count]
                body = fact.body if len(params) == count else Builtin("<a fact without its parameters>", (), fact.loc)
                self.tree.definitions[uid] = replace(fact, params=params, body=body)

    def declaration(self, uid: int, node: ElementTree.Element) -> Declaration:
        kind = int(_text(node, "kind"))
        return Declaration(uid, _text(node, "uniquename"), int(_text(node, "arity")), kind == 3, self.location(node))

    def definition(self, uid: int, node: ElementTree.Element) -> Definition:
        params = tuple(int(_text(p, "FormalParamNodeRef/UID")) for p in node.findall("params/leibnizparam"))
        body = node.find("body")
        if body is None:
            raise SyntaxTreeError(f"definition {_text(node, 'uniquename')} has no body")
        loc = self.location(node)
        self.here = loc
        recursive = node.find("recursive") is not None
        return Definition(uid, _text(node, "uniquename"), params, self.expr(body[0]), recursive, loc)

    def named(self, uid: int, node: ElementTree.Element) -> Definition:
        body = node.find("body")
        said = self.expr(node[-1] if body is None else body[0])
        return Definition(uid, _text(node, "uniquename"), (), said, False, self.location(node))

    def module(self, node: ElementTree.Element) -> Module:
        symbols, assumptions = [], []
        for child in node:
            if child.tag in ("OpDeclNodeRef", "UserDefinedOpKindRef"):
                symbols.append(int(_text(child, "UID")))
            elif child.tag == "AssumeNodeRef":
                assumed = self.entries[int(_text(child, "UID"))]
                body = assumed.find("body")
                if body is not None:
                    assumptions.append(Assumption(self.assumption(body[0]), self.location(assumed)))
        return Module(_text(node, "uniquename"), tuple(symbols), tuple(assumptions))

    def assumption(self, node: ElementTree.Element) -> Expr:
        if node.tag in ("AssumeDefRef", "AssumeDef"):
            named = self.entries[int(_text(node, "UID"))] if node.tag == "AssumeDefRef" else node
            inner = named.find("body")
            return self.expr(inner[0] if inner is not None else named[-1])
        return self.expr(node)

    def location(self, node: ElementTree.Element) -> Location:
        found = node.find("location")
        if found is None:
            return self.here
        return Location(
            _text(found, "filename"),
            int(_text(found, "line/begin")),
            int(_text(found, "column/begin")),
            int(_text(found, "line/end")),
            int(_text(found, "column/end")),
        )

    def expr(self, node: ElementTree.Element) -> Expr:
        loc = self.location(node)
        tag = node.tag
        if tag == "OpApplNode":
            return self.application(node, loc)
        if tag == "NumeralNode":
            return Number(int(_text(node, "IntValue")), loc)
        if tag == "StringNode":
            value = node.find("StringValue")
            return String((value.text if value is not None else node.text) or "", loc)
        if tag == "LetInNode":
            return self.let(node, loc)
        if tag == "AtNode":
            return At(loc)
        if tag == "OpArgNode":
            return self.operator_arg(node, loc)
        if tag in ("SubstInNode", "APSubstInNode"):
            return self.substituted(node, loc)
        if tag == "LabelNode":
            body = node.find("body")
            assert body is not None
            return self.expr(body[0])
        return Builtin(f"<{tag}>", (), loc)

    def application(self, node: ElementTree.Element, loc: Location) -> Expr:
        uid = int(_text(node, "operator/*/UID"))
        operands = node.find("operands")
        args = tuple([self.expr(child) for child in operands]) if operands is not None else ()
        bound_symbols = node.find("boundSymbols")
        name = self.builtins.get(uid)
        if name is None:
            self.applied[uid] = len(args)
            return Call(uid, args, loc)
        if name == "$Nop":
            return Let((), args[0], loc)
        if name == "$RcdSelect" and isinstance(field := args[1], String):
            args = (args[0], Field(field.value, field.loc))
        name = _BUILTIN_NAMES.get(name, name)
        if bound_symbols is None or not args:  # TAKE, a step of a proof, binds variables and has no body
            return Builtin(name, args, loc)
        bounds = tuple([self.bound(child) for child in bound_symbols])
        return Bind(name, bounds, args[0], loc)

    def bound(self, node: ElementTree.Element) -> Bound:
        params = tuple(int(_text(ref, "UID")) for ref in node.findall("FormalParamNodeRef"))
        is_tuple = node.find("tuple") is not None
        domain = self.expr(node[-1]) if node.tag == "bound" else None
        return Bound(params, is_tuple, domain)

    def let(self, node: ElementTree.Element, loc: Location) -> Let:
        body = node.find("body")
        assert body is not None
        refs = node.findall("opDefs/UserDefinedOpKindRef")
        return Let(tuple(int(_text(ref, "UID")) for ref in refs), self.expr(body[0]), loc)

    def operator_arg(self, node: ElementTree.Element, loc: Location) -> OperatorArg:
        uid = int(_text(node, "argument/*/UID"))
        name = self.builtins.get(uid)
        return OperatorArg(uid, None if name is None else _BUILTIN_NAMES.get(name, name), loc)

    def substituted(self, node: ElementTree.Element, loc: Location) -> Substituted:
        pairs = [
            Substitution(int(_text(subst, "OpDeclNodeRef/UID")), self.expr(subst[1]))
            for subst in node.findall("substs/Subst")
        ]
        body = node.find("body")
        assert body is not None
        return Substituted(tuple(pairs), self.expr(body[0]), loc)


def _text(node: ElementTree.Element, path: str) -> str:
    found = node.findtext(path)
    if found is None:
        raise SyntaxTreeError(f"<{node.tag}> has no {path}")
    return found


def read_tree(xml: bytes) -> Tree:
    """Read the syntax tree from SANY's XML.

    Args:
        xml: what :func:`lockstep.tla.syntax.sany.export` answers.

    Returns:
        The tree.

    Raises:
        SyntaxTreeError: if the document is not SANY's.
    """
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise SyntaxTreeError(f"not XML: {error}") from None
    return _Reader(root).run()
