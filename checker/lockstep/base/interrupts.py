"""Ctrl-C, kill and hang-up: an exception where the program runs, deferred where it cleans up."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

#: The message of an interrupt, wherever it arrives.
SAID = "interrupted"

#: The signals by which people and their tools end a program.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: The time after which a signal is sent again whose exception Python ignored, in seconds.
SENT_AGAIN = 0.01


class Interrupted(BaseException):
    """One of the signals arrived; `number` is which.

    No KeyboardInterrupt, which libraries catch and make something else of.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Interrupts:
    """The signals that arrived while they were deferred."""

    def __init__(self) -> None:
        self.received: list[int] = []

    def __bool__(self) -> bool:
        """True when a signal arrived."""
        return bool(self.received)


def raise_interrupts() -> None:
    """Let each of the signals raise Interrupted, but for those that the program was started to ignore (as by nohup).

    Python ignores an exception in a callback of a weak reference, as each import has one, and in a finalizer: such a
    signal is sent again.
    """
    _install_where_heard(_raise)
    if threading.current_thread() is threading.main_thread():
        sys.unraisablehook = _send_again


def quit_on_interrupts() -> None:
    """Let each of the signals end the process at once, with a line where Python would show a traceback."""
    _install_where_heard(_quit)


def _install_where_heard(handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        _install({each: handler for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN})


@contextlib.contextmanager
def kept_handlers() -> Iterator[None]:
    """Restore the handlers of the signals when the block is left: libraries install their own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    saved, hook = {number: signal.getsignal(number) for number in SIGNALS}, sys.unraisablehook
    try:
        yield
    finally:
        _install(saved)
        sys.unraisablehook = hook


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Hold back the signals, and act on them when the block is left.

    Inside, they are only noted, so that no exception can fall between starting a child and knowing its id, or into
    the cleaning up. On leaving, the first of them raises what it would have raised: Interrupted after
    raise_interrupts, else KeyboardInterrupt for SIGINT and SystemExit with 128 + number for the others. Handlers which
    the program itself installed are left alone, and outside the main thread nothing is changed.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.received.append(number)

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    saved = {number: each for number, each in handlers.items() if each in _DEFERRED}
    _install(dict.fromkeys(saved, note))
    try:
        yield interrupts
    finally:
        _install(saved)
    if interrupts:
        _act_on(interrupts.received, saved[signal.Signals(interrupts.received[0])] is _raise)


def _install(handlers: Mapping[signal.Signals, Any]) -> None:
    with blocked_signals():
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def blocked_signals() -> Iterator[None]:
    """Block the signals while handlers are installed, all or none: one that arrives meanwhile meets the new one."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _act_on(received: list[int], is_ours: bool) -> NoReturn:
    if is_ours:
        raise Interrupted(received[0])
    if signal.SIGINT in received:
        raise KeyboardInterrupt
    raise SystemExit(128 + received[0])


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def _send_again(ignored: sys.UnraisableHookArgs) -> None:
    if isinstance(ignored.exc_value, Interrupted):
        # Later, and from elsewhere: raised here, it would be ignored as well.
        threading.Timer(SENT_AGAIN, os.kill, (os.getpid(), ignored.exc_value.number)).start()
    else:
        sys.__unraisablehook__(ignored)


def _quit(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, f"{SAID}\n".encode())
    os._exit(128 + number)


#: The handlers that are replaced while signals are deferred.
_DEFERRED = (signal.SIG_DFL, signal.default_int_handler, _raise)
