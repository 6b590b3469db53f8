"""Minimising a trace: a shorter one with the same verdict, and the length of a model's counterexample to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.causal_past import PlacedEvent, cut_to_past, take_placed
from lockstep.conformance.delta_debugging import minimise_steps
from lockstep.conformance.json_values import to_tree
from lockstep.conformance.rebinding import Rebinding, RecordedStep
from lockstep.conformance.rerun_minimiser import RerunMinimiser
from lockstep.conformance.run_search import CandidateRun, RunReplay, RunSearch
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.models.model_manifest import ModelEntry, load_manifest
from lockstep.report.page.shown_behaviour import NoVerdictError
from lockstep.report.verdict_text import verdict_text
from lockstep.systems.system import System
from lockstep.systems.trace_files import Watched
from lockstep.systems.trace_specs import spec_hash
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, Value, sort_key
from lockstep.trace.trace_format import REFERENCE, Event, Header
from lockstep.trace.trace_reader import Trace

__all__ = ["MinimisedTrace", "NothingToMinimiseError", "minimise", "shortest_known"]

#: The value of a switch in the header of a system that has the flaw.
_PUBLISHED = "published"

T = TypeVar("T")


class NothingToMinimiseError(BadInputError):
    """Nothing is wrong with the trace, or another property than the one to keep; the message says which."""


@dataclass(frozen=True, slots=True)
class MinimisedTrace:
    """A shorter trace, and how it was found.

    `wrong` says what is wrong with it and with the given trace, and `properties` names the violated properties, if any.
    `given` is the number of events of the given trace, and `first` that of its steps up to what is wrong.
    `is_minimal`: no part can be removed; else the time was over before that was known. `is_cut`: it is a part of the
    given trace, with every value as recorded. `is_rerun`: the reference took its steps again, and this is its trace.
    `tried` counts the runs that were tried.
    """

    header: Header
    events: tuple[Event, ...]
    wrong: str
    properties: tuple[str, ...]
    given: int
    first: int
    is_minimal: bool
    is_cut: bool
    tried: int
    is_rerun: bool = False


def minimise(
    trace: Trace,
    spec: Spec,
    system: System,
    *,
    only: str | None = None,
    action: str | None = None,
    deadline: Deadline = NEVER,
    say: Say = silent,
) -> MinimisedTrace:
    """Return a 1-minimal trace with the same verdict.

    A trace that violates properties is taken again on the spec, step by step, without the steps that can be removed. A
    trace that leaves the spec, or was imported from a recording, is a record of what a system did: it is cut to what
    happened before. But where a reference wrote it and leaves the spec again when run again, the reference takes fewer
    and fewer of its steps.
    Arguments: `trace`, opened; `spec`, compiled for it; `only`, the property to keep violated, by default what the
    first finding names; `action`, the action that violates it, by default any; `deadline`, after which the shortest so
    far is returned.
    Raises NothingToMinimiseError where nothing is wrong, TraceError and UnreadableError where the trace is malformed,
    NoVerdictError where the check came to none.
    """
    given = ListedTrace(trace.source, tuple(Watched(trace, say, deadline)))
    interface = system.interface(spec)
    verdict = _refused_unless_violated(check_trace(given, spec, interface), only)
    check = TraceCheck(given, spec, interface)
    properties = None if only is None else {only}
    leaves = only is None and verdict.findings[0].kind != "property"
    is_cut = any(event.line is not None for _, event in given) or leaves
    if leaves and (again := _rerun(given, trace.header, verdict, spec, system, deadline, say)) is not None:
        return again
    if is_cut:
        recorded = [PlacedEvent(place, line, event) for place, (line, event) in enumerate(given)]
        replay, whole = _until_wrong(RunReplay(spec, partial(take_placed, check), properties), check, recorded)
        past = RunSearch(replay, whole, deadline, say, ends=lambda event: event is whole.steps[-1])
        first, is_minimal = len(past.best.steps), cut_to_past(past, check)
        events, wrong, tried = [each.event for each in past.best.steps], past.wanted, past.tried
    else:
        taken = [_step(check, line, event) for line, event in given if not check.reading.is_observation(event)]
        begun = _until_wrong(RunReplay(spec, Rebinding(spec).take, properties), check, taken)
        steps = RunSearch(*begun, deadline, say, ends=lambda step: action in (None, step.action))
        first, is_minimal = len(steps.best.steps), minimise_steps(steps, partial(_observed_and_sent, check))
        nodes = frozenset(trace.header.nodes)
        events, wrong, tried = list(_events(steps.best, check, nodes)), steps.wanted, steps.tried
    left = verdict.findings[0] if only is None and verdict.findings[0].kind != "property" else None
    names = () if left is not None else tuple(sorted(name for (name,) in wrong))
    found = MinimisedTrace(
        header=_header(trace.header, system, is_cut),
        events=tuple(events),
        wrong=f"violates {', '.join(names)}" if left is None else f"leaves the spec at {left.action} ({left.code})",
        properties=names,
        given=len(given.events),
        first=first,
        is_minimal=is_minimal,
        is_cut=is_cut,
        tried=tried,
    )
    _confirm(found, verdict, spec, interface, only)
    return found


def _rerun(
    given: ListedTrace,
    recorded: Header,
    verdict: TraceVerdict,
    spec: Spec,
    system: System,
    deadline: Deadline,
    say: Say,
) -> MinimisedTrace | None:
    """Let the reference take fewer steps; None where it did not write the trace, or no longer leaves the spec."""
    if system.simulator is None or recorded.system != REFERENCE or any(event.line for _, event in given):
        return None
    simulator, wanted, interface = system.simulator, _first(verdict), system.interface(spec)

    def rerun(steps: Sequence[Event]) -> Sequence[Event] | None:
        events = list(simulator.again(header, steps))
        found = check_trace(ListedTrace.numbered("", events), spec, interface)
        is_same = found.verdict is Verdict.VIOLATED and _first(found) == wanted
        return events[: found.findings[0].line - 1] if is_same else None

    constants = {} if system.constants is None else system.constants.defaults
    header = msgspec.structs.replace(recorded, constants={**constants, **recorded.constants})
    first = verdict.findings[0]
    steps = [event for line, event in given if line <= first.line]
    search = RerunMinimiser(rerun, lambda event: event.node, deadline, say)
    if not search.begin(steps):
        return None
    is_minimal = search.shorten()
    origin = f"minimised by running the reference again, from: {recorded.origin or 'a trace'}"
    return MinimisedTrace(
        header=msgspec.structs.replace(recorded, origin=origin),
        events=tuple(search.best),
        wrong=f"leaves the spec at {first.action} ({first.code})",
        properties=(),
        given=len(given.events),
        first=len(steps),
        is_minimal=is_minimal,
        is_cut=False,
        tried=search.tried,
        is_rerun=True,
    )


def _refused_unless_violated(verdict: TraceVerdict, only: str | None) -> TraceVerdict:
    """Return the verdict if there is a violation to keep; raise the error that says why there is not."""
    line = verdict_text(verdict).splitlines()[0]
    if verdict.verdict is Verdict.MALFORMED:
        raise BadInputError(verdict.reason)
    if all(finding.disputed for finding in verdict.findings):
        if verdict.verdict is Verdict.HOLDS:
            raise NothingToMinimiseError(f"nothing to minimise: {line}")
        raise NoVerdictError(line)
    if only is not None and only not in verdict.violations:
        others = ", ".join(verdict.violations) or "no property"
        raise NothingToMinimiseError(f"{verdict.source}: nothing to minimise: it violates {others}, not {only}")
    return verdict


def _until_wrong(replay: RunReplay[T], check: TraceCheck, steps: Iterable[T]) -> tuple[RunReplay[T], CandidateRun[T]]:
    """Take steps from the initial state to the first thing that is wrong."""
    begin = replay.begin(check.initial())
    return replay, begin if begin.wrong else replay.after(begin, 0, steps)


def _step(check: TraceCheck, line: int, event: Event) -> RecordedStep:
    args = check.reading.arguments(line, event)
    return RecordedStep(event.node, event.action, args, tuple(event.shows), event.sent is not None)


def _observed(check: TraceCheck, state: State, step: RecordedStep) -> Value:
    return check.observable(state, 0, Event(seq=0, node=step.node, action=step.action))


def _sent(check: TraceCheck, before: State, after: State, step: RecordedStep) -> list[Value]:
    """Return the messages that a step sent, in the order of TLC; none where the spec has no outbox."""
    if not step.node or not check.interface.has_outbox(check.spec):
        return []
    node = check.reading.node(Event(seq=0, node=step.node, action=step.action))
    return sorted((check.outbox(after, node) - check.outbox(before, node)).elements(), key=sort_key)


def _observed_and_sent(check: TraceCheck, before: State, after: State, step: RecordedStep) -> tuple[Value, list[Value]]:
    return _observed(check, after, step), _sent(check, before, after, step)


def _events(run: CandidateRun[RecordedStep], check: TraceCheck, nodes: frozenset[str]) -> Iterator[Event]:
    """Yield the events of a run, which show the same fields as before, with the values that the spec has now."""
    words = check.reading.words
    for number, step in enumerate(run.steps):
        before, after = run.states[number : number + 2]
        params = check.spec.actions[step.action].params
        if step.node and params and step.args[params[0]] == words.strings.get(step.node, step.node):
            params = params[1:]  # the node is the first
        shows: dict[str, object] = {}
        if step.shows:
            observed = _observed(check, after, step)
            record = observed.d if isinstance(observed, Fcn) else {}
            names = {words.strings.get(name, name): name for name in step.shows}
            shows = {name: to_tree(record[key], words) for key, name in names.items() if key in record}
        event = Event(
            seq=number,
            node=step.node,
            action=step.action,
            args={name: _by_node(to_tree(step.args[name], words), nodes) for name in params},
            shows=_by_node(shows, nodes),
        )
        if step.has_sent:
            sent = tuple(_by_node(to_tree(message, words), nodes) for message in _sent(check, before, after, step))
            event = msgspec.structs.replace(event, sent=sent)
        yield event


def _by_node(tree: Any, nodes: frozenset[str]) -> Any:
    """Return a tree whose objects by node have the nodes in order."""
    if isinstance(tree, list):
        return [_by_node(each, nodes) for each in tree]
    if not isinstance(tree, dict):
        return tree
    names = sorted(tree) if tree.keys() <= nodes else list(tree)
    return {name: _by_node(tree[name], nodes) for name in names}


def _header(header: Header, system: System, is_cut: bool) -> Header:
    if is_cut:
        return msgspec.structs.replace(header, origin=f"a part of: {header.origin or 'a trace'}")
    known = spec_hash(system) if system.constants is not None else ""
    return msgspec.structs.replace(
        header, origin=f"minimised on the spec from: {header.origin or 'a trace'}", spec_hash=known
    )


def _confirm(found: MinimisedTrace, given: TraceVerdict, spec: Spec, interface: Interface, only: str | None) -> None:
    """Check the minimised trace; raise RuntimeError where it has another verdict."""
    again = check_trace(ListedTrace.numbered("", found.events), spec, interface)
    if only is not None:
        is_same = only in again.violations and again.violations[only].seq == found.events[-1].seq
    else:
        is_same = _first(again) == _first(given)
    if not is_same:
        raise RuntimeError(f"the minimised trace has another verdict: {again.reason}")


def _first(verdict: TraceVerdict) -> set[tuple[str, str, str, str]]:
    """Return the findings at the first line: each failing property, or the action and how it leaves the spec."""
    line = verdict.findings[0].line if verdict.findings else 0
    return {
        (each.kind, each.code, each.name, "" if each.kind == "property" else each.action)
        for each in verdict.findings
        if each.line == line
    }


def shortest_known(system: System, header: Header, names: Iterable[str]) -> tuple[ModelEntry, int] | None:
    """Return the model with the shortest counterexample to one of some properties, and the number of its steps.

    Only models of a flaw that the header's system has count. Their counterexamples are found breadth-first, so they are
    the shortest within the bounds of the model.
    """
    if system.manifest is None or system.constants is None:
        return None
    chosen: Mapping[str, object] = {**system.constants.defaults, **header.constants}
    violated = set(names)
    known = [
        (entry.depth - 1, entry.name, entry)
        for entry in load_manifest(system.manifest).models
        if entry.switch is not None and entry.depth is not None and entry.violates in violated
        if chosen.get(entry.switch) == _PUBLISHED and entry.mode == "check"
    ]
    if not known:
        return None
    count, _, entry = min(known, key=lambda each: each[:2])
    return entry, count
