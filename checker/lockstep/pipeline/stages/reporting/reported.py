"""What a run came to, as one object."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from lockstep.base.verdict import Verdict


@dataclass(slots=True)
class Report:
    """What a run came to.

    `variants` tells of each variant how many traces, events, values compared and seconds of checking there are, and
    how many traces got each verdict (`verdicts`) and each that counts (`judged`); `properties` which properties fail in
    how many traces; `plans` how many traces of each plan (empty: of none) and variant got each verdict; `failures` the
    first of the traces that do not hold, with the command that replays each; `gaps` what is not there and should be;
    `dead_letters` how many there are, and the first; `coverage` what the traces reach, by plan, `floors` whether it is
    enough, and `never_taken` the actions of the specs that no trace takes; `counterexamples` one of each signature of
    violations, without its lines.
    """

    run: str
    verdict: Verdict = Verdict.INCONCLUSIVE
    variants: list[dict[str, Any]] = field(default_factory=list)
    properties: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    coverage: list[dict[str, Any]] = field(default_factory=list)
    floors: list[dict[str, Any]] = field(default_factory=list)
    never_taken: list[str] = field(default_factory=list)
    counterexamples: list[dict[str, Any]] = field(default_factory=list)
    dead_letters: dict[str, Any] = field(default_factory=lambda: {"count": 0, "first": []})

    @property
    def traces(self) -> int:
        """How many verdicts there are."""
        return sum(each["traces"] for each in self.variants)

    def as_json(self) -> str:
        """Return the report as JSON, one object."""
        return json.dumps({**asdict(self), "exit_code": self.verdict.exit_code}, indent=2)
