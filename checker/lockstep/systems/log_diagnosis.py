"""The diagnosis of logs that no behaviour of a spec of the reader's own explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.conformance.cause_choice import causes_of, likeliest, most_accepted
from lockstep.conformance.cause_search import MAX_DIFFERENCE
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.search_limit import SearchLimit
from lockstep.logs.hidden_causes import hidden_causes
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_deviation import LogDeviation, LogSteps, UnexplainedLine, log_deviation
from lockstep.logs.refutation import Reason
from lockstep.systems.mapped_spec import MappedSpec
from lockstep.systems.own_traces import load_own_spec
from lockstep.systems.trace_diagnosis import diagnosis_deadline
from lockstep.tla.spec import Spec


def log_diagnosis(
    refuted: UnexplainedLine,
    loaded: MappedSpec,
    on_way: Callable[[Reason], None] = lambda _: None,
    timeout_seconds: float | None = None,
) -> Diagnosis:
    """Return why no behaviour of a spec of the reader's own explains a line of logs.

    Each of the nearest reasons is a behaviour that comes to a step of the line which it cannot take. Of the causes that
    let one of them go on those are returned that explain most of the lines.

    Arguments: `on_way`, called with that reason, and with each that was the best before it; `timeout_seconds`, the
    time that the diagnosis may take, where that is less than DIAGNOSIS_SECONDS.
    """
    probed = load_own_spec(loaded.files, loaded.system, has_probes=True)
    limit = SearchLimit(diagnosis_deadline(timeout_seconds))
    hidden = {} if loaded.mapping is None else loaded.mapping.hidden
    lines = LineSteps(loaded.spec, loaded.interface, hidden, deadline=limit.deadline)
    begins_as_init = loaded.logs is not None and loaded.logs.start is None and len(lines.starts()) == 1
    best, events = list[DeviationCause](), 0
    for ways in refuted.reasons:
        if not limit.has_time("all reasons were looked at"):
            break
        found = _likeliest_way(ways, refuted, lines, probed, limit)
        if found is None:
            continue
        reason, deviation, steps = found
        places = range(len(deviation.events))
        causes = causes_of(deviation, steps, limit, places, has_beginning=begins_as_init)
        causes += hidden_causes(deviation, steps, limit)
        if not events or most_accepted(causes) > most_accepted(best):
            best, events = causes, len(deviation.events)
            on_way(reason)
    return Diagnosis(likeliest(best), (), events, tuple(limit.notes))


def _likeliest_way(
    ways: Sequence[Reason], refuted: UnexplainedLine, lines: LineSteps, probed: Spec, limit: SearchLimit
) -> tuple[Reason, LogDeviation, LogSteps] | None:
    """Return the first behaviour that goes on with one other outcome in its last step.

    Without one it is that with the most steps before the line, among the nearest: one of these may be what is wrong.
    """
    best: tuple[Reason, LogDeviation, LogSteps] | None = None
    for reason in ways:
        found = log_deviation(refuted, reason, lines)
        if found is None:
            continue
        deviation, check = found
        steps = LogSteps(check, probed, refuted, reason, lines, limit.deadline)
        if steps.goes_on(deviation.states[-1], *deviation.events[-1], MAX_DIFFERENCE):
            return reason, deviation, steps
        if best is None or _rank(reason) > _rank(best[0]):
            best = reason, deviation, steps
        if limit.deadline.is_over():
            break
    return best


def _rank(reason: Reason) -> tuple[tuple[int, ...], int]:
    return reason.nearness, len(reason.at.path.steps)
