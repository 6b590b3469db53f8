"""The spec that the header of a trace chooses, and the same with some of its known flaws set the other way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockstep.conformance.cause_choice import MAX_CAUSES
from lockstep.conformance.deviation import cause_at
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.flaw_trials import FlawTrials
from lockstep.conformance.trace_check import TraceCheck
from lockstep.systems.system import Choice, System
from lockstep.systems.trace_specs import Switches, compiled, expanded
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Header

#: The values of a switch of a flaw.
_PUBLISHED, _REPAIRED = "published", "repaired"


@dataclass(frozen=True)
class FlawedSpecs:
    """The specs of one trace.

    `header` is that of the trace, and `source` its file; `switches` are constants that replace the header's, and `jar`
    the tla2tools that the spec is parsed with.
    """

    system: System
    header: Header
    source: str
    switches: Switches
    jar: Path | None = None

    @cached_property
    def flaws(self) -> dict[str, Choice]:
        """The switches of flaws, each with the value that it has."""
        return {name: value for name, value in self._chosen.items() if self._is_flaw(name)}

    @property
    def _chosen(self) -> dict[str, Choice]:
        assert self.system.constants is not None
        return {
            **self.system.constants.defaults,
            **self.header.constants,
            **expanded(self.system.constants, self.switches),
        }

    def _is_flaw(self, name: str) -> bool:
        allowed = () if self.system.constants is None else self.system.constants.allowed.get(name, ())
        return set(allowed) == {_PUBLISHED, _REPAIRED}

    def spec(self, *, has_probes: bool = False) -> Spec:
        """Compile the spec; `has_probes`, whether its expressions are to have probes."""
        return compiled(self.system, self.header, self.source, self.switches, self.jar, has_probes=has_probes)

    def causes(self, trials: FlawTrials, check_of: Callable[[Spec], TraceCheck]) -> list[DeviationCause]:
        """Return the flaws with which the spec, compiled with them, allows a deviation, and how far it does.

        Arguments: `check_of`, the check of the trace against such a spec.
        """
        found = []
        for names, _ in trials.sets()[:MAX_CAUSES]:
            others = self._others(names)
            spec = compiled(self.system, self.header, self.source, self._chosen | others, self.jar)
            accepts = trials.deviation.count_accepted(check_of(spec))
            if accepts:
                what = ", ".join(f"{name}={value}" for name, value in others.items())
                at = trials.deviation.last
                found.append(cause_at(trials.deviation, trials.steps.check, "flaws", what, at, accepts))
        return found

    def _others(self, names: Iterable[str]) -> dict[str, Choice]:
        """Return some switches of flaws set the other way."""
        return {name: _PUBLISHED if self.flaws[name] == _REPAIRED else _REPAIRED for name in sorted(names)}
