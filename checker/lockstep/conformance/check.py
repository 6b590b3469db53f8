"""Trace x spec -> verdict: is every event a step that the spec allows, and does it show what the spec says?

The compiled spec starts in its one initial state. For each event its action is taken with the event's own
parameters; given state, action and parameters there is at most one successor, so the check is linear in the
trace. Then what the node shows is compared with what the spec says of it, what it sent with what the step adds
to the messages under way from it, and every property is evaluated. Nothing of the trace is ever written into the
spec's state.

Whose fault an error is: a trace is malformed where its values cannot be compared with the spec's, which is told
before anything of the spec is evaluated with them. So what fails in evaluation after that is an internal error.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from lockstep.base.characters import counted, visible_line
from lockstep.base.errors import EnvironmentFailedError, GaveUpError, too_deep
from lockstep.base.verdict import Verdict
from lockstep.conformance.codes import REFUSED, SENT, SHOWS, STEP
from lockstep.conformance.incremental import Evaluation, Incremental, Literal
from lockstep.conformance.interface import Interface
from lockstep.conformance.reading import Reading
from lockstep.conformance.shown.compare import copies
from lockstep.conformance.shown.remembering import Remembering
from lockstep.tla.compile.blame import placed
from lockstep.tla.compile.module.parts import PathOf
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.html import table
from lockstep.tla.values.kinds import ArgumentError, Fcn, TlaError, Value
from lockstep.tlc.supervised_process import ToolDied, ToolMissing
from lockstep.trace.format import Event, TraceError
from lockstep.trace.json_lines import UnreadableError

#: What a reason begins with where it is the spec that failed.
NOT_EVALUATED = "the spec could not be evaluated"

#: What is said of the properties where none fails.
EVERY = "every property holds"

#: The action of a finding in the initial state, before any event.
INIT = "Init"


class Follower(Protocol):
    """Called for each event of a trace that a check has come to."""

    def __call__(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        """Receive the states before and after an event; `after` is None where the spec does not allow it."""


def nobody(check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
    """Ignore the event."""


class Events(Protocol):
    """A trace: `source` names its file; iterating yields (line number, event) and raises TraceError."""

    @property
    def source(self) -> str:
        """The file."""

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at one event, or in the initial state (then `action` is "Init").

    `kind` is "step" (the action is not enabled), "shows" (an observed field differs), "sent" (the messages are
    not those that the step sent), "refused" (it is enabled, and a system that was asked refuses it) or "property";
    `code` is its rule's; `name` the action, field or property; `details`
    are lines of explanation; `spec_line` and `reference_line` name the TLA+ and the Python source as FILE:LINE. Of
    several logs that are one system's, `source` names the file, and `kind` is "unexplained" where no behaviour explains
    the line; it is "state" where no step leads to a state that is told in full. `disputed`: it is wrong in an order of
    the events that their recording contradicts, and so violates nothing.
    """

    kind: str
    code: str
    name: str
    line: int
    seq: int
    node: str
    action: str
    details: tuple[str, ...] = ()
    spec_line: str = ""
    reference_line: str = ""
    recorded_line: int | None = None
    source: str = ""
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """ProcessEnd many behaviours explain some logs, and what would tell them apart.

    `states` is the largest number of states after a line, `explanations` how many ends explain all lines, `hidden` the
    number of hidden steps by action in the first of these; `entropy`, of each variable that was not always the same,
    the mean over the lines of the entropy of its values over those states, in bits, the greatest first.
    """

    states: int
    explanations: int
    hidden: dict[str, int]
    entropy: dict[str, float]


