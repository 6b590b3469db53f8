"""The spec's actions with their arguments given: the quantifiers that choose them, narrowed to one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.conformance.by_tlc.module_text import ModuleNames, SpecText
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bound, Definition, Let


class ActionDefinitions:
    """Operators for actions, each with the action's parameters as its own.

    Attributes:
        lines: the definitions, each before its use.
    """

    def __init__(
        self,
        program: Program,
        behaviour: dict[str, tuple[tuple[str, ...], list[ActionPart]]],
        source: SpecText,
        names: ModuleNames,
    ) -> None:
        self._program, self._behaviour = program, behaviour
        self._source, self._names = source, names
        self._operators: dict[str, str] = {}
        self._count = 0
        self.lines: list[str] = []

    def operator(self, action: str) -> str:
        """Return the operator that is the action with the arguments it is given, in the order of its parameters.

        Raises CompileError where the action stands in a module whose text cannot be used here.
        """
        if action not in self._operators:
            params, parts = self._behaviour[action]
            name = self._operators[action] = self._fresh(action)
            args = [f"{self._names.prefix}arg{index}" for index in range(1, len(params) + 1)]
            calls = []
            for part in parts:
                alternative = self._fresh(action)
                calls.append(_call(alternative, args))
                fields = dict(zip(args, params, strict=True))
                self._write(self._head(alternative, [], args), part, list(part.frames), args, fields)
            self.lines += [f"{self._head(name, [], args)} ==", *(f"    \\/ {call}" for call in calls)]
        return self._operators[action]

    def _fresh(self, action: str) -> str:
        self._count += 1
        return f"{self._names.prefix}{action.replace('!', '_')}_{self._count}"

    def _write(self, head: str, part: ActionPart, frames: list[Frame], args: list[str], fields: dict[str, str]) -> None:
        """Write the way from Next, or from a definition on it, down to the action.

        Arguments: `head`, the operator to define; `frames`, what is left of the way; `args`, the operator's
        parameters for what the quantifiers in `frames` choose; `fields`, what traces call them.
        """
        body = [f"{head} =="]
        while frames:
            frame = frames.pop(0)
            if frame.bound is not None:
                mine, args = args[: len(frame.bound.params)], args[len(frame.bound.params) :]
                body += self._narrowed(frame.bound, mine, fields)
            elif frame.let is not None:
                body.append(self._definitions_of(frame.let))
            elif frame.use is not None and frame.definition is not None:
                if not frames and part.body is frame.definition.body:
                    body.append(self._source.cut(frame.use.loc))  # it chooses nothing: the spec's own operator will do
                else:
                    self._enter(body, frame, part, frames, args, fields)
                break
        else:
            body.append(self._source.cut(part.body.loc))
        self.lines += body

    def _enter(
        self,
        body: list[str],
        frame: Frame,
        part: ActionPart,
        frames: list[Frame],
        args: list[str],
        fields: dict[str, str],
    ) -> None:
        """Use a copy of a definition, which takes the arguments of the quantifiers within it as parameters."""
        assert frame.use is not None
        assert frame.definition is not None
        self._refuse_instance(frame.definition, part)
        name = self._fresh(frame.definition.name)
        own = [self._program.tree.params[uid].name for uid in frame.definition.params]
        given = [self._source.cut(arg.loc) for arg in frame.use.args]
        body.append(f"    {name}" + ("(" if [*given, *args] else ""))
        body.append("\n    ,\n".join([*given, *args]))
        body.append("    )" if [*given, *args] else "")
        self._write(self._head(name, own, args), part, frames, args, fields)

    def _refuse_instance(self, definition: Definition, part: ActionPart) -> None:
        if "!" in definition.name or definition.uid in self._program.tree.origins:
            message = f"TLC cannot be given the arguments of {part.name}: {definition.name} is of an INSTANCE"
            raise CompileError(message, definition.loc)

    def _head(self, name: str, own: Sequence[str], args: Sequence[str]) -> str:
        """Write the left side of a definition with parameters of its own, and those for what quantifiers choose."""
        return _call(name, [*own, *args])

    def _narrowed(self, bound: Bound, args: Sequence[str], fields: dict[str, str]) -> Iterator[str]:
        """Write a quantifier over the set that holds the argument alone, and not even that if it is not in its own."""
        assert bound.domain is not None
        variables = [self._program.tree.params[uid].name for uid in bound.params]
        chosen = [(name, arg, fields[arg]) for name, arg in zip(variables, args, strict=True)]
        if bound.is_tuple:
            chosen = [(f"<<{', '.join(variables)}>>", f"<<{', '.join(args)}>>", fields[args[0]])]
        candidate, domain = f"{self._names.prefix}t", f"{self._names.prefix}d"
        for name, arg, field in chosen:
            yield f"    \\E {name} \\in {{{candidate} \\in {{{arg}}} :"
            yield f"        LET {domain} =="
            yield self._source.cut(bound.domain.loc)
            yield "        IN"
            tests = [*self._names.evaluated(domain), *self._names.probe(f"args.{field}"), f"{candidate} \\in {domain}"]
            yield from (f"            /\\ {test}" for test in [*tests, *self._names.probe("")])
            yield "    } :"

    def _definitions_of(self, let: Let) -> str:
        text = self._source.cut(let.loc, until=let.body.loc)
        if not text.rstrip().endswith("IN"):
            raise CompileError("TLC cannot be given this action: its LET has its body in parentheses", let.loc)
        return text


def _call(name: str, args: Sequence[str]) -> str:
    return f"{name}({', '.join(args)})" if args else name
