"""Settings of all tests."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

import lockstep.models.tlc_search
import lockstep.systems.trace_diagnosis
from lockstep.tlc import TlcOptions
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM, chromium
from tests.support.tla.ready_sany import ready_sany

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Spark's Java works for seconds in a test, and compiling what it does as for hours took half of its time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session", autouse=True)
def tlc_is_tuned_to_start() -> Iterator[None]:
    """Let TLC search a reader's spec with the JVM's options for a run of seconds; each of the tests' own is one.

    Those for longer runs cost half a second more, and are those of every `lockstep model` that runs as a process.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.models.tlc_search, "TlcOptions", functools.partial(TlcOptions, is_short=True))
        yield


@pytest.fixture(scope="session", autouse=True)
def diagnoses_end() -> Iterator[None]:
    """Let a diagnosis end however busy the machine is: pages quote its output, and its limit is of a user's time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.systems.trace_diagnosis, "DIAGNOSIS_SECONDS", 300.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def sany_is_ready() -> Iterator[None]:
    """Let SANY parse the modules of tests in one JVM: most have a few lines, and Java takes half a second to start."""
    with ready_sany():
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, which a module's tests share."""
    with chromium() as started:
        yield started


#: The folders with the files that take longest, as they wait for Java and Spark.
LONGEST = ("pipeline", "jobs", "hunt", "tlc", "proofs", "tla", "models", "systems", "logs", "conformance", "cli")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, so that at the end of a run no process is left alone with one of them."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: min(ranks.get(part, len(ranks)) for part in item.nodeid.split("/")[:2]))


#: The files and folders whose tests use Spark.
OF_SPARK = ("tests/pipeline/", "tests/jobs/test_spark", "tests/jobs/test_fleet.py", "tests/jobs/test_verify.py")


class FilesWithSparkTogether(LoadFileScheduling):
    """Give a file to one process, and all that use Spark to the same: a first session takes far longer than others."""

    def _split_scope(self, nodeid: str) -> str:
        return "Spark" if nodeid.startswith(OF_SPARK) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Return the distribution of files to processes; of other distributions, that of pytest-xdist."""
    return FilesWithSparkTogether(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Let Python look for garbage seldom: it took a fifteenth of the time."""
    gc.set_threshold(100_000, 50, 100)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print in the last line of a run, where nobody overlooks it, that there is no browser to try the pages in."""
    if CHROMIUM is None and not hasattr(config, "workerinput"):
        sys.stdout.write(f"{NO_CHROMIUM}\n")
