"""The shapes of an expression's value, if it has one: TRUE or FALSE, a listed set, something unlisted, a function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from lockstep.tla.compile.evaluation_facts import EvaluationFacts
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.standard_modules import PASSING, STANDARD, STANDARD_VALUES
from lockstep.tla.syntax.tree import AtSign, Bind, Builtin, Call, Definition, Expr, Let, String, SyntaxTree
from lockstep.tla.values.kinds import Value


def outcomes(expr: Builtin) -> Iterator[Expr]:
    """List the parts that may be the value of an expression: the branches of an IF or a CASE."""
    if expr.name == "$IfThenElse":
        yield from expr.args[1:]
    elif expr.name == "$Case":
        yield from (arm.args[1] for arm in expr.args if isinstance(arm, Builtin))
    elif expr.name == "$FcnApply":
        yield expr.args[0]


def _elements_of(expr: Expr) -> tuple[Expr, ...]:
    """List the expressions of a set's elements, where it is written out or a comprehension."""
    if isinstance(expr, Bind) and expr.name == "$SetOfAll":
        return (expr.body,)
    return expr.args if isinstance(expr, Builtin) and expr.name == "$SetEnumerate" else ()


COMPARISONS = frozenset({"=", "#", "\\in", "\\notin", "\\subseteq"})
BOOLEAN_BUILTINS = COMPARISONS | {
    *("TRUE", "FALSE", "\\land", "\\lor", "\\lnot", "=>", "\\equiv", "$BoundedExists", "$BoundedForall"),
    *("UNCHANGED", "ENABLED", "$SquareAct", "$AngleAct"),
}
_BOOLEAN_OPERATORS = frozenset(
    {"<", ">", "\\leq", "\\geq", "IsFiniteSet", "Assert", "PrintT", "IsABag", "BagIn", "\\sqsubseteq"}
)
_LAZY_SETS = frozenset({"SUBSET", "$SetOfFcns", "$SetOfRcds", "$CartesianProd", "STRING"})
_LAZY_IF_PARTS_ARE = frozenset({"DOMAIN", "$FcnApply", "$Tuple", "$RcdConstructor", "$Pair", "'"})
_ALGEBRA = frozenset({"\\cup", "\\cap", "\\"})


#: The constructs that write a function out.
FUNCTIONS = frozenset({"$FcnConstructor", "$NonRecursiveFcnSpec", "$RecursiveFcnSpec"})
#: The constructs that choose among values.
_CHOOSING = frozenset({"$IfThenElse", "$Case"})


