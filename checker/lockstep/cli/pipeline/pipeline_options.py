"""Options shared by the commands of the pipeline: the store, the run, where Spark runs, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lockstep.base.errors import BadInputError
from lockstep.cli.options import FILE, LIBRARY, OWN_CFG, OWN_SPEC, cfg_of, progress, progress_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lockstep.pipeline.ingest_stage import InputFiles
    from lockstep.pipeline.spec_choice import SpecChoice
    from lockstep.pipeline.trace_store import TraceStore

F = TypeVar("F", bound=Callable[..., Any])


def _settings(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    for word in words:
        if "=" not in word or word.startswith("="):
            raise click.BadParameter(f"{word!r} is not KEY=VALUE")
    return dict(word.split("=", 1) for word in words)


STORE = click.argument("store")
RUN = click.option("--run", metavar="NAME", help="The run (default: the only one of the store).")
MASTER = click.option(
    "--master",
    help="The Spark cluster (default: that of spark-submit, or local[*,4]; by `,4` a task is tried four times).",
)
CONF = click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_settings,
    help="A setting of Spark; may be given several times.",
)
SWITCHES = click.option(
    "--switch",
    "words",
    multiple=True,
    help="Check against another variant of the spec: `repaired`, `published`, or NAME=VALUE for one constant.",
)
MAPPING = click.option(
    "--mapping", type=FILE, help="With --spec: a TOML file that says which action each line of a log is."
)
STRICT = click.option(
    "--strict", is_flag=True, help="With --mapping: no pass where some explanation of the logs violates a property."
)
NEW_RUN = click.option("--run", metavar="NAME", help="The name of the run (default: a hash of what goes in).")
TIMEOUT = click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long the check of one trace may take; then it is inconclusive (default: as long as it takes).",
)
VERSION = click.option(
    "--logged-version", "version", help="The version of the system that wrote the logs, if they do not say it."
)


def against_options(command: F) -> F:
    """Add what traces are checked against."""
    for option in (STRICT, MAPPING, LIBRARY, OWN_CFG, OWN_SPEC, SWITCHES):
        command = option(command)
    return command


def spark_options(command: F) -> F:
    """Add where Spark runs."""
    return MASTER(CONF(command))


@contextmanager
def run_spark(master: str | None, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Run Spark, and report its start on a terminal."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.pipeline_session import pipeline_session
    try:
        with pipeline_session(master, settings, show_progress) as spark:
            yield spark
    finally:
        progress_end()


def show_progress(text: str) -> None:
    """Show how far a stage is, on a terminal only."""
    progress(text)


def open_store(uri: str, *, create: bool = False) -> TraceStore:
    """Open the store; errors are those of TraceStore.open."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.trace_store import TraceStore
    return TraceStore.open(uri, create=create)


def choose_run(store: TraceStore, run: str | None) -> str:
    """Return the run that is meant; raises BadInputError where there is none, or several and none is named."""
    if run is not None:
        return store.refuse_unknown(run)
    known = store.runs()
    if len(known) == 1:
        return known[0]
    listed = f"the runs {', '.join(known)}" if known else "no run"
    raise BadInputError(f"--run: the store has {listed}")


def choose_spec(
    words: tuple[str, ...],
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    mapping: Path | None,
    strict: bool,
) -> SpecChoice:
    """Return the spec that the options of against_options choose; raises UsageError where they do not fit together."""
    from lockstep.base.extras import extra
    from lockstep.models.search_result import SpecFiles
    from lockstep.systems.trace_specs import switches_of

    with extra("spark"):
        from lockstep.pipeline.spec_choice import HeaderSpecs, OwnSpec

    if own is None and (cfg or mapping or library):
        raise click.UsageError("--cfg, -I and --mapping go with --spec")
    if strict and mapping is None:
        raise click.UsageError("--strict goes with --mapping")
    if own is not None:
        if words:
            raise click.UsageError("--switch is for traces of a system that lockstep knows")
        return OwnSpec(SpecFiles(own, cfg_of(own, cfg), library, mapping=mapping), strict)
    try:
        switches_of(words)
    except BadInputError as error:
        raise click.BadParameter(str(error), param_hint="--switch") from error
    return HeaderSpecs(words)


def files(paths: tuple[str, ...], logs: str, version: str | None) -> InputFiles:
    """Return the files that are to be read."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.ingest_stage import InputFiles
    return InputFiles(paths, logs, version)
