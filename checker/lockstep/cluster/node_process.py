"""The process of one node: runs it until it is asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from lockstep.base.errors import GaveUpError
from lockstep.systems.running_nodes import NodeOptions, RunningNodes
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import StepFile


def run_node(running: RunningNodes, options: NodeOptions, record: Path | None, say: Callable[[str], None]) -> None:
    """Run a node until SIGTERM or Ctrl-C.

    Arguments: `running`, the system; `options`, of the node; `record`, the file for its steps; `say`, called with
    lines for people. Raises GaveUpError where its address is taken.
    """
    steps = StepFile(record) if record is not None else None
    try:
        asyncio.run(_run(running, options, _nothing if steps is None else steps.write, say))
    finally:
        if steps is not None:
            steps.close()


def _nothing(_: NodeStep) -> None:
    pass


async def _run(
    running: RunningNodes, options: NodeOptions, recorded: Callable[[NodeStep], None], say: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    host, port = options.addresses[options.node_id]
    async with running.node(options, recorded, say) as node:
        try:
            await node.start(host, port)
        except OSError as error:
            raise GaveUpError(f"{options.node_id} cannot listen on {host}:{port}: {error.strerror}") from error
        say(f"{options.node_id} listens on {host}:{port}; its files are in {options.folder}")
        await stop.wait()
    say(f"{options.node_id} has stopped")
