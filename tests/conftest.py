"""What holds for every test."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

import lockstep.models.search
from lockstep.tlc import TlcOptions


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests of a file in one process, for they share what is slow to make; those of the night go alone."""
    if not any(item.iter_markers("xdist_group")) and item.get_closest_marker("nightly") is None:
        item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def tlc_is_tuned_to_start() -> Iterator[None]:
    """Let TLC search a reader's spec with the JVM's options for a run of seconds; each of the tests' own is one.

    Those for longer runs cost half a second more, and are those of every `lockstep model` that runs as a process.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.models.search, "TlcOptions", functools.partial(TlcOptions, is_short=True))
        yield
