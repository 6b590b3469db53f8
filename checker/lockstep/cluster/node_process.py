"""The process of one node: runs it until it is asked to stop, or has failed."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockstep.base.errors import OUT_OF_RESOURCES, BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.base.loop_interrupts import run_heard
from lockstep.systems.running_nodes import NodeOptions, RunningNodes
from raftref.disks.disk import DiskError
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import ListenError, RunningNode, StartError, StepFile

#: The file in a node's folder that its process holds locked.
LOCK_FILE = ".lockstep.lock"


def run_node(running: RunningNodes, options: NodeOptions, record: Path | None, say: Callable[[str], None]) -> None:
    """Run a node until Ctrl-C, SIGTERM or SIGHUP.

    Arguments: `running`, the system; `options`, of the node; `record`, the file for its steps; `say`, called with
    lines for people.

    Raises:
        GaveUpError: Its address is taken, or its folder is in use.
        BadInputError: Its files are damaged, or cannot be used.
        EnvironmentFailedError: The node has failed, so that its process ends.
    """
    with _locked(options.folder):
        steps = StepFile(record) if record is not None else None
        try:
            stop = asyncio.Event()
            work = _run(running, options, _nothing if steps is None else steps.write, say, stop)
            run_heard(work, lambda *_: stop.set())
        finally:
            if steps is not None:
                steps.close()


def _nothing(_: NodeStep) -> None:
    pass


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep every other process off a folder, which is made if it is missing; raises GaveUpError where one has it."""
    with _files_of(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK_FILE).open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GaveUpError(f"{folder}: the process of another node is using these files") from error
        yield


@contextmanager
def _files_of(folder: Path) -> Iterator[None]:
    """Raise what goes wrong with files as an error that names them."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename or folder}: {error.strerror or error}"
        if error.errno in OUT_OF_RESOURCES:
            raise EnvironmentFailedError(why) from error
        raise BadInputError(why) from error
    except (StartError, DiskError, UnicodeDecodeError) as error:
        raise BadInputError(f"{folder}: {error}") from error


async def _run(
    running: RunningNodes,
    options: NodeOptions,
    recorded: Callable[[NodeStep], None],
    say: Callable[[str], None],
    stop: asyncio.Event,
) -> None:
    host, port = options.addresses[options.node_id]
    with _files_of(options.folder):
        made = running.node(options, recorded, say)
    async with made as node:
        try:
            with _files_of(options.folder):
                await node.start(host, port)
        except ListenError as error:
            raise GaveUpError(f"{options.node_id} cannot listen on {host}:{port}: {error}") from error
        say(f"{options.node_id} listens on {host}:{port}; its files are in {options.folder}")
        await _end(node, options.node_id, stop)
    say(f"{options.node_id} has stopped")


async def _end(node: RunningNode, node_id: str, stop: asyncio.Event) -> None:
    """Wait until the node is asked to stop; raises EnvironmentFailedError once it has failed."""
    stopped = asyncio.ensure_future(stop.wait())
    ends: set[asyncio.Future[Any]] = {stopped, node.failed}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if node.failed.done():
        raise EnvironmentFailedError(f"{node_id} has failed: {node.failed.result()}")
