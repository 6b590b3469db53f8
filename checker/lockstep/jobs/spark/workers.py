"""What the Python workers of a cluster run: if not what the driver runs, the verdicts are of another lockstep."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from lockstep.base.errors import GaveUpError
from lockstep.jobs.spark.session import DEATHS, death

_DISTRIBUTION = "lockstep-raft"
_PACKAGES = ("lockstep", "raftref")
_HOW = "give them the archive that `make archive` packs, and spark.pyspark.python within it"


class WorkersUnfitError(GaveUpError):
    """The Python workers of a cluster cannot do the work; the message says why, and what to do."""


def refuse_other_workers(spark: SparkSession) -> None:
    """Ask Python workers what they run; an executor that joins later is not asked.

    Raises WorkersUnfitError where they have no lockstep, or another one, or another Python, than the driver.
    """
    context = spark.sparkContext
    count = max(2, context.defaultParallelism)
    try:
        found = set(context.parallelize(range(count), count).mapPartitions(_told).collect())
    except DEATHS as error:
        raise WorkersUnfitError(f"Spark's workers cannot run lockstep: {death(error)}; {_HOW}") from error
    (mine,) = _told(())
    if other := sorted(found - {mine}):
        raise WorkersUnfitError(f"Spark's workers run {' and '.join(other)}, the driver {mine}; {_HOW}")


def _told(_: object) -> Iterator[str]:
    """Yield what this process runs, in a task or in the driver."""
    python = ".".join(map(str, sys.version_info[:2]))
    yield f"lockstep {version(_DISTRIBUTION)} (its code {_digest()}) on Python {python}"


def _digest() -> str:
    """Return a hash of the code: two states of a checkout have the same version."""
    found = hashlib.sha256()
    for package in _PACKAGES:
        about = find_spec(package)
        top = Path(about.submodule_search_locations[0]) if about and about.submodule_search_locations else Path()
        for file in sorted(top.rglob("*.py")):
            found.update(str(file.relative_to(top)).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:12]
