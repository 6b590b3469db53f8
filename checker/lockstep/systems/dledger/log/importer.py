"""Importing DLedger's own log: its lines are partial observations, and a trace is written that explains them.

The trace has the steps that lines tell of, and the hidden ones between them. It is one explanation: `check` finds
whether it is a behaviour of the spec, as of any trace.
"""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.conformance.incremental import Incremental
from lockstep.systems.dledger.log.begin import shows_a_life_before
from lockstep.systems.dledger.log.explanation import Explanation, explain_log
from lockstep.systems.dledger.log.lines import LogLine, read_log
from lockstep.systems.dledger.log.runs import Run, Taken
from lockstep.systems.dledger.recording.importer import CONSTANTS, SPEC, VERSIONS
from lockstep.systems.system import Compile
from lockstep.tla.values.kinds import Fcn, ModelValue, Value
from lockstep.trace import format as trace
from lockstep.trace.format import OBSERVE, Event
from lockstep.trace.imported import ACTION, NOISE, OBSERVATION, Imported, Summary

_RECOVERED = ("recovered_end", "recovered_committed")


def import_log(path: Path, version: str, compile_: Compile, say: Say = silent) -> Imported:
    """Explain the log at `path`, of a DLedger of this version.

    Raises TraceError, naming file and line, where it is no log of a group from its begin; UnexplainedError where no
    explanation was found; UnreadableError where it cannot be read.
    """
    if version not in VERSIONS:
        raise BadInputError(f"{path}: the version {version!r} is none of {', '.join(VERSIONS)}")
    source, lines = str(path), read_log(path)
    _refuse_the_middle(lines, source)
    header = trace.Header(
        format=trace.FORMAT,
        system="dledger",
        version=version,
        spec=SPEC,
        nodes=_nodes(lines, source),
        constants={**CONSTANTS, **VERSIONS[version], "AtomicQuorumCheck": True},
        origin=f"an explanation of the log {path.name}",
    )
    found = explain_log(lines, header.nodes, compile_(header, source), source, say)
    steps = _fewest_violations(found.runs).steps()
    times = {line.number: line.t_ms for line in lines}
    events = tuple(_event(seq, step, times[step.line]) for seq, step in enumerate(steps))
    return Imported(header, events, _summary(lines, steps, found))


def _nodes(lines: tuple[LogLine, ...], source: str) -> tuple[str, ...]:
    """Return the members of the group: those that speak, and those that are pushed to."""
    first: dict[str, LogLine] = {}
    for line in lines:
        for name in (line.node, line.words.get("peer", "")):
            if name:
                first.setdefault(name, line)
    if not first:
        raise trace.TraceError(source, lines[0].number, "no line is of a node")
    lives: dict[str, int] = {}
    for line in lines:
        if line.incarnation < lives.get(line.node, 0):
            raise trace.TraceError(source, line.number, f"{line.node} is at incarnation {lives[line.node]} already")
        lives[line.node] = line.incarnation
        if line.kind == "vote_result" and line.numbers["members"] != len(first):
            problem = f"the group has {line.numbers['members']} members, the log names {len(first)}"
            raise trace.TraceError(source, line.number, problem)
    return tuple(sorted(first))


def _refuse_the_middle(lines: tuple[LogLine, ...], source: str) -> None:
    for node in {line.node: None for line in lines if line.node}:
        before = shows_a_life_before([line for line in lines if line.node == node])
        if before is not None:
            raise trace.TraceError(source, before.number, f"the log does not begin where {node} first started")


def _fewest_violations(runs: list[Run]) -> Run:
    """Return the run in which the fewest properties fail."""
    best, fewest = runs[0], None
    for run in runs if len(runs) > 1 else ():
        failed = _violations(run)
        if fewest is None or failed < fewest:
            best, fewest = run, failed
        if failed == 0:
            break
    return best


def _violations(run: Run) -> int:
    """Count the properties that fail in a run."""
    states = run.states()
    properties, failed = Incremental(run.spec), set[str]()
    properties.begin(states[0])
    for state, after in itertools.pairwise(states):
        for name in properties.violated(state, after):
            failed.add(name)
            properties.drop(name)
    return len(failed)


def _event(seq: int, step: Taken, t_ms: float) -> Event:
    args = {name: _tree(value) for name, value in step.args.items()}
    return Event(seq, step.node, step.action, args, dict(step.shows), t_ms=t_ms, line=step.line)


def _tree(value: Value) -> Any:
    """Return a value of the spec as a trace tells it."""
    if isinstance(value, Fcn):
        return {str(name): _tree(part) for name, part in value.d.items()}
    return None if isinstance(value, ModelValue) else value


def _summary(lines: tuple[LogLine, ...], steps: list[Taken], found: Explanation) -> Summary:
    told = {step.line: step.action for step in steps if not step.hidden}
    restarts = {line for line, action in told.items() if action == "Restart"}
    uses: dict[str, Counter[str]] = {}
    for line in lines:
        kind = "restart" if line.number in restarts and not line.kind else line.kind or "other"
        use = OBSERVATION if line.kind in _RECOVERED else NOISE
        if line.number in told:
            use = OBSERVATION if told[line.number] == OBSERVE else ACTION
        uses.setdefault(kind, Counter())[use] += 1
    return Summary(
        uses={kind: dict(uses[kind]) for kind in sorted(uses)},
        actions=dict(sorted(Counter(step.action for step in steps).items())),
        moved=(),
        forced=(),
        hidden=dict(sorted(Counter(step.action for step in steps if step.hidden).items())),
        states=found.states,
        explanations=len(found.runs),
        refuted=found.refuted,
    )
