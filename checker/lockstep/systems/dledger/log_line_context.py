"""The context of a line: the chain of steps that explains the lines before it, and what later lines show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lockstep.systems.dledger.log_chains import Chain
from lockstep.systems.dledger.log_hidden_steps import StepProposals
from lockstep.systems.dledger.log_lines import LogLine
from lockstep.systems.dledger.log_lookahead import Goal, LogLookahead


@dataclass(frozen=True, slots=True)
class LineContext:
    """A line, a chain that explains the lines before, and the lookahead to later ones."""

    line: LogLine
    chain: Chain
    nodes: tuple[str, ...]
    lookahead: LogLookahead

    @property
    def hidden(self) -> StepProposals:
        """The proposals of hidden steps before this line."""
        return StepProposals(self.lookahead.write_index)

    def take(self, chain: Chain | None, action: str, shows: dict[str, Any], **args: Any) -> Iterator[Chain]:
        """Yield the chain with the step of the line, if the spec allows it and the node shows this."""
        after = chain and chain.take(action, self.line.node, shows=shows, **args)
        if after:
            yield after

    def observe(self, chain: Chain, shows: dict[str, Any]) -> Iterator[Chain]:
        """Yield the chain with an observation, if the node shows this."""
        after = chain.observe(self.line.node, shows)
        if after:
            yield after

    def advanced(self, marks: dict[str, int] | None = None) -> Iterator[Chain]:
        """Yield chains that go on under the node's leader to all that later lines show, and to what is sure of that.

        A node that shows nothing for long may have got as far as the others: that is tried, too.
        `marks`: watermarks of the leader that this line shows.
        """
        chain, node = self.chain, self.line.node
        leader = chain.leader_of(node)
        if leader is None:
            return
        goals = {n: self.lookahead.goal(n) for n in self.nodes}
        shown = self.lookahead.marks(leader, chain.field(leader, "currTerm"), self.line, goals)
        limit = goals[node].end
        if limit is None and node != leader:
            committed = goals[node].committed
            limit = chain.end(leader) if committed is None else max(chain.end(leader), committed)
        even = max([chain.end(leader), *(goal.end for goal in goals.values() if goal.end is not None)])
        if limit is not None:  # the others come no further than goes with what this node will show
            end = goals[leader].end
            goals = {n: goal if n == node else goal.within(limit, end) for n, goal in goals.items()}
            shown = {n: min(mark, limit) for n, mark in shown.items()}
            even = min(even, limit)
        if node != leader:  # what the leader will show can wait, and nobody comes to know of more
            most = self.lookahead.committed(leader)
            goals = {n: Goal() if n == leader else goal.capped(most) for n, goal in goals.items()}
            shown = {}
        seen = {chain.state}
        sure = {n: goal.certain_part() for n, goal in goals.items()}
        all_even = {n: goal if n == leader else goal.with_default_end(even) for n, goal in goals.items()}
        for chosen in (goals, *([sure] if sure != goals else []), *([all_even] if all_even != goals else [])):
            after = self.hidden.advance(chain, leader, chosen, shown | (marks or {}))
            if after.state not in seen:
                seen.add(after.state)
                yield after

    def committed(self, peer: str) -> Iterator[Chain]:
        """Yield the chain after the leader, whose line this is, committed just what the peer will show."""
        goals = {n: self.lookahead.goal(n) for n in self.nodes}
        index = goals[peer].committed
        if self.chain.leads(self.line.node) and index is not None:
            own = {self.line.node: replace(goals[self.line.node], committed=index, at_least=False)}
            shown = self.lookahead.marks(self.line.node, self.chain.field(self.line.node, "currTerm"), self.line, goals)
            yield self.hidden.advance(self.chain, self.line.node, goals | own, shown)

    def voted(self) -> Iterator[Chain]:
        """Yield the chain, and those in which the node voted for a later leader of its term.

        It cannot do so any more once it is in another term.
        """
        chain, node = self.chain, self.line.node
        yield chain
        for candidate in self.lookahead.leaders(chain.field(node, "currTerm")):
            after = chain.hide("SetCurrVoteFor", node, candidate=candidate)
            if after and node not in chain.field(candidate, "votes"):
                yield after

    def compared(self) -> Iterator[Chain]:
        """Yield the chain, and those in which COMPAREs went on, as they cannot once the node's role has changed.

        Only those are tried whose answer, or whose end, a later line shows.
        """
        found, node = [self.chain], self.line.node
        pairs = [(node, peer) for peer in self.nodes if peer != node]
        pairs += [(peer, node) for _, peer in pairs]
        for leader, peer in pairs:
            if self.lookahead.ends_compare(leader, peer):
                found = [after for chain in found for after in self.hidden.compares(chain, leader, peer)]
        yield from found

    def observe_in_time(self, shows: dict[str, Any]) -> Iterator[Chain]:
        """Observe, at once, or after the leader went on."""
        found = list(self.observe(self.chain, shows))
        yield from found
        if not found:
            for chain in self.advanced():
                yield from self.observe(chain, shows)
