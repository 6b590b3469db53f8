"""Simulated time: processes that die, pause and come back hear of what they should, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from typing import Any

from raftref.runtime.driver import (
    NEVER,
    ClientAnswer,
    Driver,
    NodeStep,
    PeerCall,
    PeerReply,
    Seconds,
    ThreadTurns,
)
from raftref.runtime.virtual import KILLED, Cut, NetworkConditions, VirtualGroup


class Echo(Driver):
    """A driver that wakes every second, passes a client's request on to a peer, and remembers what it hears."""

    def __init__(self, node: str, recorded: Callable[[NodeStep], None], heard: list[tuple[str, str, Seconds]]) -> None:
        super().__init__(node, recorded)
        self.heard = heard
        self.due = NEVER

    @property
    def is_up(self) -> bool:
        return True

    def _hear(self, event: str, now: Seconds) -> None:
        self.now = now
        self.heard.append((self.node_id, event, round(now, 3)))

    def start(self, now: Seconds) -> None:
        self._hear("start", now)
        self.due = now + 1

    def on_request(self, now: Seconds, key: Hashable, m: Any) -> None:
        self._hear("request", now)
        self.put(PeerReply(key, m))

    def on_answer(self, now: Seconds, number: int, m: Any) -> None:
        self._hear("answer", now)

    def on_failure(self, now: Seconds, number: int) -> None:
        self._hear("failure", now)

    def on_client(self, now: Seconds, key: Hashable, request: Any) -> None:
        self._hear("client", now)
        self.put(PeerCall(self.next_number(), request, "m", 0.5))
        self.put(ClientAnswer(key, "passed on"))

    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        self._hear("full" if is_full else "space", now)

    def on_time(self, now: Seconds) -> None:
        self._hear("time", now)
        while self.due <= now:
            self.due += 1

    def next_time(self) -> Seconds:
        return self.due


class Echoes:
    def __init__(self, *nodes: str) -> None:
        self.heard: list[tuple[str, str, Seconds]] = []
        self.group = VirtualGroup(nodes, self._driver, 1, NetworkConditions(0.01, 0.01))
        self.disks: dict[str, Any] = {}
        for node in nodes:
            self.group.start(node)

    def _driver(self, node: str, disk: Any, _random: Random, recorded: Callable[[NodeStep], None]) -> Echo:
        self.disks[node] = disk
        return Echo(node, recorded, self.heard)

    def write_on_client(self, node: str) -> None:
        """Let a node write something before it passes a client's request on."""
        driver: Any = self.group.driver(node)
        passes_on = driver.on_client

        def on_client(now: Seconds, key: Hashable, request: Any) -> None:
            self.disks[node].write("file", 0, b"x")
            passes_on(now, key, request)

        driver.on_client = on_client

    def heard_by(self, node: str, since: Seconds = 0.0) -> list[tuple[str, Seconds]]:
        return [(event, at) for name, event, at in self.heard if name == node and at >= since]


def test_a_process_hears_of_the_time_when_it_is_due() -> None:
    run = Echoes("n1")
    run.group.run_until(2.5)
    assert run.heard_by("n1") == [("start", 0.0), ("time", 1.0), ("time", 2.0)]


def test_a_process_that_comes_back_hears_of_the_time_though_an_earlier_one_would_have_sooner() -> None:
    run = Echoes("n1")
    run.group.run_until(0.9)
    run.group.kill("n1")
    run.group.start("n1")
    run.group.run_until(2.0)
    assert run.heard_by("n1") == [("start", 0.0), ("start", 0.9), ("time", 1.9)]


def test_a_call_is_answered_or_fails_and_then_does_both_if_the_answer_is_late() -> None:
    run = Echoes("n1", "n2")
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.9)
    assert run.heard_by("n1") == [("start", 0.0), ("client", 0.01), ("answer", 0.03), ("failure", 0.51)]
    run.group.partition(["n2"])
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(1.8)
    assert run.heard_by("n1", 0.9) == [("client", 0.91), ("time", 1.0), ("failure", 1.41)]


