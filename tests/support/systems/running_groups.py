"""Groups of drivers in simulated time, what clients ask them, and what goes wrong with their processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from raftref.runtime.driver import Seconds
from raftref.runtime.virtual import VirtualGroup
from raftref.simulation.group import Event, trace_lines
from raftref.simulation.group_plan import GroupPlan

NODES = ("n1", "n2", "n3")


@dataclass
class Answers:
    """The answers to clients with their requests, in the order in which they came."""

    given: list[tuple[Any, Any]] = field(default_factory=list)

    def ask(self, group: VirtualGroup, node: str, request: Any) -> None:
        """Ask a node; a request without an address is for that node."""
        if getattr(request, "dst", None) == "":
            request = replace(request, dst=node)
        group.ask(node, request, lambda answer: self.given.append((request, answer)))

    def last(self) -> Any:
        return self.given[-1][1]


def ask(group: VirtualGroup, node: str, request: Any, within: Seconds = 0.3) -> Any:
    """Return the answer to a request, which must come in time."""
    answers = Answers()
    answers.ask(group, node, request)
    group.run_until(group.now + within)
    return answers.last()


def start_all(group: VirtualGroup) -> VirtualGroup:
    for node in group.nodes:
        group.start(node)
    return group


def leaders(group: VirtualGroup, leads: Callable[[Any], bool]) -> list[str]:
    return [node for node in group.nodes if (driver := group.driver(node)) is not None and leads(driver)]


def clients(
    group: VirtualGroup, leads: Callable[[Any], bool], request: Callable[[int], Any], period: Seconds
) -> Answers:
    """Let a client ask whoever leads now and then, from now on."""
    answers, count = Answers(), 0

    def asks() -> None:
        nonlocal count
        for node in leaders(group, leads):
            count += 1
            answers.ask(group, node, request(count))
        group.at(group.now + period, asks)

    asks()
    return answers


def disturb(group: VirtualGroup, seed: int, mean: Seconds, kinds: Iterable[str], until: Seconds) -> None:
    """Let processes and the network fail now and then, up to a moment, and recover."""
    random, names = Random(seed), list(kinds)

    def fails() -> None:
        node, ends = random.choice(group.nodes), group.now + random.uniform(0.2, 2) * mean
        match random.choice(names):
            case "kill":
                group.kill(node)
                group.at(ends, lambda: group.start(node))
            case "lose_power":
                group.lose_power(node)
                group.at(ends, lambda: group.start(node))
            case "pause":
                group.pause(node)
                group.at(ends, lambda: group.resume(node))
            case "partition":
                group.partition([node])
                group.at(ends, group.heal)
        following = group.now + random.uniform(0.5, 1.5) * mean
        if following < until:
            group.at(following, fails)

    group.at(group.now + mean, fails)


def recover(group: VirtualGroup, time: Seconds) -> None:
    """Let every process run, and give the group some time."""
    group.heal()
    for node in group.nodes:
        group.resume(node)
        group.start(node)
    group.run_until(group.now + time)


def checked(folder: Path, plan: GroupPlan, events: Iterable[Event]) -> TraceVerdict:
    """Check the trace of a group against the spec."""
    path = folder / "run.ndjson"
    path.write_text("".join(trace_lines(plan, events)), encoding="utf-8")
    return check(path)
