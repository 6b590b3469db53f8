"""What holds for every test."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

import lockstep.models.search
from lockstep.tlc import TlcOptions


@pytest.fixture(scope="session", autouse=True)
def tlc_is_tuned_to_start() -> Iterator[None]:
    """Let TLC search a reader's spec with the JVM's options for a run of seconds; each of the tests' own is one.

    Those for longer runs cost half a second more, and are those of every `lockstep model` that runs as a process.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.models.search, "TlcOptions", functools.partial(TlcOptions, is_short=True))
        yield
