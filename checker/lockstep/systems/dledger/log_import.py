"""Importing DLedger's own log: its lines are partial observations, and a trace is written that explains them.

The trace has the steps of the lines, and the hidden ones between them. It is one explanation: `check` finds whether it
is a behaviour of the spec, as of any trace. A line without an explanation is not refuted;
lockstep.systems.dledger.log_roles finds those that are.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.conformance.json_values import Words, to_tree
from lockstep.logs import clock_skew as clocks
from lockstep.logs.continuations import ExplainingStep
from lockstep.logs.explanation_search import BlockedLine, ExplainingRun, Explanations, explain
from lockstep.logs.failing_properties import FailingProperties
from lockstep.logs.line_order import NoOrderError, Order
from lockstep.logs.log_lines import Thread, ThreadLine
from lockstep.systems.dledger.log_chains import LoggedStep
from lockstep.systems.dledger.log_group import LoggedGroup, group_of
from lockstep.systems.dledger.log_guide import DLedgerGuide
from lockstep.systems.dledger.log_line_steps import READERS
from lockstep.systems.dledger.log_lines import RECOVERY, LogLine, read_logs
from lockstep.systems.dledger.log_roles import RefutedLine, first_refuted
from lockstep.systems.dledger.recording_import import CONSTANTS, SPEC, VERSIONS
from lockstep.systems.system import Compile
from lockstep.tla.spec import Spec
from lockstep.trace import trace_format as trace
from lockstep.trace.imported_trace import ACTION, NOISE, OBSERVATION, Imported, Summary
from lockstep.trace.trace_format import OBSERVE, Event

#: The number of states that are carried from line to line.
MAX_STATES = 64

#: The time for trying whether clocks that differ by more explain the lines.
SKEW_SECONDS = 60


class UnexplainedError(GaveUpError):
    """No hidden steps were found that lead to what a line says."""


def import_log(paths: Sequence[Path], version: str, compile_: Compile, say: Say = silent, skew: int = 0) -> Imported:
    """Explain the logs of a group, of a DLedger of this version.

    Arguments: `skew`, the nanoseconds by which the clocks of two logs may differ.
    Raises TraceError, naming file and line, where they are no logs of a group from its begin; UnexplainedError,
    naming the line, where no explanation was found though none is excluded; UnreadableError where a file cannot be
    read.
    """
    source, notes = ", ".join(map(str, paths)), list[str]()
    if version not in VERSIONS:
        raise BadInputError(f"{source}: the version {version!r} is none of {', '.join(VERSIONS)}")
    logs, strays = read_logs(paths, notes.append)
    group = group_of(logs)
    header = trace.Header(
        format=trace.FORMAT,
        system="dledger",
        version=version,
        spec=SPEC,
        nodes=group.nodes,
        constants={**CONSTANTS, **VERSIONS[version], "SplitQuorumCheck": False},
        origin=f"an explanation of the log {', '.join(path.name for path in paths)}",
    )
    threads = group.threads(tuple(READERS))
    spec = compile_(header, source)
    whole, refuted = first_refuted(threads, group.names_processes)
    found = _explained(spec, group, whole, skew, lambda text: say(f"{source}: {text}"))
    steps = [(run.line, step) for run in _fewest_violations(found.runs, spec).whole() for step in run.steps]
    words = Words(null=spec.model_values["NoNode"])
    events = [_event(seq, line, step, words, len(paths) > 1) for seq, (line, step) in enumerate(steps)]
    if refuted is not None:
        events.append(_claim(len(events), refuted))
    return Imported(header, tuple(events), _summary(group, strays, events, steps, found, refuted, notes))


def _explained(spec: Spec, group: LoggedGroup, threads: Sequence[Thread], skew: int, say: Say) -> Explanations:
    """Explain the lines of some logs; raises UnexplainedError, which names what may help."""
    count = sum(len(thread.lines) for thread in threads)

    def on_line(number: int, states: int, _tried: int) -> None:
        say(f"line {number:,} of {count:,}: {states:,} states explain those before it")

    def search(clocks_differ: int, deadline: Deadline = NEVER) -> Explanations:
        guide = DLedgerGuide(spec, group.nodes, threads, clocks_differ)  # what no behaviour explains guides nobody
        order = Order(threads, clocks_differ)
        return explain(order, guide, max_states=MAX_STATES, on_line=on_line, deadline=deadline)

    def explains(clocks_differ: int) -> bool:
        if deadline.is_over():
            raise TimeoutError
        try:
            runs = search(clocks_differ, deadline).runs
        except NoOrderError:
            return False
        if not runs and deadline.is_over():
            raise TimeoutError
        return bool(runs)

    problem = ""
    try:
        if (found := search(skew)).runs:
            return found
        problem = _not_found(min(found.blocked, key=lambda each: (each.line.time or 0, each.thread)))
    except NoOrderError as error:
        problem = str(error)
    deadline = Deadline(SKEW_SECONDS)
    enough = clocks.least_skew(explains, threads, skew, say)
    raise UnexplainedError(problem + _way_on(enough, skew, len(threads)))


def _way_on(enough: clocks.LeastSkew | None, skew: int, logs: int) -> str:
    """Return the advice about lines that are not explained."""
    missing = "if lines above the first one of a log are missing, give its earlier files, too"
    if logs == 1:
        return f"; {missing}"
    if enough is None:
        return f"; nor are they found with any greater --skew; {missing}"
    option = f'--skew "{enough.skew // clocks.MILLISECOND} ms"'
    if enough.explains:
        allowed = f"{clocks.milliseconds(skew)} ms"
        return f"; the lines are explained if the clocks of the logs may differ by more than {allowed}: give {option}"
    return f"; if the clocks differ by more, give {option} or more, which {SKEW_SECONDS} s left undecided; {missing}"


def _not_found(blocked: BlockedLine) -> str:
    line = blocked.line
    assert isinstance(line, LogLine)
    said = " ".join(f"{name}={value}" for name, value in line.words.items() if name != "self")
    carried = "the state" if len(blocked.runs) == 1 else f"one of the {len(blocked.runs)} states"
    searched = f"no hidden steps were found that lead here from {carried} carried"
    return f"{line.source}:{line.number}: {line.kind} of {line.node} ({said}): {searched}"


def _fewest_violations(runs: Sequence[ExplainingRun], spec: Spec) -> ExplainingRun:
    """Return the run in which the fewest properties fail."""
    best, fewest = runs[0], None
    for run in runs if len(runs) > 1 else ():
        failed = _violations(run, spec)
        if fewest is None or failed < fewest:
            best, fewest = run, failed
        if failed == 0:
            break
    return best


def _violations(run: ExplainingRun, spec: Spec) -> int:
    """Count the properties that fail in a run."""
    first, *others = run.whole()
    states = [first.state, *(step.state for each in others for step in each.steps)]
    failing = FailingProperties(spec)
    return len(failing.in_state(first.state).union(*itertools.starmap(failing.by_step, itertools.pairwise(states))))


# ---- Events ----


def _event(seq: int, line: ThreadLine | None, step: ExplainingStep, words: Words, is_one_of_several: bool) -> Event:
    assert isinstance(step, LoggedStep)
    assert line is not None
    args = {name: to_tree(value, words) for name, value in step.args.items()}
    number = None if is_one_of_several and step.hidden else line.number
    return Event(seq, step.node, step.action, args, dict(step.shows), t_ms=_milliseconds(line), line=number)


def _claim(seq: int, claim: RefutedLine) -> Event:
    line, args = claim.line, dict(claim.args)
    return Event(seq, line.node, claim.action, args, dict(claim.shows), t_ms=_milliseconds(line), line=line.number)


def _milliseconds(line: ThreadLine) -> float:
    return (line.time or 0) / 10**6


def _summary(
    group: LoggedGroup,
    strays: int,
    events: Sequence[Event],
    steps: Sequence[tuple[ThreadLine | None, ExplainingStep]],
    found: Explanations,
    refuted: RefutedLine | None,
    notes: Sequence[str],
) -> Summary:
    actions = {(line.source, line.number): step.action for line, step in steps if line is not None and not step.hidden}
    if refuted is not None:
        actions[refuted.line.source, refuted.line.number] = refuted.action
    uses: dict[str, Counter[str]] = {}
    for line in itertools.chain.from_iterable(group.logs):
        action = actions.get((line.source, line.number))
        use = OBSERVATION if line.kind in RECOVERY else NOISE
        if action is not None:
            use = OBSERVATION if action == OBSERVE else ACTION
        uses.setdefault("restart" if action == "Restart" and not line.kind else line.kind or "other", Counter())[
            use
        ] += 1
    if strays:
        uses["not of the log"] = Counter({NOISE: strays})
    return Summary(
        uses={kind: dict(uses[kind]) for kind in sorted(uses)},
        actions=dict(sorted(Counter(event.action for event in events).items())),
        moved=(),
        forced=(),
        hidden=dict(sorted(Counter(step.action for _, step in steps if step.hidden).items())),
        states=max(1, found.spread.max_states),
        explanations=len(found.runs),
        refuted=None if refuted is None else refuted.line.number,
        notes=tuple(notes),
    )
