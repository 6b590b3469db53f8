"""The module and the cfg that let TLC search for the explanations of logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.module import search_tree
from lockstep.conformance.by_tlc.parts import Parts
from lockstep.logs.by_tlc.choices import Choices, ChoosingActions
from lockstep.logs.by_tlc.properties import Properties
from lockstep.logs.check import Subject
from lockstep.logs.lines import Claim, Line
from lockstep.logs.order import Order
from lockstep.tla.loading.project import Parsed


@dataclass(frozen=True, slots=True)
class Stage:
    """What a reading of a line claims at one place, and how the module calls it.

    `code` is its number, `after` that of the claim before it in the reading, 0 where it is the first.
    """

    code: int
    after: int
    thread: int
    line: Line
    claim: Claim
    is_last: bool


class LogModule:
    """The module for the logs of one system.

    Attributes:
        names: the names of its own.
        stages: by number, from 1 on, what the lines claim.
        hidden: the hidden actions; their numbers follow those of the stages.
        text: the module.
    """

    def __init__(self, subject: Subject, parsed: Parsed, order: Order, *, probing: bool = False) -> None:
        """Write the module.

        Arguments: `subject`, what the logs are checked against; `parsed`, the same spec; `order`, the logs; `probing`,
        whether the module says what it is about to compare.
        Raises BadInputError where TLC cannot be given what a line or the cfg says.
        """
        self.subject, self.order = subject, order
        self._parts = Parts(subject.spec, parsed, subject.interface, probing=probing, actions=ChoosingActions)
        self.names, self._ops = self._parts.names, self._parts.names.operators
        prefix = self.names.prefix
        self._at, self._within, self._used, self._failed, self._last = (
            f"{prefix}{name}" for name in ("at", "within", "used", "failed", "last")
        )
        self.hidden = tuple(subject.mapping.hidden)
        self.stages: dict[int, Stage] = {}
        self._choices = Choices(self.names, self._parts.literals, self._parts.comparisons)
        self._properties = Properties(parsed.program, self._parts.source, prefix)
        self._is_over = f"{self._at} = <<{', '.join(str(len(each.lines) + 1) for each in order.threads)}>>"
        threads = [list(self._thread(number)) for number in range(len(order.threads))]
        self._count_hidden_from = len(self.stages)
        steps = [*(line for lines in threads for line in lines), *self._hidden_steps()]
        self.text = "".join(f"{line}\n" for line in self._assembled(steps))

    def hidden_action(self, code: int) -> str:
        """Return the hidden action of a number."""
        return self.hidden[code - self._count_hidden_from - 1]

    def write(self, folder: Path, unless: str | None = None) -> tuple[Path, Path]:
        """Write module, operators and cfg into a folder; return module and cfg.

        Arguments: `unless`, a formula for TLC to stop at where it is false; without it TLC explores everything, and
        prints how far that goes.
        """
        prefix = self.names.prefix
        checked, text = [f"VIEW {prefix}view", f"INVARIANT {prefix}keeps"], self.text
        if unless is not None:
            text = text.removesuffix("====\n") + f"{prefix}unless == {unless}\n====\n"
            checked[-1] = f"INVARIANT {prefix}unless"
        return self._parts.write(folder, text, checked)

    def not_at_the_end(self, failed: Iterable[str]) -> str:
        """Write that not all lines are explained so far with just these properties failing."""
        names = ", ".join(f'"{name}"' for name in sorted(failed))
        return f"~({self._is_over} /\\ {self._failed} = {{{names}}})"

    def not_so_far(self, lines: int) -> str:
        """Write that fewer lines than these are explained so far."""
        return f"{self._ops}!Before({self._ops}!Total({self._at}), {lines + len(self.order.threads)})"

    # ---- The parts of the module ----

    def _assembled(self, steps: list[str]) -> Iterator[str]:
        prefix, variables = self.names.prefix, [self._at, self._within, self._used, self._failed, self._last]
        yield from self._parts.head(variables)
        yield from [*self._choices.lines, *self._properties.lines]
        yield f"ASSUME {self._ops}!NothingKept"
        yield f"{prefix}over == FALSE"
        yield from steps
        yield from self._parts.init(self._beginning(), self.subject.mapping.start)
        yield self._parts.next("")
        ways = [f"thread{number}" for number in range(1, len(self.order.threads) + 1)]
        ways += [f"hidden{number}" for number in range(1, len(self.hidden) + 1)]
        yield from (f"    \\/ {prefix}{way}" for way in ways)
        yield f"{prefix}view == <<{', '.join([*self.subject.spec.variables, *variables[:-1]])}>>"
        yield f"{prefix}keeps =="
        yield f'    /\\ {self._ops}!KeepPositions("{prefix}", {self._at})'
        yield f'    /\\ IF {self._is_over} THEN {self._ops}!KeepEnd("{prefix}", {self._failed}) ELSE TRUE'
        yield "===="

    def _beginning(self) -> list[str]:
        """Write where the module's own variables begin; of a start in the middle nothing is asked at first."""
        properties = self._properties
        is_initial = self.subject.mapping.start is None
        failed = f"{properties.in_state} \\cup {properties.at_first}" if is_initial else properties.in_state
        ones = ", ".join("1" for _ in self.order.threads)
        return [
            f"{self._at} = <<{ones}>>",
            f"{self._within} = 0",
            f"{self._used} = {self._unused()}",
            f"{self._last} = 0",
            *self.names.probe(""),
            f"{self._failed} = {failed}",
        ]

    def _unused(self) -> str:
        return f"<<{', '.join('0' for _ in self.hidden)}>>"

    def _thread(self, thread: int) -> Iterator[str]:
        """Write the lines of a thread, and what finds the next one."""
        names = []
        for place, line in enumerate(self.order.threads[thread].lines):
            names.append(f"{self.names.prefix}line{thread + 1}_{place + 1}")
            yield f"\\* line {line.number}"
            yield f"{names[-1]} =="
            for claims in line.readings:
                yield from self._reading(thread, place, line, claims)
        names.append(f"{self.names.prefix}over")
        tree, root = search_tree(names, f"{self._at}[{thread + 1}]", self.names, f"next{thread + 1}_")
        yield from tree
        yield f"{self.names.prefix}thread{thread + 1} == {root}"

    def _reading(self, thread: int, place: int, line: Line, claims: tuple[Claim, ...]) -> Iterator[str]:
        after = 0
        for number, claim in enumerate(claims):
            code = len(self.stages) + 1
            stage = Stage(code, after, thread, line, claim, number == len(claims) - 1)
            self.stages[code] = stage
            conjuncts = list(self._stage(stage, place))
            yield f"    \\/ /\\ {conjuncts[0]}"
            yield from (f"       /\\ {conjunct}" for conjunct in conjuncts[1:])
            after = code

    def _stage(self, stage: Stage, place: int) -> Iterator[str]:
        yield f"{self._within} = {stage.after}"
        if not stage.after:
            yield from self._needs(stage.thread, place)
        yield from self.names.probe("", stage.code)
        claim = stage.claim
        if claim.action:
            told = [self._choices.of(name, claim.told.get(name), stage.code) for name in self._params(claim.action)]
            yield self._taken(claim.action, told)
        else:
            yield f"UNCHANGED <<{', '.join(self.subject.spec.variables)}>>"
        yield from self._shown(stage)
        at = f"[{self._at} EXCEPT ![{stage.thread + 1}] = {place + 2}]" if stage.is_last else self._at
        yield f"{self._at}' = {at}"
        yield f"{self._within}' = {0 if stage.is_last else stage.code}"
        yield f"{self._used}' = {self._unused()}"
        yield f"{self._last}' = {stage.code}"
        yield from self._failing(is_step=bool(claim.action))

    def _needs(self, thread: int, place: int) -> Iterator[str]:
        """Write which lines must have happened before one."""
        for other, count in enumerate(self.order.needs[thread][place], start=1):
            if count and other != thread + 1:
                yield f"{self._ops}!Before({count}, {self._at}[{other}])"

    def _params(self, action: str) -> tuple[str, ...]:
        return tuple(self.subject.spec.actions[action].params)

    def _taken(self, action: str, told: list[str]) -> str:
        operator = self._parts.actions.operator(action)
        return f"{operator}({', '.join(told)})" if told else operator

    def _failing(self, *, is_step: bool) -> Iterator[str]:
        yield from self.names.probe("")
        more = f" \\cup {self._properties.after_step()}" if is_step else ""
        yield f"{self._failed}' = {self._failed}{more}"

    def _shown(self, stage: Stage) -> Iterator[str]:
        """Write that what is seen is what the line shows; what is seen besides is kept."""
        claim, spec, observe = stage.claim, self.subject.spec, self.subject.interface.observe
        if not claim.shows:
            return
        node = "0"
        if observe in spec.definitions and spec.arity(observe):
            if claim.node is None:
                where = self.order.threads[stage.thread].place(stage.line)
                raise BadInputError(f"{where}: it shows what {observe} gives of a node, and tells no node")
            node = self._parts.literals.of(claim.node)
        agrees, seen = self._parts.comparisons.shows(claim.shows), f"{self.names.observed}({node})'"
        kept = f'{self._ops}!KeepSeen("{self.names.prefix}", {self._at}, {stage.code}, {seen})'
        yield f"IF {agrees}({seen}) THEN TRUE ELSE {kept} /\\ FALSE"

    def _hidden_steps(self) -> Iterator[str]:
        for number, (action, most) in enumerate(self.subject.mapping.hidden.items(), start=1):
            yield f"{self.names.prefix}hidden{number} =="
            used = f"{self._used}[{number}]"
            conjuncts = [
                f"{self._within} = 0",
                f"~({self._is_over})",
                f"{self._ops}!Before({used}, {most})",
                *self.names.probe("", len(self.stages) + number),
                self._taken(action, [self._choices.any() for _ in self._params(action)]),
                f"{self._used}' = [{self._used} EXCEPT ![{number}] = {self._ops}!Increased(@)]",
                f"{self._last}' = {len(self.stages) + number}",
                f"UNCHANGED <<{self._at}, {self._within}>>",
                *self._failing(is_step=True),
            ]
            yield from (f"    /\\ {conjunct}" for conjunct in conjuncts)
