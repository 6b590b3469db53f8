"""lockstep pipeline: the group of its commands."""

from __future__ import annotations

import click

from lockstep.base.command_group import CommandGroup
from lockstep.cli.options import EXIT_CODES
from lockstep.cli.pipeline.stage_commands import (
    check_command,
    coverage_command,
    generate_command,
    ingest_command,
    job_command,
    report_command,
    run_command,
)
from lockstep.cli.pipeline.stored_trace_commands import (
    counterexample_command,
    counterexamples_command,
    trace_command,
)


@click.group(cls=CommandGroup, epilog=EXIT_CODES)
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


for each in (
    run_command,
    generate_command,
    ingest_command,
    check_command,
    coverage_command,
    counterexamples_command,
    report_command,
    trace_command,
    counterexample_command,
    job_command,
):
    command.add_command(each)