@dataclass(slots=True)
class TraceVerdict:
    """What the check of one trace found.

    `findings` holds at most one deviation from the spec (the check stops there) and the first violation of
    each property. `steps` counts the events that were steps, `events` all that were read, `observed` the values
    that were compared: each part of what was shown, each message sent, each word that nothing was sent. `forced` are
    the lines of events that stand where a recording contradicts them; from the line `disputed` on, that contradicts the
    order of the events. `notes` are lines on what does not change the verdict. Of logs that tell a part of what
    happened, `ambiguity` tells how sure this is. `sources` are the files of several logs that are one system's, and
    `source` names them all; of one file it is empty.
    """

    source: str
    verdict: Verdict
    reason: str
    events: int = 0
    steps: int = 0
    observed: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)
    disputed: int | None = None
    notes: list[str] = field(default_factory=list)
    ambiguity: Ambiguity | None = None
    sources: list[str] = field(default_factory=list)

    @property
    def deviation(self) -> Finding | None:
        """The event at which the trace leaves the spec, if there is one."""
        return next((f for f in self.findings if f.kind != "property"), None)

    @property
    def violations(self) -> dict[str, Finding]:
        """The properties that fail, each with its first event."""
        return {f.name: f for f in self.findings if f.kind == "property"}

    def add(self, found: Finding) -> None:
        """Add a finding, which is disputed where the order of the events is."""
        is_disputed = self.disputed is not None and found.line >= self.disputed
        self.findings.append(replace(found, disputed=is_disputed))

    def note_place(self, line: int, event: Event) -> None:
        """Note whether an event stands where its recording contradicts it, or begins an order that it contradicts."""
        if event.forced:
            self.forced.append(line)
        if self.disputed is None and (event.forced or event.disputed):
            self.disputed = line

    def _repr_html_(self) -> str:
        """Show the verdict and what was found in a notebook."""
        counts = counts_of(self)
        rows = [
            (each.code, each.line, each.node, each.action, each.name, "\n".join(each.details), each.spec_line)
            for each in self.findings
        ]
        heads = ["code", "line", "node", "action", "what", "why", "spec"] if rows else []
        return table(f"{self.source}: {self.verdict}: {self.reason} ({counts})", heads, rows)


def counts_of(verdict: TraceVerdict) -> str:
    """Return what was counted in a check: events, steps, and values compared."""
    counts = counted(verdict.events, "event"), counted(verdict.steps, "step"), counted(verdict.observed, "value")
    return f"{', '.join(counts)} compared"


def check_trace(
    trace: Events,
    spec: Spec,
    interface: Interface,
    evaluation: Evaluation = Evaluation.INCREMENTAL,
    follower: Follower = nobody,
) -> TraceVerdict:
    """Check one trace against the spec; every property the spec was loaded with is on.

    What an event shows is compared with the definition that the interface names, of the event's node if it takes one,
    and with the variables by name where the spec does not define it. Its node is the first parameter of its action; an
    event of no node gives them all.

    Arguments: `trace`, opened; `spec`, compiled with the constants the trace is told in; `interface`, where a trace
    meets this spec; `evaluation`, of the properties: each as it stands after every step, or what the
    step can have changed, which comes to the same; `follower`, called after each event.
    Returns the verdict; a malformed trace is a verdict too, with the file, line and field as its reason, and so
    is an error of the checker or the spec, with the line it had come to.
    """
    begin = time.perf_counter()
    check = TraceCheck(trace, spec, interface, evaluation, follower)
    try:
        check.run()
    except Exception as error:  # Whatever it is, it is this trace's alone.
        check.fail(failure(placed(error, spec.source), trace.source, check.place))
    check.result.seconds = time.perf_counter() - begin
    return check.result


def malformed(source: str, reason: str) -> TraceVerdict:
    """Return the verdict on what is no trace, such as the name of a file that is not there."""
    return TraceVerdict(source, Verdict.MALFORMED, reason)


def failure(error: Exception, source: str, place: str = "") -> TraceVerdict:
    """Return the verdict on a trace whose check, or what must come before it, ended in an error.

    Arguments: `source`, the trace's file; `place`, how far the check had come.
    """
    at = f" at {place}" if place else ""
    match error:
        case TraceError() | UnreadableError():
            return malformed(source, str(error))
        case ToolMissing() | ToolDied() | GaveUpError():
            return TraceVerdict(source, Verdict.INCONCLUSIVE, str(error))
        case OSError() | EnvironmentFailedError():
            return TraceVerdict(source, Verdict.INTERNAL, f"the machine, not the trace: {error}")
        case TlaError():
            return TraceVerdict(source, Verdict.INTERNAL, f"{NOT_EVALUATED}{at}: {error}")
        case RecursionError():
            return TraceVerdict(source, Verdict.INCONCLUSIVE, too_deep(at))
        case _:
            return TraceVerdict(source, Verdict.INTERNAL, f"{type(error).__name__}{at}: {error}")


