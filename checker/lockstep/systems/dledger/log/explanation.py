"""Explaining a log: the set of behaviours of the spec that say what its lines say, carried from line to line.

Each line is a step that it tells of, or shows what a node is; hidden steps may come before it. Which of them are tried
is a matter of search: what is not found is not refuted. What is refuted, lockstep.systems.dledger.log.roles decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lockstep.base.errors import GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.systems.dledger.log.line_steps import CHANGES_OF_ROLE, READERS, At, Reader, restart
from lockstep.systems.dledger.log.lines import LogLine
from lockstep.systems.dledger.log.roles import Roles
from lockstep.systems.dledger.log.runs import Run, Taken
from lockstep.systems.dledger.log.sightings import Sightings
from lockstep.tla.spec import Spec
from lockstep.trace.format import OBSERVE

#: How many states are carried at most; beyond them the search is no longer complete in what it tries.
MOST_STATES = 64


class UnexplainedError(GaveUpError):
    """No hidden steps were found that lead to what a line says."""


@dataclass(slots=True)
class Explanation:
    """What was found.

    `runs` explain all lines, each with another last state, or, one of them, all up to the line `refuted`, which no
    behaviour explains; `states` is how many states were carried at most.
    """

    runs: list[Run]
    states: int
    refuted: int | None = None


def explain_log(
    lines: tuple[LogLine, ...], nodes: tuple[str, ...], spec: Spec, source: str, say: Say = silent
) -> Explanation:
    """Search for behaviours of the spec that explain the lines of a log.

    Raises UnexplainedError, naming the line, where none is found though none is excluded.
    """
    return _Search(lines, nodes, spec, source).run(say)


class _Search:
    def __init__(self, lines: tuple[LogLine, ...], nodes: tuple[str, ...], spec: Spec, source: str) -> None:
        self.lines, self.nodes, self.source = lines, nodes, source
        self.sightings = Sightings(lines)
        self.carried = [Run(spec, state) for state in spec.initial_states()]
        self.states = len(self.carried)
        self.incarnations: dict[str, int] = {}
        self.roles = Roles()

    def run(self, say: Say) -> Explanation:
        for line in self.lines:
            if line.kind:
                say(f"{self.source}: line {line.number:,} of {self.lines[-1].number:,}, states: {len(self.carried)}")
            if line.node and line.incarnation > self.incarnations.setdefault(line.node, 1):
                self.incarnations[line.node] = line.incarnation
                self.roles.restart(line.node)
                self._explain(line, restart)
            claim = self._claim(line)
            if claim is not None:
                first = self.carried[0]
                return Explanation([Run(first.spec, first.state, claim, first)], self.states, line.number)
            if line.kind in READERS:
                self._explain(line, READERS[line.kind])
                self.roles.learn(line)
        return Explanation(self.carried, self.states)

    def _explain(self, line: LogLine, reader: Reader) -> None:
        """Carry what explains the line as well."""
        after: dict[Any, Run] = {}
        for run in self._before(line, reader):
            for explained in reader(At(line, run, self.nodes, self.sightings)):
                after.setdefault(explained.essence(), explained)
        if not after:
            raise UnexplainedError(f"{self.source}:{line.number}: {_not_found(line, len(self.carried))}")
        self.carried = list(after.values())[:MOST_STATES]
        self.states = max(self.states, len(self.carried))

    def _claim(self, line: LogLine) -> Taken | None:
        """Return what the line claims, if role, term or leader of its node exclude that."""
        shows = self.roles.contradicted(line)
        if shows is not None:
            return Taken(line.number, line.node, OBSERVE, {}, shows, hidden=False)
        if self.roles.follows_nobody(line):
            args = {"leader": line.words["leader"]}
            return Taken(line.number, line.node, "ChangeToFollower", args, {}, hidden=False)
        return None

    def _before(self, line: LogLine, reader: Reader) -> Iterator[Run]:
        """Yield what is carried, and, before a node's role changes, what its leader may have done until then."""
        for run in self.carried:
            if reader in CHANGES_OF_ROLE:
                yield from At(line, run, self.nodes, self.sightings).advanced()
            yield run


def _not_found(line: LogLine, states: int) -> str:
    said = " ".join(f"{name}={value}" for name, value in line.words.items() if name != "self")
    carried = "the state" if states == 1 else f"one of the {states} states"
    searched = f"no hidden steps were found that lead here from {carried} carried"
    return f"{line.kind} of {line.node} ({said}): {searched}"
