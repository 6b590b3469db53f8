"""What the commands of the pipeline share: the store, the run, where Spark runs, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lockstep.base.errors import BadInputError
from lockstep.cli.options import progress, progress_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lockstep.pipeline.stages.check import Variant
    from lockstep.pipeline.store.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def _settings(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    for word in words:
        if "=" not in word or word.startswith("="):
            raise click.BadParameter(f"{word!r} is not KEY=VALUE")
    return dict(word.split("=", 1) for word in words)


STORE = click.argument("store")
RUN = click.option("--run", metavar="NAME", help="The run (default: the only one of the store).")
MASTER = click.option(
    "--master", default="local[*,4]", show_default=True, help="The Spark cluster; by `,4` a task is tried four times."
)
CONF = click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_settings,
    help="A setting of Spark; may be given several times.",
)
#: Kept as words: the verdicts are filed under them.
SWITCHES = click.option(
    "--switch",
    "words",
    multiple=True,
    help="Check against another variant of the spec: `repaired`, `published`, or NAME=VALUE for one constant.",
)


def spark_options(command: F) -> F:
    """Add where Spark runs."""
    return MASTER(CONF(command))


@contextmanager
def session(master: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Run Spark, and say on a terminal how it starts."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.session import pipeline_session
    try:
        with pipeline_session(master, settings, say) as spark:
            yield spark
    finally:
        progress_end()


def say(text: str) -> None:
    """Show how far a stage is, on a terminal only."""
    progress(text)


def opened(uri: str, *, create: bool = False) -> Store:
    """Open the store; errors are those of Store.open."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.store.store import Store
    return Store.open(uri, create=create)


def chosen_run(store: Store, run: str | None) -> str:
    """Return the run that is meant; raises BadInputError where there is none, or it is not told which."""
    if run is not None:
        return store.refuse_unknown(run)
    known = store.runs()
    if len(known) == 1:
        return known[0]
    listed = f"the runs {', '.join(known)}" if known else "no run"
    raise BadInputError(f"--run: the store has {listed}")


def variant(words: tuple[str, ...]) -> Variant:
    """Return the variant that words of --switch choose; raises a usage error where one is none."""
    from lockstep.pipeline.stages.check import Variant
    from lockstep.systems.specs import switches_of

    try:
        switches_of(words)
    except BadInputError as error:
        raise click.BadParameter(str(error), param_hint="--switch") from error
    return Variant(words)
