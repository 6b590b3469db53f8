"""The check of logs: a behaviour of the spec that explains all lines, and the properties that it violates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.interrupts import Interrupted
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.finding_codes import POSSIBLE, UNEXPLAINED
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.step_coverage import StepCoverage
from lockstep.conformance.trace_verdict import (
    INIT,
    Ambiguity,
    Finding,
    TraceVerdict,
    place_of_property,
    properties_hold,
)
from lockstep.logs import clock_skew
from lockstep.logs.continuations import Continuation as Way
from lockstep.logs.explanation_search import BlockedLine, Conclusion, ExplainingRun, Explanations, explain, smallest
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_deviation import OnUnexplained, UnexplainedLine, ignore_line
from lockstep.logs.log_lines import ThreadLine
from lockstep.logs.mapped_logs import MappedLogs, read_logs
from lockstep.logs.mapping import Mapping
from lockstep.logs.refutation import nearest_reasons
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import source_name

#: How many states a log may begin in.
MAX_STARTS = 100_000

#: How many explanations with violations, and how many actions, a note names.
MAX_NAMED = 5

#: How many characters of a line a finding has.
MAX_LINE_TEXT = 200


@dataclass(frozen=True, slots=True)
class LogSpec:
    """The spec that logs are checked against, its interface, the mapping of their lines, and the states they begin in.

    `start` is the spec compiled to begin in the states that the mapping names, None where these are those of its Init.
    """

    spec: Spec
    interface: Interface
    mapping: Mapping
    start: Spec | None = None


class InterruptedAfterVerdict(Interrupted):
    """The check was interrupted when there was a verdict, and only a note was sought."""

    def __init__(self, number: int, verdict: TraceVerdict) -> None:
        super().__init__(number)
        self.verdict = verdict


def check_logs(
    paths: Sequence[Path],
    subject: LogSpec,
    *,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
    covers: bool = False,
    on_refuted: OnUnexplained = ignore_line,
) -> TraceVerdict:
    """Check the logs of one system.

    Arguments: `paths`, their files; `timeout_seconds`, how long they may take, after which the verdict is left open;
    `strict`, whether it is no pass if some explanation fails a property; `say`, which reports progress; `covers`,
    whether the verdict is to have what the explanation reaches that fails least; `on_refuted`, called with the line
    that no behaviour explains, if there is one.
    Raises BadInputError where a line is malformed, or the lines have no order.
    """
    return explain_logs(
        paths,
        subject,
        timeout_seconds=timeout_seconds,
        strict=strict,
        say=say,
        covers=covers,
        on_refuted=on_refuted,
    )[0]


def explain_logs(
    paths: Sequence[Path],
    subject: LogSpec,
    *,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
    covers: bool = False,
    on_refuted: OnUnexplained = ignore_line,
) -> tuple[TraceVerdict, Explanations | None]:
    """Check the logs of one system as check_logs does, and return the result of the search too, if there was one."""
    begin, deadline = time.perf_counter(), Deadline(timeout_seconds)
    source = ", ".join(source_name(path) for path in paths)
    logs = read_logs(
        paths,
        subject.mapping,
        subject.spec,
        subject.interface,
        lambda count: say(f"{source}: line {count:,} read"),
    )
    verdict = TraceVerdict(source, Verdict.HOLDS, "", notes=list(logs.notes))
    if not logs.lines:
        verdict.verdict, verdict.reason = Verdict.INCONCLUSIVE, "no line of the logs is of anything in the spec"
        return verdict, None
    steps = LineSteps(subject.spec, subject.interface, subject.mapping.hidden, deadline=deadline)
    order = Order(logs.threads, logs.skew, logs.resolution)

    def report(line: int, states: int, tried: int) -> None:
        say(f"{source}: line {line:,} of {logs.lines:,}: {states:,} states explain those before it, {tried:,} tried")

    found = explain(order, steps, start_states(subject, steps), on_line=report, deadline=deadline)
    refuted = _conclude(verdict, found, subject, steps, order, strict)
    if verdict.verdict is Verdict.VIOLATED and logs.tied is not None:
        verdict.verdict, verdict.findings = Verdict.INCONCLUSIVE, []
        verdict.reason = f"{verdict.reason}, in one order of several: {logs.tied}"
    _count(verdict, found)
    if covers:
        _cover(verdict, best_explanation(found), subject.spec)
    if verdict.verdict is Verdict.HOLDS and not verdict.steps and not verdict.observed:
        verdict.verdict, verdict.reason = Verdict.INCONCLUSIVE, "the lines have no step, and show nothing"
    if found.conclusion is Conclusion.REFUTED:
        verdict.notes += _hint_on_unnamed_actions(subject)
        verdict.notes += hints_on_ends(found, order, subject.mapping)
        _blame_clocks(verdict, logs, steps, subject, deadline, say)
    if refuted is not None and verdict.deviation is not None:
        on_refuted(refuted)
    verdict.seconds = time.perf_counter() - begin
    return verdict, found


def start_states(subject: LogSpec, steps: LineSteps) -> Iterable[Way] | None:
    """Return the states that a log may begin in, None for the initial ones."""
    if subject.start is None:
        return None
    name = subject.mapping.start
    states = list(islice(dict.fromkeys(subject.start.initial_states()), MAX_STARTS + 1))
    if len(states) > MAX_STARTS:
        values = {variable: len({state[i] for state in states}) for i, variable in enumerate(states[0].variables)}
        most = max(values, key=values.__getitem__)
        steps.left_out.setdefault(
            f"{name} has more than {MAX_STARTS:,} states; {most} has {values[most]:,} values in them"
        )
        states.pop()
    return [steps.start_in(subject.spec.state(state.as_dict())) for state in states]


# ---- The verdict ----


def _conclude(
    verdict: TraceVerdict, found: Explanations, subject: LogSpec, steps: LineSteps, order: Order, strict: bool
) -> UnexplainedLine | None:
    """Give the verdict, and return the line that nothing explains, if there is one."""
    match found.conclusion:
        case Conclusion.EXPLAINED:
            holds = properties_hold(has_unchecked=subject.interface.has_unchecked)
            verdict.reason = f"a behaviour of the spec explains all lines; {holds}"
            failing = smallest(run.failed for run in found.runs if run.failed)
            for names in failing[:MAX_NAMED]:
                verdict.notes.append(f"{POSSIBLE} note: another explanation violates {_joined(names)}")
            if failing and strict:
                verdict.verdict = Verdict.INCONCLUSIVE
                verdict.reason = f"some explanation violates {_joined(failing[0])}, and --strict takes that for no pass"
        case Conclusion.VIOLATED:
            verdict.verdict = Verdict.VIOLATED
            verdict.reason = "each explanation violates " + ", or ".join(map(_joined, found.failures()))
            verdict.findings = list(_violations(found, subject))
        case Conclusion.UNKNOWN:
            blocked = " or ".join(f"{each.line.source}:{each.line.number}" for each in found.blocked)
            which = f" of {blocked}" if blocked else ""
            verdict.verdict = Verdict.INCONCLUSIVE
            verdict.reason = f"not every explanation{which} was tried: {found.left_out[0]}"
        case Conclusion.REFUTED:
            return _refute(verdict, found, steps, order)
    return None


def _joined(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def _violations(found: Explanations, subject: LogSpec) -> Iterator[Finding]:
    """Yield where each property fails first, in an explanation that fails no more than it must."""
    for names in found.failures():
        run = next(run for run in (*found.runs, *found.cut) if run.failed == names)
        for name in sorted(names):
            here = next(each for each in run.whole() if name in each.failed)
            yield _violation(subject, name, here.steps[-1].action if here.steps else INIT, here.line)


def _violation(subject: LogSpec, name: str, action: str, line: ThreadLine | None) -> Finding:
    """Describe a property that fails at a line, at None in the first state, by an action."""
    code, place = subject.interface.code_of(name), place_of_property(subject.spec, name)
    number, text, source = (0, (), "") if line is None else (line.number, (line.text[:MAX_LINE_TEXT],), line.source)
    return Finding("property", code, name, number, 0, "", action, text, place, source=source)


def _refute(verdict: TraceVerdict, found: Explanations, steps: LineSteps, order: Order) -> UnexplainedLine:
    """Give the verdict on logs that nothing explains: the first of the lines that could have come next is at fault."""
    blocked = {(each.thread, each.line): each for each in reversed(found.blocked)}
    first, *others = sorted(blocked.values(), key=lambda each: (each.line.time or 0, each.thread, each.line.number))
    line, states = first.line, len({run.state for run in first.runs})
    details = [line.text[:MAX_LINE_TEXT]]
    if states > 1:
        details.append(f"{states:,} states explain the lines before it; of those, the nearest:")
    reasons = nearest_reasons(line, first.runs, steps)
    for index, (reason, *_) in enumerate(reasons):
        details += reason.text(with_state=index == 0)
    if others:
        places = " or ".join(f"{each.line.source}:{each.line.number}" for each in others)
        details.append(f"nor would it go on with {places}")
    verdict.verdict = Verdict.VIOLATED
    verdict.reason = f"no behaviour of the spec explains line {line.number} of {line.source}"
    verdict.findings.append(
        Finding(
            kind="unexplained",
            code=UNEXPLAINED,
            name=(action := next((claim.action for claims in line.readings for claim in claims if claim.action), "")),
            line=line.number,
            seq=0,
            node="",
            action=action,
            details=tuple(details),
            spec_line=next((reason.place for reason, *_ in reasons if reason.place), ""),
            source=line.source,
        )
    )
    return UnexplainedLine(first, order, tuple(reasons))


def best_explanation(found: Explanations) -> list[ExplainingRun]:
    """Return the explanation of all lines that fails least; without one, that of as many lines as possible."""
    if found.runs:
        return min(found.runs, key=lambda run: len(run.failed)).whole()
    before = (run.whole() for each in found.blocked for run in each.runs)
    return max(before, key=len, default=[])


def _count(verdict: TraceVerdict, found: Explanations) -> None:
    """Count how much was explained, and note how sure it is."""
    whole = best_explanation(found)
    taken = [step for each in whole for step in each.steps]
    verdict.events = len(whole) - 1 if whole else 0
    verdict.steps = len(taken)
    verdict.observed = sum(len(claim.shows) for each in whole if each.line for claim in each.line.readings[0])
    hidden = Counter(step.action for step in taken if step.hidden)
    entropy = {name: round(bits, 3) for name, bits in found.spread.mean().items()}
    verdict.ambiguity = Ambiguity(found.spread.max_states, len(found.runs), dict(hidden), entropy)
    if entropy:
        name = next(iter(entropy))
        verdict.notes.append(
            f"note: at the most ambiguous line, {found.spread.max_states:,} different states fit everything logged so "
            f"far; logging `{name}` would narrow that down most ({entropy[name]:.2f} bits)"
        )


def _cover(verdict: TraceVerdict, whole: Sequence[ExplainingRun], spec: Spec) -> None:
    """Count what the steps of an explanation reach; raises TlaError where the spec's definitions of that are none."""
    coverage = StepCoverage(spec)
    verdict.note_reached(coverage.times, coverage.parts)
    state = whole[0].state if whole else None
    for step in (step for run in whole[1:] for step in run.steps):
        assert state is not None
        coverage.count(state, step.action, step.args, step.state)
        state = step.state


