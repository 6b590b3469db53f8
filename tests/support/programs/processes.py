"""Processes that tests look for: those of TLC, those that a command has started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def words_of(pid: int) -> list[bytes]:
    """The command line of a process; nothing if it is gone, or only waits to be reaped."""
    try:
        return [word for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return []


def jvms_of(spec: Path) -> list[int]:
    """The processes of TLC that were given a module."""
    running = [(int(each.name), words_of(int(each.name))) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [pid for pid, words in running if b"tlc2.TLC" in words and str(spec).encode() in words]


def running_nodes(folder: Path) -> list[int]:
    """The processes of nodes whose files are in a folder, or below it."""
    running = [(int(each.name), words_of(int(each.name))) for each in Path("/proc").iterdir() if each.name.isdigit()]
    mark = str(folder).encode()
    return [pid for pid, words in running if b"node" in words and any(mark in word for word in words)]


def marked(mark: str) -> list[int]:
    """The processes that have a word in their environment, which their children inherit."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if mark.encode() in environment and words_of(int(entry.name)):
            found.append(int(entry.name))
    return found


def hear() -> None:
    """Take signals as if started from a terminal: a shell lets background jobs ignore Ctrl-C, and nohup SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait until a condition holds, and return whether it does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def kill(pids: list[int]) -> None:
    """Kill processes that a test has left."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