def conclude(result: TraceVerdict) -> None:
    """Give the verdict on a trace that was checked to its end, or to where it leaves the spec.

    What is wrong where the recording contradicts the order of the events may be the order's fault, and violates
    nothing. What is wrong before that is wrong in every order, since the events up to there are the same.
    """
    certain = [finding for finding in result.findings if not finding.disputed]
    violated = ", ".join(sorted(finding.name for finding in certain if finding.kind == "property"))
    deviation = result.deviation
    if deviation is not None and not deviation.disputed:
        result.verdict = Verdict.VIOLATED
        result.reason = f"not a behaviour of the spec from line {deviation.line} on"
    elif violated and deviation is None:
        result.verdict, result.reason = Verdict.VIOLATED, f"a behaviour of the spec that violates {violated}"
    elif violated:
        result.verdict = Verdict.VIOLATED
        result.reason = f"violates {violated} before line {result.disputed}, from which on {_CONTRADICTS}"
    elif result.findings:
        assert result.disputed is not None
        result.verdict, result.reason = Verdict.INCONCLUSIVE, _disputed_reason(result)
    elif result.steps == 0:
        result.verdict, result.reason = Verdict.INCONCLUSIVE, "the trace is empty: it takes no step"
    elif result.disputed is not None and not result.forced:
        result.verdict = Verdict.INCONCLUSIVE
        result.reason = f"a behaviour of the spec, but from line {result.disputed} on {_CONTRADICTS}"
    elif result.forced:
        result.verdict = Verdict.INCONCLUSIVE
        result.reason = (
            f"a behaviour of the spec, but {len(result.forced)} of its steps, the first at line {result.forced[0]}, "
            "are forced: the recording contradicts them"
        )
    else:
        result.verdict, result.reason = Verdict.HOLDS, f"a behaviour of the spec; {EVERY}"
    if result.steps and not result.observed and result.deviation is None:
        result.reason += "; the trace shows nothing, so only its actions and their parameters were compared"


_CONTRADICTS = "the recording contradicts the order of its steps"


def _disputed_reason(result: TraceVerdict) -> str:
    """Say what is wrong in an order of the events that their recording contradicts."""
    if result.deviation is not None:
        wrong = f"not a behaviour of the spec from line {result.deviation.line} on"
    else:
        wrong = f"a behaviour of the spec that violates {', '.join(sorted(result.violations))}"
    return f"{wrong}, but from line {result.disputed} on {_CONTRADICTS}"


def place_of_event(line: int, event: Event) -> str:
    """Say how far a check has come: the line, its action, and the node if it has one."""
    return (
        f"line {line} ({event.action} of {visible_line(event.node)})" if event.node else f"line {line} ({event.action})"
    )


def place_of_property(spec: Spec, name: str) -> str:
    """Return where a property is defined; `Name#2` is a part of one."""
    return str(spec.property_places.get(name.partition("#")[0], ""))


_CODES = {"step": STEP, "shows": SHOWS, "sent": SENT, "refused": REFUSED}


def finding(
    spec: Spec,
    interface: Interface,
    kind: str,
    name: str,
    line: int,
    event: Event,
    details: Iterable[str] = (),
    location: str = "",
) -> Finding:
    """Describe what is wrong at an event, with the lines of spec and reference (`location`: of the spec, if known)."""
    action = spec.actions.get(event.action)
    return Finding(
        kind=kind,
        code=_CODES.get(kind) or interface.code_of(name),
        name=name,
        line=line,
        seq=event.seq,
        node=event.node,
        action=event.action,
        details=tuple(details),
        spec_line=location or (str(action.loc) if action else ""),
        reference_line=interface.locate(event.action),
        recorded_line=event.line,
    )


