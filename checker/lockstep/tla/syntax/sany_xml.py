"""The syntax tree of a specification, read from SANY's XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace

from lockstep.tla.syntax.tree import (
    LAMBDA,
    Assumption,
    AtSign,
    Bind,
    Bound,
    Builtin,
    Call,
    Declaration,
    Definition,
    Expr,
    FieldName,
    Let,
    Location,
    Module,
    Number,
    OperatorArg,
    Param,
    String,
    Substituted,
    Substitution,
    SyntaxTree,
    walk,
)


class SyntaxTreeError(Exception):
    """The XML is not as SANY is known to write it."""


_BUILTIN_NAMES = {
    "\\neg": "\\lnot",
    "/=": "#",
    "\\union": "\\cup",
    "\\intersect": "\\cap",
    "$ConjList": "\\land",
    "$DisjList": "\\lor",
    "$RcdSelect": "$FcnApply",
}


#: The name here of a definition that SANY wrote as a LAMBDA.
PART = "part"

#: An ASSUME or a THEOREM with a name, which stands for its formula wherever it is used.
_NAMED = ("AssumeDef", "TheoremDefNode")


class _TreeReader:
    def __init__(self, root: ElementTree.Element) -> None:
        self.tree = SyntaxTree(root=_text(root, "RootModule"))
        context = root.find("context")
        if context is None:
            raise SyntaxTreeError("no context")
        self.entries = {int(_text(entry, "UID")): entry[1] for entry in context}
        self.builtins = {
            uid: _text(node, "uniquename") for uid, node in self.entries.items() if node.tag == "BuiltInKind"
        }
        self.here = Location(self.tree.root, 0, 0, 0, 0)
        self.applied: dict[int, int] = {}

    def run(self) -> SyntaxTree:
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

        Any definition of the same INSTANCE begins with them; a use of the fact shows how many they are.
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
        line, column = _child(found, "line"), _child(found, "column")
        return Location(
            _text(found, "filename"),
            int(_text(line, "begin")),
            int(_text(column, "begin")),
            int(_text(line, "end")),
            int(_text(column, "end")),
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
            return AtSign(loc)
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
        uid = int(_text(_child(node, "operator")[0], "UID"))
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
            args = (args[0], FieldName(field.value, field.loc))
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


def _child(node: ElementTree.Element, tag: str) -> ElementTree.Element:
    """Return a node's child; ElementTree takes over ten times as long for a path of several tags."""
    found = node.find(tag)
    if found is None:
        raise SyntaxTreeError(f"<{node.tag}> has no {tag}")
    return found


def _text(node: ElementTree.Element, path: str) -> str:
    found = node.findtext(path)
    if found is None:
        raise SyntaxTreeError(f"<{node.tag}> has no {path}")
    return found


def read_tree(xml: bytes) -> SyntaxTree:
    """Read the syntax tree from the XML of :func:`lockstep.tla.syntax.sany.export`.

    Raises:
        SyntaxTreeError: if the document is not SANY's.
    """
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise SyntaxTreeError(f"not XML: {error}") from None
    return _TreeReader(root).run()


# ---- Parts of definitions ----


def bind_captured(tree: SyntaxTree) -> None:
    """Put each part that has a name, as in ``Op(5)!lab(1)!c``, beneath the LET that it uses, in place.

    SANY writes such a part as a LAMBDA whose parameters are those of the definition and of the quantifiers on the way,
    and which calls c from outside of its LET. A LAMBDA of the text has parameters of its own, and no definition outside
    it speaks of them.
    """
    listed = {uid for module in tree.modules.values() for uid in module.symbols} | tree.unlisted
    for uid, definition in list(tree.definitions.items()):
        if definition.name in (LAMBDA, PART) and (captured := sorted(_captured(tree, definition, listed))):
            body = _beneath(tuple(captured), definition.body, definition)
            tree.definitions[uid] = replace(definition, body=body)


def _beneath(definitions: tuple[int, ...], body: Expr, part: Definition) -> Expr:
    """Put a formula beneath a LET; beneath an INSTANCE both stand, so that it substitutes in the LET, too."""
    if isinstance(body, Substituted):
        return replace(body, body=_beneath(definitions, body.body, part))
    return Let(definitions, body, part.loc)


def _captured(tree: SyntaxTree, part: Definition, listed: set[int]) -> Iterator[int]:
    """Yield the definitions, of no module, that speak of a part's parameters and are not defined within it."""
    own = {uid for each in walk(part.body, tree) if isinstance(each, Let) for uid in each.definitions}
    for uid in _used(tree, part.body, listed) - own:
        within = [uid, *_used(tree, tree.definitions[uid].body, listed)]
        used = {name for each in within for name in _named(tree, tree.definitions[each].body)}
        if not used.isdisjoint(part.params):
            yield uid


def _used(tree: SyntaxTree, expr: Expr, listed: set[int]) -> set[int]:
    """Find the definitions of no module that an expression uses, itself or through others of these."""
    found: set[int] = set()
    pending = [expr]
    while pending:
        new = (_named(tree, pending.pop()) & tree.definitions.keys()) - listed - found
        found |= new
        pending += [tree.definitions[uid].body for uid in new]
    return found


def _named(tree: SyntaxTree, expr: Expr) -> set[int]:
    return {each.op for each in walk(expr, tree) if isinstance(each, (Call, OperatorArg))}
