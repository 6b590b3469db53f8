"""The flaws of a system that chaos shows in a running group: for each the first seed, and what is violated there.

Each group has one flaw alone, with those that it needs beside it. A run shows a flaw where its clients object, or a
property is violated. That a trace is impossible in the spec does not count: a loss of power may take files of a
published node that the spec keeps. Nor does a violation that a group without flaws may have as well, nor one that the
spec denies, nor what the flaws beside it violate with the same seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lockstep.cluster.chaos_run import ChaosRun
from lockstep.cluster.chaos_series import collected_between
from lockstep.cluster.chaos_verdict import ChaosJudge, ChaosVerdict
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from lockstep.systems.system import System

#: What stands for the objections of clients among the properties.
CLIENTS = "clients"

#: The head of the table.
TABLE_HEAD = "| Flaw | with | nodes | seed | violated |\n|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class FlawRow:
    """A flaw with those beside it, the number of nodes, the seed that shows it, and what is violated there.

    Without a seed none of the first `tried` shows it.
    """

    flaw: str
    beside: tuple[str, ...]
    nodes: int
    tried: int
    seed: int | None = None
    violated: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the row of a table."""
        shown = f"none of {self.tried}" if self.seed is None else str(self.seed)
        return f"| {self.flaw} | {', '.join(self.beside)} | {self.nodes} | {shown} | {', '.join(self.violated)} |"


def row_of(line: str) -> FlawRow:
    """Return the row that a line of the table stands for; raises ValueError where it is none."""
    flaw, beside, nodes, seed, violated = (each.strip() for each in line.strip().strip("|").split("|"))
    found = None if seed.startswith("none of ") else int(seed)
    tried = int(seed.removeprefix("none of "))
    return FlawRow(flaw, _names(beside), int(nodes), tried, found, _names(violated))


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


class FlawSearch:
    """Looks for the first seed that shows a flaw."""

    def __init__(self, system: System, running: RunningNodes, seconds: float, folder: Path) -> None:
        """Prepare to look. Arguments: `system` and `running`; `seconds`, of each run; `folder`, for traces."""
        assert system.hunted is not None
        self._system, self._running, self._seconds, self._folder = system, running, seconds, folder
        self._hunted = system.hunted()

    def rows(self, flaws: tuple[str, ...], runs: int) -> Iterator[FlawRow]:
        """Yield a row for each flaw, with the seeds from 1 to `runs` tried until one shows it."""
        for flaw in flaws:
            nodes = self._running.nodes_needed.get(flaw, self._hunted.nodes_for(flaw))
            row = FlawRow(flaw, self._hunted.together.get(flaw, ()), nodes, runs)
            tried = collected_between(self.shown(row, seed) for seed in range(1, runs + 1))
            yield next((each for each in tried if each.violated), row)

    def shown(self, row: FlawRow, seed: int) -> FlawRow:
        """Return a row with what a seed violates, nothing if it does not show the flaw."""
        violated = _violated(self.verdict(row, seed, (row.flaw, *row.beside)))
        if violated and row.beside:
            violated -= _violated(self.verdict(row, seed, row.beside))
        shows = CLIENTS in violated or not self._hunted.may_fail_repaired.issuperset(violated)
        properties = sorted(violated - {CLIENTS})
        return FlawRow(row.flaw, row.beside, row.nodes, seed, seed, (*properties, *({CLIENTS} & violated)) * shows)

    def verdict(self, row: FlawRow, seed: int, flaws: tuple[str, ...]) -> ChaosVerdict:
        """Return the verdict on a run of as many nodes as a row has, with some flaws."""
        result = ChaosRun(self._running, seed, row.nodes, NodeKind((), flaws)).run(self._seconds)
        judge = ChaosJudge(self._system, self._running, row.nodes)
        return judge.judge(result, self._folder / f"{row.flaw}_{seed}.trace.ndjson", with_spec=False)


def _violated(verdict: ChaosVerdict) -> set[str]:
    """Return what is violated in a run, `clients` for a history that they object to."""
    return {*(verdict.violated.keys() - verdict.denied), *((CLIENTS,) if verdict.result.objections else ())}
