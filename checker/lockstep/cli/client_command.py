"""lockstep client."""

from __future__ import annotations

import click

from lockstep.cli.node_command import SYSTEM, addresses, running_system


@click.command()
@click.argument("peers")
@click.argument("act", type=click.Choice(["append", "get", "transfer", "add", "remove"]))
@click.argument("what", nargs=-1, required=True)
@SYSTEM
@click.option("--group", default="lockstep", show_default=True, help="The name of the group.")
def command(peers: str, act: str, what: tuple[str, ...], spec: str | None, group: str) -> int:
    """Append values to a group, read its entries, let its leader hand over to a node, or change the members.

    PEERS are the members with their addresses, as for `lockstep node`. The group may be one of real nodes. A system
    whose members are fixed refuses to change them.

    \b
    lockstep client 'n1=127.0.0.1:12001;n2=127.0.0.1:12002;n3=127.0.0.1:12003' append v1 v2
    lockstep client PEERS get 0
    lockstep client PEERS transfer n2
    lockstep client PEERS remove n2

    Exit codes: 0 done; 1 the group refused, or the outcome is unknown; 2 wrong usage; 4 an internal error.
    """
    from lockstep.base.loop_interrupts import run_until_interrupted
    from lockstep.systems.running_nodes import ClientRefusedError, entry_index

    _, running = running_system(spec)
    client = running.client(group, addresses(peers))
    try:
        indexes = {each: entry_index(each) for each in what if act == "get"}
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="WHAT") from error

    async def ask(each: str) -> str:
        match act:
            case "append":
                return await client.append(each)
            case "get":
                return await client.get(indexes[each])
            case "transfer":
                return await client.transfer(each)
            case "add":
                return await client.add(each)
            case _:
                return await client.remove(each)

    async def ask_all() -> int:
        for each in what:
            try:
                click.echo(f"{act} {each}: {await ask(each)}")
            except ClientRefusedError as error:
                click.echo(f"{act} {each}: {error}")
                return 1
        return 0

    return run_until_interrupted(ask_all())
