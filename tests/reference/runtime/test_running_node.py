"""A node on an event loop: what becomes of it when its driver fails."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from raftref.runtime.driver import NEVER, ClientAnswer, Driver, NodeStep
from raftref.runtime.node import ListenError, RunningNode, StartError, StepFile, Transport

NO_SPACE = OSError(errno.ENOSPC, "No space left on device", "data/0")


class FailingDriver(Driver):
    """Fails, once it is to, and counts the events that come after that."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("n1", lambda _: None)
        self.error = error
        self.events = 0
        self.due = NEVER

    @property
    def is_up(self) -> bool:
        return True

    def start(self, now: float) -> None:
        self.now = now

    def on_disk_space(self, now: float, *, is_full: bool) -> None:
        self._event()

    def _event(self) -> None:
        self.events += 1
        if self.error is not None:
            raise self.error

    def on_request(self, now: float, key: Hashable, m: Any) -> None:
        self._event()

    def on_answer(self, now: float, number: int, m: Any) -> None:
        self._event()

    def on_failure(self, now: float, number: int) -> None:
        self._event()

    def on_client(self, now: float, key: Hashable, request: Any) -> None:
        if request == "panic":
            self.failure = "the library panics in Vote"
        self.put(ClientAnswer(key, "done"))
        self._event()

    def on_time(self, now: float) -> None:
        self.due = now + 0.001
        self._event()

    def next_time(self) -> float:
        return self.due


class NoTransport(Transport):
    async def call(self, peer: str, call: Any) -> Any:
        raise NotImplementedError

    async def serve(self, reader: Any, writer: Any, node: RunningNode) -> None:
        writer.close()

    def close(self) -> None:
        pass


async def started(driver: FailingDriver) -> RunningNode:
    node = RunningNode(driver, NoTransport(), print)
    await node.start("127.0.0.1", 0)
    return node


def in_time(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work, 10))


@pytest.mark.parametrize("event", ["a timer", "a request", "clients"])
def test_an_error_of_the_driver_ends_the_node_whatever_event_it_was_at(event: str) -> None:
    """A step may have been taken in part, and nobody knows what the disk has of it."""

    async def run() -> None:
        driver = FailingDriver(NO_SPACE)
        driver.due = 0.0 if event == "a timer" else NEVER
        async with await started(driver) as node:
            if event == "a request":
                assert node.request_now("m") is None
            waiting = [asyncio.ensure_future(node.ask("a"))] if event == "clients" else []
            why = await node.failed
            assert why.startswith("OSError: [Errno 28] No space left on device: 'data/0' (in _event, line ")
            assert why.endswith(" of test_running_node.py)")
            # Nothing happens any more: no timer, no event, and no answer.
            driver.error = None
            assert node.request_now("m") is None
            later = asyncio.ensure_future(node.ask("b"))
            await asyncio.sleep(0.01)
            assert driver.events == 1
            assert not any(each.done() for each in (*waiting, later))
            for each in (*waiting, later):
                each.cancel()

    in_time(run())


class SignalArrived(BaseException):
    """As the handler of a signal raises it, in whatever code it finds."""


def test_a_signal_that_falls_into_a_step_ends_the_node_and_goes_on_to_the_caller() -> None:
    """The loop keeps it to itself where it calls back, and the node would go on with half a step and no timer."""

    async def run() -> None:
        driver = FailingDriver(SignalArrived())
        async with await started(driver) as node:
            with pytest.raises(SignalArrived):
                node.request_now("m")
            assert (await node.failed).startswith("SignalArrived: (in _event, line ")
            driver.error = None
            assert node.request_now("m") is None
            assert driver.events == 1

    in_time(run())


def test_an_error_after_the_step_in_what_it_asks_for_ends_the_node_too() -> None:
    class Timeless(FailingDriver):
        def next_time(self) -> float:
            if self.events:
                raise ValueError("no time")
            return NEVER

    async def run() -> None:
        async with await started(Timeless()) as node:
            node.request_now("m")
            assert (await node.failed).startswith("ValueError: no time (in next_time, line ")

    in_time(run())


def test_a_node_whose_real_counterpart_panics_ends_before_what_it_asked_for_leaves() -> None:
    async def run() -> None:
        async with await started(FailingDriver()) as node:
            assert await node.ask("a") == "done"
            answer = asyncio.ensure_future(node.ask("panic"))
            assert await node.failed == "the library panics in Vote"
            assert not answer.done()
            answer.cancel()

    in_time(run())


def test_a_taken_address_a_refused_start_and_a_failing_disk_are_different_errors() -> None:
    class Stays(FailingDriver):
        def start(self, now: float) -> None:
            self.failure = "the log has a gap"

    class Fails(FailingDriver):
        def start(self, now: float) -> None:
            raise NO_SPACE

    async def run() -> None:
        node = RunningNode(FailingDriver(), NoTransport(), print)
        async with node:
            port = await node.start("127.0.0.1", 0)
            with pytest.raises(ListenError, match="address"):
                await RunningNode(FailingDriver(), NoTransport(), print).start("127.0.0.1", port)
        for driver, error in ((Stays(), StartError), (Fails(), OSError)):
            async with RunningNode(driver, NoTransport(), print) as node:
                with pytest.raises(error, match=r"the log has a gap|No space"):
                    await node.start("127.0.0.1", 0)

    in_time(run())


def test_a_step_that_cannot_be_written_names_the_file() -> None:
    steps = StepFile(Path("/dev/full"))
    with pytest.raises(OSError, match="/dev/full") as error:
        steps.write(NodeStep(0.0, "n1", "Start", {}, {}))
    steps.close()
    assert error.value.errno == errno.ENOSPC
