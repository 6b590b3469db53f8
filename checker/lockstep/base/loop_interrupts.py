"""Ctrl-C, kill and hang-up where an event loop runs.

An exception that a handler raises there may fall between any two instructions of the loop, which logs those of its
callbacks and keeps those of its tasks: the signal is lost, and what was being done is left half done.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from lockstep.base.interrupts import SIGNALS, Interrupted, blocked_signals, deferred_interrupts

T = TypeVar("T")

#: The turns of a loop until it calls the handler of a signal: in the first it reads its pipe, in the third calls it.
TURNS_TO_HEAR = 3


@contextlib.contextmanager
def heard_by_loop(heard: Callable[[int], None]) -> Iterator[None]:
    """Let the running loop call `heard` with the number of each of the signals, between two of its callbacks.

    Signals that the program was started to ignore (as by nohup) stay ignored, and outside the main thread nothing is
    changed. On leaving, the handlers before are there again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    saved = {each: signal.getsignal(each) for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN}
    with blocked_signals():
        for number in saved:
            loop.add_signal_handler(number, heard, number)
    try:
        yield
    finally:
        with blocked_signals():
            for number, handler in saved.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)


def run_heard(work: Coroutine[Any, Any, T], heard: Callable[[int, asyncio.Task[T]], None]) -> T:
    """Run some work on an event loop of its own, which hears each of the signals from before it runs until its end.

    Arguments: `work`; `heard`, called with a signal and the task that does the work.
    Raises Interrupted where a signal comes once the work has ended.
    """

    async def run() -> T:
        task: asyncio.Task[T] | None = asyncio.current_task()
        assert task is not None
        with heard_by_loop(lambda number: heard(number, task)):
            while early:
                heard(early.received.pop(0), task)
            result = await work
            for _ in range(TURNS_TO_HEAR):  # one that came with the last step of the work
                await asyncio.sleep(0)
            return result

    with deferred_interrupts() as early:
        return asyncio.run(run())


def run_until_interrupted(work: Coroutine[Any, Any, T], is_heard: Callable[[int], bool] = lambda _: False) -> T:
    """Run some work on an event loop of its own, and return its result; each of the signals cancels it.

    Arguments: `work`; `is_heard`, called with a signal first: whether that was all that is to come of it.
    Raises Interrupted, once the work has cleaned up.
    """
    received = list[int]()

    def cancel(number: int, task: asyncio.Task[T]) -> None:
        if not is_heard(number):
            received.append(number)
            task.cancel()

    try:
        result = run_heard(work, cancel)
    except asyncio.CancelledError:
        if not received:
            raise
    else:
        if not received:
            return result
    raise Interrupted(received[0])