class ValueShapes(EvaluationFacts):
    """The shapes of the values of a program's expressions, by the facts about its definitions."""

    def __init__(self, tree: SyntaxTree, cfg: Cfg) -> None:
        super().__init__(tree, cfg)
        self._at_is_lazy: list[bool] = []
        self.lazy_params: set[int] = set()

    def truth(self, expr: Expr) -> bool | None:
        """Return the truth of a formula that strings in constant sets decide, as ``"x" \\in S``; None of any other."""
        if isinstance(expr, Builtin) and expr.name in ("\\in", "\\notin"):
            element, known = expr.args[0], self._strings(expr.args[1])
            if not isinstance(element, String) or known is None:
                return None
            return (element.value in known) is (expr.name == "\\in")
        if isinstance(expr, Builtin) and expr.name == "\\lnot":
            inner = self.truth(expr.args[0])
            return None if inner is None else not inner
        definition = self.named_definition(expr)
        return None if definition is None else self.truth(definition.body)

    def _strings(self, expr: Expr) -> frozenset[str] | None:
        """Return a set of strings that a constant or the text gives; None if it is none."""
        value: Value = None
        if isinstance(expr, Builtin) and expr.name == "$SetEnumerate":
            value = frozenset(each.value if isinstance(each, String) else None for each in expr.args)
        elif isinstance(expr, Builtin) and expr.name == "\\":
            left, right = map(self._strings, expr.args)
            value = None if left is None or right is None else left - right
        elif isinstance(expr, Call) and self.target(expr.op) in self.values:
            value = self.values[self.target(expr.op)]
        elif (definition := self.named_definition(expr)) is not None:
            return self._strings(definition.body)
        return value if isinstance(value, frozenset) and all(type(each) is str for each in value) else None

    def is_boolean(self, expr: Expr) -> bool:
        """Return whether an expression has no value but TRUE and FALSE."""
        if isinstance(expr, Builtin):
            if expr.name == "$IfThenElse":
                return self.is_boolean(expr.args[1]) and self.is_boolean(expr.args[2])
            if expr.name == "$Case":
                return all(self.is_boolean(arm.args[1]) for arm in expr.args if isinstance(arm, Builtin))
            return expr.name in BOOLEAN_BUILTINS
        if isinstance(expr, Bind):
            return expr.name in BOOLEAN_BUILTINS
        if isinstance(expr, Let):
            return self.is_boolean(expr.body)
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            if definition is None:
                return type(self.values.get(self.target(expr.op))) is bool
            known = self.standard(definition)
            if known is not None:
                return known[1] in _BOOLEAN_OPERATORS or (known[1] == "Print" and self.is_boolean(expr.args[1]))
            return self.facts[definition.uid].boolean
        return False

    def fields(self, expr: Expr) -> frozenset[str] | None:
        """Return the fields that a record may have, whichever branch of the expression it is; None if not known."""
        if isinstance(expr, Let):
            return self.fields(expr.body)
        if isinstance(expr, Call):
            definition = self.own_definition(expr.op)
            return None if definition is None or definition.recursive else self.fields(definition.body)
        if isinstance(expr, Builtin) and expr.name == "$RcdConstructor":
            names = [pair.args[0] for pair in expr.args if isinstance(pair, Builtin)]
            return frozenset(name.value for name in names if isinstance(name, String))
        branches = outcomes(expr) if isinstance(expr, Builtin) and expr.name in _CHOOSING else ()
        found = [self.fields(branch) for branch in branches]
        known = [each for each in found if each is not None]
        return frozenset().union(*known) if found and len(known) == len(found) else None

    def branches(self, expr: Expr) -> bool:
        """Return whether TLC may take a conjunct in several ways: it has a disjunction, or an exists."""
        if isinstance(expr, Builtin):
            if expr.name in ("\\lor", "$SquareAct"):
                return True
            if expr.name in ("\\land", "$AngleAct"):
                return any(map(self.branches, expr.args))
            if expr.name in ("$IfThenElse", "=>"):
                return any(map(self.branches, expr.args[1:]))
            if expr.name == "$Case":
                return any(self.branches(arm.args[1]) for arm in expr.args if isinstance(arm, Builtin))
            return expr.name == "$FcnApply" and self.branches_applied(expr.args[0])
        if isinstance(expr, Bind):
            if expr.name == "$BoundedForall":
                return self.branches(expr.body)
            return expr.name == "$BoundedExists"
        if isinstance(expr, Let):
            return self.branches(expr.body)
        if isinstance(expr, Call):
            definition = self.own_definition(expr.op)
            is_branching = definition is not None and self.facts[definition.uid].branches
            return definition is not None and is_branching and not self._is_precomputed(definition)
        return False

    def _is_precomputed(self, definition: Definition) -> bool:
        """Return whether TLC evaluates a definition before the search, so that its use is a value without ways.

        (SpecProcessor.processConstantDefns) Only definitions of modules that are not instantiated are looked at.
        """
        if definition.params or not self.is_pure or definition.uid in self.replaced:
            return False
        if definition.uid not in self._on_top or definition.loc.module in self._instantiated:
            return False
        facts = self.facts[definition.uid]
        return not (facts.reads_now or facts.reads_next)

    @cached_property
    def _on_top(self) -> frozenset[int]:
        return frozenset(self.top.values())

    @cached_property
    def _instantiated(self) -> frozenset[str]:
        """The modules that are instantiated somewhere."""
        return frozenset(self.tree.definitions[each].loc.module for each in self.tree.origins.values())

    def branches_applied(self, expr: Expr) -> bool:
        """Return whether TLC may take the application of a function in several ways, if it takes its body apart."""
        if isinstance(expr, Bind):
            return expr.name in FUNCTIONS and self.branches(expr.body)
        if isinstance(expr, Let):
            return self.branches_applied(expr.body)
        if isinstance(expr, Builtin):
            return expr.name in _CHOOSING and any(map(self.branches_applied, outcomes(expr)))
        if not isinstance(expr, Call):
            return False
        recursive = self._recursive_functions.get(expr.op)
        if recursive is not None:
            return self.facts[recursive].branches_applied
        definition = self.own_definition(expr.op)
        return definition is not None and self.facts[definition.uid].branches_applied

    def gives_function(self, expr: Expr) -> bool:
        """Return whether an expression is a function that is written out in it, in a LET, an IF or a definition."""
        return any(self._functions_of(expr))

    def stays_unlisted(self, expr: Expr) -> bool:
        """Return whether TLC's value of an expression may be a function with its body, not a table of values.

        It makes a table of a function that is not about to be applied, unless that is recursive, or its domain has
        no list.
        """
        return any(not self._is_table(function) for function in self._functions_of(expr))

    def _is_table(self, function: Bind) -> bool:
        domains = [bound.domain for bound in function.bounds]
        return function.name != "$RecursiveFcnSpec" and not any(
            each is None or self.may_be_lazy(each) for each in domains
        )

    def _functions_of(self, expr: Expr) -> Iterator[Bind]:
        """List the functions that are written out and that an expression may be."""
        for made in self._made_by(expr, set()):
            if isinstance(made, Bind) and made.name in FUNCTIONS:
                yield made

    def is_made(self, uid: int) -> bool:
        """Return whether a use means a constant of a module that TLC has made a value before, as far as it can."""
        definition = self.definition(uid)
        if definition is None or definition.params or uid in self.replaced or definition.uid not in self._of_modules:
            return False
        return self.is_constant(definition.body) and not self.stays_unlisted(definition.body)

    @cached_property
    def _of_modules(self) -> frozenset[int]:
        """The symbols that modules define, and no LET does."""
        return frozenset(uid for module in self.tree.modules.values() for uid in module.symbols)

    @cached_property
    def _recursive_functions(self) -> dict[int, int]:
        """The definition of each recursive function, by the name that the function has within itself."""
        return {
            definition.body.bounds[0].params[0]: uid
            for uid, definition in self.tree.definitions.items()
            if isinstance(definition.body, Bind) and definition.body.name == "$RecursiveFcnSpec"
        }

    def makes_function(self, expr: Expr) -> bool:
        """Return whether the value of an expression may be a function written out in it, ``[x \\in S |-> e]``."""
        if isinstance(expr, Bind):
            return expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec")
        if isinstance(expr, Let):
            return self.makes_function(expr.body)
        if isinstance(expr, Builtin):
            return any(map(self.makes_function, outcomes(expr)))
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            return definition is not None and self.facts[definition.uid].makes_function
        return False

    def may_be_lazy(self, expr: Expr) -> bool:
        """Return whether the value of an expression may have something unlisted in it."""
        if isinstance(expr, Builtin):
            if expr.name in _LAZY_SETS:
                return True
            if expr.name == "$Except":
                return self._except_is_lazy(expr)
            if expr.name in _ALGEBRA or expr.name == "UNION":
                return not self.is_listed(expr)
            parts = expr.args if expr.name in _LAZY_IF_PARTS_ARE else tuple(outcomes(expr))
            return any(map(self.may_be_lazy, parts))
        if isinstance(expr, Bind):
            return self._binds_lazily(expr)
        if isinstance(expr, Let):
            return self.may_be_lazy(expr.body)
        if isinstance(expr, Call):
            return self._call_is_lazy(expr)
        return isinstance(expr, AtSign) and (not self._at_is_lazy or self._at_is_lazy[-1])

    def _except_is_lazy(self, expr: Builtin) -> bool:
        if self.may_be_lazy(expr.args[0]):
            return True
        self._at_is_lazy.append(False)
        found = any(map(self.may_be_lazy, expr.args[1:]))
        self._at_is_lazy.pop()
        return found

    def _binds_lazily(self, expr: Bind) -> bool:
        if expr.name == "$RecursiveFcnSpec":
            return True
        listed = all(bound.domain is not None and self.is_listed(bound.domain) for bound in expr.bounds)
        if expr.name == "$SubsetOf":
            return not listed
        if expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec"):
            return not listed or self.may_be_lazy(expr.body)
        return False

    def is_listed(self, expr: Expr) -> bool:
        """Return whether an expression is known to be a set with its elements listed, if it has a value."""
        if isinstance(expr, Bind):
            domain = expr.bounds[0].domain
            return expr.name == "$SetOfAll" or (
                expr.name == "$SubsetOf" and domain is not None and self.is_listed(domain)
            )
        if isinstance(expr, Builtin):
            if expr.name in _ALGEBRA:
                return all(map(self.is_listed, expr.args))
            return expr.name in ("$SetEnumerate", "BOOLEAN") or (
                expr.name == "DOMAIN" and not self.may_be_lazy(expr.args[0])
            )
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            if definition is None:
                return type(self.values.get(self.target(expr.op))) is frozenset
            known = self.standard(definition)
            if known is None:
                return self.facts[definition.uid].listed
            return known in (("Naturals", ".."), ("TLC", "Permutations"), ("Bags", "BagToSet"))
        return isinstance(expr, Let) and self.is_listed(expr.body)

    def may_hold_intervals(self, expr: Expr) -> bool:
        """Return whether an expression may be a set some of whose elements TLC keeps as intervals."""
        seen: set[int] = set()
        elements = (element for made in self._made_by(expr, set()) for element in _elements_of(made))
        return any(self._is_interval(made) for element in elements for made in self._made_by(element, seen))

    def _is_interval(self, expr: Expr) -> bool:
        if isinstance(expr, Call):
            return self.standard_use(expr.op) == ("Naturals", "..")
        return isinstance(expr, Builtin) and expr.name == "DOMAIN"

    def _made_by(self, expr: Expr, seen: set[int]) -> Iterator[Expr]:
        """List the expressions that may make the value of this one: through LET, IF, CASE and definitions.

        Each definition is entered once; `seen` are those that were.
        """
        definition = self.own_definition(expr.op) if isinstance(expr, Call) else None
        if isinstance(expr, Let):
            yield from self._made_by(expr.body, seen)
        elif isinstance(expr, Builtin) and expr.name in _CHOOSING:
            yield from (made for part in outcomes(expr) for made in self._made_by(part, seen))
        elif definition is None:
            yield expr
        elif definition.uid not in seen:
            seen.add(definition.uid)
            yield from self._made_by(definition.body, seen)

    def _call_is_lazy(self, expr: Call) -> bool:
        uid = self.target(expr.op)
        if uid in self.values:
            return False
        if uid in self.tree.params:
            return uid in self.lazy_params or self.tree.params[uid].arity > 0
        definition = self.tree.definitions.get(uid)
        if definition is None:
            return False
        known = self.standard(definition)
        if known is None or (known not in STANDARD and known not in STANDARD_VALUES):
            return self.facts[uid].lazy
        if known in STANDARD_VALUES:
            return STANDARD_VALUES[known] in ("_NAT", "_INT")
        return known[1] == "Seq" or (known[1] in PASSING and any(map(self.may_be_lazy, expr.args)))
