"""Ctrl-C, kill and hang-up where an event loop runs.

An exception that a handler raises there may fall between any two instructions of the loop, which logs those of its
callbacks and keeps those of its tasks: the signal is lost, and what was being done is left half done.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

from lockstep.base.interrupts import SIGNALS, blocked_signals


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
