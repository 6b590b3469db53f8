"""The explanations of logs, by TLC: the logs become a module, and TLC explores all its behaviours.

The module EXTENDS the spec. Beside the spec's variables it has how far each log was read, how far within a line of
several steps, how often each hidden action was taken since the last line, and the properties that have failed. A line
is a disjunct of its next-state relation, with a disjunct for each way to understand it, and so is a hidden action.
The compiled spec evaluates nothing here: it only gives the names of actions, parameters and definitions. So the search
of lockstep.logs.explanation_search is compared with `explore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.module_actions import ActionDefinitions
from lockstep.conformance.by_tlc.module_properties import PropertyParts
from lockstep.conformance.by_tlc.module_text import printed_values
from lockstep.conformance.by_tlc.trace_module import ModuleParts, search_tree
from lockstep.conformance.comparison import ElementCount, PartialElement
from lockstep.logs.line_order import Order, Positions
from lockstep.logs.log_check import LogSpec
from lockstep.logs.log_lines import Claim, ThreadLine
from lockstep.logs.mapped_logs import FieldsTest
from lockstep.tla.compile.named_formulas import behaviour
from lockstep.tla.loading.spec_project import Parsed
from lockstep.tla.syntax.tree import Bound
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching
from lockstep.tlc import TlcOptions, run_tlc

#: While TLC searches it keeps, of each of several logs, how many lines were explained at most, after which positions,
#: and which properties had failed at the end. Each is printed when it is new. All these operators hold.
OPERATORS = r"""---- MODULE LogOperators ----
EXTENDS Integers, Sequences, FiniteSets, TLC

Increased(i) == i + 1

Furthest(log)  == 9000 + 3 * log
Positions(log) == 9001 + 3 * log
Ends(log)      == 9002 + 3 * log

NothingKept(logs) ==
    \A log \in 1..logs : TLCSet(Furthest(log), 0) /\ TLCSet(Positions(log), {}) /\ TLCSet(Ends(log), {})

RECURSIVE TotalFrom(_, _)
TotalFrom(at, k) == IF k > Len(at) THEN 0 ELSE at[k] + TotalFrom(at, k + 1)

KeepPositions(mark, log, at) ==
    LET total == TotalFrom(at, 1) IN
    IF total > TLCGet(Furthest(log))
    THEN TLCSet(Furthest(log), total) /\ TLCSet(Positions(log), {at}) /\ PrintT(<<mark, "far", log, total, at>>)
    ELSE IF total = TLCGet(Furthest(log)) /\ at \notin TLCGet(Positions(log))
    THEN TLCSet(Positions(log), TLCGet(Positions(log)) \cup {at}) /\ PrintT(<<mark, "far", log, total, at>>)
    ELSE TRUE

KeepEnd(mark, log, failed) ==
    IF failed \notin TLCGet(Ends(log))
    THEN TLCSet(Ends(log), TLCGet(Ends(log)) \cup {failed}) /\ PrintT(<<mark, "end", log, failed>>)
    ELSE TRUE
====
"""


@dataclass(slots=True)
class Explored:
    """The behaviours that explain some logs.

    `ends` are the sets of properties that explanations of all lines fail; `line_count` is how many lines are explained
    at most, and `furthest` after which positions.
    """

    ends: set[frozenset[str]] = field(default_factory=set)
    line_count: int = 0
    furthest: set[Positions] = field(default_factory=set)

    def blocked(self, order: Order) -> set[tuple[int, ThreadLine]]:
        """The lines that could have come next where no behaviour goes on, each with its thread's number."""
        return {(thread, order.line(at, thread)) for at in self.furthest for thread in order.next(at)}


