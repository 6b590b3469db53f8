"""Which steps explain a line of DLedger: those that it tells of, and hidden ones towards what later lines show."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from lockstep.logs.continuations import Begin, Path, Reached
from lockstep.logs.line_order import Positions
from lockstep.logs.log_lines import Line, Thread
from lockstep.systems.dledger.log_line_context import At
from lockstep.systems.dledger.log_line_steps import CHANGES_OF_ROLE, READERS
from lockstep.systems.dledger.log_lines import LogLine
from lockstep.systems.dledger.log_lookahead import Ahead, Sightings
from lockstep.systems.dledger.log_runs import Run, essence
from lockstep.tla.spec import Spec
from lockstep.tla.state import State


class DLedgerGuide:
    """Proposes the steps that explain lines: hundreds may be hidden before one, so it does not try all there are.

    Whether properties fail is not asked on the way, but of the behaviours that explain all lines.
    """

    def __init__(self, spec: Spec, nodes: Sequence[str], threads: Sequence[Thread], slack: int) -> None:
        """Guide the search through the logs of a group, with stamps so many nanoseconds apart in the other order."""
        self.left_out: dict[str, None] = {"hidden steps are chosen by what later lines show": None}
        self._spec, self._nodes, self._sightings = spec, tuple(nodes), Sightings(threads, slack)
        self._ahead: dict[Positions, Ahead] = {}

    def starts(self) -> list[Path]:
        """Return the initial states."""
        return [Path(state) for state in self._spec.initial_states()]

    def forget(self) -> None:
        """Forget what was seen ahead of the lines so far."""
        self._ahead.clear()

    def reached(self, begins: Sequence[Begin]) -> list[Reached]:
        """Return the states themselves: which hidden steps are taken depends on the next line."""
        return [Reached(each.state, each.failed, (), number) for number, each in enumerate(begins)]

    def explaining(self, state: State, line: Line, positions: Positions) -> list[Path]:
        """Return ways from a state by hidden steps to what a line tells of."""
        assert isinstance(line, LogLine)
        return [Path(run.state, steps=run.steps()) for run in self._runs(state, line, positions)]

    def _runs(self, state: State, line: LogLine, positions: Positions) -> Iterator[Run]:
        if positions not in self._ahead:
            self._ahead[positions] = Ahead(self._sightings, positions)
        ahead = self._ahead[positions]
        read, at = READERS[line.kind], At(line, Run(self._spec, state, ahead.saves), self._nodes, ahead)
        if line.kind not in CHANGES_OF_ROLE:
            yield from read(at)
            return
        for run in (*at.advanced(), at.run):  # the leader may have done until then what shows only afterwards
            for compared in replace(at, run=run).compared():
                yield from read(replace(at, run=compared))

    def mistake(self, _state: State, _line: Line) -> str | None:
        """Find no mistake: the texts of the lines are DLedger's own."""
        return None

    def essence(self, state: State) -> Hashable:
        """Return what tells a state from others."""
        return essence(state)