class TraceCheck:
    """One check: what was found so far in `result`, and how far it has come in `place`."""

    def __init__(
        self,
        trace: Events,
        spec: Spec,
        interface: Interface,
        evaluation: Evaluation = Evaluation.INCREMENTAL,
        follower: Follower = nobody,
    ) -> None:
        """Prepare the check of a trace, as check_trace does it."""
        self.evaluation, self.follower = evaluation, follower
        self.trace, self.spec, self.interface = trace, spec, interface
        self.reading = Reading(trace.source, spec.actions, interface)
        self.remembering = Remembering(self.reading.words)
        self.result = TraceVerdict(trace.source, Verdict.INCONCLUSIVE, "")
        self.failed: set[str] = set()
        self._outboxes: dict[Value, tuple[State, Counter[Value]]] = {}
        self.place = "the initial state"

    def run(self) -> None:
        """Check the trace from its begin to its end, or to where it leaves the spec."""
        state = self.initial()
        properties = self.properties()
        self._check_initial(state)
        self.follow(state, properties)
        conclude(self.result)

    def properties(self) -> Literal | Incremental:
        """Return what evaluates the properties of the steps to come."""
        return Literal(self.spec) if self.evaluation is Evaluation.LITERAL else Incremental(self.spec)

    def follow(self, state: State, properties: Literal | Incremental) -> State | None:
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
            self.follower(self, state, line, event, after)
            if after is None:
                return None
            state = after  # of an observation the same
        return state

    def failing(self, properties: Literal | Incremental, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        return properties.violated(state, after)

    @cached_property
    def outbox_paths(self) -> list[PathOf]:
        """The paths into the state that tell which messages are under way from a node; 0 stands for the node."""
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
        return after if after is not None and self._agrees(state, after, line, event) else None

    def fail(self, failed: TraceVerdict) -> None:
        """Take over the verdict that an error led to; what was counted and found so far stays."""
        self.result.verdict, self.result.reason = failed.verdict, failed.reason

    def _step(self, state: State, line: int, event: Event) -> State | None:
        if self.reading.is_observation(event):
            self.reading.refuse_arguments(line, event)
            return state
        args = self.reading.arguments(line, event)
        try:
            after = self.spec.step(state, event.action, args)
        except ArgumentError as error:
            # The step asks first whether each argument is in the set that its quantifier binds it to, and raises
            # this one error where the two cannot be compared. An argument that is in the set is a value of the
            # spec's own, so any other error, from then on, is the spec's.
            raise self.reading.malformed(line, f"args.{error.name}", str(error)) from error
        if after is None:
            branches = self.spec.explain(state, event.action, args).branches
            details = [text for branch in branches for text in str(branch).split("\n")]
            self._found("step", event.action, line, event, details, str(branches[0].failed.loc) if branches else "")
        return after

    def _agrees(self, state: State, after: State, line: int, event: Event) -> bool:
        """Compare what the event shows with the state after it, and what it sent with what the step adds."""
        return self._shows(after, line, event) and self._sent(state, after, line, event)

    def _shows(self, after: State, line: int, event: Event) -> bool:
        if not event.shows:
            return True
        observable = self.observable(after, line, event)
        count = self.remembering.equal_count(event.node, event.shows, observable)
        if count is not None:
            self.result.observed += count
            return True
        compared = self.reading.compared(event, line, observable)
        self.result.observed += len(compared)
        differing = [each for each in compared if not each.equal]
        if differing:
            self._found("shows", differing[0].path, line, event, [str(each) for each in differing], "")
        return not differing

    def observable(self, state: State, line: int, event: Event) -> Value:
        """Return what the node of an event may show in a state; raises TraceError where it must have one."""
        observe = self.interface.observe
        if observe not in self.spec.definitions:
            return Fcn(dict(state.as_dict()))
        if not self.spec.arity(observe):
            return self.spec.evaluate(observe, state)
        if not event.node:
            raise self.reading.no_node(line)
        return self.spec.evaluate(observe, state, self.reading.node(event))

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
        """Tell whether a step left everything alone that tells of the messages from a node, by identity."""
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
