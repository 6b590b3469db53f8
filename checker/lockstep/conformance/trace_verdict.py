"""The verdict on a trace: what was found, and what follows from it for the trace as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from lockstep.base.characters import counted, visible_line
from lockstep.base.errors import INCOMPLETE_STEP, EnvironmentFailedError, GaveUpError, too_deep
from lockstep.base.verdict import Verdict
from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.finding_codes import REFUSED, SENT, SHOWS, STEP
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.step_coverage import Reached
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.spec import AmbiguousStep, Spec
from lockstep.tla.values.html_table import table
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc.supervised_process import ToolDied, ToolMissing
from lockstep.trace.json_lines import TraceError, UnreadableError
from lockstep.trace.trace_format import Event

#: The action of a finding in the initial state, before any event.
INIT = "Init"


@dataclass(frozen=True, slots=True)
class Finding:
    """A thing that is wrong at an event, or in the initial state (then `action` is "Init").

    `kind` is "step" (the action is not enabled), "shows" (an observed field differs), "sent" (the messages are not
    those that the step sent), "property", "refused" (the action is enabled, and a system refuses it), "unexplained" (no
    behaviour explains a line of logs) or "state" (no step leads to the state). `code` is explained by `lockstep
    explain`; `name` is the action, field or property; `details` are lines of explanation; `spec_line` and
    `reference_line` name the TLA+ and the Python source as FILE:LINE. `source` names the file among several logs of one
    system. `disputed`: it is wrong in an order of the events that their recording contradicts, and violates nothing.
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
    """The number of behaviours that explain some logs, and the variables that differ among them.

    `states` is the largest number of states after a line, `explanations` how many ends explain all lines, `hidden` the
    number of hidden steps by action in the first of these; `entropy`, of each variable that was not always the same,
    the mean over the lines of the entropy of its values over those states, in bits, the greatest first.
    """

    states: int
    explanations: int
    hidden: dict[str, int]
    entropy: dict[str, float]


class Fault(Enum):
    """The fault of a spec that ends the check of a trace."""

    NO_VALUE = auto()
    INCOMPLETE_STEP = auto()
    TWO_SUCCESSORS = auto()


#: No part of the protocol.
NOTHING: frozenset[Reached] = frozenset()


class Unwritten:
    """The parts of a verdict that are no columns of a table.

    `fault` is that of the spec, where the reason is one. Where coverage was asked for, `reached` are the parts of the
    protocol that the trace reaches up to where it leaves the spec, each with the number of steps that reach it, and
    `reachable` all parts that the spec has. `diagnosis` says why the trace leaves the spec, where that was asked for.
    """

    __slots__ = ("diagnosis", "fault", "reachable", "reached")

    diagnosis: Diagnosis | None
    fault: Fault | None
    reached: Mapping[Reached, int] | None
    reachable: frozenset[Reached]

    def __post_init__(self) -> None:
        """Begin without a fault, and with nothing asked for."""
        self.fault = self.reached = self.diagnosis = None
        self.reachable = NOTHING

    def note_reached(self, reached: Mapping[Reached, int] | None, reachable: frozenset[Reached] = NOTHING) -> None:
        """Set what the trace reaches, and all that there is to reach."""
        self.reached, self.reachable = reached, reachable

    def explain(self, diagnosis: Diagnosis | None) -> None:
        """Set the diagnosis."""
        self.diagnosis = diagnosis

    def blame_spec(self, fault: Fault | None) -> None:
        """Set the fault."""
        self.fault = fault


@dataclass(slots=True)
class TraceVerdict(Unwritten):
    """The verdict on one trace, with what was found.

    `findings` holds at most one deviation from the spec (the check stops there) and the first violation of
    each property. `steps` counts the events that were steps, `events` all that were read, `observed` the values
    that were compared: each part of what was shown, each message sent, each word that nothing was sent. `forced` are
    the lines of events that stand where a recording contradicts them; from the line `disputed` on, that contradicts the
    order of the events. `notes` are lines that do not change the verdict. `ambiguity` is the certainty of
    a verdict on logs with lines for some of the steps. `sources` are the files of several logs of one system, which
    `source` names together; for one file it is empty.
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
    def explicable(self) -> Finding | None:
        """The deviation, where its cause can be looked for: in a step or in values, in an order that is certain."""
        found, kinds = self.deviation, ("step", "shows", "sent", "unexplained", "state")
        return found if found is not None and not found.disputed and found.kind in kinds else None

    @property
    def violations(self) -> dict[str, Finding]:
        """The properties that fail, each with its first event."""
        return {f.name: f for f in self.findings if f.kind == "property"}

    def add(self, found: Finding) -> None:
        """Add a finding, which is disputed where the order of the events is."""
        is_disputed = self.disputed is not None and found.line >= self.disputed
        self.findings.append(replace(found, disputed=is_disputed))

    def fail(self, failed: TraceVerdict) -> None:
        """Take over the verdict that an error led to; what was counted and found so far stays."""
        self.verdict, self.reason = failed.verdict, failed.reason
        self.blame_spec(failed.fault)

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
            found = TraceVerdict(source, Verdict.INTERNAL, f"the spec could not be evaluated{at}: {error}")
            found.blame_spec(_fault_of(error))
            return found
        case RecursionError():
            return TraceVerdict(source, Verdict.INCONCLUSIVE, too_deep(at))
        case _:
            return TraceVerdict(source, Verdict.INTERNAL, f"{type(error).__name__}{at}: {error}")


def _fault_of(error: TlaError) -> Fault:
    if isinstance(error, AmbiguousStep):
        return Fault.TWO_SUCCESSORS
    is_incomplete = isinstance(error, SpecFault) and error.code == INCOMPLETE_STEP
    return Fault.INCOMPLETE_STEP if is_incomplete else Fault.NO_VALUE


def properties_hold(*, has_unchecked: bool) -> str:
    """Return the reason where no property fails; `has_unchecked`: no trace is checked for some."""
    return "every property that a trace can be checked for holds" if has_unchecked else "every property holds"


def conclude(result: TraceVerdict, *, has_unchecked: bool = False) -> None:
    """Give the verdict on a trace that was checked to its end, or to where it leaves the spec.

    A finding where the recording contradicts the order of the events may be the order's fault, and violates nothing.
    A finding before that holds in every order, since the events up to there are the same. Where the cfg has a property
    that no trace is checked for (`has_unchecked`), the reason does not claim that every one holds.
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
        result.verdict = Verdict.HOLDS
        result.reason = f"a behaviour of the spec; {properties_hold(has_unchecked=has_unchecked)}"
    if result.steps and not result.observed and result.deviation is None:
        result.reason += "; the trace shows nothing, so only its actions and their parameters were compared"


_CONTRADICTS = "the recording contradicts the order of its steps"


def _disputed_reason(result: TraceVerdict) -> str:
    """Return what is wrong in an order of the events that their recording contradicts."""
    if result.deviation is not None:
        wrong = f"not a behaviour of the spec from line {result.deviation.line} on"
    else:
        wrong = f"a behaviour of the spec that violates {', '.join(sorted(result.violations))}"
    return f"{wrong}, but from line {result.disputed} on {_CONTRADICTS}"


def place_of_event(line: int, event: Event) -> str:
    """Return how far a check has come: the line, its action, and the node if it has one."""
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
