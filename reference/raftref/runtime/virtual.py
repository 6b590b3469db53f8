"""A group of drivers in simulated time: a clock that jumps from event to event, a network with delays, disks in memory.

The same drivers run here and on sockets. A run follows from its seed: a minute of a group takes a second or so. Each
node has a clock of its own, which may jump, and a disk, which may be slow, and may fill up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

from raftref.disks.simulated_disk import SimulatedDisk, Stopped
from raftref.runtime.driver import NEVER, ClientAnswer, Driver, NodeStep, Output, PeerCall, PeerReply, Seconds

#: Makes the driver of a node on its disk; the last argument is called with each step.
MakeDriver: TypeAlias = Callable[[str, SimulatedDisk, Random, Callable[[NodeStep], None]], Driver]

#: The process of a node that has died. None of the spec: it is recorded by whoever kills it.
KILLED = "Killed"


@dataclass(slots=True)
class NetworkConditions:
    """The conditions of a network: how long a message takes, and how many get lost.

    The share `late` of the messages takes longer, by up to `max_lateness`.
    """

    min_delay: Seconds = 0.0005
    max_delay: Seconds = 0.005
    loss: float = 0.0
    late: float = 0.0
    max_lateness: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of the network between the nodes of one side and all others.

    It cuts the ways out of that side, into it, or both. What is sent there is lost; with `holds` it waits for the end
    of the cut, as in the buffers of a connection that does not break.
    """

    side: frozenset[str] = frozenset()
    holds: bool = False
    out: bool = True
    into: bool = True

    def is_between(self, src: str, dst: str) -> bool:
        """Return whether messages from one node to another are cut off."""
        leaves, enters = src in self.side, dst in self.side
        return leaves != enters and (self.out if leaves else self.into)


#: An event of a driver, at a moment by the clock of its node.
_Event: TypeAlias = Callable[[Driver, Seconds], None]


def _nothing() -> None:
    """Do nothing."""


