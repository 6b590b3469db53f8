"""A group that runs on this machine, and the commands that it takes from a prompt or a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.cluster.live_check import LiveCheck
from lockstep.cluster.network_links import Links
from lockstep.cluster.node_processes import NodeProcesses, free_addresses
from lockstep.cluster.step_files import newest_step, whole_steps
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.running_nodes import Address, ClientRefusedError, GroupClient, NodeKind, RunningNodes, entry_index
from lockstep.systems.system import System
from raftref.runtime.driver import NodeStep

#: The longest that a session waits for a leader before its first command, in seconds.
MAX_WAIT_FOR_LEADER = 60.0
#: The time between two lines that say that it still waits, and between two looks, in seconds.
PROGRESS_PERIOD, POLL = 5.0, 0.1

#: The commands, each with what it does.
COMMANDS: Mapping[str, str] = {
    "append VALUE...": "append values, one after the other, at the leader",
    "get INDEX": "print the entry at an index",
    "status": "print what each node shows",
    "transfer NODE": "let the leader hand over to a node",
    "add NODE": "let the leader add a node to the members that vote, if the system can",
    "remove NODE": "let the leader remove a node from the members, if the system can",
    "kill NODE": "kill a node's process (SIGKILL)",
    "start NODE": "start a node's process again",
    "pause NODE": "stop a node's process (SIGSTOP)",
    "resume NODE": "let it go on",
    "cut NODE...": "cut nodes off from all others",
    "slow NODE NODE SECONDS": "delay what goes from a node to another",
    "heal": "end all cuts and delays",
    "wait SECONDS": "wait",
    "help": "print this list",
    "quit": "stop the group, and print the verdict",
}


class CommandError(Exception):
    """A command that is none, or cannot be carried out."""


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """A group as it is started: the number of its nodes, their kind, its folder, the scale of its times."""

    nodes: int
    folder: Path
    kind: NodeKind
    time_scale: float


def refuse_filled(folder: Path) -> None:
    """Raise GaveUpError where a folder that a group is to have is not empty."""
    if folder.exists() and any(folder.iterdir()):
        raise GaveUpError(f"{folder} is not empty; name another folder with -o")


class GroupSession:
    """Runs a group, and carries out commands."""

    def __init__(
        self, system: System, running: RunningNodes, options: GroupOptions, say: Callable[[str], None]
    ) -> None:
        """Prepare a group. Its folder must be empty, or missing; raises GaveUpError otherwise.

        Arguments: `system` and `running`, what its nodes are; `options`; `say`, called with lines for people.
        """
        self._running, self._options, self._say = running, options, say
        self.nodes = tuple(f"n{number}" for number in range(1, options.nodes + 1))
        folder = options.folder
        refuse_filled(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.trace = folder / "group.trace.ndjson"
        #: How the processes ended that ended by themselves, or had to be killed at the stop.
        self.died: list[str] = []
        self._steps = {node: folder / f"{node}.steps.ndjson" for node in self.nodes}
        self.check = LiveCheck(system, running, self.nodes, options.kind, list(self._steps.values()), self.trace)
        self._spec = system.spec
        self._addresses: dict[str, Address] = dict(zip(self.nodes, free_addresses(options.nodes), strict=True))

    async def run(self, commands: AsyncIterator[str], interrupts: asyncio.Semaphore | None = None) -> TraceVerdict:
        """Run the group until the commands are over, and return the verdict on what it did.

        Arguments: `commands`; `interrupts`, released at each Ctrl-C: one ends the command that is carried out and all
        that follow, one during the check of what is left ends that.
        """

        async def take(links: Links, group: NodeProcesses) -> None:
            await self._wait_for_leader(group)
            prompt = _Prompt(self, links, group)
            async for line in commands:
                if not await prompt.take(line):
                    return

        return await self.run_with(take, asyncio.Semaphore(0) if interrupts is None else interrupts)

    async def run_with(
        self,
        work: Callable[[Links, NodeProcesses], Coroutine[Any, Any, None]],
        interrupts: asyncio.Semaphore,
        *,
        live: bool = True,
    ) -> TraceVerdict:
        """Run the group until some work with its links and processes is done; return the verdict on what it did.

        Arguments: `work`; `interrupts`, as for `run`; `live`, whether the check begins with the group.
        """
        links = Links(self._addresses)
        await links.open()
        try:
            with NodeProcesses({node: self._words(node, links) for node in self.nodes}, self._options.folder) as group:
                for node in self.nodes:
                    group.start(node)
                if live:
                    self.check.start()
                if not await _unless(interrupts, work(links, group)):
                    self._say("interrupted: the nodes are stopped, and what they recorded is checked")
            self.died = [*group.ended_by_themselves().values()]
        finally:
            links.close()
        if not live:
            self.check.start()
        self.check.end()
        self._say(f"checking: {self.check.checked:,} events so far")
        await _unless(interrupts, self._checked())
        verdict = self.check.verdict or self.check.give_up()
        if self.died and verdict.verdict is Verdict.HOLDS:  # of fewer nodes than were asked for
            verdict.verdict, verdict.reason = Verdict.INCONCLUSIVE, "; ".join(self.died)
        return verdict

    async def _wait_for_leader(self, group: NodeProcesses) -> None:
        """Wait until a node leads: processes take a while to start, and clients wait for a few seconds only."""
        loop = asyncio.get_running_loop()
        begin, count = loop.time(), 0
        while not any(step is not None and self._running.led_term(step) is not None for step in self.newest().values()):
            waited = loop.time() - begin
            if waited > MAX_WAIT_FOR_LEADER or 2 * sum(map(group.is_running, self.nodes)) <= len(self.nodes):
                self._say(f"no node leads after {waited:.0f} s")
                return
            if waited > (count + 1) * PROGRESS_PERIOD:
                count += 1
                self._say(f"no node leads yet, after {waited:.0f} s")
            await asyncio.sleep(POLL)

    async def _checked(self) -> None:
        while not self.check.is_done:
            await asyncio.sleep(POLL)

    def _words(self, node: str, links: Links) -> list[str]:
        options = self._options
        peers = ";".join(f"{name}={host}:{port}" for name, (host, port) in links.seen_from(node).items())
        words = [node, peers, "--system", self._spec, "--dir", str(options.folder / node), "--group", "lockstep"]
        words += ["--record", str(self._steps[node]), "--time-scale", str(options.time_scale)]
        kind = options.kind
        words += [word for flaw in kind.flaws for word in ("--flaw", flaw)]
        words += [word for feature in kind.features for word in ("--feature", feature)]
        return words + [word for name, value in kind.settings.items() for word in ("--setting", f"{name}={value}")]

    # ---- What commands need --------------------------------------------------------------------------

    def client(self) -> GroupClient:
        """Return a client that reaches the nodes where they listen, whatever links are cut."""
        return self._running.client("lockstep", self._addresses)

    def steps(self) -> list[NodeStep]:
        """Return the steps that all nodes have taken, in their order, once none of them runs."""
        return list(whole_steps(list(self._steps.values())))

    @property
    def addresses(self) -> Mapping[str, Address]:
        """Where each node listens."""
        return self._addresses

    def newest(self) -> dict[str, NodeStep | None]:
        """Return the last step of each node, None for one that has taken none."""
        return {node: newest_step(path) for node, path in self._steps.items()}

    def status(self, group: NodeProcesses) -> list[str]:
        """Return a line about each node."""
        lines: list[str] = []
        died = group.ended_by_themselves()
        for node, step in self.newest().items():
            shows = {} if step is None else {name: step.shows.get(name) for name in self._running.shown}
            shown = ", ".join(f"{name} {value}" for name, value in shows.items()) or "nothing yet"
            is_running, started = group.is_running(node), group.started_at(node)
            state = "(down) " if not is_running else "(starting) " if step is None or step.at < started else ""
            line = f"{node} {state}{shown}"
            lines.append(line if is_running else died.get(node, line))
        lines.append(self.check.status())
        return lines

    def say(self, text: str) -> None:
        """Print a line."""
        self._say(text)


async def _unless(interrupts: asyncio.Semaphore, work: Coroutine[Any, Any, None]) -> bool:
    """Carry out some work, and cancel it at an interrupt; return whether it came to its end."""
    task, interrupt = asyncio.create_task(work), asyncio.create_task(interrupts.acquire())
    try:
        await asyncio.wait((task, interrupt), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return False
        task.result()
        return True
    finally:
        for each in (task, interrupt):
            each.cancel()
        await asyncio.gather(task, interrupt, return_exceptions=True)


class _Prompt:
    """Carries out commands."""

    def __init__(self, session: GroupSession, links: Links, group: NodeProcesses) -> None:
        self._session, self._links, self._group = session, links, group
        self._client = session.client()
        self._actions: Mapping[str, Callable[[Sequence[str]], Awaitable[None]]] = {
            "append": self._append,
            "get": self._get,
            "status": self._status,
            "transfer": self._transfer,
            "add": self._change("add", self._client.add),
            "remove": self._change("remove", self._client.remove),
            "kill": self._on_process(group.kill),
            "start": self._on_process(group.start),
            "pause": self._on_process(group.pause),
            "resume": self._on_process(group.resume),
            "cut": self._cut,
            "slow": self._slow,
            "heal": self._heal,
            "wait": self._wait,
            "help": self._help,
        }

    async def take(self, line: str) -> bool:
        """Carry out a line; return whether more may come. What is wrong with it is printed."""
        words = line.split("#", 1)[0].split()
        if not words:
            return True
        if words[0] == "quit":
            return False
        try:
            if words[0] not in self._actions:
                raise CommandError(f"{words[0]!r} is no command; `help` lists them")
            await self._actions[words[0]](words[1:])
        except (CommandError, GaveUpError) as error:
            self._session.say(f"{line.strip()}: {error}")
        return True

    def _node(self, name: str) -> str:
        if name not in self._session.nodes:
            raise CommandError(f"{name!r} is none of {', '.join(self._session.nodes)}")
        return name

    def _on_process(self, act: Callable[[str], None]) -> Callable[[Sequence[str]], Awaitable[None]]:
        async def carry_out(words: Sequence[str]) -> None:
            act(self._node(_one(words)))

        return carry_out

    async def _asked(self, what: str, answer: Awaitable[str]) -> None:
        try:
            self._session.say(f"{what}: {await answer}")
        except ClientRefusedError as error:
            self._session.say(f"{what}: {error}")

    async def _append(self, values: Sequence[str]) -> None:
        for value in values:
            await self._asked(f"append {value}", self._client.append(value))

    async def _get(self, words: Sequence[str]) -> None:
        await self._asked(f"get {_one(words)}", self._client.get(_index(_one(words))))

    async def _transfer(self, words: Sequence[str]) -> None:
        await self._asked(f"transfer {_one(words)}", self._client.transfer(self._node(_one(words))))

    def _change(self, name: str, change: Callable[[str], Awaitable[str]]) -> Callable[[Sequence[str]], Awaitable[None]]:
        async def carry_out(words: Sequence[str]) -> None:
            await self._asked(f"{name} {_one(words)}", change(self._node(_one(words))))

        return carry_out

    async def _status(self, _: Sequence[str]) -> None:
        for line in self._session.status(self._group):
            self._session.say(line)

    async def _cut(self, words: Sequence[str]) -> None:
        self._links.cut_off([self._node(each) for each in words])

    async def _slow(self, words: Sequence[str]) -> None:
        if len(words) != 3:
            raise CommandError("slow takes two nodes and a number of seconds")
        src, dst = self._node(words[0]), self._node(words[1])
        if src == dst:
            raise CommandError("a node has no link to itself")
        self._links.slow(src, dst, _number(words[2]))

    async def _heal(self, _: Sequence[str]) -> None:
        self._links.heal()

    async def _wait(self, words: Sequence[str]) -> None:
        await asyncio.sleep(_number(_one(words)))

    async def _help(self, _: Sequence[str]) -> None:
        width = max(map(len, COMMANDS))
        for name, text in COMMANDS.items():
            self._session.say(f"{name:{width}}  {text}")


def _one(words: Sequence[str]) -> str:
    if len(words) != 1:
        raise CommandError("one argument is needed")
    return words[0]


def _index(word: str) -> int:
    try:
        return entry_index(word)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _number(word: str) -> float:
    try:
        value = json.loads(word)
    except ValueError as error:
        raise CommandError(f"{word!r} is no number") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
        raise CommandError(f"{word!r} is no number from 0 to 3600")
    return value
