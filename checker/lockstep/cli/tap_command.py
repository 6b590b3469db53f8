"""lockstep tap."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.node_command import addresses
from lockstep.cli.options import completing

if TYPE_CHECKING:
    from lockstep.systems.running_nodes import Address
    from lockstep.systems.system import System
    from lockstep.systems.wire_format import WireFormat


_EXIT_CODES = """
Exit codes: 0 ended by Ctrl-C; 2 wrong usage, or an address that cannot be listened on; 4 the file could not be written.
"""


def tapped_words() -> list[str]:
    """Return the names of the systems whose wire is read."""
    from lockstep.systems.registry import SYSTEMS

    return [name for name, system in SYSTEMS.items() if system.wire is not None]


def tapped_system(name: str) -> tuple[System, WireFormat]:
    """Return the system of a name, and its wire; raises a usage error."""
    from lockstep.systems.registry import SYSTEMS

    system = SYSTEMS.get(name)
    if system is None or system.wire is None:
        raise click.BadParameter(f"{name!r} is none of {', '.join(tapped_words())}", param_hint="--system")
    return system, system.wire()


SYSTEM = click.option(
    "--system", "spec", required=True, shell_complete=completing(tapped_words), help="The system, by its spec's name."
)
NODE = click.option("--node", "nodes", multiple=True, required=True, help="NAME=HOST:PORT, where a node listens.")
ALL_VOTERS = click.option(
    "--all-voters", is_flag=True, help="These nodes are all that vote, from begin to end: count their quorums."
)


@click.command(name="tap", epilog=_EXIT_CODES)
@SYSTEM
@NODE
@click.option(
    "--listen", multiple=True, required=True, help="NAME=HOST:PORT, where the proxy in front of that node listens."
)
@ALL_VOTERS
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write."
)
def command(spec: str, nodes: tuple[str, ...], listen: tuple[str, ...], all_voters: bool, output: Path) -> int:
    """Write what crosses the wire of a group, by a proxy in front of each node.

    Let the nodes reach each other where the proxies listen. Bytes pass unchanged, and wait for nothing. Each frame is a
    line, in the order in which frames passed: who sent it, to whom, and all fields of the protocol, with digests in
    place of values. A frame that cannot be read is one line that says why, and its connection goes on. Ctrl-C ends the
    tap, and the connections; what was seen until then is written.

    A name is the one that a node has in the protocol: the ServerID, or the peer's id.

    `lockstep check FILE` checks the file for what messages alone establish; docs/traces/tap.md has the rules, and what
    the wire does not show.

    \b
    lockstep tap --system NAME --node n1=127.0.0.1:8001 --listen n1=127.0.0.1:9001 -o wire.ndjson
    lockstep check wire.ndjson
    """
    from lockstep.base.loop_interrupts import run_heard
    from lockstep.cluster.wire_tap import WireTap
    from lockstep.systems.wire_lines import header_line

    system, wire = tapped_system(spec)
    targets, proxies = named(nodes, "--node"), named(listen, "--listen")
    if targets.keys() != proxies.keys():
        odd = sorted(targets.keys() ^ proxies.keys())
        raise click.UsageError(
            f"each --node needs a --listen of its name, and each --listen a --node: {', '.join(odd)}"
        )
    tap = WireTap(wire, targets, proxies, lambda text: click.echo(text, err=True))
    header = header_line(system.spec, shown(targets), all_voters=all_voters)
    stop = asyncio.Event()
    count = run_heard(tap.run(output, header, stop), lambda *_: stop.set())
    click.echo(f"{output}: {count:,} lines")
    return 0


def named(words: tuple[str, ...], option: str) -> Mapping[str, Address]:
    """Read NAME=HOST:PORT of an option that is given several times; raises a usage error."""
    found: dict[str, Address] = {}
    for word in words:
        for name, address in addresses(word, option).items():
            if name in found:
                raise click.BadParameter(f"{name!r} is named twice", param_hint=option)
            found[name] = address
    return found


def addresses_of_capture(nodes: Mapping[str, Address]) -> Mapping[str, Address]:
    """Return addresses as a capture has them, which knows no names of hosts; raises a usage error."""
    for name, (host, port) in nodes.items():
        try:
            ipaddress.ip_address(host)
        except ValueError as error:
            message = f"{name}={host}:{port}: a capture has addresses of IP, and no names of hosts"
            raise click.BadParameter(message, param_hint="--node") from error
    return nodes


def shown(nodes: Mapping[str, Address]) -> dict[str, str]:
    """Return addresses as HOST:PORT."""
    return {name: f"{host}:{port}" for name, (host, port) in nodes.items()}
