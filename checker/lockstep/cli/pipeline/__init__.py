"""lockstep pipeline: its commands, each in a module of its own that is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from lockstep.base.command_group import CommandGroup
from lockstep.cli.options import EXIT_CODES

#: The commands: where each is, and what the list of commands says of it.
COMMANDS = {
    "counterexample": ("found:counterexample_command", "Write one counterexample of a run into a file."),
    "counterexamples": ("found:counterexamples_command", "Minimise a trace of each kind of violation."),
    "check": ("stages:check_command", "Check the traces of a run."),
    "coverage": ("stages:coverage_command", "Count what the traces of a run reach."),
    "generate": ("stages:generate_command", "Simulate clusters into a run."),
    "ingest": ("stages:ingest_command", "Read traces, recordings and logs into a run."),
    "report": ("stages:report_command", "Report on a run."),
    "run": ("run:command", "All stages, one after the other."),
    "trace": ("trace:command", "Write one trace of a run into a file."),
}


class _Commands(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"lockstep.cli.pipeline.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in sorted(COMMANDS.items())])


@click.group(cls=_Commands, epilog=EXIT_CODES)
def command() -> None:
    """Check a store of traces of any size on Spark, stage by stage.

    STORE is a folder that the driver and all tasks reach: a path, or a URI such as hdfs://... or s3a://... Every stage
    reads tables of it and writes another, batch by batch; what was interrupted goes on where it was when it is run
    again. A store has runs, each of them some traces with their verdicts.

    \b
    lockstep pipeline run STORE traces/                      read files, check and report
    lockstep pipeline run STORE --seeds 100                  simulate, check and report
    lockstep pipeline trace STORE RUN TRACE -o x.ndjson      get one trace out of it
    """
