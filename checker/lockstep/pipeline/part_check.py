"""The check of one part of a trace, from the state before it.

A part cannot know which properties failed before it, and a check evaluates a property no more once it has failed. So a
part reports the first violation of every property within itself and, for a property whose evaluation failed, the counts
up to then. Which of these count is decided when the parts are combined.
"""

from __future__ import annotations

import time

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.pipeline.state_bytes import StateBytesError, StateDigest, state_bytes, state_of_bytes
from lockstep.tla.compile.spec_fault import with_place
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_reader import TracePart


class Counts(msgspec.Struct):
    """The progress of a check: its events, the steps among them, the values compared, findings, forced events."""

    events: int = 0
    steps: int = 0
    observed: int = 0
    findings: int = 0
    forced: int = 0

    @classmethod
    def from_verdict(cls, found: TraceVerdict) -> Counts:
        """Return the counts of a verdict."""
        return cls(found.events, found.steps, found.observed, len(found.findings), len(found.forced))


class CheckEnd(msgspec.Struct):
    """The end of a check before its last line: the verdict on that, and its reason."""

    verdict: Verdict
    reason: str


class UnevaluatedStep(msgspec.Struct):
    """A step after which a property has no value.

    `names` are the properties that fail then, in order, each with the reason why it has no value, or None if it has.
    `counts` are those of the part without the findings of that step.
    """

    counts: Counts
    names: list[tuple[str, CheckEnd | None]]


class PartVerdict(msgspec.Struct):
    """The result of the check of one part of a trace.

    `first_line` is the number of its first line and, if the check came to its end, `last_line` of its last. `found` has
    the first violation of each property within the part, and last the deviation if there is one. `begin` and `end` are
    the states that it starts from and ends in: `begin` is None for the part that starts in the spec's own initial
    state, `end` where the check did not come to its end. `broken` is what ended it otherwise. `first_seq` and
    `last_seq` are those of its events; `has_ended`: it has the end line of the trace.
    """

    first_line: int
    last_line: int
    found: TraceVerdict
    unevaluated: list[UnevaluatedStep] = []
    begin: StateDigest | None = None
    end: StateDigest | None = None
    broken: CheckEnd | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    has_ended: bool = False


class _PartCheck(TraceCheck):
    """The check of a part, which goes on where the evaluation of a property fails, and records that."""

    def __init__(self, part: TracePart, spec: Spec, interface: Interface) -> None:
        super().__init__(part, spec, interface)
        self.unevaluated: list[UnevaluatedStep] = []

    def failing(self, properties: Evaluation, state: State, after: State) -> list[str]:
        assert isinstance(properties, IncrementalEvaluation)
        names: list[tuple[str, CheckEnd | None]] = []
        for name in properties.in_order(properties.suspected(state, after)):
            try:
                if properties.confirmed([name], state, after):
                    names.append((name, None))
            except Exception as error:  # It ends the check, unless the property has failed before this part.
                names.append((name, self.broken(error)))
                properties.drop(name)
        if any(broken for _, broken in names):
            self.unevaluated.append(UnevaluatedStep(Counts.from_verdict(self.result), names))
        return [name for name, broken in names if broken is None]

    def broken(self, error: Exception) -> CheckEnd:
        found = failure(with_place(error, self.spec.source), self.trace.source, self.place)
        return CheckEnd(found.verdict, found.reason)

    def first(self) -> State | None:
        """Check the part that begins in the initial state."""
        state = self.initial()
        properties = self.properties()
        self._check_initial(state)
        return self.follow(state, properties)


def check_part(part: TracePart, spec: Spec, interface: Interface, state: State | bytes | None = None) -> PartVerdict:
    """Check one part of a trace; every property the spec was loaded with is on.

    Arguments: `part`, as it is read; `spec` and `interface`, of the trace; `state`, in which the part begins, or the
    bytes of it; None for the spec's own initial state.
    Returns the result also where the part is malformed, or the check ends in an error.
    """
    start = time.perf_counter()
    check = _PartCheck(part, spec, interface)
    begin, end, broken = None, None, None
    try:
        if state is None:
            last = check.first()
        else:
            check.place = f"the state before line {part.first_line}"
            given = state_of_bytes(spec, state) if isinstance(state, bytes) else state
            begin = StateDigest.from_bytes(state if isinstance(state, bytes) else state_bytes(state))
            last = check.follow(given, check.properties())
        end = None if last is None else StateDigest.from_bytes(state_bytes(last))
    except StateBytesError as error:
        broken = CheckEnd(Verdict.INCONCLUSIVE, f"{check.place} is not there: {error}")
    except Exception as error:  # Whatever it is, it is this trace's alone.
        broken = check.broken(error)
    check.result.seconds = time.perf_counter() - start
    return PartVerdict(
        first_line=part.first_line,
        last_line=part.last_line,
        found=check.result,
        unevaluated=check.unevaluated,
        begin=begin,
        end=end,
        broken=broken,
        first_seq=part.first_seq,
        last_seq=part.last_seq,
        has_ended=part.has_ended,
    )
