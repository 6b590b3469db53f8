"""Signals where an event loop runs: heard between two of its callbacks, whatever it was doing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from lockstep.base.interrupts import SIGNALS, kept_handlers, raise_interrupts
from lockstep.base.loop_interrupts import heard_by_loop


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Have the handlers of the command line, for the time of a test."""
    with kept_handlers():
        raise_interrupts()
        yield


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_falls_into_a_callback_is_heard_and_the_callback_comes_to_its_end(number: int) -> None:
    """An exception would be logged by the loop, and nobody would hear of the signal."""
    done = list[str]()

    def callback() -> None:
        os.kill(os.getpid(), number)
        done.append("callback")

    async def run() -> int:
        heard: asyncio.Queue[int] = asyncio.Queue()
        with heard_by_loop(heard.put_nowait):
            asyncio.get_running_loop().call_soon(callback)
            return await asyncio.wait_for(heard.get(), 5)

    before = [signal.getsignal(each) for each in SIGNALS]
    assert (asyncio.run(run()), done) == (number, ["callback"])
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_signal_that_the_program_was_started_to_ignore_stays_ignored() -> None:
    """As by nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def run() -> list[int]:
        heard = list[int]()
        with heard_by_loop(heard.append):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.01)
        return heard

    assert asyncio.run(run()) == []
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
