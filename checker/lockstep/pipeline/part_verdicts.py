"""The verdicts on the parts of a trace, put together: the verdict that one check of the whole trace gives.

Each part but the first begins in a state that was given, and nothing is known of where that came from. It counts only
if the part before, itself checked from a state that counts, ends in that very state.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict, conclude
from lockstep.pipeline.part_check import Counts, PartVerdict, UnevaluatedStep
from lockstep.trace.trace_reader import after_end_error, not_rising_error


def combined(source: str, parts: Iterable[PartVerdict]) -> TraceVerdict:
    """Return the verdict on a trace from those on its parts, in their order.

    A violation that was found is reported even where later parts do not count. Where parts are missing, or one does not
    begin where the one before ends, the verdict is never that the trace holds.
    """
    whole = _Whole(source)
    for part in parts:
        whole.result.seconds += part.found.seconds
        if whole.is_open:
            whole.add(part)
    if whole.is_open:
        whole.close()
    return whole.result


class _Whole:
    """The verdict so far: `is_open` until something ends the check, as it would end one of the whole trace."""

    def __init__(self, source: str) -> None:
        self.result = TraceVerdict(source, Verdict.INCONCLUSIVE, "")
        self.failed: set[str] = set()
        self.before: PartVerdict | None = None
        self.last_seq: int | None = None
        self.is_open = True

    def add(self, part: PartVerdict) -> None:
        """Take the next part into account."""
        if not self._follows(part):
            return
        for step in part.unevaluated:
            if self._ends_at(step, part):
                return
        self._count(part, Counts.from_verdict(part.found))
        if part.broken is not None:
            self._end(part.broken.verdict, part.broken.reason)
        elif part.found.findings and part.found.findings[-1].kind != "property":
            self.is_open = False
            conclude(self.result)
        self.before = part
        self.last_seq = self.last_seq if part.last_seq is None else part.last_seq

    def close(self) -> None:
        """Conclude after the last part."""
        if self.before is None or not self.before.has_ended:
            line = 1 if self.before is None else self.before.last_line
            self._open(f"the lines after line {line} were not checked: a part is missing")
        else:
            self.is_open = False
            conclude(self.result)

    def _follows(self, part: PartVerdict) -> bool:
        """Return whether a part goes on where the one before ended; end the check where it does not."""
        before = self.before
        last_line = 1 if before is None else before.last_line
        if before is not None and before.has_ended:
            self._end(Verdict.MALFORMED, str(after_end_error(self.result.source, part.first_line)))
        elif part.first_line != last_line + 1:
            self._open(f"the lines between line {last_line} and line {part.first_line} are missing")
        elif before is not None and part.begin is None and part.broken is not None:
            self._open(part.broken.reason)
        elif (before is None) is not (part.begin is None):
            self._open(f"the part from line {part.first_line} on began in another place than it should")
        elif self.last_seq is not None and part.first_seq is not None and part.first_seq <= self.last_seq:
            problem = not_rising_error(self.result.source, part.first_line, part.first_seq, self.last_seq)
            self._end(Verdict.MALFORMED, str(problem))
        elif before is not None and part.begin != before.end:
            self._open(self._mismatch(before, part))
        return self.is_open

    @staticmethod
    def _mismatch(before: PartVerdict, part: PartVerdict) -> str:
        """Return in which variables the state given to a part differs from the one that the lines before lead to."""
        if before.end is None or part.begin is None:
            return f"the state before line {part.first_line} is not known"
        names = ", ".join(before.end.differing(part.begin))
        return (
            f"the state given before line {part.first_line} is not the one that the lines before lead to: "
            f"they differ in {names or 'their digests'}"
        )

    def _ends_at(self, step: UnevaluatedStep, part: PartVerdict) -> bool:
        """Return whether the check ends where a property has no value: it does unless that had failed before."""
        known = self.failed | {each.name for each in part.found.findings[: step.counts.findings]}
        broken = next((each for name, each in step.names if each is not None and name not in known), None)
        if broken is None:
            return False
        self._count(part, step.counts)
        self._end(broken.verdict, broken.reason)
        return True

    def _count(self, part: PartVerdict, counts: Counts) -> None:
        """Add the counts and the findings of a part, up to these counts."""
        whole, found = self.result, part.found
        whole.events += counts.events
        whole.steps += counts.steps
        whole.observed += counts.observed
        whole.forced += found.forced[: counts.forced]
        if whole.disputed is None and found.disputed is not None and found.disputed < part.first_line + counts.events:
            whole.disputed = found.disputed
        for each in found.findings[: counts.findings]:
            if each.kind != "property" or each.name not in self.failed:
                whole.add(each)
        self.failed |= {each.name for each in whole.findings if each.kind == "property"}

    def _end(self, verdict: Verdict, reason: str) -> None:
        """End the check as an error ends it: the counts and findings so far stay."""
        self.is_open = False
        self.result.verdict, self.result.reason = verdict, reason

    def _open(self, reason: str) -> None:
        """Leave the rest of the trace open; the findings before it stand."""
        self.is_open = False
        if self.result.findings:
            conclude(self.result)
            self.result.reason += f"; not checked to its end: {reason}"
        else:
            self._end(Verdict.INCONCLUSIVE, reason)
