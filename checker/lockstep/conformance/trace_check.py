"""The check of a trace against the compiled spec: is every event a step that is allowed, and are its values the spec's?

The compiled spec starts in its one initial state. For each event its action is taken with the event's own
parameters; given state, action and parameters there is at most one successor, so the check is linear in the
trace. Then what the node shows is compared with the spec's values, what it sent with what the step adds to the
messages under way from it, and every property is evaluated. Nothing of the trace is ever written into the spec's
state.

A trace is malformed where its values cannot be compared with the spec's. That is decided before anything of the spec is
evaluated with them, so what fails in evaluation after that is an internal error.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

from lockstep.base.verdict import Verdict
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface, copies
from lockstep.conformance.step_coverage import StepCoverage
from lockstep.conformance.trace_verdict import (
    INIT,
    TraceVerdict,
    conclude,
    failure,
    finding,
    place_of_event,
    place_of_property,
)
from lockstep.tla.compile.property_parts import PathOf
from lockstep.tla.compile.spec_fault import with_place
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ArgumentError, Fcn, TlaError, Value
from lockstep.trace.trace_format import Event


class EventListener(Protocol):
    """Called for each event of a trace that a check has come to."""

    def __call__(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        """Receive the states before and after an event; `after` is None where the spec does not allow it."""


def ignore_event(check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
    """Ignore the event."""


class Events(Protocol):
    """A trace: `source` names its file; iterating yields (line number, event) and raises TraceError."""

    @property
    def source(self) -> str:
        """The file."""

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""


def check_trace(
    trace: Events,
    spec: Spec,
    interface: Interface,
    evaluation: Callable[[Spec], Evaluation] = IncrementalEvaluation,
    listener: EventListener = ignore_event,
    *,
    covers: bool = False,
) -> TraceVerdict:
    """Check one trace against the spec; every property the spec was loaded with is on.

    What an event shows is compared with the definition that the interface names, of the event's node if it takes one,
    and with the variables by name where the spec does not define it. Its node is the first parameter of its action; an
    event of no node gives them all.

    Arguments: `trace`, opened; `spec`, compiled with the constants of the trace; `interface`, where a trace
    meets this spec; `evaluation`, of the properties: IncrementalEvaluation, or LiteralEvaluation with the same
    results; `listener`, called after each event; `covers`, whether the verdict is to have what the trace reaches.
    Returns the verdict; a malformed trace is a verdict too, with the file, line and field as its reason, and so
    is an error of the checker or the spec, with the line it had come to.
    """
    begin = time.perf_counter()
    check = TraceCheck(trace, spec, interface, evaluation, listener)
    try:
        if covers:
            check.cover()
        check.run()
    except Exception as error:  # Whatever it is, it is this trace's alone.
        check.result.fail(failure(with_place(error, spec.source), trace.source, check.place))
    check.result.seconds = time.perf_counter() - begin
    return check.result


class TraceCheck:
    """One check: what was found so far in `result`, and how far it has come in `place`."""

    def __init__(
        self,
        trace: Events,
        spec: Spec,
        interface: Interface,
        evaluation: Callable[[Spec], Evaluation] = IncrementalEvaluation,
        listener: EventListener = ignore_event,
    ) -> None:
        """Prepare the check of a trace, as check_trace does it."""
        self.evaluation, self.listener = evaluation, listener
        self.trace, self.spec, self.interface = trace, spec, interface
        self.reading = EventReader(trace.source, spec.actions, interface)
        self.result = TraceVerdict(trace.source, Verdict.INCONCLUSIVE, "")
        self.failed: set[str] = set()
        self.coverage: StepCoverage | None = None
        self._arguments: dict[str, Value] = {}
        self._outboxes: dict[Value, tuple[State, Counter[Value]]] = {}
        self.place = "the initial state"

    def cover(self) -> None:
        """Count what the steps to come reach; raises TlaError where the spec's definitions of that are none."""
        self.coverage = StepCoverage(self.spec)
        self.result.note_reached(self.coverage.times, self.coverage.parts)

    def run(self) -> None:
        """Check the trace from its begin to its end, or to where it leaves the spec."""
        state = self.initial()
        properties = self.properties()
        self._check_initial(state)
        self.follow(state, properties)
        conclude(self.result, has_unchecked=self.interface.has_unchecked)

    def properties(self) -> Evaluation:
        """Return an evaluation of the properties of the steps to come."""
        return self.evaluation(self.spec)

    def follow(self, state: State, properties: Evaluation) -> State | None:
        """Check the events of the trace as steps from a state; return the state after the last of them.

        Returns None where the trace leaves the spec. Raises TraceError where it is malformed.
        """
        for name in self.failed:
            properties.drop(name)
        properties.begin(state)
        for line, event in self.trace:
            self.place = place_of_event(line, event)
            self.result.events += 1
            self.result.note_place(line, event)
            after = self.advance(state, line, event)
            if after is not None and not self.reading.is_observation(event):
                self.result.steps += 1
                for name in self.failing(properties, state, after):
                    self._violated(name, line, event)
                    properties.drop(name)
            self.listener(self, state, line, event, after)
            if after is None:
                return None
            state = after  # of an observation the same
        return state

    def failing(self, properties: Evaluation, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        return properties.violated(state, after)

    @cached_property
    def outbox_paths(self) -> list[PathOf]:
        """The paths into the state to the messages that are under way from a node; 0 stands for the node."""
        outbox = self.interface.outbox
        assert outbox is not None
        return [*self.spec.footprint(outbox.operator), (outbox.network, 0)]

    def initial(self) -> State:
        """Return the state that every trace begins in; raises TlaError where the spec has several."""
        initial = list(self.spec.initial_states())
        if len(initial) != 1:
            raise TlaError(f"there are {len(initial)} initial states, not one")
        return initial[0]

    def advance(self, state: State, line: int, event: Event) -> State | None:
        """Return the state after an event, or None, with a finding, where the event is not the spec's.

        Raises TraceError where it cannot be compared with the spec.
        """
        after = self._step(state, line, event)
        if after is None or not self.agrees(state, after, line, event):
            return None
        if self.coverage is not None and not self.reading.is_observation(event):
            self.coverage.count(state, event.action, self._arguments, after)
        return after

    def _step(self, state: State, line: int, event: Event) -> State | None:
        if self.reading.is_observation(event):
            self.reading.refuse_arguments(line, event)
            return state
        args = self._arguments = self.reading.arguments(line, event)
        try:
            after = self.spec.step(state, event.action, args)
        except ArgumentError as error:
            # The step decides first whether each argument is in the set that its quantifier binds it to, and raises
            # this one error where the two cannot be compared. An argument that is in the set is a value of the
            # spec's own, so any other error, from then on, is the spec's.
            raise self.reading.malformed(line, f"args.{error.name}", str(error)) from error
        if after is None:
            branches = self.spec.explain(state, event.action, args).branches
            details = [text for branch in branches for text in str(branch).split("\n")]
            self._found("step", event.action, line, event, details, str(branches[0].failed.loc) if branches else "")
        return after

    def agrees(self, state: State, after: State, line: int, event: Event) -> bool:
        """Compare what an event shows with the state after it, and what it sent with what the step adds.

        What differs is a finding; raises TraceError as `advance` does.
        """
        return self._shows(after, line, event) and self._sent(state, after, line, event)

    def _shows(self, after: State, line: int, event: Event) -> bool:
        if not event.shows:
            return True
        count, differences = self.reading.compare(event, line, self.observable(after, line, event))
        self.result.observed += count
        if differences:
            self._found("shows", differences[0].path, line, event, [str(each) for each in differences], "")
        return not differences

    def observable(self, state: State, line: int, event: Event) -> Value:
        """Return what the node of an event may show in a state; raises TraceError where it must have one."""
        if not event.node and self.interface.takes_node(self.spec):
            raise self.reading.no_node(line)
        return self.interface.observable(self.spec, state, self.reading.node(event))

    def _sent(self, state: State, after: State, line: int, event: Event) -> bool:
        if event.sent is None:
            return True
        if not self.interface.has_outbox(self.spec) or not event.node:
            raise self.reading.no_outbox(line)
        self.result.observed += max(1, len(event.sent))
        node = self.reading.node(event)
        if not event.sent and self._outbox_stays(state, after, node):
            return True
        last = self._outboxes.get(node)
        before = last[1] if last is not None and self._outbox_stays(last[0], state, node) else self.outbox(state, node)
        outbox = self.outbox(after, node)
        self._outboxes[node] = after, outbox
        added = outbox - before
        details = self.reading.sent_details(event, line, outbox, added)
        if details:
            self._found("sent", "sent", line, event, details, "")
        return not details

    def _outbox_stays(self, state: State, after: State, node: Value) -> bool:
        """Return whether a step left the messages from a node alone, by identity."""
        for variable, *steps in self.outbox_paths:
            now, then = state[variable], after[variable]
            if steps and steps[0] == 0 and type(now) is Fcn and type(then) is Fcn:
                now, then = now.d.get(node), then.d.get(node)
            if now is not then:
                return False
        return True

    def outbox(self, state: State, node: Value) -> Counter[Value]:
        """Count the copies of each message under way from a node."""
        outbox = self.interface.outbox
        assert outbox is not None
        fresh = self.spec.evaluate(outbox.operator, state, node)
        channels = state[outbox.network].d[node]
        return Counter({message: count for message, count in copies(channels).items() if message in fresh})

    def _check_initial(self, state: State) -> None:
        for properties in (self.spec.invariants, self.spec.initial_properties):
            for name, holds in properties.items():
                if name not in self.failed and not holds(state):
                    self._violated(name, 1, Event(seq=0, node="", action=INIT))

    def _violated(self, name: str, line: int, event: Event) -> None:
        self.failed.add(name)
        self._found("property", name, line, event, [], place_of_property(self.spec, name))

    def _found(self, kind: str, name: str, line: int, event: Event, details: list[str], location: str) -> None:
        self.result.add(finding(self.spec, self.interface, kind, name, line, event, details, location))
