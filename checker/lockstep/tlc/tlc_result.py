"""The result of a run of TLC: the verdict and everything that supports it, as frozen dataclasses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lockstep.base.verdict import Verdict

_LOCATION = re.compile(
    r"line (?P<line>\d+), col (?P<column>\d+) to line (?P<end_line>\d+), col (?P<end_column>\d+)"
    r" of module (?P<module>\w+)"
)


class Cause(StrEnum):
    """Why a run is inconclusive."""

    TOOL_MISSING = "tool missing"
    KILLED = "killed"
    OUT_OF_MEMORY = "out of memory"
    STACK_OVERFLOW = "stack overflow"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    NO_FINAL_VERDICT = "no final verdict"
    UNKNOWN_EXIT = "unknown exit"
    TOOL_FAILED = "tool failed"
    SIMULATED = "simulated"
    VACUOUS = "vacuous"


class PropertyKind(StrEnum):
    """The kinds of violated properties."""

    INVARIANT = "invariant"
    INITIAL = "initial property"
    ACTION = "action property"
    TEMPORAL = "temporal property"
    DEADLOCK = "deadlock"
    ASSERTION = "assertion"
    ASSUMPTION = "assumption"
    EVALUATION = "evaluation error"


@dataclass(frozen=True, slots=True)
class TlcLocation:
    """A region of a module; lines and columns count from 1 and both ends belong to it."""

    module: str
    line: int
    column: int
    end_line: int
    end_column: int

    @staticmethod
    def parse(text: str) -> TlcLocation | None:
        """The first `line L, col C to line L, col C of module M` in `text`, or None."""
        match = _LOCATION.search(text)
        if match is None:
            return None
        numbers = (int(match[name]) for name in ("line", "column", "end_line", "end_column"))
        return TlcLocation(match["module"], *numbers)


@dataclass(frozen=True, slots=True)
class TlcStep:
    """One state of a counterexample and the action that led to it.

    `index` counts from 1. `action` is None for the initial state, and where TLC names none. `variables` maps
    a name to the value as TLC prints it, on one line. `raw` is TLC's whole text of the step.
    """

    index: int
    action: str | None
    location: TlcLocation | None
    variables: Mapping[str, str]
    raw: str


@dataclass(frozen=True, slots=True)
class TlcCounterexample:
    """A behaviour that breaks a property.

    A liveness violation is infinite: either it goes back to the step with index `back_to` (by `back_action`,
    where TLC names it), or it is `stuttering` in the last step for ever. Both are unset for a finite
    counterexample.
    """

    steps: tuple[TlcStep, ...]
    back_to: int | None = None
    back_action: str | None = None
    stuttering: bool = False


@dataclass(frozen=True, slots=True)
class TlcViolation:
    """A violation.

    `name` is the property's name in the cfg where it is known: TLC 2.15 does not say which temporal formula
    failed, so the name is given only when the cfg lists a single property, and `candidates` holds all that it
    lists. `message` is TLC's own text. `positions` is TLC's stack of the expressions it was evaluating,
    outermost first.
    """

    kind: PropertyKind
    name: str | None
    message: str
    candidates: tuple[str, ...] = ()
    location: TlcLocation | None = None
    positions: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The property's name, or its kind when it has none (`deadlock`, `assertion`, ...)."""
        return self.name if self.name is not None else self.kind.value


@dataclass(frozen=True, slots=True)
class SpecError:
    """A malformed spec or cfg: the file, the position where it is known (from 1), the tool's own message.

    `parsed` says that the module is TLA+, and TLC refuses what is asked of it.
    """

    file: str
    line: int | None
    column: int | None
    message: str
    parsed: bool = False

    def __str__(self) -> str:
        """The error on one line, as `file:line:column: message`."""
        position = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return f"{self.file}{position}: {' '.join(self.message.split())}"


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """The number of times an action was taken.

    `distinct_count` successors were new states, `generated_count` were generated in all. After a violation
    TLC evaluates the counterexample again and counts that too: the numbers are exact only when the model
    holds.
    """

    action: str
    location: TlcLocation
    distinct_count: int
    generated_count: int
    is_initial: bool


@dataclass(frozen=True, slots=True)
class SimulationStats:
    """A simulation: states generated and, where TLC prints them, the seed and aril to replay it."""

    generated: int
    seed: int | None
    aril: int | None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: depth reached, states generated, distinct states found, states left on the queue."""

    depth: int
    generated: int
    distinct: int
    queue: int


@dataclass(frozen=True, slots=True)
class TlcResult:
    """The outcome of one run of TLC.

    The verdict is malformed where the spec, its cfg or the request is: then there was nothing to judge. `reason` is
    one line in words. `cause` is set exactly for an inconclusive run, `error` for a malformed one. A violated run
    has its `violation`, and a counterexample when TLC prints one. The counts are TLC's last: final when the run
    ended by itself, else those of the last progress report, and None when there was none; a simulation has
    `simulation` instead. `depth` is the depth that TLC reports (it reports none after a liveness violation).
    `user_output` is what the spec printed, its last lines. `output_tail` is the last of all output, for a
    diagnosis. `wall_seconds` includes the start of the JVM.
    """

    verdict: Verdict
    reason: str
    cause: Cause | None = None
    violation: TlcViolation | None = None
    counterexample: TlcCounterexample | None = None
    error: SpecError | None = None
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    queue: int | None = None
    collision_probability: float | None = None
    wall_seconds: float = 0.0
    tlc_version: str | None = None
    exit_status: int | None = None
    coverage: tuple[ActionCoverage, ...] = ()
    simulation: SimulationStats | None = None
    warnings: tuple[str, ...] = ()
    user_output: tuple[str, ...] = ()
    output_tail: str = ""
    command: tuple[str, ...] = ()
