"""Actions of which a line tells some parameters, some in part, and some not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.module_actions import Actions
from lockstep.conformance.by_tlc.module_comparisons import Comparisons
from lockstep.conformance.by_tlc.module_text import Literals, Names
from lockstep.logs.mapped_logs import PartOf
from lockstep.tla.syntax.tree import Bound
from lockstep.tla.values.operators.bounds import Exactly, Matching

#: What the module prints before it stops at a string that is told where the spec has model values.
FOREIGN = "foreign"


class ChoosingActions(Actions):
    """Writes, for each action it is asked for, an operator whose parameters are operators in their turn.

    Each takes the set that a quantifier ranges over, and gives the elements that a line allows.
    """

    def _head(self, name: str, own: Sequence[str], args: Sequence[str]) -> str:
        params = [*own, *(f"{arg}(_)" for arg in args)]
        return f"{name}({', '.join(params)})" if params else name

    def _narrowed(self, bound: Bound, args: Sequence[str], fields: dict[str, str]) -> Iterator[str]:
        assert bound.domain is not None
        variables = [self._program.tree.params[uid].name for uid in bound.params]
        domain, row = f"{self._names.prefix}d", f"{self._names.prefix}t"
        chosen = [(name, f"{arg}({domain})") for name, arg in zip(variables, args, strict=True)]
        if bound.is_tuple:
            tests = [f"{row}[{place}] \\in {arg}({{{row}[{place}]}})" for place, arg in enumerate(args, start=1)]
            allowed = " /\\ ".join(tests)
            chosen = [(f"<<{', '.join(variables)}>>", f"{{{row} \\in {domain} : {allowed}}}")]
        for name, elements in chosen:
            yield f"    \\E {name} \\in ("
            yield f"        LET {domain} =="
            yield self._source.cut(bound.domain.loc)
            yield f"        IN {elements}) :"


class Choices:
    """Writes the operators that give, of the set a quantifier ranges over, the elements that a line allows.

    Attributes:
        lines: the definitions.
    """

    def __init__(self, names: Names, literals: Literals, comparisons: Comparisons) -> None:
        """Write operators named by `names`."""
        self._names, self._literals, self._comparisons = names, literals, comparisons
        self._known: dict[tuple[str, ...], str] = {}
        self._any = f"{names.prefix}any"
        self.lines = [f"{self._any}({names.prefix}d) == {names.prefix}d"]

    def any(self) -> str:
        """Return the operator that allows all: nothing is told."""
        return self._any

    def of(self, param: str, told: Exactly | Matching | None, code: int) -> str:
        """Return the operator for what a line tells of a parameter.

        Arguments: `param`, its name; `code`, the number of what the line claims.
        Raises BadInputError where it is a test that only the compiled spec can make.
        """
        if isinstance(told, Exactly):
            return self._exactly(param, told, code)
        if told is None or told.test is None:
            return self._any
        if not isinstance(told.test, PartOf):
            raise BadInputError(f"TLC cannot be given what is told of {param}")
        return self._partly(param, told.test, code)

    def _exactly(self, param: str, told: Exactly, code: int) -> str:
        names = self._names
        candidate, domain = f"{names.prefix}t", f"{names.prefix}d"
        tests = [*names.evaluated(domain), *names.probe(f"args.{param}", code)]
        if type(told.value) is str:
            where = f'"{names.prefix}", "{param}", {code}'
            known = f"{names.operators}!Allowed({candidate}, {domain}, {names.prefix}model_values, {where})"
        else:
            known = f"{candidate} \\in {domain}"
        body = "".join(f" /\\ {test}" for test in [*tests, known, *names.probe("", code)])
        return self._defined(f"{{{candidate} \\in {{{self._literals.of(told.value)}}} :{body}}}")

    def _partly(self, param: str, part: PartOf, code: int) -> str:
        names = self._names
        element = f"{names.prefix}t"
        agrees = self._comparisons.part(part.told, f"args.{param}")
        is_whole = f"\\E {names.prefix}m \\in {names.prefix}model_values : {element} = {names.prefix}m"
        test = f"IF {is_whole} THEN FALSE ELSE {agrees}({element})"
        body = "".join(f" /\\ {each}" for each in [*names.probe("", code), f"({test})"])
        return self._defined(f"{{{element} \\in {names.prefix}d :{body}}}")

    def _defined(self, elements: str) -> str:
        key = (elements,)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"{self._names.prefix}chosen{len(self._known) + 1}"
            self.lines.append(f"{name}({self._names.prefix}d) == {elements}")
        return name
