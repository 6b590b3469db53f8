"""Logs x spec -> verdict: is there a behaviour of the spec that explains all their lines, and what does it violate?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.interrupts import Interrupted
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.finding_codes import POSSIBLE, UNEXPLAINED
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_verdict import EVERY, Ambiguity, Finding, TraceVerdict, place_of_property
from lockstep.logs import clock_skew
from lockstep.logs.continuations import Path as Way
from lockstep.logs.explanation_search import Blocked, Conclusion, Explained, Run, explain, smallest
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import Steps
from lockstep.logs.log_lines import Line
from lockstep.logs.mapped_logs import Logs, read_logs
from lockstep.logs.mapping import Mapping
from lockstep.logs.refutation import told, why_not
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import source_name

#: How many states a log may begin in.
MOST_STARTS = 100_000

#: So many explanations that fail something are told of.
_FEW = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """What logs are checked against: the spec, where they meet it, how their lines are told, and where they begin.

    `start` is the spec compiled to begin where the mapping says, None where that is its Init.
    """

    spec: Spec
    interface: Interface
    mapping: Mapping
    start: Spec | None = None


class CutShort(Interrupted):
    """The check was interrupted when there was a verdict, and only a note was sought."""

    def __init__(self, number: int, verdict: TraceVerdict) -> None:
        """Take the signal and the verdict."""
        super().__init__(number)
        self.verdict = verdict


def check_logs(
    paths: Sequence[Path],
    subject: Subject,
    *,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
) -> TraceVerdict:
    """Check the logs of one system.

    Arguments: `paths`, their files; `timeout_seconds`, how long they may take, after which the verdict is left open;
    `strict`, whether it is no pass if some explanation fails a property; `say`, told now and then how far it is.
    Raises BadInputError where a line is malformed, or the lines have no order; CutShort.
    """
    verdict, _ = explain_logs(paths, subject, timeout_seconds=timeout_seconds, strict=strict, say=say)
    return verdict


def explain_logs(
    paths: Sequence[Path],
    subject: Subject,
    *,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
) -> tuple[TraceVerdict, Explained | None]:
    """Check the logs of one system as check_logs does, and return what was found besides; None where no line tells."""
    begin, deadline = time.perf_counter(), Deadline(timeout_seconds)
    source = ", ".join(source_name(path) for path in paths)
    tell = _told_now_and_then(say, source)
    logs = read_logs(paths, subject.mapping, subject.spec, subject.interface, tell("line {:,} read"))
    verdict = TraceVerdict(source, Verdict.HOLDS, "", notes=list(logs.notes))
    if not logs.lines:
        conclude_nothing_told(verdict, logs)
        return verdict, None
    steps = Steps(subject.spec, subject.interface, subject.mapping.hidden, deadline=deadline)
    order = Order(logs.threads, logs.skew, logs.resolution)
    far = tell(f"line {{:,}} of {logs.lines:,}: {{:,}} states explain those before it, {{:,}} tried")
    found = explain(order, steps, begins_of(subject, steps), on_line=far, deadline=deadline)
    _conclude(verdict, found, subject, strict)
    if found.conclusion is Conclusion.REFUTED:
        _refute(verdict, found, steps)
    _count(verdict, found)
    conclude_nothing_told(verdict, logs)
    if found.conclusion is Conclusion.REFUTED:
        verdict.notes += _of_untold(subject)
        verdict.notes += hints_on_ends(found, order, subject.mapping)
        _blame_clocks(verdict, logs, steps, subject, deadline, say)
    verdict.seconds = time.perf_counter() - begin
    return verdict, found


def _told_now_and_then(say: Say, source: str) -> Callable[[str], Callable[..., None]]:
    def telling(text: str) -> Callable[..., None]:
        return lambda *numbers: say(f"{source}: {text.format(*numbers)}")

    return telling


def begins_of(subject: Subject, steps: Steps) -> Iterable[Way] | None:
    """Return the states that a log may begin in, None for the initial ones."""
    if subject.start is None:
        return None
    name = subject.mapping.start
    states = list(islice(dict.fromkeys(subject.start.initial_states()), MOST_STARTS + 1))
    if len(states) > MOST_STARTS:
        values = {variable: len({state[i] for state in states}) for i, variable in enumerate(states[0].variables)}
        most = max(values, key=values.__getitem__)
        steps.left_out.setdefault(
            f"{name} has more than {MOST_STARTS:,} states; {most} has {values[most]:,} values in them"
        )
        states.pop()
    return [steps.from_the_middle(subject.spec.state(state.as_dict())) for state in states]


# ---- The verdict ----


def _conclude(verdict: TraceVerdict, found: Explained, subject: Subject, strict: bool) -> None:
    if found.conclusion in (Conclusion.EXPLAINED, Conclusion.VIOLATED):
        all_lines = found.conclusion is Conclusion.EXPLAINED
        runs = found.runs if all_lines else (*found.runs, *found.cut)
        conclude_explained(verdict, {run.failed for run in runs}, strict=strict)
        if found.conclusion is Conclusion.VIOLATED:
            verdict.findings = list(_violations(found, subject))
    elif found.conclusion is Conclusion.UNKNOWN:
        of = f" of {_where(found.blocked)}" if found.blocked else ""
        verdict.verdict, verdict.reason = (
            Verdict.INCONCLUSIVE,
            f"not every explanation{of} was looked at: {found.left_out[0]}",
        )


def conclude_explained(verdict: TraceVerdict, failed: Collection[frozenset[str]], *, strict: bool) -> None:
    """Give the verdict on logs that are explained.

    Arguments: `failed`, the properties that each explanation fails; `strict`, whether it is no pass if some fails any.
    """
    failing = smallest(each for each in failed if each)
    if frozenset() not in failed:
        verdict.verdict = Verdict.VIOLATED
        verdict.reason = "each explanation violates " + ", or ".join(map(_joined, failing))
        return
    verdict.reason = f"a behaviour of the spec explains all lines; {EVERY}"
    verdict.notes += [f"{POSSIBLE} note: another explanation violates {_joined(names)}" for names in failing[:_FEW]]
    if failing and strict:
        verdict.verdict = Verdict.INCONCLUSIVE
        verdict.reason = f"some explanation violates {_joined(failing[0])}, and --strict takes that for no pass"


def conclude_nothing_told(verdict: TraceVerdict, logs: Logs) -> None:
    """Take back that logs hold which tell of nothing."""
    if not logs.lines:
        verdict.verdict, verdict.reason = Verdict.INCONCLUSIVE, "the logs tell of nothing that the spec knows"
    elif verdict.verdict is Verdict.HOLDS and not verdict.steps and not verdict.observed:
        verdict.verdict, verdict.reason = Verdict.INCONCLUSIVE, "the lines tell of no step, and show nothing"


def _where(blocked: Iterable[Blocked]) -> str:
    return " or ".join(f"{each.line.source}:{each.line.number}" for each in blocked)


def _joined(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def _violations(found: Explained, subject: Subject) -> Iterator[Finding]:
    """Yield where each property fails first, in an explanation that fails no more than it must."""
    for names in found.failures():
        run = next(run for run in (*found.runs, *found.cut) if run.failed == names)
        for name in sorted(names):
            here = next(each for each in run.whole() if name in each.failed)
            action = here.steps[-1].action if here.steps else "Init"
            yield violation(subject, name, action, here.told)


def violation(subject: Subject, name: str, action: str, line: Line | None) -> Finding:
    """Describe a property that fails at a line, at None in the first state, by an action."""
    code, place = subject.interface.code_of(name), place_of_property(subject.spec, name)
    number, text, source = (0, (), "") if line is None else (line.number, (line.text[:200],), line.source)
    return Finding("property", code, name, number, 0, "", action, text, place, source=source)


def _refute(verdict: TraceVerdict, found: Explained, steps: Steps) -> None:
    blocked = {(each.thread, each.line): each for each in reversed(found.blocked)}
    first = blocked[first_of(blocked)]
    reasons = why_not(first.line, first.runs, steps)
    details = list(_of_states(first))
    for index, reason in enumerate(reasons):
        details += told(reason, state_too=index == 0)
    conclude_refuted(verdict, blocked, details, next((reason.place for reason in reasons if reason.place), ""))


def first_of(blocked: Iterable[tuple[int, Line]]) -> tuple[int, Line]:
    """Return the first of the lines that could have come next, each with the number of its thread."""
    return min(blocked, key=_by_time)


def _by_time(blocked: tuple[int, Line]) -> tuple[int, int, int]:
    thread, line = blocked
    return line.time or 0, thread, line.number


def conclude_refuted(
    verdict: TraceVerdict, blocked: Collection[tuple[int, Line]], details: Iterable[str], place: str = ""
) -> None:
    """Give the verdict on logs that nothing explains.

    Arguments: `blocked`, the lines that could have come next, each with the number of its thread; `details`, why the
    first of them does not; `place`, of the formula that is false.
    """
    _, first = first_of(blocked)
    verdict.verdict = Verdict.VIOLATED
    verdict.reason = f"no behaviour of the spec explains line {first.number} of {first.source}"
    others = [f"{line.source}:{line.number}" for _, line in sorted(blocked, key=_by_time) if line is not first]
    said = (first.text[:200], *details, *([f"nor would it go on with {' or '.join(others)}"] if others else []))
    action = next((claim.action for claims in first.readings for claim in claims if claim.action), "")
    verdict.findings.append(
        Finding("unexplained", UNEXPLAINED, action, first.number, 0, "", action, said, place, source=first.source)
    )


def _of_states(blocked: Blocked) -> Iterator[str]:
    states = len({run.state for run in blocked.runs})
    if states > 1:
        yield f"{states:,} states explain the lines before it; of those, the nearest:"


def _of_untold(subject: Subject) -> Iterator[str]:
    """Yield a note on actions that no explanation has, as no rule names them, and they are not hidden."""
    rules = (rule for _, _, rule in subject.mapping.rules())
    told = {said.action for rule in rules for reading in rule.readings() for said in reading.said()}
    untold = [name for name in subject.spec.actions if name not in told and name not in subject.mapping.hidden]
    if untold:
        names = ", ".join(untold[:_FEW]) + (", ..." if len(untold) > _FEW else "")
        yield f"note: no rule tells of {names}; if such steps are taken and nobody writes a line, name them in [hidden]"


def _blame_clocks(
    verdict: TraceVerdict, logs: Logs, steps: Steps, subject: Subject, deadline: Deadline, say: Say
) -> None:
    """Say so where clocks that differ by more than is declared would explain the lines, and by how much."""
    try:
        slack = clock_skew.enough(
            logs, steps, lambda few: begins_of(subject, few), deadline, lambda text: say(f"{verdict.source}: {text}")
        )
    except Interrupted as stopped:
        raise CutShort(stopped.number, verdict) from stopped
    if slack is not None:
        verdict.notes.append(
            f"note: if the clocks differ by {clock_skew.milliseconds(slack)} ms, a behaviour explains these lines;"
            f" the mapping says {clock_skew.milliseconds(logs.slack)} ms"
        )


def told_best(found: Explained) -> list[Run]:
    """Return an explanation of all lines that fails least, or where there is none of as many as possible."""
    if found.runs:
        return min(found.runs, key=lambda run: len(run.failed)).whole()
    before = (run.whole() for each in found.blocked for run in each.runs)
    return max(before, key=len, default=[])


def _count(verdict: TraceVerdict, found: Explained) -> None:
    """Take down how much was explained, and how sure it is."""
    whole = told_best(found)
    taken = [step for each in whole for step in each.steps]
    verdict.events = len(whole) - 1 if whole else 0
    verdict.steps = len(taken)
    verdict.observed = sum(len(claim.shows) for each in whole if each.told for claim in each.told.readings[0])
    hidden = Counter(step.action for step in taken if step.hidden)
    entropy = {name: round(bits, 3) for name, bits in found.spread.mean().items()}
    verdict.ambiguity = Ambiguity(found.spread.most, len(found.runs), dict(hidden), entropy)
    if entropy:
        name = next(iter(entropy))
        verdict.notes.append(
            f"note: at the most ambiguous line, {found.spread.most:,} different states fit everything logged so far;"
            f" logging `{name}` would narrow that down most ({entropy[name]:.2f} bits)"
        )


# ---- Where logs begin and end ----


def hints_on_ends(found: Explained, order: Order, mapping: Mapping) -> Iterator[str]:
    """Yield notes on logs that nothing explains, and that may be parts of longer ones."""
    if mapping.start is None and any(each.line is order.threads[each.thread].lines[0] for each in found.blocked):
        yield "note: if the logs begin later than the system, say with `start` which states they may begin in"
    over = sorted({name for each in found.blocked for name in _over(each, order)})
    if over and mapping.ends == "together":
        ended = f"{' and '.join(over)} {'end' if len(over) > 1 else 'ends'} before that"
        yield f'note: {ended}; if logs may end earlier than others, say ends = "anywhere"'


def _over(blocked: Blocked, order: Order) -> Iterator[str]:
    """Yield the threads of which no line is left where another one cannot go on."""
    read = Counter(each.thread for each in blocked.runs[0].whole())  # the others have read as much
    yield from (each.source for number, each in enumerate(order.threads) if read[number] == len(each.lines))
