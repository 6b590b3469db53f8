"""One line to be explained, a run that explains those before it, and where hidden steps lead before the line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lockstep.systems.dledger.log_hidden_steps import Hidden
from lockstep.systems.dledger.log_lines import LogLine
from lockstep.systems.dledger.log_lookahead import Ahead, Goal
from lockstep.systems.dledger.log_runs import Run


@dataclass(frozen=True, slots=True)
class At:
    """One line, a run that explains the lines before, and what is seen ahead."""

    line: LogLine
    run: Run
    nodes: tuple[str, ...]
    ahead: Ahead

    @property
    def hidden(self) -> Hidden:
        """What proposes hidden steps before this line."""
        return Hidden(self.ahead.write_index)

    def take(self, run: Run | None, action: str, shows: dict[str, Any], **args: Any) -> Iterator[Run]:
        """Yield the run after the step that the line tells of, if the spec allows it and the node shows this."""
        after = run and run.take(action, self.line.node, shows=shows, **args)
        if after:
            yield after

    def observe(self, run: Run, shows: dict[str, Any]) -> Iterator[Run]:
        """Yield the run, if the node shows what the line says."""
        after = run.observe(self.line.node, shows)
        if after:
            yield after

    def advanced(self, marks: dict[str, int] | None = None) -> Iterator[Run]:
        """Yield the run, gone on under the node's leader to all that will be shown, and to what is sure to be.

        Of who shows nothing for long it is tried that it got as far as the others.
        `marks`: watermarks of the leader that this line shows.
        """
        run, node = self.run, self.line.node
        leader = run.leader_of(node)
        if leader is None:
            return
        goals = {n: self.ahead.goal(n) for n in self.nodes}
        shown = self.ahead.marks(leader, run.of(leader, "currTerm"), self.line, goals)
        limit = goals[node].end
        if limit is None and node != leader:
            committed = goals[node].committed
            limit = run.end(leader) if committed is None else max(run.end(leader), committed)
        even = max([run.end(leader), *(goal.end for goal in goals.values() if goal.end is not None)])
        if limit is not None:  # the others come no further than goes with what this node will show
            end = goals[leader].end
            goals = {n: goal if n == node else goal.within(limit, end) for n, goal in goals.items()}
            shown = {n: min(mark, limit) for n, mark in shown.items()}
            even = min(even, limit)
        if node != leader:  # what the leader will show can wait, and nobody comes to know of more
            most = self.ahead.committed(leader)
            goals = {n: Goal() if n == leader else goal.told(most) for n, goal in goals.items()}
            shown = {}
        seen = {run.state}
        sure = {n: goal.only_sure() for n, goal in goals.items()}
        all_even = {n: goal if n == leader else goal.or_end(even) for n, goal in goals.items()}
        for chosen in (goals, *([sure] if sure != goals else []), *([all_even] if all_even != goals else [])):
            after = self.hidden.advance(run, leader, chosen, shown | (marks or {}))
            if after.state not in seen:
                seen.add(after.state)
                yield after

    def committed(self, peer: str) -> Iterator[Run]:
        """Yield the run after the leader, whose line this is, committed just what the peer will show."""
        goals = {n: self.ahead.goal(n) for n in self.nodes}
        index = goals[peer].committed
        if self.run.leads(self.line.node) and index is not None:
            own = {self.line.node: replace(goals[self.line.node], committed=index, at_least=False)}
            shown = self.ahead.marks(self.line.node, self.run.of(self.line.node, "currTerm"), self.line, goals)
            yield self.hidden.advance(self.run, self.line.node, goals | own, shown)

    def voted(self) -> Iterator[Run]:
        """Yield the run, and each in which the node voted for one that a later line makes leader of its term.

        It can do so no more once it is in another one.
        """
        run, node = self.run, self.line.node
        yield run
        for candidate in self.ahead.leaders(run.of(node, "currTerm")):
            after = run.hide("SetCurrVoteFor", node, candidate=candidate)
            if after and node not in run.of(candidate, "votes"):
                yield after

    def compared(self) -> Iterator[Run]:
        """Yield the run, and each in which COMPAREs went on that can do so no more once the node's role has changed.

        Those are tried whose answer, or whose end, a later line tells.
        """
        found, node = [self.run], self.line.node
        pairs = [(node, peer) for peer in self.nodes if peer != node]
        pairs += [(peer, node) for _, peer in pairs]
        for leader, peer in pairs:
            if self.ahead.ends_compare(leader, peer):
                found = [after for run in found for after in self.hidden.compares(run, leader, peer)]
        yield from found

    def observe_in_time(self, shows: dict[str, Any]) -> Iterator[Run]:
        """Observe, at once, or after the leader went on."""
        found = list(self.observe(self.run, shows))
        yield from found
        if not found:
            for run in self.advanced():
                yield from self.observe(run, shows)
