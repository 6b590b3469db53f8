"""The module and the cfg that let TLC search for the explanations of logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.module_properties import Properties
from lockstep.conformance.by_tlc.trace_module import Parts, search_tree
from lockstep.conformance.comparison import Has, Size
from lockstep.logs.by_tlc.choices import Choices, ChoosingActions
from lockstep.logs.line_order import Order
from lockstep.logs.log_check import Subject
from lockstep.logs.log_lines import Claim, Line
from lockstep.tla.loading.project import Parsed


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """What a reading of a line claims at one place, and how the module calls it.

    `code` is its number, `after` that of the claim before it in the reading, 0 where it is the first. `log`, `thread`
    and `reading` are the numbers of the logs, the thread in them, and the reading of the line.
    """

    code: int
    after: int
    log: int
    thread: int
    line: Line
    reading: int
    claim: Claim
    is_last: bool


class LogModule:
    """The module for the logs of one system, or for several such logs: each is explained for itself.

    Attributes:
        names: the names of its own.
        stages: by number, from 1 on, what the lines claim.
        unwritten: properties that TLC is not asked anything of, each with the reason.
        hidden: the hidden actions; their numbers follow those of the stages.
        text: the module.
    """

    def __init__(self, subject: Subject, parsed: Parsed, orders: Sequence[Order], *, probing: bool = False) -> None:
        """Write the module.

        Arguments: `subject`, what the logs are checked against; `parsed`, the same spec; `orders`, the logs;
        `probing`, whether the module says what it is about to compare.
        Raises BadInputError where TLC cannot be given what a line or the cfg says.
        """
        self.subject, self.orders = subject, orders
        self._parts = Parts(subject.spec, parsed, subject.interface, probing=probing, actions=ChoosingActions)
        self.names, self._ops = self._parts.names, self._parts.names.operators
        prefix = self.names.prefix
        self._log, self._at, self._within, self._used, self._failed, self._last = (
            f"{prefix}{name}" for name in ("log", "at", "within", "used", "failed", "last")
        )
        self._is_over = f"{self._at} = {prefix}ends[{self._log}]"
        self.hidden = tuple(subject.mapping.hidden)
        self.stages: dict[int, Stage] = {}
        self._choices = Choices(self.names, self._parts.literals, self._parts.comparisons)
        self._properties = Properties(parsed.program, self._parts.source, prefix)
        self.unwritten = self._properties.unwritten
        lines = [line for log in range(len(orders)) for line in self._steps_of(log)]
        tree, self._root = search_tree(
            [f"{prefix}log{log}" for log in range(1, len(orders) + 1)], self._log, self.names, "logs"
        )
        steps = [*lines, *tree, *self._hidden_steps()]
        self.text = "".join(f"{line}\n" for line in self._assembled(steps))

    def hidden_action(self, code: int) -> str:
        """Return the hidden action of a number."""
        return self.hidden[code - len(self.stages) - 1]

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

    def not_at_the_end(self, log: int, failed: Iterable[str]) -> str:
        """Write that not all lines of a number's logs are explained so far with just these properties failing."""
        names = ", ".join(f'"{name}"' for name in sorted(failed))
        return f"~({self._log} = {log + 1} /\\ {self._is_over} /\\ {self._failed} = {{{names}}})"

    def not_so_far(self, log: int, lines: int) -> str:
        """Write that fewer lines than these of a number's logs are explained so far."""
        total = lines + len(self.orders[log].threads)
        return f"{self._log} = {log + 1} => {self._ops}!Before({self._ops}!Total({self._at}), {total})"

    def not_past_a_cut(self, log: int) -> str:
        """Write that of a number's logs none that is cut has come to its last line."""
        threads = enumerate(self.orders[log].threads, start=1)
        over = " \\/ ".join(f"{self._at}[{k}] = {len(each.lines) + 1}" for k, each in threads if each.is_cut)
        return f"~({self._log} = {log + 1} /\\ ({over}))"

    # ---- The parts of the module ----

    def _assembled(self, steps: list[str]) -> Iterator[str]:
        prefix = self.names.prefix
        variables = [self._log, self._at, self._within, self._used, self._failed, self._last]
        yield from self._parts.head(variables)
        yield from [*self._choices.lines, *self._properties.lines]
        yield f"ASSUME {self._ops}!NothingKept({len(self.orders)})"
        yield f"{prefix}begins == {_positions([[1 for _ in order.threads] for order in self.orders])}"
        ends = [[len(thread.lines) + 1 for thread in order.threads] for order in self.orders]
        yield f"{prefix}ends == {_positions(ends)}"
        yield f"{prefix}over == FALSE"
        yield from steps
        yield from self._parts.init(self._beginning(), self.subject.mapping.start)
        yield self._parts.next("")
        ways = [self._root, *(f"{prefix}hidden{number}" for number in range(1, len(self.hidden) + 1))]
        yield from (f"    \\/ {way}" for way in ways)
        yield f"{prefix}view == <<{', '.join([*self.subject.spec.variables, *variables[:-1]])}>>"
        yield f"{prefix}keeps =="
        yield f'    /\\ {self._ops}!KeepPositions("{prefix}", {self._log}, {self._at})'
        kept = f'{self._ops}!KeepEnd("{prefix}", {self._log}, {self._failed})'
        yield f"    /\\ IF {self._is_over} THEN {kept} ELSE TRUE"
        yield "===="

    def _beginning(self) -> list[str]:
        """Write where the module's own variables begin; of a start in the middle nothing is asked at first."""
        properties = self._properties
        is_initial = self.subject.mapping.start is None
        failed = f"{properties.in_state} \\cup {properties.at_first}" if is_initial else properties.in_state
        logs = ", ".join(str(log) for log in range(1, len(self.orders) + 1))
        return [
            f"{self._log} \\in {{{logs}}}",
            f"{self._at} = {self.names.prefix}begins[{self._log}]",
            f"{self._within} = 0",
            f"{self._used} = {self._unused()}",
            f"{self._last} = 0",
            *self.names.probe(""),
            f"{self._failed} = {failed}",
        ]

    def _unused(self) -> str:
        return f"<<{', '.join('0' for _ in self.hidden)}>>"

    def _steps_of(self, log: int) -> Iterator[str]:
        """Write the lines of the logs of a number."""
        names = []
        for thread in range(len(self.orders[log].threads)):
            names.append(f"{self.names.prefix}thread{log + 1}_{thread + 1}")
            yield from self._thread(log, thread, names[-1])
        yield f"{self.names.prefix}log{log + 1} =="
        yield from (f"    \\/ {name}" for name in names)

    def _thread(self, log: int, thread: int, name: str) -> Iterator[str]:
        """Write the lines of a thread, and what finds the next one."""
        names = []
        for place, line in enumerate(self.orders[log].threads[thread].lines):
            names.append(f"{self.names.prefix}line{log + 1}_{thread + 1}_{place + 1}")
            yield f"\\* line {line.number}"
            yield f"{names[-1]} =="
            for reading in range(len(line.readings)):
                yield from self._reading(log, thread, place, reading)
        names.append(f"{self.names.prefix}over")
        tree, root = search_tree(names, f"{self._at}[{thread + 1}]", self.names, f"next{log + 1}_{thread + 1}_")
        yield from tree
        yield f"{name} == {root}"

    def _reading(self, log: int, thread: int, place: int, reading: int) -> Iterator[str]:
        line = self.orders[log].threads[thread].lines[place]
        claims = line.readings[reading]
        after = 0
        for number, claim in enumerate(claims):
            code = len(self.stages) + 1
            if claim.repeat > 1 or _tells_of_the_inside(claim.shows.values()):
                where = self.orders[log].threads[thread].place(line)
                what = "a step that is repeated" if claim.repeat > 1 else "what is in a value that is shown"
                raise BadInputError(f"{where}: TLC cannot be given {what}; the compiled spec can")
            stage = Stage(code, after, log, thread, line, reading, claim, number == len(claims) - 1)
            self.stages[code] = stage
            conjuncts = list(self._stage(stage, place))
            yield f"    \\/ /\\ {conjuncts[0]}"
            yield from (f"       /\\ {conjunct}" for conjunct in conjuncts[1:])
            after = code

    def _stage(self, stage: Stage, place: int) -> Iterator[str]:
        yield f"{self._within} = {stage.after}"
        if not stage.after:
            yield from self._needs(stage.log, stage.thread, place)
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
        yield f"UNCHANGED {self._log}"
        yield from self._failing(is_step=bool(claim.action))

    def _needs(self, log: int, thread: int, place: int) -> Iterator[str]:
        """Write which lines must have happened before one."""
        for other, count in enumerate(self.orders[log].needs[thread][place], start=1):
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
            assert claim.node is not None  # the reading of the lines sees to that
            node = self._parts.literals.of(claim.node)
        agrees, seen = self._parts.comparisons.shows(claim.shows), f"{self.names.observed}({node})'"
        kept = f'{self._ops}!KeepSeen("{self.names.prefix}", {self._log}, {self._at}, {stage.code}, {seen})'
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
                f"UNCHANGED <<{self._log}, {self._at}, {self._within}>>",
                *self._failing(is_step=True),
            ]
            yield from (f"    /\\ {conjunct}" for conjunct in conjuncts)


def _tells_of_the_inside(told: Iterable[Any]) -> bool:
    return any(
        isinstance(each, Has | Size) or (isinstance(each, dict) and _tells_of_the_inside(each.values()))
        for each in told
    )


def _positions(logs: Iterable[Sequence[int]]) -> str:
    tuples = (", ".join(map(str, places)) for places in logs)
    return f"<<{', '.join(f'<<{each}>>' for each in tuples)}>>"
