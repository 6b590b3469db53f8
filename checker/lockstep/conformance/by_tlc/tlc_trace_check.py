"""Check one trace with TLC: write the module, run TLC until nothing new is violated, and give the verdict."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.module_comparisons import count_compared
from lockstep.conformance.by_tlc.module_text import PROBE, SHOWS, decoded, printed_values
from lockstep.conformance.by_tlc.trace_module import ReadEvent, TraceModule
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import Events
from lockstep.conformance.trace_verdict import (
    INIT,
    TraceVerdict,
    conclude,
    failure,
    finding,
    place_of_event,
    place_of_property,
)
from lockstep.tla.loading.spec_project import Parsed
from lockstep.tla.spec import TWO_SUCCESSORS, AmbiguousStep, Spec
from lockstep.tla.values.kinds import Fcn, TlaError, Value
from lockstep.tlc import Budget, TlcOptions, TlcResult, ToolDied, run_tlc
from lockstep.tlc.tlc_result import Cause, PropertyKind
from lockstep.trace.json_lines import TraceError, UnreadableError
from lockstep.trace.trace_format import Event

#: From this number of events on a JVM that compiles better is worth its time.
MAX_SHORT_EVENTS = 2_000


@dataclass(frozen=True, slots=True)
class TlcSpec:
    """The spec that a trace is checked against: compiled (for its names alone), parsed, and its interface."""

    spec: Spec
    parsed: Parsed
    interface: Interface


def check_with_tlc(
    trace: Events, subject: TlcSpec, *, timeout_seconds: float | None = None, jar: Path | None = None
) -> TraceVerdict:
    """Check one trace with TLC; every property of the cfg is on.

    TLC stops at the first property that is violated, so it runs once more without each that is.

    Arguments: `trace`, opened; `subject`, what it is held against; `timeout_seconds`, the budget for the trace;
    `jar`, the tla2tools to use.
    Returns the verdict, in the form and by the rules of check_trace. A tool that is missing or dies, and a budget that
    is spent, are inconclusive.
    """
    begin = time.monotonic()
    deadline = None if timeout_seconds is None else begin + timeout_seconds
    check = _TlcCheck(trace, subject, deadline, jar)
    try:
        check.run()
    except Exception as error:  # Whatever it is, it is this trace's alone.
        check.result.fail(failure(error, trace.source, check.place))
    check.result.seconds = time.monotonic() - begin
    return check.result


def hold_with_tlc(traces: Sequence[Events], subject: TlcSpec, *, jar: Path | None = None) -> bool:
    """Return whether TLC finds every trace a behaviour of the spec in which every property holds, in one run for all.

    A trace with a step that its recording contradicts is none. To find out which trace is none, and why, use
    check_with_tlc. Arguments: `traces`, opened, all of one header but for their origin; `subject` and `jar` as there.
    Raises TraceError where a trace is malformed or takes no step, ValueError where there is no trace, ToolDied where
    TLC comes to no end.
    """
    events: list[ReadEvent | None] = []
    for trace in traces:
        check = _TlcCheck(trace, subject, None, jar)
        check.read()
        if check.malformed is not None:
            raise check.malformed
        if all(check.reading.is_observation(read.event) for read in check.events):
            raise TraceError(trace.source, 1, "the trace is empty: it takes no step")
        if check.result.forced:
            return False
        events += [None, *check.events] if events else check.events
    if not events:
        raise ValueError("there is no trace to check")
    module = TraceModule(subject.spec, subject.parsed, subject.interface, events)
    with scratch("trace") as folder:
        spec, cfg = module.write(folder, ())
        options = TlcOptions(
            deadlock_check=False, is_short=len(events) < MAX_SHORT_EVENTS, library=subject.parsed.directories, jar=jar
        )
        result = run_tlc(spec, cfg, options)
    if result.verdict in (Verdict.INCONCLUSIVE, Verdict.MALFORMED):
        raise ToolDied(f"TLC: {result.reason}")
    # A trace of n events that is a behaviour has n + 1 states, and a None between two traces has a number, too.
    return result.verdict is Verdict.HOLDS and result.distinct == len(events) + 1


class _TlcCheck:
    """The state of one check: the events, and what was found so far."""

    def __init__(self, trace: Events, subject: TlcSpec, deadline: float | None, jar: Path | None) -> None:
        self.trace, self.spec, self.parsed = trace, subject.spec, subject.parsed
        self.interface, self.deadline, self.jar = subject.interface, deadline, jar
        self.reading = EventReader(trace.source, subject.spec.actions, subject.interface)
        self.result = TraceVerdict(trace.source, Verdict.INCONCLUSIVE, "")
        self.events: list[ReadEvent] = []
        self.malformed: TraceError | UnreadableError | None = None
        self.violated: dict[str, int] = {}
        self.place = ""

    def run(self) -> None:
        self.read()
        module = self._module()
        with scratch("trace") as folder:
            result = self._run_to_the_last(module, folder)
            if result.verdict is Verdict.VIOLATED:
                # What is left is an error of evaluation. TLC does not always report where it was, so the module
                # prints what it does before it does it.
                module = self._module(probing=True)
                result = self._run_to_the_last(module, folder)
        self.result.notes += [f"note: {why}" for why in module.unwritten.values()]
        self._note_violations()
        if result.verdict is Verdict.VIOLATED:
            self._judge_error(module, result)
        else:
            self._judge(module, result)

    def _module(self, *, probing: bool = False) -> TraceModule:
        return TraceModule(self.spec, self.parsed, self.interface, self.events, probing=probing)

    def read(self) -> None:
        """Read the events up to the first that is malformed: what comes before it is checked first."""
        try:
            for line, event in self.trace:
                self.result.events += 1
                self.result.note_place(line, event)
                self.events.append(ReadEvent(line, event, self._arguments(line, event)))
        except (TraceError, UnreadableError) as error:
            self.malformed = error

    def _arguments(self, line: int, event: Event) -> tuple[Value, ...]:
        if self.reading.is_observation(event):
            self.reading.refuse_arguments(line, event)
            return ()
        args = self.reading.arguments(line, event)
        return tuple(args[name] for name in self.spec.actions[event.action].params)

    # ---- Running TLC ----

    def _run_to_the_last(self, module: TraceModule, folder: Path) -> TlcResult:
        """Run TLC until it finds no further property violated; return its last result."""
        while True:
            result = self._run_tlc(module, folder, self.violated)
            name = self._named(module, _violated_property(result))
            if name is None or name in self.violated:
                return result
            self.violated[name] = self._events_taken(module, result)

    def _named(self, module: TraceModule, violated: str | None) -> str | None:
        """Return the INVARIANT or PROPERTY of the cfg that TLC means where it names something as violated."""
        cfg = self.parsed.program.cfg
        return violated if violated in (*cfg.invariants, *cfg.properties) else module.property_of.get(violated or "")

    def _run_tlc(self, module: TraceModule, folder: Path, without: Collection[str]) -> TlcResult:
        left = None if self.deadline is None else self.deadline - time.monotonic()
        if left is not None and left <= 0:
            return TlcResult(Verdict.INCONCLUSIVE, "its time is spent", Cause.TIMED_OUT)
        spec, cfg = module.write(folder, without)
        options = TlcOptions(
            deadlock_check=False,
            is_short=len(self.events) < MAX_SHORT_EVENTS,
            budget=Budget(wall_seconds=left),
            library=self.parsed.directories,
            jar=self.jar,
        )
        return run_tlc(spec, cfg, options)

    def _events_taken(self, module: TraceModule, result: TlcResult) -> int:
        """Return how many events led to the last state that TLC printed."""
        steps = result.counterexample.steps if result.counterexample else ()
        if not steps:
            raise ToolDied(f"TLC reports: {result.reason}; and prints no state")
        return int(steps[-1].variables[module.names.next_event]) - 1

    # ---- The verdict ----

    def _note_violations(self) -> None:
        cfg = self.parsed.program.cfg
        order = [*cfg.invariants, *cfg.properties]
        for name, number in sorted(self.violated.items(), key=lambda item: (item[1], order.index(item[0]))):
            line, event = self._at(number)
            self._found("property", name, line, event, [], place_of_property(self.spec, name))

    def _at(self, number: int) -> tuple[int, Event]:
        if number == 0:
            return 1, Event(seq=0, node="", action=INIT)
        return self.events[number - 1].line, self.events[number - 1].event

    def _judge(self, module: TraceModule, result: TlcResult) -> None:
        """Give the verdict on TLC's last run, in which it found nothing violated."""
        if result.verdict is Verdict.INCONCLUSIVE:
            self._stops(result)
        elif result.verdict is Verdict.MALFORMED:
            raise TlaError(f"TLC refuses the module of this trace: {result.reason}")
        elif result.depth is None or result.distinct != result.depth:
            states = f"{result.distinct} states at depth {result.depth}"
            raise AmbiguousStep(f"{states}: an event {TWO_SUCCESSORS}, or there are two initial states")
        else:
            self._judge_depth(module, result.depth - 1, _printed(module, result))

    def _stops(self, result: TlcResult) -> None:
        """Give the verdict where TLC did not come to an end: what it found before is true all the same."""
        self.result.reason = f"TLC: {result.reason}"
        if self.result.findings:
            conclude(self.result, has_unchecked=self.interface.has_unchecked)
            self.result.reason += f"; the rest is not checked: TLC: {result.reason}"

    def _judge_depth(self, module: TraceModule, taken: int, printed: Mapping[int, tuple[str, Value]]) -> None:
        """Give the verdict where TLC took the first events, each a step of the spec that agrees."""
        self._count(taken)
        if taken < len(self.events):
            self._deviates(taken + 1, printed.get(taken + 1))
        elif self.malformed is not None:
            raise self.malformed
        conclude(self.result, has_unchecked=self.interface.has_unchecked)

    def _count(self, taken: int) -> None:
        done = [read.event for read in self.events[:taken]]
        if taken < len(self.events):
            self.result.events = taken + 1
        self.result.steps = sum(not self.reading.is_observation(event) for event in done)
        self.result.observed = sum(count_compared(event.shows) + _count_sent(event) for event in done)

    def _deviates(self, number: int, printed: tuple[str, Value] | None) -> None:
        """Note the event that TLC did not take, and what it printed about it."""
        line, event = self._at(number)
        self.place = place_of_event(line, event)
        if printed is None:
            name = event.action
            hint = "TLC finds no such step; the compiled engine names the conjunct that is false"
            self._found("step", name, line, event, [hint], "")
        elif printed[0] == SHOWS:
            self._differs(line, event, printed[1])
        else:
            self.result.observed += count_compared(event.shows) + _count_sent(event)
            self._found("sent", "sent", line, event, self._sent_details(line, event, printed[1]), "")

    def _differs(self, line: int, event: Event, observable: Value) -> None:
        if observable is False:
            raise self.reading.no_node(line)
        count, differences = self.reading.compare(event, line, observable)
        self.result.observed += count
        path = differences[0].path if differences else "shows"
        details = [str(each) for each in differences] or [
            f"TLC finds that it differs from {observable}; the checker does not"
        ]
        self._found("shows", path, line, event, details, "")

    def _sent_details(self, line: int, event: Event, printed: Value) -> list[str]:
        if printed is False:
            raise self.reading.no_outbox(line)
        table = printed.d if isinstance(printed, Fcn) else {}
        added = Counter({message: count for message, count in table.items() if count})
        details = self.reading.sent_details(event, line, list(table), added)
        return details or [f"TLC finds that it differs from {printed}; the checker does not"]

    def _judge_error(self, module: TraceModule, result: TlcResult) -> None:
        """Give the verdict where TLC could not evaluate something: the fault of the trace, or of the spec."""
        violation = result.violation
        assert violation is not None
        if violation.name is not None:
            number, compared = self._events_taken(module, result), ""
        else:
            number, compared = _compared_last(module, result)
        self._count(max(0, number - 1))
        line, event = self._at(number)
        self.place = place_of_event(line, event) if number else "the initial state"
        if compared:
            raise self.reading.malformed(line, compared, result.reason)
        raise TlaError(result.reason)

    def _found(self, kind: str, name: str, line: int, event: Event, details: list[str], location: str) -> None:
        self.result.add(finding(self.spec, self.interface, kind, name, line, event, details, location))


def _count_sent(event: Event) -> int:
    return 0 if event.sent is None else max(1, len(event.sent))


def _violated_property(result: TlcResult) -> str | None:
    """Return the property of the cfg that a run found violated."""
    kinds = (PropertyKind.INVARIANT, PropertyKind.INITIAL, PropertyKind.ACTION)
    violation = result.violation
    return violation.name if violation is not None and violation.kind in kinds else None


def _compared_last(module: TraceModule, result: TlcResult) -> tuple[int, str]:
    """Return the event that a probing module came to, and the field that it compared last; empty if it did not."""
    number, compared = 0, ""
    for _, what, field, event in printed_values(result.user_output, module.names.print_start):
        if what == PROBE:
            number, compared = event or number, field
    return number, compared


def _printed(module: TraceModule, result: TlcResult) -> dict[int, tuple[str, Value]]:
    """Read what the module printed where events did not agree: of each, what disagrees and the spec's value."""
    found: dict[int, tuple[str, Value]] = {}
    for value in printed_values(result.user_output, module.names.print_start):
        _, what, number, shown = value
        if what != PROBE:
            found.setdefault(number, (what, decoded(shown)))
    return found