def test_one_message_may_take_longer_than_others() -> None:
    run, sent = Echoes("n1", "n2"), list[tuple[str, str, Any]]()

    def lateness(src: str, dst: str, message: Any) -> Seconds:
        sent.append((src, dst, message))
        return 0.2 if src == "n2" else 0.0

    run.group.lateness = lateness
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.9)
    assert sent == [("n1", "n2", "m"), ("n2", "n1", "m")]
    assert run.heard_by("n2") == [("start", 0.0), ("request", 0.02)]
    assert run.heard_by("n1") == [("start", 0.0), ("client", 0.01), ("answer", 0.23), ("failure", 0.51)]


def test_a_paused_process_hears_of_nothing_until_it_goes_on_and_then_of_all_that_came() -> None:
    run = Echoes("n1", "n2")
    run.group.partition(["n2"])
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.2)
    run.group.pause("n1")
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(1.5)
    assert run.heard_by("n1", 0.2) == []
    run.group.resume("n1")
    assert run.heard_by("n1", 0.2) == [("client", 1.5), ("failure", 1.5), ("time", 1.5)]


def test_a_process_that_does_not_run_cannot_be_paused() -> None:
    run = Echoes("n1")
    run.group.kill("n1")
    run.group.pause("n1")
    run.group.start("n1")
    run.group.run_until(1.5)
    assert run.heard_by("n1") == [("start", 0.0), ("start", 0.0), ("time", 1.0)]


def test_what_was_on_its_way_to_a_process_that_died_is_lost() -> None:
    run = Echoes("n1", "n2")
    answers: list[Any] = []
    run.group.ask("n2", "n1", answers.append)
    run.group.kill("n2")
    run.group.start("n2")
    run.group.run_until(0.5)
    assert answers == []
    assert run.heard_by("n2") == [("start", 0.0), ("start", 0.0)]


def test_a_stream_ends_with_the_process_that_it_leads_to_and_another_one_leads_to_the_next() -> None:
    """A message does not arrive where one before it on its connection was lost with the process."""
    run = Echoes("n1", "n2")
    for number, stream in enumerate(["first", "first", "second"]):
        run.group._call("n1", PeerCall(number, "n2", "m", None, stream))
        if number == 0:
            run.group.kill("n2")
            run.group.start("n2")
        run.group.run_until(run.group.now + 0.1)
    assert run.heard_by("n2") == [("start", 0.0), ("start", 0.0), ("request", 0.21)]


def test_a_clock_that_jumps_forward_lets_timers_run_out_at_once() -> None:
    run = Echoes("n1")
    run.group.run_until(0.5)
    run.group.jump("n1", 5.0)
    run.group.run_until(1.2)
    assert run.heard_by("n1") == [("start", 0.0), ("time", 5.5), ("time", 6.0)]


def test_a_clock_that_jumps_back_lets_timers_wait_for_longer() -> None:
    run = Echoes("n1")
    run.group.run_until(0.5)
    run.group.jump("n1", -2.0)
    run.group.run_until(3.2)
    assert run.heard_by("n1", since=-2.0) == [("start", 0.0), ("time", -1.5), ("time", 1.0)]


def test_a_step_has_the_time_of_the_group_whatever_the_clock_of_its_node_shows() -> None:
    run = Echoes("n1")
    run.group.jump("n1", 5.0)
    run.group.run_until(0.5)
    driver = run.group.driver("n1")
    assert driver is not None
    driver.record_step("Tick", {}, {})
    assert [(step.action, step.at) for step in run.group.steps] == [("Tick", 0.5)]


def test_a_slow_disk_holds_up_what_a_write_led_to_and_all_that_comes_meanwhile() -> None:
    run = Echoes("n1", "n2")
    answers: list[Seconds] = []
    run.group.slow_disk("n1", 0.3)
    run.write_on_client("n1")
    run.group.ask("n1", "n2", lambda _: answers.append(round(run.group.now, 3)))
    run.group.run_until(0.1)
    run.group.ask("n1", "n2", lambda _: answers.append(round(run.group.now, 3)))
    run.group.run_until(0.9)
    assert answers == [0.31, 0.61]
    assert [(event, at) for event, at in run.heard_by("n2") if event == "request"] == [
        ("request", 0.32),
        ("request", 0.62),
    ]


