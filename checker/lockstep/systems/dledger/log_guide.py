"""The search for steps that explain a line of DLedger: its own, and hidden ones towards what later lines show."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from lockstep.logs.continuations import Continuation, ReachedState, StartState
from lockstep.logs.line_order import Positions
from lockstep.logs.log_lines import Thread, ThreadLine
from lockstep.systems.dledger.log_chains import Chain, essence
from lockstep.systems.dledger.log_line_context import LineContext
from lockstep.systems.dledger.log_line_steps import CHANGES_OF_ROLE, READERS
from lockstep.systems.dledger.log_lines import LogLine
from lockstep.systems.dledger.log_lookahead import LogLookahead, OrderedLines
from lockstep.tla.spec import Spec
from lockstep.tla.state import State


class DLedgerGuide:
    """Proposals of the steps that explain lines: hundreds may be hidden before one, so not all are tried.

    Properties are evaluated of the behaviours that explain all lines, not on the way.
    """

    def __init__(self, spec: Spec, nodes: Sequence[str], threads: Sequence[Thread], slack: int) -> None:
        """Guide the search through the logs of a group, whose stamps may be out of order by `slack` nanoseconds."""
        self.left_out: dict[str, None] = {"hidden steps are chosen by what later lines show": None}
        self._spec, self._nodes, self._sightings = spec, tuple(nodes), OrderedLines(threads, slack)
        self._lookahead: dict[Positions, LogLookahead] = {}

    def starts(self) -> list[Continuation]:
        """Return the initial states."""
        return [Continuation(state) for state in self._spec.initial_states()]

    def forget(self) -> None:
        """Forget the lookahead from the lines so far."""
        self._lookahead.clear()

    def reached(self, begins: Sequence[StartState]) -> list[ReachedState]:
        """Return the states themselves: which hidden steps are taken depends on the next line."""
        return [ReachedState(each.state, each.failed, (), number) for number, each in enumerate(begins)]

    def explaining(self, state: State, line: ThreadLine, positions: Positions) -> list[Continuation]:
        """Return the paths from a state by hidden steps to the step of a line."""
        assert isinstance(line, LogLine)
        return [Continuation(chain.state, steps=chain.steps()) for chain in self._chains(state, line, positions)]

    def _chains(self, state: State, line: LogLine, positions: Positions) -> Iterator[Chain]:
        if positions not in self._lookahead:
            self._lookahead[positions] = LogLookahead(self._sightings, positions)
        lookahead = self._lookahead[positions]
        read, at = (
            READERS[line.kind],
            LineContext(line, Chain(self._spec, state, lookahead.saves), self._nodes, lookahead),
        )
        if line.kind not in CHANGES_OF_ROLE:
            yield from read(at)
            return
        for chain in (*at.advanced(), at.chain):  # the leader may have gone on, and show it only afterwards
            for compared in replace(at, chain=chain).compared():
                yield from read(replace(at, chain=compared))

    def mistake(self, _state: State, _line: ThreadLine) -> str | None:
        """Find no mistake: the texts of the lines are DLedger's own."""
        return None

    def essence(self, state: State) -> Hashable:
        """Return the parts of a state that matter."""
        return essence(state)
