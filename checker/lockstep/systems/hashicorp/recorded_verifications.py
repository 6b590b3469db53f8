"""Clients that ask a leader whether it still leads: VerifyLeader, between the line of the question and its answer's.

The main loop takes a question up after its line, and answers it before the answer has its line. A question that is
confirmed is taken up as early as may be, which counts most answers of peers, and confirmed as late as may be, once
enough of the answers that have come are acted on. One that is denied is taken up before the denial is acted on. The
spec's leader has one question at a time: one that comes while another is open is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockstep.systems.hashicorp.recorded_calls import Calls, Reply
from lockstep.systems.hashicorp.recording_lines import VerifyReq, VerifyResp
from lockstep.systems.hashicorp.recording_lookahead import Lookahead
from lockstep.systems.hashicorp.recording_replay import RecordingReplay, fields

#: What a leader shows that is confirmed; one that is denied follows.
CONFIRMED = {"role": "Leader"}


class Verifications:
    """The question that each server is asked, if it is one that the spec is asked, too."""

    def __init__(
        self, replay: RecordingReplay, calls: Calls, lookahead: Lookahead, act_on: Callable[[Reply], bool]
    ) -> None:
        """Read a recording; `act_on` lets a caller act on an answer that has come."""
        self._replay, self._calls, self._lookahead, self._act_on = replay, calls, lookahead, act_on
        self._open: dict[str, VerifyReq] = {}
        #: The servers that have not taken their question up, and those that have answered it.
        self._waiting: set[str] = set()
        self._answered: set[str] = set()

    def asks(self, line: VerifyReq) -> None:
        """A client asks. Where no leader can have answered, or nobody did, nothing follows from the question."""
        node, answer = line.node, self._lookahead.verified.get((line.life, line.k))
        is_leader = self._replay.server(node)["role"] == "Leader"
        if node in self._open or self._is_active(node) or answer is None or not (answer.ok or is_leader):
            return
        self._open[node] = line
        self._waiting.add(node)
        self._answered.discard(node)
        self.take_up(node)

    def take_up(self, node: str) -> None:
        """Let a leader take up the question that waits for it and is confirmed later, if it can.

        It has acted on the denials that came before the question.
        """
        if node in self._waiting and self._is_confirmed(node) and self._may_take_up(node):
            for reply in [each for each in self._calls.replies_of(node, "Heartbeat") if not each.tree["success"]]:
                self._act_on(reply)
            self._take_up(node)

    def before_denial(self, node: str) -> None:
        """A peer's denial is acted on: the question was taken up before, and if it is confirmed, decided before."""
        if self._is_confirmed(node):
            if self._is_active(node):
                self._act_on_acknowledgements(node)
        elif node in self._waiting and self._may_take_up(node):
            self._take_up(node)

    def _is_confirmed(self, node: str) -> bool:
        question = self._open.get(node)
        return question is not None and self._lookahead.verified[question.life, question.k].ok

    def _may_take_up(self, node: str) -> bool:
        return self._replay.trial(node, "VerifyLeader", {}) is not None

    def _take_up(self, node: str) -> None:
        self._waiting.remove(node)
        self._replay.take(node, "VerifyLeader", line=self._open[node])

    def answers(self, line: VerifyResp) -> None:
        """A client has its answer: of one that is confirmed the step was before."""
        node = line.node
        question = self._open.get(node)
        if question is None or (question.life, question.k) != (line.life, line.k):
            return
        if line.ok and node not in self._answered:
            self._act_on_acknowledgements(node)
            self._replay.take(node, "HandleVerify", shows=CONFIRMED)
        self.forget(node)

    def ends(self, node: str) -> None:
        """A leadership ends: it had confirmed itself if its client has that answer later."""
        question = self._open.get(node)
        if question is None or node in self._answered or not self._is_active(node):
            return
        answer = self._lookahead.verified[question.life, question.k]
        if answer.ok:
            self._act_on_acknowledgements(node)
            after = self._replay.trial(node, "HandleVerify", {})
            if after is not None and self._replay.server(node, after)["role"] == "Leader":
                self._answered.add(node)
                self._replay.take(node, "HandleVerify", shows=CONFIRMED, line=answer)

    def refuted(self, node: str) -> None:
        """A peer has denied a leader: act on what has come until that is known."""
        if not self._is_active(node):
            self._waiting.discard(node)
            self._replay.take(node, "VerifyLeader", line=self._open.get(node))
        for reply in list(self._calls.replies_of(node, "Heartbeat", "AppendEntries")):
            if self._replay.trial(node, "HandleVerify", {}) is None and not reply.tree["success"]:
                self._act_on(reply)

    def forget(self, node: str) -> None:
        """The question is over, or its server is."""
        self._open.pop(node, None)
        self._waiting.discard(node)

    def _act_on_acknowledgements(self, node: str) -> None:
        """Act on answers of peers until the leader is confirmed, on heartbeats' first: nothing else depends on them."""
        self.take_up(node)
        for reply in self._acknowledgements(node):
            if self._replay.trial(node, "HandleVerify", {}) is not None:
                return
            self._act_on(reply)

    def _acknowledgements(self, node: str) -> Iterator[Reply]:
        for types in (("Heartbeat",), ("AppendEntries", "InstallSnapshot")):
            yield from [each for each in self._calls.replies_of(node, *types) if each.tree["success"]]

    def _is_active(self, node: str) -> bool:
        return bool(fields(self._replay.server(node)["verify"])["active"])