def test_what_a_process_was_writing_when_it_died_leads_to_nothing() -> None:
    run = Echoes("n1", "n2")
    run.group.slow_disk("n1", 0.3)
    run.write_on_client("n1")
    run.group.ask("n1", "n2", lambda _: None)
    run.group.run_until(0.2)
    run.group.kill("n1")
    run.group.run_until(0.9)
    assert [event for event, _ in run.heard_by("n2")] == ["start"]


def test_a_process_that_comes_up_hears_of_a_disk_that_is_full() -> None:
    run = Echoes("n1")
    run.group.fill_disk("n1")
    run.group.run_until(0.1)
    run.group.kill("n1")
    run.group.start("n1")
    run.group.fill_disk("n1", is_full=False)
    run.group.run_until(0.2)
    assert run.heard_by("n1") == [("start", 0.0), ("full", 0.0), ("start", 0.1), ("full", 0.1), ("space", 0.1)]


# ---- Cuts, late messages, deaths within a step, threads ----


def test_a_cut_that_holds_messages_delivers_them_once_it_ends() -> None:
    run = Echoes("n1", "n2")
    run.group.cut(Cut(frozenset({"n2"}), holds=True))
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.9)
    assert run.heard_by("n2") == [("start", 0.0)]
    run.group.heal()
    run.group.run_until(0.95)
    assert run.heard_by("n2", 0.1) == [("request", 0.91)]


def test_what_a_cut_holds_for_a_process_that_died_is_lost() -> None:
    run = Echoes("n1", "n2")
    run.group.cut(Cut(frozenset({"n2"}), holds=True))
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.2)
    run.group.kill("n2")
    run.group.start("n2")
    run.group.heal()
    run.group.run_until(0.9)
    assert run.heard_by("n2") == [("start", 0.0), ("start", 0.2)]


def test_a_cut_of_one_way_lets_the_other_pass() -> None:
    run = Echoes("n1", "n2")
    run.group.cut(Cut(frozenset({"n2"}), into=False))
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.9)
    assert ("request", 0.02) in run.heard_by("n2")
    assert run.heard_by("n1", 0.02) == [("failure", 0.51)]


def test_a_late_message_takes_longer_than_the_others() -> None:
    run = Echoes("n1", "n2")
    run.group.conditions.late, run.group.conditions.max_lateness = 1.0, 50.0
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.5)
    assert all(event != "client" for event, _ in run.heard_by("n1"))
    run.group.run_until(60.0)
    assert any(event == "client" for event, _ in run.heard_by("n1"))


def test_a_process_may_die_between_two_changes_of_its_disk_and_then_nothing_leaves_it() -> None:
    run, died = Echoes("n1", "n2"), list[float]()
    run.write_on_client("n1")
    run.group.kill_within("n1", 1, lambda: died.append(run.group.now))
    for _ in range(2):
        run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.9)
    assert died == [0.01]
    assert run.group.driver("n1") is None
    assert run.group.steps[-1].action == KILLED
    assert run.heard_by("n1", 0.005) == [("client", 0.01)]
    assert [event for event, _ in run.heard_by("n2")].count("request") == 1
    run.group.start("n1")
    run.write_on_client("n1")
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(1.5)
    assert run.group.driver("n1") is not None


def test_a_process_that_is_spared_does_not_die_within_a_step() -> None:
    run = Echoes("n1", "n2")
    run.write_on_client("n1")
    run.group.kill_within("n1", 0, lambda: None)
    run.group.spare("n1")
    run.group.ask("n1", "n2", lambda answer: None)
    run.group.run_until(0.5)
    assert run.group.driver("n1") is not None


def test_a_thread_that_is_held_up_works_again_later_and_the_others_meanwhile() -> None:
    turns, worked = ThreadTurns(), list[str]()

    def work(thread: str) -> Callable[[], bool]:
        return lambda: worked.append(thread) is None

    turns.delay = lambda: 2.0
    assert turns.take("a", 0.0, work("a"))
    assert not turns.take("a", 1.0, work("a"))
    assert turns.next_after(1.0) == 2.0
    assert turns.take("b", 1.0, work("b"))
    assert turns.take("a", 2.0, work("a"))
    assert worked == ["a", "b", "a"]


def test_a_thread_that_took_no_step_is_not_held_up() -> None:
    turns = ThreadTurns()
    turns.delay = lambda: 2.0
    assert not turns.take("a", 0.0, lambda: False)
    assert turns.take("a", 0.0, lambda: True)
