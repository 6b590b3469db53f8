"""Trace x spec -> verdict: is every event a step that the spec allows, and does it show what the spec says?

The compiled spec starts in its one initial state. For each event its action is taken with the event's own
parameters; given state, action and parameters there is at most one successor, so the check is linear in the
trace. Then what the node shows is compared with the spec's Observe(node), what was sent with the messages
under way, and every property is evaluated. Nothing of the trace is ever written into the spec's state.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockstep.observe import UnknownFieldError, differences, to_value
from lockstep.reference import reference_location
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.text import format_value
from lockstep.tla.values import TlaError, Value
from lockstep.trace.format import OBSERVE, Event, Trace, TraceError
from lockstep.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at one event.

    `kind` is "step" (the action is not enabled), "shows" (an observed field differs), "sent" (a message is not
    under way) or "property"; `name` the action, field or property; `details` are lines of explanation;
    `spec_line` and `reference_line` name the TLA+ and the Python source as FILE:LINE.
    """

    kind: str
    name: str
    line: int
    seq: int
    node: str
    action: str
    details: tuple[str, ...] = ()
    spec_line: str = ""
    reference_line: str = ""
    recorded_line: int | None = None


@dataclass(slots=True)
class TraceVerdict:
    """What the check of one trace found.

    `findings` holds at most one deviation from the spec (the check stops there) and the first violation of
    each property. `steps` counts the events that were steps, `events` all that were read.
    """

    source: str
    verdict: Verdict
    reason: str
    events: int = 0
    steps: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)

    @property
    def deviation(self) -> Finding | None:
        """The event at which the trace leaves the spec, if there is one."""
        return next((f for f in self.findings if f.kind != "property"), None)

    @property
    def violations(self) -> dict[str, Finding]:
        """The properties that fail, each with its first event."""
        return {f.name: f for f in self.findings if f.kind == "property"}


def check_trace(trace: Trace, spec: Spec) -> TraceVerdict:
    """Check one trace against the spec; every property the spec was loaded with is on.

    Arguments: `trace`, opened; `spec`, compiled with the constants the trace is told in.
    Returns the verdict; a malformed trace is a verdict too, with the file, line and field as its reason.
    """
    begin = time.perf_counter()
    check = _Check(trace, spec)
    try:
        check.run()
    except TraceError as error:
        check.result.verdict, check.result.reason = Verdict.MALFORMED, str(error)
    check.result.seconds = time.perf_counter() - begin
    return check.result


class _Check:
    """The state of one check: where the spec stands, and what was found so far."""

    def __init__(self, trace: Trace, spec: Spec) -> None:
        self.trace, self.spec = trace, spec
        self.result = TraceVerdict(trace.source, Verdict.INCONCLUSIVE, "")
        self.failed: set[str] = set()

    def run(self) -> None:
        initial = list(self.spec.initial_states())
        if len(initial) != 1:
            raise TraceError(self.trace.source, 1, f"the spec has {len(initial)} initial states, not one")
        state = initial[0]
        for line, event in self.trace:
            self.result.events += 1
            after = self._step(state, line, event)
            if after is None or not self._agrees(after, line, event):
                break
            if event.action != OBSERVE:
                self.result.steps += 1
                self._check_properties(state, after, line, event)
                state = after
        self._conclude()

    def _conclude(self) -> None:
        result = self.result
        if result.deviation is not None:
            result.verdict = Verdict.VIOLATED
            result.reason = f"not a behaviour of the spec from line {result.deviation.line} on"
        elif result.steps == 0:
            result.verdict, result.reason = Verdict.INCONCLUSIVE, "the trace is empty: it takes no step"
        elif result.findings:
            result.verdict = Verdict.VIOLATED
            result.reason = "a behaviour of the spec that violates " + ", ".join(sorted(result.violations))
        else:
            result.verdict, result.reason = Verdict.HOLDS, "a behaviour of the spec; every property holds"

    def _step(self, state: State, line: int, event: Event) -> State | None:
        if event.action == OBSERVE:
            if event.args:
                raise TraceError(self.trace.source, line, "field `args`: Observe takes none")
            return state
        args = self._arguments(line, event)
        try:
            after = self.spec.step(state, event.action, args)
        except TlaError as error:  # Of another type than the spec's parameter: it cannot even be compared.
            raise TraceError(self.trace.source, line, f"field `args`: {error}") from error
        if after is None:
            branches = self.spec.explain(state, event.action, args).branches
            details = [text for branch in branches for text in str(branch).splitlines()]
            self._found("step", event.action, line, event, details, str(branches[0].failed.loc) if branches else "")
        return after

    def _arguments(self, line: int, event: Event) -> dict[str, Any]:
        action = self.spec.actions.get(event.action)
        if action is None:
            raise TraceError(self.trace.source, line, f"field `action`: the spec has no action {event.action!r}")
        first, *others = action.params
        for name in others:
            if name not in event.args:
                raise TraceError(self.trace.source, line, f"field `args.{name}`: {event.action} needs it")
        for name in event.args:
            if name not in others:
                raise TraceError(self.trace.source, line, f"field `args.{name}`: {event.action} has none such")
        return {first: event.node} | {name: self._value(event.args[name], line) for name in others}

    def _value(self, tree: Any, line: int) -> Any:
        try:
            return to_value(tree)
        except ValueError as error:
            raise TraceError(self.trace.source, line, f"field `args`: {error}") from error

    def _agrees(self, state: State, line: int, event: Event) -> bool:
        """Compare what the event shows and sent with the state after it."""
        shown: Mapping[str, Any] = event.shows
        if shown:
            try:
                differing = differences(shown, self.spec.evaluate("Observe", state, event.node))
            except UnknownFieldError as error:
                raise TraceError(self.trace.source, line, str(error)) from error
            if differing:
                name = differing[0].path
                self._found("shows", name, line, event, [str(each) for each in differing], "")
                return False
        for message in event.sent:
            value = self._value(message, line)
            if not self._under_way(state, value, line):
                text = f"not under way after this step: {format_value(value)}"
                self._found("sent", "sent", line, event, [text], "")
                return False
        return True

    def _under_way(self, state: State, message: Value, line: int) -> bool:
        try:
            return self.spec.evaluate("InFlight", state, message) is True
        except TlaError as error:
            raise TraceError(self.trace.source, line, f"field `sent`: no message of the spec: {error}") from error

    def _check_properties(self, state: State, after: State, line: int, event: Event) -> None:
        for name, holds in self.spec.invariants.items():
            if name not in self.failed and not holds(after):
                self._violated(name, line, event)
        for name, keeps in self.spec.action_properties.items():
            if name not in self.failed and not keeps(state, after):
                self._violated(name, line, event)

    def _violated(self, name: str, line: int, event: Event) -> None:
        self.failed.add(name)
        self._found("property", name, line, event, [], str(self.spec.definitions.get(name, "")))

    def _found(self, kind: str, name: str, line: int, event: Event, details: list[str], location: str) -> None:
        action = self.spec.actions.get(event.action)
        finding = Finding(
            kind=kind,
            name=name,
            line=line,
            seq=event.seq,
            node=event.node,
            action=event.action,
            details=tuple(details),
            spec_line=location or (str(action.loc) if action else ""),
            reference_line=reference_location(event.action),
            recorded_line=event.line,
        )
        self.result.findings.append(finding)
