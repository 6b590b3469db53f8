"""lockstep cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import click

from lockstep.cli.node_command import SYSTEM, chosen, chosen_flaws, group_size, refuse_settings, running_system
from lockstep.cli.options import FILE, FORMAT


@click.command()
@click.argument("nodes", type=int, default=3)
@SYSTEM
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("lockstep-cluster"),
    show_default=True,
    help="The folder for the files of the nodes, their steps, and the trace; it must be empty.",
)
@click.option("--commands", "file", type=FILE, help="Take the commands from this file, and stop at its end.")
@click.option("--flaw", "flaws", multiple=True, help="A flaw that all nodes have (default: none); `published` for all.")
@click.option("--feature", "features", multiple=True, help="A feature that all nodes have besides those of all.")
@click.option(
    "--time-scale",
    type=click.FloatRange(0.05, 10),
    default=0.25,
    show_default=True,
    help="Multiply all times of the nodes by this: 1 for those of the real system, which a busy machine may need.",
)
@FORMAT
def command(
    nodes: int,
    spec: str | None,
    output: Path,
    file: Path | None,
    flaws: tuple[str, ...],
    features: tuple[str, ...],
    time_scale: float,
    form: str,
) -> int:
    """Run a group of the reference: a process for each node on this machine, recorded, and checked while it runs.

    Commands come from the terminal or a file: append, get, status, transfer, add, remove, kill, start, pause,
    resume, cut, slow, heal, wait, quit, help, which lists them. The first of them waits until a node leads. The
    steps of all nodes are merged into one trace, which is checked against the spec as it grows. At `quit`, at the
    end of the commands or at Ctrl-C the processes are stopped, and the verdict on the whole run is printed;
    `lockstep check`, `view` and `minimise` take the trace. Ctrl-C once more ends the check.

    \b
    lockstep cluster 3
    lockstep cluster 5 --flaw published --commands chaos.txt -o run

    The README of each spec names the flaws and features.

    Exit codes: those of `lockstep check` for the trace; 2 also for a folder that is not empty.
    """
    from lockstep.base.errors import GaveUpError
    from lockstep.base.loop_interrupts import run_until_interrupted
    from lockstep.base.text_files import NotUtf8Error, text_of
    from lockstep.cluster.group_session import GroupOptions, GroupSession
    from lockstep.report.verdict_text import verdict_record, verdict_text
    from lockstep.systems.running_nodes import NodeKind

    system, running = running_system(spec)
    group_size(nodes, system, running, "NODES")
    wanted = chosen_flaws(flaws, running)
    kind = NodeKind(chosen(features, running.features, "--feature"), wanted)
    refuse_settings(running, kind, time_scale)
    options = GroupOptions(nodes, output, kind, time_scale)

    def say(text: str) -> None:
        if form == "text":
            click.echo(text)

    try:
        text = None if file is None else text_of(file)
    except NotUtf8Error as error:
        raise click.BadParameter(str(error), param_hint="--commands") from error
    try:
        session = GroupSession(system, running, options, say)
    except GaveUpError as error:
        raise click.BadParameter(str(error), param_hint="--output") from error
    say(f"{system.title}, {nodes} nodes in {output}; `help` lists the commands")
    ctrl_cs = asyncio.Semaphore(0)

    def is_ctrl_c(number: int) -> bool:
        if number == signal.SIGINT:
            ctrl_cs.release()
        return number == signal.SIGINT

    lines = _typed_lines(say) if text is None else _lines(text)
    verdict = run_until_interrupted(session.run(lines, ctrl_cs), is_ctrl_c)
    click.echo(json.dumps(verdict_record(verdict), indent=2) if form == "json" else verdict_text(verdict))
    return verdict.verdict.exit_code


async def _lines(text: str) -> AsyncIterator[str]:
    for line in text.splitlines():
        yield line


async def _typed_lines(say: Callable[[str], None]) -> AsyncIterator[str]:
    """Yield the lines of the terminal as they are typed; one that is no text is left out, and `say` gets a line."""
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    # A thread that nobody waits for: it may hang in a read for ever.
    threading.Thread(target=_read, args=(asyncio.get_running_loop(), lines), daemon=True).start()
    while (line := await lines.get()) is not None:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            say(f"{line.decode(errors='replace').strip()}: the byte {line[error.start]:#04x} is no UTF-8")
        else:
            yield text


def _read(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes | None]) -> None:
    """Put the lines of standard input into a queue, and None at its end, or where it cannot be read."""
    with contextlib.suppress(OSError, RuntimeError):  # the group has been stopped meanwhile, and its loop closed
        try:
            while line := _typed_line():
                loop.call_soon_threadsafe(lines.put_nowait, line)
        finally:
            loop.call_soon_threadsafe(lines.put_nowait, None)


def _typed_line() -> bytes:
    if sys.stdin.isatty():
        click.echo("> ", nl=False)
    return sys.stdin.buffer.readline()
