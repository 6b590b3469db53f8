"""Logs x spec -> verdict, by TLC."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.comparison import Compared, ObservationError, compare
from lockstep.conformance.trace_verdict import INIT, Finding, TraceVerdict
from lockstep.logs.by_tlc.module import Stage
from lockstep.logs.by_tlc.run import Explored, Moment, Runs, Undecided
from lockstep.logs.explanation_search import smallest
from lockstep.logs.line_order import Order
from lockstep.logs.log_check import (
    Subject,
    conclude_explained,
    conclude_nothing_told,
    conclude_refuted,
    first_of,
    violation,
)
from lockstep.logs.log_lines import Line
from lockstep.logs.mapped_logs import read_logs
from lockstep.tla.loading.project import Parsed
from lockstep.trace.json_lines import source_name

#: So many values are told that the spec says in the place of what a line shows.
_FEW = 3

_NO_STEP = "TLC finds no such step; the compiled engine names the conjunct that is false"


def check_logs_with_tlc(
    paths: Sequence[Path],
    subject: Subject,
    parsed: Parsed,
    *,
    timeout_seconds: float | None = None,
    jar: Path | None = None,
    strict: bool = False,
    say: Say = silent,
) -> TraceVerdict:
    """Check the logs of one system with TLC, by the rules of lockstep.logs.log_check.check_logs.

    TLC explores all behaviours that may explain the lines, and then once more until it comes to what is told of.

    Arguments: `paths`, the logs' files; `parsed`, the subject's spec; `timeout_seconds`, the budget of all runs; `jar`,
    the tla2tools to use; `strict`, whether it is no pass if some explanation fails a property; `say`, told what TLC is
    asked.
    Raises BadInputError where a line is malformed, the lines have no order, or TLC cannot be given what they tell.
    """
    begin = time.monotonic()
    source = ", ".join(source_name(path) for path in paths)
    logs = read_logs(paths, subject.mapping, subject.spec, subject.interface.words)
    verdict = TraceVerdict(source, Verdict.HOLDS, "", notes=list(logs.notes))
    if logs.lines:
        say(f"{source}: TLC explores what may explain {logs.lines:,} lines")
        order = Order(logs.threads, logs.skew, logs.resolution)
        runs = Runs(subject, parsed, [order], timeout_seconds=timeout_seconds, jar=jar)
        verdict.notes += [f"note: {why}" for why in runs.unwritten.values()]
        try:
            _judge(verdict, runs, order, subject, strict)
        except Undecided as error:
            verdict.verdict, verdict.reason, verdict.findings = Verdict.INCONCLUSIVE, f"TLC: {error}", []
    conclude_nothing_told(verdict, logs)
    verdict.seconds = time.monotonic() - begin
    return verdict


def _judge(verdict: TraceVerdict, runs: Runs, order: Order, subject: Subject, strict: bool) -> None:
    (found,) = runs.explore()
    if frozenset() not in found.ends:
        runs.refuse_a_cut(0)
    if not found.ends:
        _refute(verdict, runs, order, found, subject)
        return
    conclude_explained(verdict, found.ends, strict=strict)
    for number, failed in enumerate(smallest(found.ends)):
        moments = runs.explanation(0, failed)
        if number == 0:
            _count(verdict, moments)
        verdict.findings += sorted(_violations(moments, subject), key=lambda each: each.name)


def _count(verdict: TraceVerdict, moments: list[Moment]) -> None:
    """Take down how much a behaviour explains."""
    claims = [moment.stage.claim for moment in moments if moment.stage is not None]
    told = [moment.stage for moment in moments if moment.stage is not None and moment.stage.is_last]
    hidden = sum(moment.hidden is not None for moment in moments)
    verdict.events = len(told)
    verdict.steps = hidden + sum(bool(claim.action) for claim in claims)
    verdict.observed = sum(len(claim.shows) for stage in told for claim in stage.line.readings[0])


def _violations(moments: list[Moment], subject: Subject) -> Iterator[Finding]:
    """Yield where each property fails first in an explanation: at the line before which, or by which, it does."""
    known: frozenset[str] = frozenset()
    actions: list[str] = []
    for moment in moments:
        if moment.stage is None and moment.hidden is None:
            yield from (violation(subject, name, INIT, None) for name in sorted(moment.failed))
            known = moment.failed
            continue
        action = moment.hidden if moment.stage is None else moment.stage.claim.action
        actions += [action] if action else []
        if moment.stage is not None and moment.stage.is_last:
            new = sorted(moment.failed - known)
            yield from (violation(subject, name, actions[-1], moment.stage.line) for name in new)
            known, actions = moment.failed, []


def _refute(verdict: TraceVerdict, runs: Runs, order: Order, found: Explored, subject: Subject) -> None:
    blocked = found.blocked(order)
    for thread, line in blocked:
        if (mistake := _mistake(line, runs, found, subject)) is not None:
            raise BadInputError(f"{order.threads[thread].place(line)}: {mistake}")
    _, first = first_of(blocked)
    compared = (each for seen in _compared(first, runs, found, subject).values() for each in seen)
    wrong = (each for each in compared if isinstance(each, Compared) and not each.equal)
    details = dict.fromkeys(str(each).replace("the trace shows", "the line shows") for each in wrong)
    conclude_refuted(verdict, blocked, list(details)[:_FEW] or [_NO_STEP])
    _count(verdict, runs.explanation_of(0, found.lines))


def _mistake(line: Line, runs: Runs, found: Explored, subject: Subject) -> ObservationError | None:
    """Say what a line shows that the spec cannot have, however it is read; None where there is nothing such."""
    compared = _compared(line, runs, found, subject)
    mistaken = {
        stage.reading: seen[0]
        for stage, seen in compared.items()
        if all(isinstance(each, ObservationError) for each in seen)
    }
    first = mistaken.get(0)
    return first if len(mistaken) == len(line.readings) and isinstance(first, ObservationError) else None


def _compared(
    line: Line, runs: Runs, found: Explored, subject: Subject
) -> dict[Stage, list[Compared | ObservationError]]:
    """Return, by what a line claims, what it shows beside what TLC saw instead, or why the two cannot be compared."""
    compared: dict[Stage, list[Compared | ObservationError]] = {}
    for code, seen in found.seen.items():
        stage = runs.stages()[code]
        for value in seen if stage.line is line else ():
            try:
                several: list[Compared | ObservationError] = list(
                    compare(stage.claim.shows, value, subject.interface.words)
                )
            except ObservationError as error:
                several = [error]
            compared.setdefault(stage, []).extend(several)
    return compared