# ---- What the mapping may lack where nothing explains the lines ----


def _hint_on_unnamed_actions(subject: LogSpec) -> Iterator[str]:
    """Yield a note on actions that no explanation has, as no rule names them, and they are not hidden."""
    rules = (rule for _, _, rule in subject.mapping.rules())
    named = {step.action for rule in rules for reading in rule.readings() for step in reading.step_patterns()}
    unnamed = [name for name in subject.spec.actions if name not in named and name not in subject.mapping.hidden]
    if unnamed:
        names = ", ".join(unnamed[:MAX_NAMED]) + (", ..." if len(unnamed) > MAX_NAMED else "")
        yield f"note: no rule names {names}; if such steps are taken and nobody writes a line, name them in [hidden]"


def hints_on_ends(found: Explanations, order: Order, mapping: Mapping) -> Iterator[str]:
    """Yield notes on logs that nothing explains, and that may be parts of longer ones."""
    if mapping.start is None and any(each.line is order.threads[each.thread].lines[0] for each in found.blocked):
        yield "note: if the logs begin later than the system, name with `start` the states that they may begin in"
    over = sorted({name for each in found.blocked for name in _exhausted_threads(each, order)})
    if over and mapping.ends == "together":
        ended = f"{' and '.join(over)} {'end' if len(over) > 1 else 'ends'} before that"
        yield f'note: {ended}; if logs may end earlier than others, set ends = "anywhere"'


def _exhausted_threads(blocked: BlockedLine, order: Order) -> Iterator[str]:
    """Yield the threads that have no line left where another one cannot go on."""
    read = Counter(each.thread for each in blocked.runs[0].whole())  # the others have read as much
    yield from (each.source for number, each in enumerate(order.threads) if read[number] == len(each.lines))


def _blame_clocks(
    verdict: TraceVerdict, logs: MappedLogs, steps: LineSteps, subject: LogSpec, deadline: Deadline, say: Say
) -> None:
    """Note by how much clocks must differ to explain the lines, if that is more than is declared."""
    try:
        slack = clock_skew.sufficient_skew(
            logs, steps, lambda few: start_states(subject, few), deadline, lambda text: say(f"{verdict.source}: {text}")
        )
    except Interrupted as stopped:
        raise InterruptedAfterVerdict(stopped.number, verdict) from stopped
    if slack is not None:
        verdict.notes.append(
            f"note: if the clocks differ by {clock_skew.milliseconds(slack)} ms, a behaviour explains these lines;"
            f" the mapping says {clock_skew.milliseconds(logs.slack)} ms"
        )
