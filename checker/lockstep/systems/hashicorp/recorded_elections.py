"""Campaigns: the requests for votes, the answers that count, and the winners.

A candidate acts on an answer some time after it has come. An answer that grants a vote changes nothing that is
recorded until a majority has; one that refuses it changes nothing, unless it has a higher term. So answers are
acted on where something recorded needs them.
"""

from __future__ import annotations

from collections import Counter

from lockstep.systems.hashicorp.recorded_calls import Calls, Tree, request
from lockstep.systems.hashicorp.recorded_leaders import Leaders, latest_voters
from lockstep.systems.hashicorp.recorded_servers import RecordedServer
from lockstep.systems.hashicorp.recording_lines import LeaderLine, StableFail, StableSet, StateLine
from lockstep.systems.hashicorp.recording_lookahead import Life, Lookahead
from lockstep.systems.hashicorp.recording_messages import Send
from lockstep.systems.hashicorp.recording_replay import DONE, RecordingReplay, fields


class Elections:
    """The candidates."""

    def __init__(
        self,
        replay: RecordingReplay,
        calls: Calls,
        lookahead: Lookahead,
        leaders: Leaders,
        servers: dict[str, RecordedServer],
        *,
        prevote: bool,
    ) -> None:
        """Read a recording of these servers, with or without pre-votes."""
        self.replay, self.calls, self.lookahead, self.leaders = replay, calls, lookahead, leaders
        self.servers, self.prevote = servers, prevote
        #: The rounds of pre-votes in which a candidate has asked a voter.
        self.rounds: Counter[tuple[Life, str]] = Counter()

    def campaign_on_timeout(self, line: StateLine) -> None:
        """A follower has not heard from a leader, and becomes a candidate."""
        self.replay.reach_select(line.node)
        self.replay.take(line.node, "HeartbeatTimeout", shows=self.servers[line.node].shown())
        if self.prevote:
            self._asks_for_prevotes(line.life)

    def forget_leader(self, line: LeaderLine) -> None:
        """A follower without a vote has not heard from its leader, and forgets it."""
        self.replay.take(line.node, "HeartbeatTimeout", shows=self.servers[line.node].shown())

    def restart_process(self, life: Life, *, hidden: bool = False) -> None:
        """A candidate has not won in time."""
        self.replay.take(life[0], "ElectionTimeout", hidden=hidden)
        if self.prevote:
            self._asks_for_prevotes(life)

    def _asks_for_prevotes(self, life: Life) -> None:
        """A candidate asks for pre-votes, unless that is in a later term: a heartbeat beside it comes before then."""
        node = life[0]
        asked = [(life, peer) for peer in self._other_voters(node)]
        queues = {each: self.lookahead.rounds.get(each, ()) for each in asked}
        lines = {each[1]: queue[self.rounds[each]] for each, queue in queues.items() if len(queue) > self.rounds[each]}
        server = self.replay.server(node)
        if any(line.body.term != server["currentTerm"] + 1 for line in lines.values()):
            return
        self.rounds.update(asked)
        if server["role"] == "Candidate":
            sent = self._requests(node, lines)
        else:
            sent = ()  # a heartbeat has made it a follower, which takes no answers
            for line in lines.values():
                self.calls.begin_unawaited(line)
        self.replay.take(node, "PreElectSelf", sent=sent, hidden=True)

    def _requests(self, node: str, lines: dict[str, Send]) -> tuple[Tree, ...] | None:
        """Return the requests of a round, and begin its calls.

        A request that was never handed to the transport, as where the process went down, is like that to another peer.
        """
        for line in lines.values():
            self.calls.begin(line)
        first = next(iter(lines.values()), None)
        if first is None:
            return None
        lines = {peer: lines.get(peer, first) for peer in self._other_voters(node)}
        return tuple({**request(node, peer, line.msg, line.body), "awaited": True} for peer, line in lines.items())

    def _other_voters(self, node: str) -> list[str]:
        return sorted(voter for voter in latest_voters(self.replay, node) if voter != node)

    def is_asked(self, line: Send) -> bool:
        """Return whether a request is of a round that has begun."""
        return line.rpc in self.calls.known

    def sends_prevote(self, line: Send) -> None:
        """A request for a pre-vote of no round that is known to have begun: the timer has run out unseen.

        A candidate that was about to ask asks now.
        """
        if self.is_asked(line):
            return
        if self.replay.server(line.node)["loop"] == "CAMPAIGN":
            self._asks_for_prevotes(line.life)
        else:
            self.restart_process(line.life, hidden=True)

    def sends_vote(self, line: Send) -> None:
        """A request for a vote of a campaign that writes no term: there is no such step."""
        if not self.is_asked(line):
            tree = {**request(line.node, line.to, line.msg, line.body), "awaited": True}
            args: Tree = {"asked": {"#set": [line.to]}, "outcome": DONE}
            self.replay.take(line.node, "ElectSelf", args, sent=(tree,))

    def elects_itself(self, line: StableSet | StableFail) -> None:
        """A candidate raises its term, votes for itself, and asks for votes."""
        node, server = line.node, self.servers[line.node]
        self._wins_prevote(line)
        parts = self.lookahead.campaigns[line.seq]
        failed = next((k for k, part in enumerate(parts, start=1) if isinstance(part, StableFail)), None)
        for part in parts:
            server.write(part)
        term = int(line.value)
        lines = self.lookahead.votes.get((line.life, term), {})
        others = self._other_voters(node)
        is_candidate = self.replay.server(node)["role"] == "Candidate"  # else a heartbeat has made it a follower
        if failed is None and len(parts) == 3 and is_candidate:
            sent, outcome, asked = self._requests(node, lines), DONE, others
        else:
            for each in lines.values():
                (self.calls.begin if is_candidate else self.calls.begin_unawaited)(each)
            sent, outcome, asked = (), DONE, others
        if failed is not None or len(parts) < 3:
            outcome = {"result": "FAIL" if failed else "CRASH", "write": failed or len(parts)}
            asked = sorted(lines)
        args: Tree = {"asked": {"#set": asked}, "outcome": outcome}
        self.replay.take(node, "ElectSelf", args, server.keys_shown(), sent)

    def _wins_prevote(self, line: StableSet | StableFail) -> None:
        """Act on what lets a candidate go on to ask for votes."""
        node = line.node
        self.replay.campaigning.discard(node)
        server = self.replay.server(node)
        if server["loop"] != "OVERTAKEN" and (server["role"] != "Candidate" or server["loop"] != "SELECT"):
            return
        if fields(server["campaign"])["phase"] == "PREVOTE":
            self._count_pre_votes(node)
        elif not self.prevote:
            self.restart_process(line.life, hidden=True)

    def _count_pre_votes(self, node: str) -> None:
        """Count the pre-votes that a candidate has got, until it has a majority."""
        for reply in list(self.calls.replies_of(node, "RequestPreVote")):
            if self.replay.server(node)["loop"] in ("SELECT", "OVERTAKEN") and reply.tree["granted"]:
                self.leaders.act_on(reply)

    def is_overtaken(self, node: str) -> None:
        """A heartbeat makes a candidate follow, and its main loop counts one more pre-vote, and campaigns by it."""
        self.replay.campaigning.add(node)
        if fields(self.replay.server(node)["campaign"])["phase"] == "PREVOTE":
            self._count_pre_votes(node)

    def wins(self, line: StateLine) -> None:
        """A candidate has the votes of a majority, and leads."""
        node = line.node
        replies = list(self.calls.replies_of(node, "RequestVote"))
        granted = [each for each in replies if each.tree["granted"]]
        transfer = fields(self.replay.server(node)["transfer"])
        if transfer["inProgress"] and not any(
            each[0] == node and each[2] == "TimeoutNow" for each in self.calls.current
        ):
            self.leaders.end_transfer(node)
        self.leaders.noops[node] = self.lookahead.noops.get(line.seq)
        for reply in granted:
            if self.replay.server(node)["role"] != "Leader":
                self.leaders.act_on(reply)
        shows = {"role": "Leader", **self.servers[node].keys_shown()}
        self.replay.observe(node, shows)  # a server without the votes does not lead by the spec

    def follow_higher_term(self, line: StableSet) -> None:
        """A candidate has learnt of a higher term from an answer, and follows."""
        node, server = line.node, self.servers[line.node]
        server.write(line)
        for reply in list(self.calls.replies_of(node, "RequestVote", "RequestPreVote")):
            if reply.tree["term"] == line.value:
                self.leaders.act_on(reply, hidden=False, shows=server.shown())
                return
        self.replay.observe(node, server.shown())
