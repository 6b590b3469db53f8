"""The judgement of a run of chaos: what clients saw, the properties after each step, and the trace against the spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.base.whole_files import writing_whole
from lockstep.cluster.chaos_run import ChaosResult
from lockstep.systems.file_check import check
from lockstep.systems.hunted_group import Move, PropertyWatch
from lockstep.systems.running_nodes import RunningNodes
from lockstep.systems.simulated_clusters import event_of
from lockstep.systems.system import System
from lockstep.systems.trace_specs import reference_header
from lockstep.trace.trace_format import Event, trace_lines
from raftref.runtime.replay import ReplayError


@dataclass(slots=True)
class ChaosVerdict:
    """The faults that were found in a run: by its clients, by its properties, and by its trace.

    `denied` are properties that were violated, and hold by the spec, which has the trace for a behaviour.
    """

    result: ChaosResult
    violated: dict[str, str] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    impossible: str = ""
    trace: str = ""

    @property
    def reasons(self) -> list[str]:
        """The faults, a line each; empty for a run that is right."""
        found = list(self.result.objections)
        found += [f"{name}: {values}" for name, values in self.violated.items()]
        return found + [each for each in (self.impossible, self.trace) if each]


class ChaosJudge:
    """Judges runs of groups of one size."""

    def __init__(self, system: System, running: RunningNodes, nodes: int) -> None:
        """Prepare to judge groups. Arguments: `system` and `running`; `nodes`, how many."""
        assert system.hunted is not None
        self._system, self._running, self._hunted = system, running, system.hunted()
        self._nodes = nodes

    def judge_all(
        self, results: Iterable[ChaosResult], folder: Path, spec_every: int
    ) -> Iterator[tuple[ChaosVerdict, bool]]:
        """Yield the verdicts on runs, each with whether its trace was checked against the spec.

        Arguments: `results`, of the runs; `folder`, for the traces; `spec_every`, how many runs there are to one that
        is checked, 0 for none. A run with a fault that the spec has not is passed over for the next one without.
        """
        due = spec_every - 1
        for result in results:
            due += 1
            with_spec = 0 < spec_every <= due and self._running.outside_spec.isdisjoint(result.faults)
            due -= spec_every * with_spec
            yield self.judge(result, folder / f"chaos_{result.seed}.trace.ndjson", with_spec=with_spec), with_spec

    def judge(self, result: ChaosResult, trace: Path, *, with_spec: bool) -> ChaosVerdict:
        """Judge a run, and write its trace if something is wrong, or the spec is asked.

        Arguments: `result`; `trace`, the file; `with_spec`, whether the compiled spec checks the trace, which takes
        longer than the run.
        """
        verdict, plan = ChaosVerdict(result), self._running.plan(self._nodes, result.kind)

        def listen(group: Any) -> _Watched:
            return _Watched(self._hunted.watch(group), verdict.violated)

        try:
            events = [event_of(event) for event in self._running.replay(plan, result.steps, listen)]
        except ReplayError as error:
            verdict.impossible = str(error)
            return verdict
        if with_spec or verdict.reasons:
            self._write(result, plan, events, trace)
        if with_spec or (verdict.violated and self._running.outside_spec.isdisjoint(result.faults)):
            verdict.trace = self._disagreement(verdict, trace)
        if not plan.flaws:
            for name in self._hunted.may_fail_repaired:
                verdict.violated.pop(name, None)
        return verdict

    @staticmethod
    def _disagreement(verdict: ChaosVerdict, trace: Path) -> str:
        """Return what the spec says otherwise of a trace than the watch did, "" where they agree."""
        found = check(trace)
        if found.verdict not in (Verdict.HOLDS, Verdict.VIOLATED) or found.deviation is not None:
            return f"{trace}: {found.verdict}: {found.reason}"
        unsaid = set(verdict.violated) ^ set(found.violations)
        verdict.denied = frozenset(verdict.violated) - set(found.violations)
        return f"{trace}: {', '.join(sorted(unsaid))}: the spec and its words in Python differ" if unsaid else ""

    def _write(self, result: ChaosResult, plan: Any, events: Sequence[Event], path: Path) -> None:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(result.faults.items()))
        header = reference_header(self._system, plan, "lockstep chaos", f"seed {result.seed}: {faults}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing_whole(path) as file:
            file.writelines(trace_lines(header, events))


class _Watched:
    """Notes the first violation of each property."""

    def __init__(self, watch: PropertyWatch, violated: dict[str, str]) -> None:
        self._watch, self._violated = watch, violated

    def before(self, move: Move) -> None:
        """Let the watch remember what a step is about to change."""
        self._watch.before(move)

    def after(self, move: Move) -> None:
        """Note what a step has violated."""
        for name, values in self._watch.after(move):
            self._violated.setdefault(name, values)