class _Process:
    """A node: its clock, its disk, and its driver while the process runs."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.driver: Driver | None = None
        #: How far the clock of the node is before that of the group.
        self.clock_offset: Seconds = 0.0
        #: How long the disk takes for what an event writes, and whether it is full.
        self.disk_delay: Seconds = 0.0
        self.disk_is_full = False
        #: Until then the process waits for its disk.
        self.busy_until: Seconds = 0.0
        #: Which process of the node this is: what was on its way to an earlier one is lost.
        self.number = 0
        self.paused = False
        self.missed: list[Callable[[], None]] = []
        #: Called if the process dies within a step.
        self.died: Callable[[], None] = _nothing
        self.wakes_at: Seconds = NEVER

    def moment_of(self, time: Seconds) -> Seconds:
        """Return the first moment at which the clock of the node shows a time, or a later one."""
        moment = time - self.clock_offset
        while moment + self.clock_offset < time:  # what was lost by rounding
            moment = math.nextafter(moment, NEVER)
        return moment


@dataclass(slots=True, eq=False)
class _Stream:
    """Calls that arrive, and are answered, in their order: when the last message arrives at each node.

    `receiver` is which process of the peer it leads to. With that process it ends, as a connection does.
    """

    receiver: int
    ends_at: dict[str, Seconds] = field(default_factory=dict)
    is_broken: bool = False


class VirtualGroup:
    """Nodes that run in simulated time; `steps` are all that they have taken, in their order."""

    def __init__(
        self, nodes: Sequence[str], make_driver: MakeDriver, seed: int, conditions: NetworkConditions | None = None
    ) -> None:
        """Make a group whose processes have not come up yet.

        Args:
            nodes: The members.
            make_driver: Makes the driver of a node.
            seed: Decides everything that is random.
            conditions: The conditions of the network, which may change at any time.
        """
        self.random = Random(seed)
        self.now: Seconds = 0.0
        self.conditions = conditions or NetworkConditions()
        self.steps: list[NodeStep] = []
        #: Draws for how long a thread of a node is held up after a step, see `ThreadTurns`.
        self._hold_ups: dict[str, Callable[[], Seconds]] = {}
        #: Called with each step that a node has taken, before anything leaves that node.
        self.on_step: Callable[[NodeStep], None] | None = None
        #: Called with sender, receiver and message: how much longer than others this one takes.
        self.lateness: Callable[[str, str, Any], Seconds] | None = None
        #: How many messages a cut held or took, how many got lost otherwise, and how many were late.
        self.cut_off = self.lost = self.late = 0
        self._cut = Cut()
        #: What waits for the end of the cut.
        self._held: list[Callable[[], None]] = []
        self._make_driver = make_driver
        self._processes = {node: _Process(SimulatedDisk()) for node in nodes}
        self._queue: list[tuple[Seconds, int, Callable[[], None]]] = []
        self._count = 0
        self._streams: dict[tuple[str, int, str, Hashable], _Stream] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """The members."""
        return tuple(self._processes)

    def driver(self, node: str) -> Driver | None:
        """Return the driver of a node, None while its process is down."""
        return self._processes[node].driver

    # ---- Time ----------------------------------------------------------------------------------------

    def at(self, moment: Seconds, happens: Callable[[], None]) -> None:
        """Let something happen at a moment."""
        self._count += 1
        heapq.heappush(self._queue, (moment, self._count, happens))

    def run_until(self, moment: Seconds) -> None:
        """Let all happen up to a moment."""
        while self._queue and self._queue[0][0] <= moment:
            self.now, _, happens = heapq.heappop(self._queue)
            happens()
        self.now = moment

    # ---- Processes -----------------------------------------------------------------------------------

    def start(self, node: str) -> None:
        """Let the process of a node come up, if it is down; it may die as it recovers, see `kill_within`."""
        process = self._processes[node]
        if process.driver is not None:
            return
        process.number += 1
        # A wake-up of the process before this one wakes nobody.
        process.wakes_at, process.busy_until = NEVER, 0.0
        chance = Random(self.random.random())
        try:
            process.driver = self._make_driver(node, process.disk, chance, self._recorder(process))
        except Stopped:
            self._die(node)
            return
        process.driver.turns.delay = self._hold_ups.get(node)
        self._drive(node, lambda driver, now: driver.start(now))
        if process.disk_is_full:
            self._drive(node, lambda driver, now: driver.on_disk_space(now, is_full=True))

    def _recorder(self, process: _Process) -> Callable[[NodeStep], None]:
        """Return what records the steps of a process, by the clock of the group."""

        def recorded(step: NodeStep) -> None:
            self.steps.append(replace(step, at=self.now) if process.clock_offset else step)
            if self.on_step is not None:
                self.on_step(self.steps[-1])

        return recorded

    def kill(self, node: str) -> None:
        """Let the process of a node die, as by kill -9: what it wrote stays."""
        process = self._processes[node]
        if process.driver is not None:
            process.driver, process.paused, process.missed, process.died = None, False, [], _nothing
            process.disk.kill()
            self.steps.append(NodeStep(self.now, node, KILLED, {}, {}))

    def kill_within(self, node: str, writes: int, died: Callable[[], None]) -> None:
        """Let the process of a node die once it has changed its disk so often, before the next change of it.

        So it may die within a step; the next process of a node that is down, as it recovers. `died` is called then,
        and never if it dies otherwise before.
        """
        process = self._processes[node]
        process.disk.stop_after(writes)
        process.died = died

    def _die(self, node: str) -> None:
        """Let the process of a node die within a step, or before it has come up."""
        process = self._processes[node]
        died, process.died = process.died, _nothing
        self.kill(node)
        process.disk.kill()
        died()

    def spare(self, node: str) -> None:
        """Let the process of a node not die within a step any more."""
        self._processes[node].disk.kill()

    def lose_power(self, node: str) -> None:
        """Let the machine of a node lose power: of what was not forced any part may be gone."""
        self.kill(node)
        disk = self._processes[node].disk
        names = self.random.randint(0, len(disk.unforced_names))
        odds = self.random.choice((0.0, 0.5, 1.0))
        disk.lose_power(names, [n for n in range(len(disk.unforced_writes)) if self.random.random() < odds])

    def pause(self, node: str) -> None:
        """Stop the process of a node, if it runs, as by SIGSTOP: it misses nothing, and does nothing."""
        process = self._processes[node]
        process.paused = process.driver is not None

    def resume(self, node: str) -> None:
        """Let the process of a node go on, with all that has come meanwhile."""
        process = self._processes[node]
        process.paused, missed = False, process.missed
        process.missed = []
        for each in missed:
            each()
        self._drive(node, lambda driver, now: driver.on_time(now))

    def hold_up(self, node: str, delay: Callable[[], Seconds] | None) -> None:
        """Let threads of a node be held up now and then; `delay` draws for how long, after each step of one."""
        if delay is None:
            self._hold_ups.pop(node, None)
        else:
            self._hold_ups[node] = delay
        driver = self._processes[node].driver
        if driver is not None:
            driver.turns.delay = delay

    # ---- Clocks and disks ----------------------------------------------------------------------------

    def jump(self, node: str, seconds: Seconds) -> None:
        """Let the clock of a node jump, forward or back: all of its timers go by it."""
        self._processes[node].clock_offset += seconds
        self._processes[node].wakes_at = NEVER
        self._happens_to(node, self.now, lambda driver, now: driver.on_time(now))

    def slow_disk(self, node: str, delay: Seconds) -> None:
        """Let the disk of a node take a time for what an event writes: nothing else happens there meanwhile."""
        self._processes[node].disk_delay = delay

    def fill_disk(self, node: str, *, is_full: bool = True) -> None:
        """Let the disk of a node fill up, or have space again."""
        self._processes[node].disk_is_full = is_full
        self._happens_to(node, self.now, lambda driver, now: driver.on_disk_space(now, is_full=is_full))

    # ---- Cuts ----------------------------------------------------------------------------------------

    def partition(self, side: Collection[str]) -> None:
        """Cut some nodes off from all others; what is sent between the sides is lost."""
        self.cut(Cut(frozenset(side)))

    def cut(self, cut: Cut) -> None:
        """Cut the network, in the place of the cut that there is."""
        self.heal()
        self._cut = cut

    def heal(self) -> None:
        """End the cut: what it holds is on its way again."""
        self._cut, held = Cut(), self._held
        self._held = []
        for goes_on in held:
            goes_on()

    # ---- Events of a node ----------------------------------------------------------------------------

    def ask(self, node: str, request: Any, answered: Callable[[Any], None]) -> None:
        """Let a client ask a node; `answered` is called with the answer, and never if there is none."""
        self._deliver(node, lambda driver, now: driver.on_client(now, answered, request))

    def _deliver(self, node: str, event: _Event, stream: _Stream | None = None, late: Seconds = 0.0) -> None:
        """Let an event come to a node after the delay of the network, and after those before it in its stream."""
        moment = self.now + self._delay() + late
        if stream is not None:
            moment = stream.ends_at[node] = max(moment, stream.ends_at.get(node, 0.0))
        self._happens_to(node, moment, event)

    def _delay(self) -> Seconds:
        random, conditions = self.random, self.conditions
        delay = random.uniform(conditions.min_delay, conditions.max_delay)
        is_late = conditions.late > 0 and random.random() < conditions.late
        self.late += is_late
        return delay + random.uniform(0, conditions.max_lateness) if is_late else delay

    def _happens_to(self, node: str, moment: Seconds, event: _Event) -> None:
        """Let an event come at a moment to the process that a node has now, which may be paused, or dead by then."""
        self._in_process(node, moment, lambda: self._drive(node, event))

    def _in_process(self, node: str, moment: Seconds, does: Callable[[], None]) -> None:
        """Let the process that a node has now do something at a moment, or once it goes on, if it lives by then."""
        process = self._processes[node]
        number = process.number

        def happens() -> None:
            if process.driver is None or process.number != number:
                return
            if process.paused:
                process.missed.append(happens)
            elif self.now < process.busy_until:
                self.at(process.busy_until, happens)
            else:
                does()

        self.at(moment, happens)

    def _drive(self, node: str, event: _Event) -> None:
        process = self._processes[node]
        if process.driver is None:
            return
        written = process.disk.step_count
        try:
            event(process.driver, self.now + process.clock_offset)
        except Stopped:
            self._die(node)
            return
        outputs = process.driver.take_outputs()
        if process.disk_delay and process.disk.step_count != written:
            process.busy_until = self.now + process.disk_delay
            self._in_process(node, process.busy_until, lambda: self._carry_out(node, outputs))
        else:
            self._carry_out(node, outputs)
        self._wake(node)

    def _carry_out(self, node: str, outputs: Sequence[Output]) -> None:
        for output in outputs:
            match output:
                case PeerCall():
                    self._call(node, output)
                case PeerReply():
                    self._reply(node, output)
                case ClientAnswer(key=key, answer=answer):
                    assert callable(key)
                    key(answer)

    def _wake(self, node: str) -> None:
        """Let the driver hear of the time when something is due."""
        process = self._processes[node]
        if process.driver is None:
            return
        moment, number = process.moment_of(process.driver.next_time()), process.number
        if moment >= process.wakes_at > self.now or moment == NEVER:
            return
        process.wakes_at = moment

        def happens() -> None:
            if process.number != number or process.driver is None or process.paused or process.wakes_at > self.now:
                return  # it is dead, or hears of the time when it goes on, or nothing is due any more
            if self.now < process.busy_until:
                self.at(process.busy_until, happens)
                return
            process.wakes_at = NEVER
            self._drive(node, lambda driver, now: driver.on_time(now))

        self.at(max(moment, self.now), happens)

    # ---- The network ---------------------------------------------------------------------------------

    def _send(self, src: str, dst: str, message: Any, event: _Event, stream: _Stream | None) -> None:
        """Let an event come to a peer, unless it is lost on its way; one that a cut holds comes later.

        With a message that is lost its stream ends.
        """
        if stream is not None and stream.is_broken:
            return
        is_cut = self._cut.is_between(src, dst)
        self.cut_off += is_cut
        late = 0.0 if self.lateness is None else self.lateness(src, dst, message)
        if is_cut and self._cut.holds:
            self._held.append(self._later(dst, event, stream, late))
        elif not is_cut and self.random.random() >= self.conditions.loss:
            self._deliver(dst, event, stream, late)
        else:
            self.lost += not is_cut
            if stream is not None:
                stream.is_broken = True

    def _later(self, node: str, event: _Event, stream: _Stream | None, late: Seconds) -> Callable[[], None]:
        """Return what lets an event come to the process that a node has now, after the delay of the network."""
        process = self._processes[node]
        number = process.number

        def goes_on() -> None:
            if process.number == number:
                self._deliver(node, event, stream, late)

        return goes_on

    def _call(self, src: str, call: PeerCall) -> None:
        if call.timeout is not None:
            self._happens_to(src, self.now + call.timeout, lambda driver, now: driver.on_failure(now, call.number))
        process = self._processes[src].number
        stream = None
        if call.stream is not None:
            receiver = self._processes[call.peer].number
            stream = self._streams.setdefault((src, process, call.peer, call.stream), _Stream(receiver))
            stream.is_broken |= stream.receiver != receiver
        key = (src, process, call.number, stream)
        message = call.message
        self._send(src, call.peer, message, lambda driver, now: driver.on_request(now, key, message), stream)

    def _reply(self, src: str, reply: PeerReply) -> None:
        key: Hashable = reply.key
        assert isinstance(key, tuple)
        caller, process, number, stream = key
        if self._processes[caller].number == process:
            message = reply.message
            self._send(src, caller, message, lambda driver, now: driver.on_answer(now, number, message), stream)
