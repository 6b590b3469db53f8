"""Running TLC on the module of some logs, and reading what it prints."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.scratch import scratch
from lockstep.conformance.by_tlc.module_text import PROBE, decoded, printed_values
from lockstep.logs.by_tlc.choices import FOREIGN
from lockstep.logs.by_tlc.module import LogModule, Stage
from lockstep.logs.line_order import Order, Positions
from lockstep.logs.line_steps import unknown_node
from lockstep.logs.log_check import Subject
from lockstep.logs.log_lines import Line
from lockstep.tla.loading.project import Parsed
from lockstep.tla.values.kinds import Value, format_value
from lockstep.tla.values.operators.bounds import Exactly
from lockstep.tla.values.text import parse_value
from lockstep.tlc import Budget, TlcOptions, TlcResult, TlcVerdict, ToolDied, run_tlc
from lockstep.tlc.result import PropertyKind


class Undecided(GaveUpError):  # noqa: N818 - it names what happened
    """TLC came to no end, or could not evaluate something: what it did not explore may explain the logs."""


@dataclass(slots=True)
class Explored:
    """What all behaviours that TLC explored came to.

    `ends` are the sets of properties that explanations of all lines fail; `lines`, how many lines are explained at
    most, and `furthest` after which positions; `seen`, by what a line there claims to be seen, what was seen instead.
    """

    ends: set[frozenset[str]] = field(default_factory=set)
    lines: int = 0
    furthest: set[Positions] = field(default_factory=set)
    seen: dict[int, list[Value]] = field(default_factory=dict)

    def blocked(self, order: Order) -> list[tuple[int, Line]]:
        """Return the lines that could have come next where no behaviour goes on, each with its thread's number."""
        waiting = ((thread, positions) for positions in sorted(self.furthest) for thread in order.next(positions))
        return list(dict.fromkeys((thread, order.line(positions, thread)) for thread, positions in waiting))


@dataclass(frozen=True, slots=True)
class Moment:
    """A state of a behaviour that TLC found: what led to it, a claim of a line or a hidden action, and what has failed.

    Both are None of the first state.
    """

    stage: Stage | None
    hidden: str | None
    failed: frozenset[str]


