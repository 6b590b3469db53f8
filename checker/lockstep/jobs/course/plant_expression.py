"""Planting another expression in one method of the running reference, and removing it again."""

from __future__ import annotations

import ast
import gc
import types
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean

#: The syntax allowed in a student's expression; names, attributes and calls must be those of the method.
_ALLOWED = (
    *(
        ast.Expression,
        ast.Compare,
        ast.BoolOp,
        ast.UnaryOp,
        ast.BinOp,
        ast.IfExp,
        ast.Name,
        ast.Attribute,
        ast.Subscript,
    ),
    *(ast.Call, ast.Constant, ast.Load, ast.cmpop, ast.boolop, ast.Not, ast.USub, ast.Add, ast.Sub, ast.FloorDiv),
)
_MAX_LENGTH = 200


class ExpressionError(BadInputError):
    """An expression is not allowed; the message says why."""


class ReferenceMethod:
    """One method of a module of a reference, with its source."""

    def __init__(self, module: str, name: str) -> None:
        """Find the method; raises KeyError where the module does not have it."""
        loaded = import_module(module)
        assert loaded.__file__ is not None
        self.name = name
        self.path = Path(loaded.__file__)
        self._tree = ast.parse(self.path.read_text(encoding="utf-8"))
        self._node = dict(_functions(self._tree))[name]

    def expression(self, text: str) -> ast.expr:
        """Parse an expression that a student may plant in the method.

        Raises ExpressionError where it is not an expression, or has what the method does not have; it has not run then.
        """
        if len(text) > _MAX_LENGTH:
            raise ExpressionError(f"longer than {_MAX_LENGTH} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError) as error:
            raise ExpressionError(f"not an expression of Python: {getattr(error, 'msg', error)}") from error
        names, attributes, calls = self._words()
        for node in ast.walk(tree):
            self._refuse(node, names, attributes, calls)
        return tree.body

    def _words(self) -> tuple[set[str], set[str], set[str]]:
        """Return the names, the attributes and the functions called in the method."""
        nodes = list(ast.walk(self._node))
        names = {each.id for each in nodes if isinstance(each, ast.Name)} | {a.arg for a in self._node.args.args}
        attributes = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
        return names, attributes, {ast.unparse(each.func) for each in nodes if isinstance(each, ast.Call)}

    def _refuse(self, node: ast.AST, names: set[str], attributes: set[str], calls: set[str]) -> None:
        if not isinstance(node, _ALLOWED):
            raise ExpressionError(f"{type(node).__name__} is not allowed in an answer")
        if isinstance(node, ast.Name) and node.id not in names:
            raise ExpressionError(f"{self.name} has no name {node.id!r}{did_you_mean(node.id, names)}")
        if isinstance(node, ast.Attribute) and node.attr not in attributes:
            raise ExpressionError(f"{self.name} has no attribute {node.attr!r}{did_you_mean(node.attr, attributes)}")
        if isinstance(node, ast.Call) and (ast.unparse(node.func) not in calls or node.keywords):
            raise ExpressionError(f"{self.name} has no call like {ast.unparse(node)!r}")
        if isinstance(node, ast.Constant) and not (node.value is None or isinstance(node.value, bool | int)):
            raise ExpressionError(f"the constant {node.value!r} is not allowed in an answer")

    def running(self) -> list[types.FunctionType]:
        """Return every function object that runs the method, wherever it is referenced."""
        return [
            each
            for each in gc.get_objects()
            if type(each) is types.FunctionType
            and each.__code__.co_filename == str(self.path)
            and each.__code__.co_qualname == self.name
        ]

    @contextmanager
    def planted(self, there: str, other: ast.expr) -> Iterator[None]:
        """Let every function object of the method run it with `other` in place of the expression `there`.

        Raises LookupError unless the method has that expression exactly once, and some function object runs it.
        """
        code = self._code_with(there, other)
        functions = self.running()
        if not functions:
            raise LookupError("no function object runs the method")
        before = [each.__code__ for each in functions]
        try:
            for function in functions:
                function.__code__ = code
            yield
        finally:
            for function, own in zip(functions, before, strict=True):
                function.__code__ = own

    def _code_with(self, there: str, other: ast.expr) -> types.CodeType:
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        method = dict(_functions(tree))[self.name]
        places = [each for each in ast.walk(method) if isinstance(each, ast.expr) and ast.unparse(each) == there]
        if len(places) != 1:
            raise LookupError(f"{self.name} has {there!r} {len(places)} times")
        (place,) = places

        class Replace(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                return ast.copy_location(other, place) if node is place else self.generic_visit(node)

        Replace().visit(tree)
        whole = compile(ast.fix_missing_locations(tree), str(self.path), "exec")
        return next(each for each in _codes(whole) if each.co_qualname == self.name)


def methods_of(module: str) -> list[str]:
    """Return the names of the methods and functions of a module, a method with its class: `Class.method`."""
    loaded = import_module(module)
    assert loaded.__file__ is not None
    return [name for name, _ in _functions(ast.parse(Path(loaded.__file__).read_text(encoding="utf-8")))]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for owner in tree.body:
        if isinstance(owner, ast.FunctionDef):
            yield owner.name, owner
        elif isinstance(owner, ast.ClassDef):
            yield from ((f"{owner.name}.{each.name}", each) for each in owner.body if isinstance(each, ast.FunctionDef))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)
