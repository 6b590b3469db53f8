"""One run of a script: what was lost, and what the spec says of the recording."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from raftref.choices import REPAIRED
from tests.scripts.reproduce.reproduction import NotSeenError, Reproduction

#: The verdicts that say something of a recording.
CERTAIN = (Verdict.HOLDS, Verdict.VIOLATED)


@dataclass(frozen=True)
class Run:
    """A run that showed the loss.

    `as_published` and `repaired` are the verdicts of the spec on the recording, with the flaw and with it alone
    repaired; None where there is no recording.
    """

    reproduction: Reproduction
    version: str
    story: tuple[str, ...]
    loss: str
    seconds: float
    recording: Path | None
    as_published: TraceVerdict | None
    repaired: TraceVerdict | None

    def problems(self) -> Iterator[str]:
        """Yield what the recording should show, and does not."""
        wanted, published = self.reproduction, self.as_published
        if published is None or self.repaired is None:
            if wanted.refused is not None:
                yield "there is no recording"
            return
        if published.verdict not in CERTAIN:
            yield f"the spec with the flaw has no verdict: {published.reason}"
        elif published.deviation is not None:
            yield f"the spec with the flaw does not take the recording: {published.reason}"
        elif wanted.violates is not None and wanted.violates not in published.violations:
            yield f"{wanted.violates} is not violated: {published.reason}"
        elif wanted.violates is None and published.verdict is not Verdict.HOLDS:
            yield f"the recording does not hold: {published.reason}"
        left = self.repaired.deviation
        if self.repaired.verdict not in CERTAIN or left is None or left.action != wanted.refused:
            yield f"with {wanted.flaw} repaired the spec does not refuse {wanted.refused}: {self.repaired.reason}"


def run(reproduction: Reproduction, version: str, folder: Path) -> Run:
    """Play a script on a version, in an empty folder.

    Raises NotSeenError where the loss does not happen; any other error is one of a node or of a tool.
    """
    began = time.monotonic()
    with reproduction.group(folder, version) as group:
        try:
            loss = reproduction.play(group)
        except AssertionError as error:
            raise NotSeenError(str(error)) from error
        recording = group.recording()
    seconds = time.monotonic() - began
    return Run(reproduction, version, group.story.lines, loss, seconds, recording, *verdicts(reproduction, recording))


def verdicts(reproduction: Reproduction, recording: Path | None) -> tuple[TraceVerdict | None, TraceVerdict | None]:
    """Return the verdicts on a recording with the flaw, and with it repaired; None where there is no recording."""
    if recording is None:
        return None, None
    return check(recording), check(recording, switches={reproduction.flaw: REPAIRED})


def report(found: Run) -> Iterator[str]:
    """Yield the lines of a report on a run."""
    yield f"{found.reproduction.flaw} on {found.version}, {found.seconds:.0f} s"
    yield from (f"  {line}" for line in found.story)
    yield f"  lost: {found.loss}"
    if found.recording is None or found.as_published is None or found.repaired is None:
        yield "  not recorded"
        return
    yield f"  {found.recording}"
    for name, each in found.as_published.violations.items():
        yield f"  with the flaw: {name} is violated from line {each.recorded_line} on"
    left = found.repaired.deviation
    if left is not None:
        yield f"  with the flaw repaired: line {left.recorded_line} is refused, {left.action} of {left.node}"
    yield from (f"  PROBLEM: {problem}" for problem in found.problems())