def explore(subject: LogSpec, parsed: Parsed, orders: Sequence[Order]) -> list[Explored]:
    """Explore all behaviours, in one run for several logs; raises AssertionError where TLC comes to no end."""
    module = LogModule(subject, parsed, orders)
    with scratch("logs") as folder:
        files = module.write(folder)
        result = run_tlc(*files, TlcOptions(deadlock_check=False, is_short=True, library=parsed.directories))
    assert result.verdict is Verdict.HOLDS, result.reason
    found = [Explored() for _ in orders]
    for _, what, log, *rest in printed_values(result.user_output, module.names.print_start):
        here = found[log - 1]
        if what == "end":
            here.ends.add(frozenset(map(str, rest[0])))
            continue
        line_count = rest[0] - len(orders[log - 1].threads)
        if line_count > here.line_count:
            here.line_count, here.furthest = line_count, set()
        if line_count == here.line_count:
            here.furthest.add(tuple(place - 1 for place in rest[1]))
    return found


class ChoosingActions(ActionDefinitions):
    """Operators for actions, whose parameters are operators in their turn.

    Each of those takes the set that a quantifier ranges over, and gives the elements that a line allows.
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


class LogModule:
    """The module for the logs of one system, or for several such logs: each is explained for itself."""

    def __init__(self, subject: LogSpec, parsed: Parsed, orders: Sequence[Order]) -> None:
        self.subject, self.orders = subject, orders
        self._parts = ModuleParts(subject.spec, parsed, subject.interface)
        self.names, self._ops = self._parts.names, self._parts.names.operators
        prefix = self.names.prefix
        _, by_name = behaviour(parsed.program)
        self._parts.actions = ChoosingActions(parsed.program, by_name, self._parts.source, self.names)
        self._log, self._at, self._within, self._used, self._failed = (
            f"{prefix}{name}" for name in ("log", "at", "within", "used", "failed")
        )
        self._keeping, self._any = f"{prefix}keeping", f"{prefix}any"
        self._is_over = f"{self._at} = {prefix}ends[{self._log}]"
        self._lines = [f"{self._any}({prefix}d) == {prefix}d"]
        self._choices: dict[str, str] = {}
        self._claim_count = 0
        properties = self._failing_properties(parsed)
        steps = [line for log in range(len(orders)) for line in self._steps_of_log(log)]
        logs = [f"{prefix}log{log}" for log in range(1, len(orders) + 1)]
        tree, root = search_tree(logs, self._log, self.names, "logs")
        steps += [*tree, *self._hidden_steps()]
        self.text = "".join(f"{line}\n" for line in self._assembled(properties, steps, root))

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write module, operators and cfg into a folder; return module and cfg."""
        (folder / "LogOperators.tla").write_text(OPERATORS)
        return self._parts.write(folder, self.text, [f"INVARIANT {self.names.prefix}keeps"])

    def _assembled(self, properties: list[str], steps: list[str], root: str) -> Iterator[str]:
        prefix = self.names.prefix
        yield from self._parts.head([self._log, self._at, self._within, self._used, self._failed])
        yield f"{self._keeping} == INSTANCE LogOperators"
        yield from [*self._lines, *properties]
        yield f"ASSUME {self._keeping}!NothingKept({len(self.orders)})"
        yield f"{prefix}begins == {_positions([[1 for _ in order.threads] for order in self.orders])}"
        ends = [[len(thread.lines) + 1 for thread in order.threads] for order in self.orders]
        yield f"{prefix}ends == {_positions(ends)}"
        yield f"{prefix}over == FALSE"
        yield from steps
        yield from self._initial()
        ways = [root, *(f"{prefix}hidden{number}" for number in range(1, len(self.subject.mapping.hidden) + 1))]
        yield self._parts.next("".join(f"\n    \\/ {way}" for way in ways))
        yield f"{prefix}keeps =="
        yield f'    /\\ {self._keeping}!KeepPositions("{prefix}", {self._log}, {self._at})'
        end = f'{self._keeping}!KeepEnd("{prefix}", {self._log}, {self._failed})'
        yield f"    /\\ IF {self._is_over} THEN {end} ELSE TRUE"
        yield "===="

    def _initial(self) -> Iterator[str]:
        prefix, start = self.names.prefix, self.subject.mapping.start
        further = [
            f"{self._log} \\in {{{', '.join(str(log) for log in range(1, len(self.orders) + 1))}}}",
            f"{self._at} = {prefix}begins[{self._log}]",
            f"{self._within} = 0",
            f"{self._used} = {self._unused()}",
            f"{self._failed} = {self._in_state}" + ("" if start else f" \\cup {self._at_first}"),
        ]
        if start is None:
            yield from self._parts.init(further)
        else:
            yield f"{prefix}init =="
            yield from (f"    /\\ {conjunct}" for conjunct in [start, *further])

    def _unused(self) -> str:
        return f"<<{', '.join('0' for _ in self.subject.mapping.hidden)}>>"

    # ---- What fails ----

    def _failing_properties(self, parsed: Parsed) -> list[str]:
        """Operators that give the names of the properties that fail: in a state, by a step, in the first state."""
        prefix, cfg = self.names.prefix, parsed.program.cfg
        parts = PropertyParts(parsed.program, self._parts.source, prefix)
        found = [parts.write(name) for name in cfg.properties]
        states = {name: name for name in cfg.invariants}
        for key, operator in (each for operators in found for each in operators.states):
            states.setdefault(key, operator)
        tables = {
            "broken": states.items(),
            "broken_by": [each for operators in found for each in operators.steps],
            "broken_first": [each for operators in found for each in operators.first],
        }
        self._in_state, self._by_step, self._at_first = (f"{prefix}{title}" for title in tables)
        for title, rows in tables.items():
            sets = ", ".join(f'IF {operator} THEN {{}} ELSE {{"{name}"}}' for name, operator in rows)
            parts.lines.append(f"{prefix}{title} == UNION {{{sets}}}")
        return parts.lines

    def _failed_after(self, *, is_step: bool) -> str:
        more = f" \\cup {self._by_step} \\cup {self._in_state}'" if is_step else ""
        return f"{self._failed}' = {self._failed}{more}"

    # ---- Steps ----

    def _steps_of_log(self, log: int) -> Iterator[str]:
        prefix = self.names.prefix
        threads = range(len(self.orders[log].threads))
        for thread in threads:
            yield from self._steps_of_thread(log, thread)
        yield f"{prefix}log{log + 1} =="
        yield from (f"    \\/ {prefix}thread{log + 1}_{thread + 1}" for thread in threads)

    def _steps_of_thread(self, log: int, thread: int) -> Iterator[str]:
        prefix, names = self.names.prefix, []
        for place, line in enumerate(self.orders[log].threads[thread].lines):
            names.append(f"{prefix}line{log + 1}_{thread + 1}_{place + 1}")
            yield f"{names[-1]} =="
            for claims in line.readings:
                yield from self._reading(log, thread, place, claims)
        names.append(f"{prefix}over")
        tree, root = search_tree(names, f"{self._at}[{thread + 1}]", self.names, f"next{log + 1}_{thread + 1}_")
        yield from tree
        yield f"{prefix}thread{log + 1}_{thread + 1} == {root}"

    def _reading(self, log: int, thread: int, place: int, claims: Sequence[Claim]) -> Iterator[str]:
        after = 0
        for number, claim in enumerate(claims):
            self._claim_count += 1
            is_last = number == len(claims) - 1
            needs = () if after else self._needs(log, thread, place)
            at = f"[{self._at} EXCEPT ![{thread + 1}] = {place + 2}]" if is_last else self._at
            conjuncts = [
                f"{self._within} = {after}",
                f"{self._log} = {log + 1}",
                *needs,
                self._claimed(claim),
                *self._shown(claim),
                f"{self._at}' = {at}",
                f"{self._within}' = {0 if is_last else self._claim_count}",
                f"{self._used}' = {self._unused()}",
                f"UNCHANGED {self._log}",
                self._failed_after(is_step=bool(claim.action)),
            ]
            yield f"    \\/ /\\ {conjuncts[0]}"
            yield from (f"       /\\ {conjunct}" for conjunct in conjuncts[1:])
            after = self._claim_count

    def _needs(self, log: int, thread: int, place: int) -> Iterator[str]:
        """Which lines must have happened before one."""
        for other, count in enumerate(self.orders[log].needs[thread][place], start=1):
            if count and other != thread + 1:
                yield f"{self._ops}!Before({count}, {self._at}[{other}])"

    def _claimed(self, claim: Claim) -> str:
        assert claim.repeat == 1
        if not claim.action:
            return f"UNCHANGED <<{', '.join(self.subject.spec.variables)}>>"
        params = self.subject.spec.actions[claim.action].params
        return self._taken(claim.action, [self._choice(claim.args.get(name)) for name in params])

    def _taken(self, action: str, choices: list[str]) -> str:
        operator = self._parts.actions.operator(action)
        return f"{operator}({', '.join(choices)})" if choices else operator

    def _shown(self, claim: Claim) -> Iterator[str]:
        spec, observe = self.subject.spec, self.subject.interface.observe
        if not claim.shows:
            return
        assert not _shows_inside(claim.shows.values())
        node = "0"
        if observe in spec.definitions and spec.arity(observe):
            node = self._parts.literals.text(claim.node)
        yield f"{self._parts.comparisons.shows(claim.shows)}({self.names.observed}({node})')"

    def _hidden_steps(self) -> Iterator[str]:
        for number, (action, most) in enumerate(self.subject.mapping.hidden.items(), start=1):
            yield f"{self.names.prefix}hidden{number} =="
            used = f"{self._used}[{number}]"
            conjuncts = [
                f"{self._within} = 0",
                f"~({self._is_over})",
                f"{self._ops}!Before({used}, {most})",
                self._taken(action, [self._any for _ in self.subject.spec.actions[action].params]),
                f"{self._used}' = [{self._used} EXCEPT ![{number}] = {self._keeping}!Increased(@)]",
                f"UNCHANGED <<{self._log}, {self._at}, {self._within}>>",
                self._failed_after(is_step=True),
            ]
            yield from (f"    /\\ {conjunct}" for conjunct in conjuncts)

    # ---- Parameters ----

    def _choice(self, bound: KnownValue | Matching | None) -> str:
        """The operator that gives, of the set that a quantifier ranges over, the elements that a line allows."""
        prefix = self.names.prefix
        element, domain = f"{prefix}t", f"{prefix}d"
        if isinstance(bound, KnownValue):
            return self._defined(
                f"{{{element} \\in {{{self._parts.literals.text(bound.value)}}} : {element} \\in {domain}}}"
            )
        if bound is None or bound.test is None:
            return self._any
        assert isinstance(bound.test, FieldsTest)
        agrees = self._parts.comparisons.shows(bound.test.parts)
        is_whole = f"\\E {prefix}m \\in {prefix}model_values : {element} = {prefix}m"
        return self._defined(f"{{{element} \\in {domain} : IF {is_whole} THEN FALSE ELSE {agrees}({element})}}")

    def _defined(self, elements: str) -> str:
        name = self._choices.get(elements)
        if name is None:
            name = self._choices[elements] = f"{self.names.prefix}chosen{len(self._choices) + 1}"
            self._lines.append(f"{name}({self.names.prefix}d) == {elements}")
        return name


def _shows_inside(shown: Iterable[Any]) -> bool:
    return any(
        isinstance(each, PartialElement | ElementCount) or (isinstance(each, dict) and _shows_inside(each.values()))
        for each in shown
    )


def _positions(logs: Iterable[Sequence[int]]) -> str:
    tuples = (", ".join(map(str, places)) for places in logs)
    return f"<<{', '.join(f'<<{each}>>' for each in tuples)}>>"
