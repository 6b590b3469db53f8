"""lockstep pipeline trace, counterexample, counterexamples: traces out of a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import FORMAT
from lockstep.cli.pipeline.pipeline_options import (
    RUN,
    STORE,
    SWITCHES,
    choose_run,
    choose_spec,
    open_store,
    run_spark,
    show_progress,
    spark_options,
)

if TYPE_CHECKING:
    from lockstep.pipeline.spec_choice import HeaderSpecs


def _variant(words: tuple[str, ...]) -> HeaderSpecs:
    from lockstep.pipeline.spec_choice import HeaderSpecs

    chosen = choose_spec(words, None, None, (), None, strict=False)
    assert isinstance(chosen, HeaderSpecs)
    return chosen


@click.command("counterexamples")
@STORE
@RUN
@SWITCHES
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that one minimisation may take; after that the shortest so far is kept.",
)
@FORMAT
@spark_options
def counterexamples_command(
    store: str,
    run: str | None,
    words: tuple[str, ...],
    seconds: float,
    form: str,
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Minimise a trace of each kind of violation of a run, in parallel, and print how to get and check it.

    Traces that violate a property, or leave the spec, at the same action are of one kind. The trace in which that
    comes soonest is minimised, up to there.

    Exit codes: 0 each was minimised, or there is none; 3 one could not be, the time was over before it was known that
    no part of it can go, or the run is not checked whole.
    """
    there = open_store(store)
    name, chosen = choose_run(there, run), _variant(words)
    from lockstep.base.verdict import Verdict
    from lockstep.pipeline.counterexample_stage import as_text, counterexamples, list_counterexamples

    with run_spark(master, settings) as spark:
        counterexamples(spark, there, name, chosen, seconds, show_progress)
        found = list_counterexamples(spark, there, name)
    click.echo(json.dumps(found, indent=2) if form == "json" else "\n".join(as_text(name, found)))
    return 0 if all(each["is_minimal"] for each in found) else Verdict.INCONCLUSIVE.exit_code


@click.command("counterexample")
@STORE
@click.argument("run")
@click.argument("signature")
@click.option("--variant", metavar="NAME", help="Which variant of the run, where several have it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file (default: standard output).",
)
def counterexample_command(store: str, run: str, signature: str, variant: str | None, output: Path | None) -> int:
    """Write one counterexample of a run, by its signature, into a file; Spark is not needed for it."""
    there = open_store(store)
    there.refuse_unknown(run)
    from lockstep.base.whole_files import writing_whole
    from lockstep.pipeline.stored_traces import stored_counterexample

    lines = stored_counterexample(there, run, signature, variant)
    if output is None:
        write_bytes(lines)
        return 0
    with writing_whole(output) as file:
        file.write(lines)
    return 0


@click.command("trace")
@STORE
@click.argument("run")
@click.argument("trace")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file (default: standard output), or where the trace has the lines of several files, the folder.",
)
def trace_command(store: str, run: str, trace: str, output: Path | None) -> int:
    """Write one trace of a run into a file, as it was before it was stored; Spark is not needed for it.

    \b
    lockstep pipeline trace STORE RUN TRACE -o x.trace.ndjson && lockstep check x.trace.ndjson
    """
    there = open_store(store)
    there.refuse_unknown(run)
    from lockstep.pipeline.source_files import TOGETHER
    from lockstep.pipeline.stored_traces import stored_lines

    lines = stored_lines(there, run, trace)
    is_folder = any(noted.get("logs") == TOGETHER for noted in there.inputs(run))
    if output is None:
        _print(list(lines))
    else:
        _write(lines, output, is_folder)
    return 0


def _print(lines: Sequence[tuple[bytes, str]]) -> None:
    if len(sources := {source for _, source in lines}) > 1:
        raise click.UsageError(f"the trace has the lines of {len(sources)} files: give with -o the folder for them")
    for line, _ in lines:
        write_bytes(line)


def _write(lines: Iterator[tuple[bytes, str]], output: Path, is_folder: bool) -> None:
    """Write the lines into a file, or where they came from several files, or `is_folder`, into as many in a folder."""
    from lockstep.base.whole_files import writing_whole
    from lockstep.pipeline.source_files import unpacked_name

    of_files = {source: [line for line, _ in each] for source, each in groupby(lines, key=itemgetter(1))}
    targets = {source: output / Path(unpacked_name(source)).name for source in of_files}
    if len(of_files) == 1 and not is_folder:
        targets = dict.fromkeys(of_files, output)
    else:
        output.mkdir(parents=True, exist_ok=True)
    for source, each in of_files.items():
        with writing_whole(targets[source]) as file:
            file.writelines(each)
