"""A group of servers of the released hashicorp/raft, each a process, behind links."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.hashicorp.runtime.client_lines import NO_COMMAND
from tests.scripts.reproduce.links import PATIENCE, Links, Rule, drop
from tests.scripts.reproduce.raft_stream import RaftStream
from tests.scripts.reproduce.reproduction import InconclusiveError, Story
from tests.support.systems.mixed_raft import GO, MixedGroup, Shape

#: The time of a call in seconds: that of one which the links swallow, too.
RPC_TIMEOUT = 1.0


def votes_only(*servers: str) -> list[Rule]:
    """Make rules by which no other server can win an election."""
    return [drop("RequestVote", "RequestPreVote", where=lambda frame: frame.src not in servers)]


class RaftGroup(MixedGroup):
    """Some voters, and `others`; a script starts them.

    Arguments: `folder`, for all files; `release`, that of the library; `voters`; `others`; `is_recorded`;
    `shape`, fields of Shape that differ; `times`, by what the times of some servers are multiplied; `rpc_timeout`, the
    time of a call in seconds.
    """

    def __init__(
        self,
        folder: Path,
        release: str,
        *,
        voters: tuple[str, ...] = ("n1", "n2", "n3"),
        others: tuple[str, ...] = (),
        is_recorded: bool = True,
        times: Mapping[str, float] | None = None,
        rpc_timeout: float = RPC_TIMEOUT,
        **shape: Any,
    ) -> None:
        chosen = Shape(voters, release=release, recorded=is_recorded, **shape)
        super().__init__(dict.fromkeys((*voters, *others), GO), folder, chosen)
        self.links = Links(self.addresses, RaftStream, folder / "links.ndjson")
        self.story = Story()
        self._times, self._rpc_timeout = dict(times or {}), rpc_timeout

    def __enter__(self) -> RaftGroup:
        self.links.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.links.__exit__()

    def _go(self, name: str) -> list[str]:
        places = {other: self.links.address(name, other) for other in self.kinds}
        through = ";".join(f"{other}={host}:{port}" for other, (host, port) in places.items())
        words = [*super()._go(name), "-through", through, "-stops", "-rpc-timeout", str(self._rpc_timeout)]
        return [*words, "-time-scale", str(self._times.get(name, 1.0))]

    def recording(self) -> Path | None:
        """Stop what runs, and return the recording of all."""
        self.stop(*self.running())
        if not self.shape.recorded:
            return None
        out = self.folder / "group.ndjson"
        words = [sys.executable, "-m", "lockstep", "merge", *map(str, self.records()), "-o", str(out)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return out

    # ---- What a script waits for ---------------------------------------------------------------------

    def await_leads(self, name: str, term: int | None = None) -> int:
        """Wait until a server leads by its own account, in a term if one is given, and return its term."""
        found: list[int] = []

        def leads() -> bool:
            shown = self.status(name)
            if shown is None or shown["state"] != "Leader" or term not in (None, shown["term"]):
                return False
            found.append(int(shown["term"]))
            return True

        self.until(leads)
        return found[-1]

    def await_applied(self, name: str, index: int) -> None:
        """Wait until a server has applied up to an index."""
        self.until(lambda: (self.status(name) or {"appliedIndex": 0})["appliedIndex"] >= index)

    def await_last(self, name: str, index: int) -> None:
        """Wait until the log of a server ends at an index."""
        self.until(lambda: (self.status(name) or {"lastLog": {"index": 0}})["lastLog"]["index"] == index)

    def await_leader_known(self, name: str, leader: str) -> None:
        """Wait until a server takes another for its leader."""
        self.until(lambda: (self.status(name) or {}).get("leader") == leader)

    def await_death(self, name: str) -> None:
        """Wait until a server that was armed has died."""
        self._wanted.remove(name)
        self._processes[name].wait(PATIENCE)

    # ---- Places in a server --------------------------------------------------------------------------

    def arm(self, name: str, place: str, action: str) -> None:
        """Let a server `wait` or `kill` itself once it comes to a place."""
        self._ask(name, "arm", value=place, command=action)

    def await_place(self, name: str, place: str) -> None:
        """Wait until a server has come to a place."""
        self._ask(name, "await", value=place)

    def release(self, name: str, place: str) -> None:
        """Let a server go on from a place."""
        self._ask(name, "release", value=place)

    # ---- Clients -------------------------------------------------------------------------------------

    def _ask(self, name: str, op: str, /, timeout: float = PATIENCE, **fields: Any) -> Any:
        return asyncio.run(RaftClient(self.addresses, timeout).ask(name, op, **fields))

    def _say(self, what: str, name: str, op: str, /, expected: str = "", **fields: Any) -> Any:
        """Ask a server, add the answer to the story, and return it; None where it is an error of those expected."""
        try:
            answer = self._ask(name, op, **fields)
        except RequestFailedError as error:
            self.story.add(f"{what} at {name}: {error.error}")
            if not error.error.startswith(expected):
                raise InconclusiveError(f"{what} at {name}: {error.error}") from error
            return None
        shown = {key: value for key, value in answer.items() if key in ("index", "term", "value")}
        found = ", ".join(f"{key} {value}" for key, value in shown.items()) or "yes"
        self.story.add(f"{what} at {name}: {found}")
        return answer

    def apply_at(self, name: str, value: str, timeout: float = PATIENCE) -> int | None:
        """Append a command at a server, and return its index if that is confirmed."""
        answer = self._say(f"apply {value}", name, "apply", timeout=timeout, value=value)
        return None if answer is None else int(answer["index"])

    def apply_unawaited(self, name: str, *values: str) -> None:
        """Append commands whose answers nobody waits for."""
        for value in values:
            thread = threading.Thread(target=lambda value=value: self.apply_at(name, value), daemon=True)
            thread.start()
            time.sleep(0.05)

    def until_applied_at(self, name: str, value: str) -> int:
        """Append a command at a server until it is confirmed, and return its index."""
        end = time.monotonic() + PATIENCE
        while (index := self.apply_at(name, value)) is None:
            assert time.monotonic() < end, f"{value} is not confirmed at {name}"
            time.sleep(0.2)
        return index

    def transfer_in_vain(self, name: str, to: str) -> None:
        """Let a server hand over to another, and do not wait for that."""
        words = f"transfer to {to}", name, "transfer"
        threading.Thread(target=lambda: self._say(*words, to=to), daemon=True).start()

    def read_at(self, name: str, index: int) -> str | None:
        """Return the command that a state machine has applied at an index; raises InconclusiveError if it does not say.

        None: it has applied none there.
        """
        answer = self._say(f"read index {index}", name, "read", expected=NO_COMMAND, index=index)
        return None if answer is None else str(answer["value"])

    def verify_at(self, name: str) -> bool:
        """Return whether a server confirms that it leads (VerifyLeader)."""
        return self._say("verify", name, "verify") is not None

    def snapshot_at(self, name: str) -> int | None:
        """Let a server take a snapshot, and return its index."""
        answer = self._say("snapshot", name, "snapshot")
        return None if answer is None else int(answer["index"])
