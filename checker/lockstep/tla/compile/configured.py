"""A syntax tree with a configuration: the meaning of names once constants and substitutions are applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lockstep.base.errors import WRONG_CFG
from lockstep.base.spelling import did_you_mean, nearest
from lockstep.tla.compile.compile_error import CompileError, counted, refused_name
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.instances import use_of
from lockstep.tla.syntax.standard_modules import REFUSED, STANDARD
from lockstep.tla.syntax.tree import (
    MODULES_PARTLY_JAVA,
    Call,
    Declaration,
    Definition,
    Expr,
    Let,
    OperatorArg,
    SyntaxTree,
    within,
)
from lockstep.tla.values.kinds import ModelValue, Value
from lockstep.tlc.module_files import STANDARD_MODULES


class Configured:
    """A tree with a configuration.

    Attributes:
        tree: the syntax tree, its instances resolved.
        replaced: what stands for a symbol, by configuration: another symbol.
        values: values given to symbols by the configuration.
    """

    def __init__(self, tree: SyntaxTree, cfg: Cfg) -> None:
        """Apply the configuration; raises CompileError if it names what the modules do not have."""
        self.tree, self.cfg = tree, cfg
        self.replaced: dict[int, int] = {}
        self.values: dict[int, Value] = {}
        self.top = {tree.name_of(uid): uid for uid in tree.modules[tree.root].symbols}
        self._used: dict[int, tuple[Let, tuple[int, ...]]] = {}
        self._apply_cfg()

    def _apply_cfg(self) -> None:
        for name, value in self.cfg.constants.items():
            if name in self.top and not self._is_variable(self.top[name]):  # TLC passes over any other value
                self.values[self.top[name]] = value
        self._refuse_chains()
        for name, other in self.cfg.substitutions.items():
            self.replaced[self._known(name, "gives")] = self._known(other, "names")
        for (module, name), other in self.cfg.module_substitutions.items():
            within = self._within(module, name)
            if within[0] not in self.tree.definitions:
                problem = f"the configuration replaces {name}, which {module} declares and does not define"
                raise refused_name(self.cfg, name, problem)
            self.replaced.update(dict.fromkeys(within, self._known(other, "names")))
        for (module, name), value in self.cfg.module_constants.items():
            within = self._within(module, name)
            if within[0] in self.tree.definitions:  # TLC passes over a value for what a module declares
                self.values.update(dict.fromkeys(within, value))
        for uid, target in self.replaced.items():
            if target not in self.values:  # a value stands for an operator whatever its arguments are, as in TLC
                self._check_arity(uid, self._arity(target))

    def refuse_unvalued(self) -> None:
        """Refuse a declared constant without a value in the configuration, needed or not, as TLC does.

        Raises:
            CompileError: if there is one.
        """
        for declared in self.constants():
            if declared.uid not in self.values and declared.uid not in self.replaced:
                problem = f"{WRONG_CFG} the constant {declared.name} has no value in the cfg"
                if near := nearest(declared.name, self.cfg.unknown_names(self.top), max_words=1):
                    problem += f", which gives one to {near[0]} at {self.cfg.places[near[0]]}"
                raise CompileError(problem, declared.loc, WRONG_CFG)

    def undeclared_names(self) -> dict[str, str]:
        """Name what no module declares, though the configuration gives it a value, and what is nearly its name."""
        found = {}
        for name in self.cfg.unknown_names(self.top):
            declared = [self.tree.name_of(uid) for uid in self.tree.declarations]
            if near := did_you_mean(name, declared):
                place = f"{self.cfg.places[name]}: " if name in self.cfg.places else ""
                found[name] = f"{place}{WRONG_CFG} note: no module declares {name}, which is passed over{near}"
        return found

    def _is_variable(self, uid: int) -> bool:
        declared = self.tree.declarations.get(uid)
        return declared is not None and declared.is_variable

    def _refuse_chains(self) -> None:
        """Refuse a name that stands for another and is replaced itself: TLC takes no such configuration."""
        given = {("", name): other for name, other in self.cfg.substitutions.items()} | self.cfg.module_substitutions
        for (module, name), other in given.items():
            if (module, other) in given:
                problem = f"{other} stands for {name}, but the configuration replaces {other}, too"
                raise refused_name(self.cfg, other, problem)

    def _arity(self, uid: int) -> int:
        definition = self.tree.definitions.get(uid)
        return self.tree.declarations[uid].arity if definition is None else len(definition.params)

    def _check_arity(self, uid: int, given: int) -> None:
        wanted = self._arity(uid)
        if wanted != given:
            name = self.tree.name_of(uid)
            problem = f"{name} takes {counted(wanted, 'argument')}, but the configuration gives it {given}"
            raise refused_name(self.cfg, name, problem)

    def _within(self, module: str, name: str) -> list[int]:
        """List a module's definition or constant, and the copies that instances made of it.

        A copy with parameters of its instance is none of them: it is made to use what it is a copy of.
        """
        if module not in self.tree.modules:
            problem = f"the configuration names the module {module}, which is not used"
            raise refused_name(self.cfg, module, problem, self.tree.modules)
        symbols = {self.tree.name_of(uid): uid for uid in self.tree.modules[module].symbols}
        if name not in symbols:
            problem = f"the configuration gives {name}, which {module} does not have"
            raise refused_name(self.cfg, name, problem, symbols)
        uid = symbols[name]
        copies = [copy for copy, source in self.tree.origins.items() if source == uid]
        own = self._arity(uid)
        for definition in (self.tree.definitions[copy] for copy in copies if self._arity(copy) > own):
            passed = definition.params[len(definition.params) - own :]
            args = tuple(use_of(self.tree.params[each], definition.loc) for each in passed)
            body = Call(uid, args, definition.loc)
            self.tree.definitions[definition.uid] = replace(definition, body=body)
        return [uid, *[copy for copy in copies if self._arity(copy) == own]]

    def _known(self, name: str, what: str) -> int:
        """Return the constant or definition of the root module that a substitution `gives` something, or `names`."""
        if name not in self.top:
            problem = f"the configuration {what} {name}, which {self.tree.root} does not have"
            raise refused_name(self.cfg, name, problem, self.top)
        if self._is_variable(self.top[name]):
            raise refused_name(self.cfg, name, f"the configuration {what} {name}, which is a variable")
        return self.top[name]

    def constants(self) -> Iterable[Declaration]:
        """List the declared constants of the root module."""
        for uid in self.tree.modules[self.tree.root].symbols:
            declared = self.tree.declarations.get(uid)
            if declared is not None and not declared.is_variable:
                yield declared

    def variables(self) -> list[Declaration]:
        """List the variables of the root module in their order of declaration."""
        symbols = self.tree.modules[self.tree.root].symbols
        found = [self.tree.declarations[uid] for uid in symbols if uid in self.tree.declarations]
        return sorted([d for d in found if d.is_variable], key=lambda d: d.uid)

    def target(self, uid: int) -> int:
        """Return the symbol that a use of ``uid`` means."""
        return self.replaced.get(uid, uid)

    def definition(self, uid: int) -> Definition | None:
        """Return the definition that a use of ``uid`` means, if it means one."""
        uid = self.target(uid)
        return None if uid in self.values else self.tree.definitions.get(uid)

    def own_definition(self, uid: int) -> Definition | None:
        """Return the definition of the project that a use of ``uid`` means; None for that of a standard module."""
        definition = self.definition(uid)
        return None if definition is None or self.standard(definition) is not None else definition

    def standard_use(self, uid: int) -> tuple[str, str] | None:
        """Return (module, name) of the standard module's definition that a use of ``uid`` means, if it means one."""
        definition = self.definition(uid)
        return None if definition is None else self.standard(definition)

    def named_definition(self, expr: Expr) -> Definition | None:
        """Return the project's definition that an expression only names: one without parameters and recursion."""
        definition = self.own_definition(expr.op) if isinstance(expr, Call) else None
        return None if definition is None or definition.params or definition.recursive else definition

    def used(self, expr: Let) -> tuple[int, ...]:
        """List the definitions of a LET that its body uses, itself or through others; the rest need not be compiled."""
        known = self._used.get(id(expr))
        if known is None:  # the LET is kept, so that no other gets its id
            known = self._used[id(expr)] = (expr, tuple(self._find_used(expr)))
        return known[1]

    def _find_used(self, expr: Let) -> Iterable[int]:
        found: set[int] = set()
        pending = [expr.body]
        while pending:
            part = pending.pop()
            if isinstance(part, (Call, OperatorArg)) and part.op in expr.definitions and part.op not in found:
                found.add(part.op)
                pending.append(self.tree.definitions[part.op].body)
            if isinstance(part, Let):  # what only its unused definitions use is not used
                pending += [part.body, *(self.tree.definitions[uid].body for uid in self.used(part))]
            else:
                pending += within(part, self.tree)
        return (uid for uid in expr.definitions if uid in found)

    def standard(self, definition: Definition) -> tuple[str, str] | None:
        """Return (module, name) for a definition of a standard module."""
        known = definition.loc.module, definition.name
        is_from_java = known[0] in MODULES_PARTLY_JAVA and (known in STANDARD or known in REFUSED)
        return known if is_from_java or known[0] in STANDARD_MODULES else None

    def model_values(self) -> list[str]:
        """List the names of all model values the configuration mentions."""
        found: set[str] = set()
        for value in self.values.values():
            parts = value if isinstance(value, frozenset) else (value,)
            found.update(part.name for part in parts if isinstance(part, ModelValue))
        return sorted(found)
