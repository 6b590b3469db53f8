"""Signals where an event loop runs: heard between two of its callbacks, whatever it was doing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from lockstep.base.interrupts import SIGNALS, Interrupted, kept_handlers, raise_interrupts
from lockstep.base.loop_interrupts import heard_by_loop, run_heard, run_until_interrupted


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Have the handlers of the command line, for the time of a test, whatever the tests were started to ignore."""
    with kept_handlers():
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
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


def test_work_that_a_signal_ends_cleans_up_first() -> None:
    done = list[str]()

    async def work() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.01)
            done.append("cleaned up")

    with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
        run_until_interrupted(work())
    assert done == ["cleaned up"]


def test_work_that_hears_a_signal_itself_comes_to_its_end() -> None:
    heard = list[int]()

    def is_heard(number: int) -> bool:
        heard.append(number)
        return True

    async def work() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.01)
        return "done"

    assert run_until_interrupted(work(), is_heard) == "done"
    assert heard == [signal.SIGINT]


def test_a_cancellation_without_a_signal_is_no_interrupt() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_until_interrupted(work())


def test_a_signal_that_comes_with_the_last_step_of_the_work_is_heard() -> None:
    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
        run_until_interrupted(work())


class SignalBeforeWork(asyncio.DefaultEventLoopPolicy):
    """Loops with a callback before that of their work; a signal falls into it."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a loop with that callback."""
        loop = super().new_event_loop()
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return loop


def test_a_signal_that_comes_as_the_loop_starts_is_heard() -> None:
    """The loop logs an exception from a callback, and a node that should stop would go on for ever."""
    heard = list[int]()

    async def work() -> str:
        return "done"

    asyncio.set_event_loop_policy(SignalBeforeWork())
    try:
        assert run_heard(work(), lambda number, _: heard.append(number)) == "done"
        with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
            run_until_interrupted(work())
    finally:
        asyncio.set_event_loop_policy(None)
    assert heard == [signal.SIGTERM]


class Watched:
    """Anything that a weak reference can stand for."""


def test_an_interrupt_that_python_ignores_is_sent_again() -> None:
    """Each import has a callback of a weak reference; one SIGTERM in 400 fell there, and a node did not stop."""
    calls = list[str]()

    def callback(_: weakref.ref[Watched]) -> None:
        calls.append("ignored")
        os.kill(os.getpid(), signal.SIGTERM)
        calls.append("not reached")

    watched = Watched()
    watching = weakref.ref(watched, callback)
    with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
        del watched
        time.sleep(5)
    assert (calls, watching()) == (["ignored"], None)


def test_python_still_reports_other_exceptions_that_it_ignores(capfd: pytest.CaptureFixture[str]) -> None:
    def callback(_: weakref.ref[Watched]) -> None:
        raise ValueError("from a callback")

    watched = Watched()
    watching = weakref.ref(watched, callback)
    with contextlib.redirect_stderr(sys.__stderr__):
        del watched
    assert (watching(), "ValueError: from a callback" in capfd.readouterr().err) == (None, True)
