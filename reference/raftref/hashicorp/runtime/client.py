"""A client of a group of servers that run: asks the leader, which it finds by what other servers answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client_calls import RaftError
from raftref.hashicorp.runtime.client_lines import CLIENT_BYTE, MAX_LINE_BYTES, Answer, read_answer, request_line
from raftref.hashicorp.values import Index, NodeId, Value
from raftref.wire_error import WireError

#: The longest that a client waits for an answer, and for a leader, in seconds.
TIMEOUT = 5.0
#: The rest before another server is asked, in seconds.
RETRY = 0.1

#: What comes in the place of the error of an answer where there is no answer.
NO_CONNECTION, NO_ANSWER = "no connection", "no answer"

#: The errors after which another server may do what was asked.
_ELSEWHERE = frozenset({NO_CONNECTION, RaftError.NOT_LEADER, RaftError.RAFT_SHUTDOWN})


class RequestFailedError(Exception):
    """A request came to nothing, unless `is_uncertain`: then an entry may be committed all the same."""

    def __init__(self, error: str, leader: NodeId | None = None, *, is_uncertain: bool) -> None:
        """Make the error of an answer, and of the leader that it names."""
        super().__init__(error)
        self.error, self.leader, self.is_uncertain = error, leader, is_uncertain


class RaftClient:
    """A client, with a connection for each request."""

    def __init__(self, addresses: Mapping[NodeId, tuple[str, int]], timeout: float = TIMEOUT) -> None:
        """Make a client of a group, given the host and port of each server."""
        self._addresses, self._timeout = dict(addresses), timeout
        self.leader: NodeId | None = None

    async def apply(self, value: Value) -> Answer:
        """Append a command, and return where it was committed."""
        return await self._at_leader("apply", value=value)

    async def read(self, index: Index) -> Answer:
        """Return the command at an index, as the leader has applied it, with all before it."""
        await self._at_leader("barrier")
        assert self.leader is not None
        # Another server may lag behind, and would answer without a barrier.
        return await self.ask(self.leader, "read", index=index)

    async def transfer(self, to: NodeId | None = None) -> Answer:
        """Let the leader hand over to a server, or to any voter."""
        # A server refuses to hand over to itself even while it follows, so another one says who leads.
        self.leader = None if self.leader == to else self.leader
        others = [each for each in self._addresses if each != to]
        return await self._at_leader("transfer", others, to=to)

    async def change(self, command: ChangeCommand, server: NodeId) -> Answer:
        """Add, demote or remove a server."""
        return await self._at_leader("change", command=command, server=server)

    async def status(self, server: NodeId) -> Answer:
        """Return the statistics of a server."""
        return await self.ask(server, "status")

    async def snapshot(self, server: NodeId) -> Answer:
        """Let a server take a snapshot."""
        return await self.ask(server, "snapshot")

    async def ask(self, server: NodeId, op: str, /, **fields: Any) -> Answer:
        """Ask a server, and return its answer; raises RequestFailedError."""
        why = NO_CONNECTION
        try:
            async with asyncio.timeout(self._timeout):
                reader, writer = await asyncio.open_connection(*self._addresses[server], limit=2 * MAX_LINE_BYTES)
                try:
                    why = NO_ANSWER
                    writer.write(CLIENT_BYTE + request_line(op, **fields))
                    answer = read_answer(await reader.readline())
                finally:
                    writer.close()
        except (OSError, TimeoutError, ValueError, WireError) as error:
            raise RequestFailedError(why, is_uncertain=why is NO_ANSWER) from error
        if answer["error"] is not None:
            raise RequestFailedError(answer["error"], answer["leader"], is_uncertain=bool(answer.get("index")))
        return answer

    async def _at_leader(self, op: str, first: Sequence[NodeId] = (), /, **fields: Any) -> Answer:
        """Ask the leader, for as long as it is certain that nothing was done yet; ask some servers first for it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout
        for server in itertools.cycle(first or self._addresses):
            asked = self.leader or server
            try:
                answer = await self.ask(asked, op, **fields)
            except RequestFailedError as error:
                known = error.leader if error.leader in self._addresses and error.leader != asked else None
                self.leader = known
                if error.is_uncertain or error.error not in _ELSEWHERE or loop.time() > end:
                    raise
                await asyncio.sleep(0 if known is not None else RETRY)
            else:
                self.leader = asked
                return answer
        raise AssertionError("a group has a server")
