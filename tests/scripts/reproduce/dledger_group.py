"""A group of nodes of the released DLedger, each a process with the recorder's agent, behind links."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from raftref.dledger.client_messages import AppendEntryRequest, GetEntriesRequest, ResponseCode
from raftref.dledger.messages import Index
from raftref.dledger.runtime.client import Client, RequestRefusedError
from tests.scripts.reproduce.dledger_stream import DLedgerStream
from tests.scripts.reproduce.links import Frame, Links, Rule, drop
from tests.scripts.reproduce.reproduction import InconclusiveError, Story
from tests.support.programs.java_programs import NO_MAVEN
from tests.support.programs.processes import wait_until
from tests.support.systems.mixed_dledger import GROUP, JAVA, NODES, GroupSetting, MixedGroup

#: Short times, in milliseconds, so that elections follow each other quickly.
TIMES = {"heartBeatTimeIntervalMs": 300, "minVoteIntervalMs": 200, "maxVoteIntervalMs": 600, "checkPointInterval": 300}

#: The requests of a dispatcher.
PUSHES = ("COMPARE", "TRUNCATE", "APPEND", "COMMIT")

#: The longest that a client waits, in seconds: longer than a leader waits for a quorum.
CLIENT_TIMEOUT = 6.0


def votes_only(*nodes: str) -> list[Rule]:
    """Make rules by which no other node can win an election."""
    return [drop("VOTE", src=each) for each in NODES if each not in nodes]


class DLedgerGroup(MixedGroup):
    """Nodes that a script starts: three, unless `setting` names others.

    Skips where Java cannot be built: a test, or the run of a command.
    """

    def __init__(self, folder: Path, version: str, is_recorded: bool = True, **setting: Any) -> None:
        if NO_MAVEN is not None:
            pytest.skip(NO_MAVEN)
        super().__init__(folder, GroupSetting(version, is_recorded=is_recorded, **{"times": TIMES, **setting}))
        self.links = Links(self.addresses, DLedgerStream, folder / "links.ndjson")
        self.story = Story()

    def __enter__(self) -> DLedgerGroup:
        self.links.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.links.__exit__()

    def java_peers_of(self, node: str) -> str:
        """The members as a node reaches them: the others by its links."""
        places = {other: self.links.address(node, other) for other in self.nodes}
        return ";".join(f"{other}-{host}:{port}" for other, (host, port) in places.items())

    def up(self, *nodes: str) -> None:
        """Start nodes."""
        self.start(**dict.fromkeys(nodes, JAVA))

    def recording(self) -> Path:
        """Stop what runs, and return the recording of all."""
        self.stop(*(node for node in self.kinds if self._processes[node].poll() is None))
        return self.merged()

    # ---- What a script waits for ---------------------------------------------------------------------

    def await_leads(self, node: str, *others: str) -> None:
        """Wait until a node leads, and others follow it."""
        for each in (node, *others):
            assert wait_until(lambda each=each: self._named(each) == node), f"{each} does not follow {node}"  # type: ignore[misc]

    def await_end(self, node: str, index: int, since: int = 0) -> None:
        """Wait until a node answers a push with its log ending at an index."""

        def ends(frame: Frame) -> bool:
            return bool(frame.fields.get("endIndex") == index)

        self.links.seen(src=node, is_answer=True, since=since, where=ends)

    # ---- Clients -------------------------------------------------------------------------------------

    def append_to(self, node: str, value: str) -> int | None:
        """Append at a node, and return the index if that is confirmed."""
        answer = self._ask(node, AppendEntryRequest(node, value))
        index = None if isinstance(answer, str) else answer.index
        found = answer if index is None else f"confirmed at index {index}, term {answer.term}"
        self.story.add(f"append {value} at {node}: {found}")
        return index

    def get_from(self, node: str, index: int) -> str | None:
        """Read at a node, and return the value there, None if it has none.

        Raises InconclusiveError where the node does not say.
        """
        answer = self._ask(node, GetEntriesRequest(node, Index(index)))
        value = None if isinstance(answer, str) else str(answer.entries[0].value)
        self.story.add(f"get index {index} at {node}: {answer if value is None else value}")
        if value is None and answer != ResponseCode.INDEX_OUT_OF_RANGE.name:
            raise InconclusiveError(f"{node} does not say what it has at index {index}: {answer}")
        return value

    def _ask(self, node: str, request: Any) -> Any:
        async def ask() -> Any:
            try:
                answer = await Client(GROUP, self.addresses, CLIENT_TIMEOUT).ask(node, request)
            except RequestRefusedError as error:
                return error.code.name
            code = getattr(answer, "code", None)
            return answer if code is None or code.name == "SUCCESS" else code.name

        return asyncio.run(ask())