class Runs:
    """Runs TLC for the logs of one system, or for several such logs, until the time is spent.

    Attributes:
        unwritten: properties that TLC is not asked anything of, each with the reason.
    """

    def __init__(
        self,
        subject: Subject,
        parsed: Parsed,
        orders: Sequence[Order],
        *,
        timeout_seconds: float | None = None,
        jar: Path | None = None,
    ) -> None:
        """Prepare to run; raises BadInputError where TLC cannot be given what a line or the cfg says."""
        self._given, self._jar = (subject, parsed, orders), jar
        self._deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        self._module = LogModule(*self._given)
        self._orders = orders
        self.unwritten = self._module.unwritten

    def explore(self) -> list[Explored]:
        """Explore all behaviours, in one run for all logs.

        Raises:
            Undecided: TLC did not come to an end.
            BadInputError: a line tells a value that cannot be compared with those of the spec.
        """
        result = self._run(self._module, None)
        if result.verdict is TlcVerdict.VIOLATED:
            raise self._error(result)
        found = [Explored() for _ in self._orders]
        for _, what, log, *rest in self._printed(result):
            self._take_down(found[log - 1], len(self._orders[log - 1].threads), what, rest)
        return found

    def explanation(self, log: int, failed: frozenset[str]) -> list[Moment]:
        """Return an explanation of all lines of a number's logs that fails just this, as explore() found one."""
        return self._witness(self._module.not_at_the_end(log, failed))

    def explanation_of(self, log: int, lines: int) -> list[Moment]:
        """Return a behaviour that explains so many lines, as explore() found one."""
        return self._witness(self._module.not_so_far(log, lines))

    def refuse_a_cut(self, log: int) -> None:
        """Raise Undecided where a behaviour comes to the last line of a log that is cut: what was lost may go on."""
        cut = [thread for thread in self._orders[log].threads if thread.is_cut]
        if cut and self._run(self._module, self._module.not_past_a_cut(log)).violation is not None:
            raise Undecided(f"not every explanation was looked at: what {cut[0].end()} is not known")

    def _witness(self, unless: str) -> list[Moment]:
        result = self._run(self._module, unless)
        violation, found = result.violation, result.counterexample
        if violation is None or violation.kind is not PropertyKind.INVARIANT or found is None:
            raise ToolDied(f"TLC does not find again what it found: {result.reason}")
        return [self._moment(step.variables) for step in found.steps]

    def stages(self) -> Mapping[int, Stage]:
        """Return what the lines claim, by number."""
        return self._module.stages

    def _run(self, module: LogModule, unless: str | None) -> TlcResult:
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Undecided("its time is spent")
        with scratch("logs") as folder:
            spec, cfg = module.write(folder, unless)
            budget, library = Budget(wall_seconds=left), self._given[1].directories
            options = TlcOptions(deadlock_check=False, is_short=True, budget=budget, library=library, jar=self._jar)
            result = run_tlc(spec, cfg, options)
        if result.verdict in (TlcVerdict.INCONCLUSIVE, TlcVerdict.ERROR):
            raise Undecided(result.reason)
        return result

    def _printed(self, result: TlcResult) -> Iterator[Any]:
        return printed_values(result.user_output, self._module.names.print_start)

    def _take_down(self, found: Explored, threads: int, what: str, rest: list[Any]) -> None:
        if what == "end":
            found.ends.add(frozenset(rest[0]))
            return
        lines = rest[0] - threads
        if lines > found.lines:
            found.lines, found.furthest, found.seen = lines, set(), {}
        if what == "far" and lines == found.lines:
            found.furthest.add(tuple(place - 1 for place in rest[1]))
        elif what == "shows" and lines == found.lines:
            found.seen.setdefault(rest[1], []).append(decoded(rest[2]))

    def _moment(self, variables: Any) -> Moment:
        prefix = self._module.names.prefix
        last, failed = int(variables[f"{prefix}last"]), parse_value(variables[f"{prefix}failed"])
        stage = self._module.stages.get(last)
        hidden = self._module.hidden_action(last) if last and stage is None else None
        return Moment(stage, hidden, _names(failed))

    # ---- Where TLC could not evaluate something ----

    def _error(self, result: TlcResult) -> Exception:
        """Return why TLC stopped: a word of a line that no value is, a value that is compared with none, or the spec.

        TLC does not always say where it was, so it is asked to tell of everything before it does it.
        """
        for _, what, *rest in self._printed(result):
            if what == FOREIGN:
                param, stage, known = (
                    rest[0],
                    self._module.stages[rest[1]],
                    ", ".join(sorted(map(format_value, rest[2]))),
                )
                told = stage.claim.told[param]
                assert isinstance(told, Exactly)  # of nothing else the module prints so
                said = f"{format_value(told.value)} is none of the model values {known}"
                return BadInputError(f"{self._place(stage)}: `{param}`: {said}")
        probed = self._run(LogModule(*self._given, probing=True), None)
        code, compared = 0, ""
        for _, what, *rest in self._printed(probed):
            if what == PROBE:
                compared, code = rest[0], rest[1] or code
        claimed = self._module.stages.get(code)
        if claimed is not None and (unknown := self._unknown_node(claimed)) is not None:
            return BadInputError(f"{self._place(claimed)}: {unknown}")
        if claimed is None or not compared:
            return Undecided(result.reason)
        place = f"{self._place(claimed)}: field `{compared}`"
        if len(claimed.line.readings) == 1:
            return BadInputError(f"{place}: {result.reason}")
        return Undecided(f"{place}: {result.reason}")

    def _unknown_node(self, stage: Stage) -> str | None:
        subject = self._given[0]
        return unknown_node(subject.spec, subject.interface.observe, stage.claim)

    def _place(self, stage: Stage) -> str:
        return self._orders[stage.log].threads[stage.thread].place(stage.line)


def _names(failed: Iterable[Any]) -> frozenset[str]:
    return frozenset(map(str, failed))
