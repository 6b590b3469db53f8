"""lockstep node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import completing

if TYPE_CHECKING:
    from lockstep.systems.running_nodes import Address, NodeKind, RunningNodes
    from lockstep.systems.system import System


#: The largest number that a setting may have.
MAX_SETTING = 1_000_000


def running_words() -> list[str]:
    """Return the names of the systems whose reference runs."""
    from lockstep.systems.registry import SYSTEMS

    return [name for name, system in SYSTEMS.items() if system.running is not None]


def running_system(name: str | None) -> tuple[System, RunningNodes]:
    """Return the system of a name, the first if there is none; raises a usage error."""
    from lockstep.systems.registry import SYSTEMS

    names = running_words()
    system = SYSTEMS.get(name or names[0])
    if system is None or system.running is None:
        raise click.BadParameter(f"{name!r} is none of {', '.join(names)}", param_hint="--system")
    return system, system.running()


def group_size(nodes: int, system: System, running: RunningNodes, option: str) -> None:
    """Raise a usage error where a group of a system cannot have this many nodes."""
    least, most = running.sizes[0], running.sizes[-1]
    if nodes not in running.sizes:
        message = f"{nodes} is not from {least} to {most}, the sizes of a group of {system.title}"
        raise click.BadParameter(message, param_hint=option)


def addresses(text: str, option: str = "PEERS") -> Mapping[str, Address]:
    """Read `n1=127.0.0.1:12000;n2=...`, which `option` has; raises a usage error."""
    found: dict[str, Address] = {}
    for part in filter(None, text.split(";")):
        match = re.fullmatch(r"([\w.-]+)=([\w.:-]+):(\d{1,5})", part)
        if match is None or not 0 < int(match[3]) < 65536 or not _may_be_host(match[2]):
            raise click.BadParameter(f"{part!r} is no NAME=HOST:PORT", param_hint=option)
        if match[1] in found:
            raise click.BadParameter(f"{match[1]} is named twice", param_hint=option)
        found[match[1]] = match[2], int(match[3])
    if not found:
        raise click.BadParameter("no NAME=HOST:PORT is given", param_hint=option)
    return found


def _may_be_host(host: str) -> bool:
    """Return whether a host can have this name: it has no part that is empty, or too long."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


SYSTEM = click.option(
    "--system",
    "spec",
    shell_complete=completing(running_words),
    help="The system, by the name of its spec (default: the first in spec/README.md).",
)


def chosen(names: tuple[str, ...], known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Return names that are known; raises a usage error."""
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {_listed(known)}", param_hint=option)
    return names


def chosen_flaws(names: tuple[str, ...], running: RunningNodes) -> tuple[str, ...]:
    """Return flaws that a running node may have; `published` alone is all of the real system. Raises a usage error."""
    return running.published if names == ("published",) else chosen(names, running.flaws, "--flaw")


SETTING = click.option(
    "--setting", "set_to", multiple=True, help="NAME=NUMBER, another time (in seconds) or bound of a node."
)


def _listed(known: Iterable[str]) -> str:
    return ", ".join(known) or "those of this system, which has no such choice"


def settings(texts: tuple[str, ...], defaults: Mapping[str, float]) -> Mapping[str, float]:
    """Read `NAME=NUMBER` for settings whose defaults are given; raises a usage error."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in defaults:
            raise click.BadParameter(f"{name!r} is none of {_listed(defaults)}", param_hint="--setting")
        kind, least = ("whole number", 1) if isinstance(defaults[name], int) else ("number", 0)
        try:
            value = type(defaults[name])(number)
        except ValueError:
            value = -1
        if not least <= value <= MAX_SETTING:
            raise click.BadParameter(f"{text!r}: no {kind} from {least} to {MAX_SETTING:,}", param_hint="--setting")
        found[name] = value
    return found


def refuse_settings(running: RunningNodes, kind: NodeKind, time_scale: float = 1.0) -> None:
    """Raise a usage error where no node of a system can have its times and bounds."""
    try:
        running.settings_of(kind, time_scale)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@click.command()
@click.argument("name")
@click.argument("peers")
@SYSTEM
@click.option("--group", default="lockstep", show_default=True, help="The name of the group.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder with the node's files, or for them.",
)
@click.option(
    "--record", type=click.Path(path_type=Path, dir_okay=False), help="Add each step of the node to this file."
)
@click.option("--flaw", "flaws", multiple=True, help="A flaw that the node has (default: none); `published` for all.")
@click.option("--feature", "features", multiple=True, help="A feature that the node has besides those of all.")
@click.option(
    "--time-scale",
    type=click.FloatRange(0.01, 100),
    default=1.0,
    show_default=True,
    help="Multiply all times of the node by this.",
)
@click.option(
    "--voter",
    "voters",
    multiple=True,
    help="A member that votes at first (default: all members); others start with nothing, and wait for a leader.",
)
@click.option("--without", multiple=True, help="A feature that the node lacks; may be given several times.")
@SETTING
def command(
    name: str,
    peers: str,
    spec: str | None,
    group: str,
    folder: Path,
    record: Path | None,
    flaws: tuple[str, ...],
    features: tuple[str, ...],
    time_scale: float,
    voters: tuple[str, ...],
    without: tuple[str, ...],
    set_to: tuple[str, ...],
) -> int:
    """Run a node of the reference on sockets and files, in a group with nodes like it or with real ones.

    NAME is the node, PEERS all members with their addresses, and the node listens on its own:
    `n1=127.0.0.1:12001;n2=127.0.0.1:12002;n3=127.0.0.1:12003`. It speaks the system's own protocol, and keeps its files
    in the system's own form. It runs until Ctrl-C, SIGTERM or SIGHUP; after any end it comes back with what its files
    hold.

    \b
    lockstep node n1 'n1=127.0.0.1:12001;n2=127.0.0.1:12002;n3=127.0.0.1:12003' --dir n1

    The README of each spec names the flaws and features.

    Exit codes: 0 stopped; 2 wrong usage, or damaged files; 3 its address is taken, or its folder in use; 4 it failed.
    """
    from lockstep.cluster.node_process import run_node
    from lockstep.systems.running_nodes import NodeKind, NodeOptions

    _, running = running_system(spec)
    members = addresses(peers)
    if name not in members:
        raise click.BadParameter(f"{name} is none of the members: {', '.join(members)}", param_hint="NAME")
    kind = NodeKind(
        chosen(features, running.features, "--feature"),
        chosen_flaws(flaws, running),
        settings(set_to, running.settings),
    )
    refuse_settings(running, kind, time_scale)
    options = NodeOptions(
        name,
        group,
        members,
        folder,
        kind,
        time_scale,
        chosen(voters, tuple(members) if running.has_spares else (), "--voter"),
        chosen(without, running.removable, "--without"),
    )
    run_node(running, options, record, lambda line: click.echo(line))
    return 0
