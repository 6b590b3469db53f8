"""Logs with lines for a part of the steps are explained where they can be, and refuted where they cannot."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError
from lockstep.conformance.json_values import Words
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.continuations import NONE
from lockstep.logs.continuations import Continuation as Way
from lockstep.logs.explanation_search import Conclusion, ExplainingRun, Explanations, explain
from lockstep.logs.line_order import Order, Positions
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Claim, Thread, ThreadLine
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching
from tests.support.sampling import sampled

#: Number of made-up logs that every run checks, and that the nightly tests check.
EVERY_RUN, NIGHTLY = COUNTS = (60, 300)

RELAY = """---- MODULE Relay ----
EXTENDS Integers, Sequences
CONSTANT Node
VARIABLES box, count
Init == box = [n \\in Node |-> <<>>] /\\ count \\in [Node -> {0, 3}]
Send(n, m, v) == n # m /\\ Len(box[m]) < 2 /\\ box' = [box EXCEPT ![m] = Append(@, v)] /\\ UNCHANGED count
Receive(n) == /\\ box[n] # <<>>
              /\\ \\E lost \\in {0, 2} : count' = [count EXCEPT ![n] = (@ + Head(box[n]) + lost) % 7]
              /\\ box' = [box EXCEPT ![n] = Tail(@)]
Drop(n) == box[n] # <<>> /\\ box' = [box EXCEPT ![n] = Tail(@)] /\\ UNCHANGED count
Next == \\/ \\E n, m \\in Node, v \\in 1..2 : Send(n, m, v)
        \\/ \\E n \\in Node : Receive(n) \\/ Drop(n)
Observe(n) == [count |-> count[n], waiting |-> Len(box[n])]
Low == \\A n \\in Node : count[n] < 6
Few == \\A n \\in Node : Len(box[n]) < 2
NeverBack == [][\\A n \\in Node : count'[n] >= count[n]]_count
====
"""
CFG = """CONSTANTS Node = {a, b}  a = a  b = b
INIT Init
NEXT Next
INVARIANTS Low Few
PROPERTY NeverBack
"""


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("relay")
    (folder / "Relay.tla").write_text(RELAY)
    (folder / "Relay.cfg").write_text(CFG)
    return load_spec(folder / "Relay.tla", folder / "Relay.cfg", cache_dir=folder / "cache")


def interface(spec: Spec) -> Interface:
    return Interface("Observe", None, Words(None, spec.model_values), {}, lambda _: "")


# ---- What an explanation is, said once more: every behaviour is tried, and nothing is merged ----


def comes_first(threads: Sequence[Thread], one: tuple[int, int], other: tuple[int, int], slack: int) -> bool:
    """Return whether a line (thread, place) must have happened before another."""
    (a, i), (b, j) = one, other
    if a == b:
        return i < j
    first, second = threads[a].lines[i], threads[b].lines[j]
    if first.sends is not None and first.sends == second.receives:
        return True
    if first.time is None or second.time is None:
        return False
    stamps = [line.time for line in threads[b].lines[:j] if line.time is not None]
    earliest = max([second.time - second.delay, *stamps]) if second.delay else second.time
    return first.time + slack < min(earliest, second.time)


@dataclass
class Everything:
    """All behaviours that explain some logs, found by trying every step.

    No behaviour is dropped in favour of a better one.
    """

    threads: Sequence[Thread]
    slack: int
    spec: Spec
    hidden: Mapping[str, int]
    ends: set[frozenset[str]] = field(default_factory=set)
    furthest: int = -1
    blocked: set[tuple[int, int]] = field(default_factory=set)
    seen: set[object] = field(default_factory=set)

    def try_all(self) -> None:
        for state in self.spec.initial_states():
            self._from((), state, failures(self.spec, state), {})

    def waiting(self, done: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
        lines = [(k, i) for k, thread in enumerate(self.threads) for i in range(len(thread.lines))]
        left = [each for each in lines if each not in done]
        return [each for each in left if not any(comes_first(self.threads, other, each, self.slack) for other in left)]

    def _from(
        self, done: tuple[tuple[int, int], ...], state: State, failed: frozenset[str], used: Mapping[str, int]
    ) -> None:
        here = frozenset(done), state, failed, frozenset(used.items())
        if here in self.seen:
            return
        self.seen.add(here)
        waiting = self.waiting(done)
        if not waiting:
            self.ends.add(failed)
            return
        if len(done) > self.furthest:
            self.furthest, self.blocked = len(done), set()
        if len(done) == self.furthest:
            self.blocked |= {(k, self.threads[k].lines[i].number) for k, i in waiting}
        for k, i in waiting:
            for claims in self.threads[k].lines[i].readings:
                for after, then in self._claimed(state, failed, claims):
                    self._from((*done, (k, i)), after, then, {})
        for name, _, after in self.spec.successors(state):
            if used.get(name, 0) < self.hidden.get(name, 0):
                more = {**used, name: used.get(name, 0) + 1}
                self._from(done, after, failed | failures(self.spec, state, after), more)

    def _claimed(
        self, state: State, failed: frozenset[str], claims: tuple[Claim, ...]
    ) -> Iterator[tuple[State, frozenset[str]]]:
        if not claims:
            yield state, failed
            return
        claim, *rest = claims
        for after in said(self.spec, state, claim):
            broken = failed | (failures(self.spec, state, after) if claim.action else NONE)
            yield from self._claimed(after, broken, tuple(rest))


def said(spec: Spec, state: State, claim: Claim) -> list[State]:
    """The states after what a line claims."""
    found = [] if claim.action else [state]
    for name, args, then in spec.successors(state):
        if name == claim.action and all(fits(args[key], bound) for key, bound in claim.args.items()):
            found.append(then)
    return [
        each
        for each in dict.fromkeys(found)
        if all(spec.evaluate("Observe", each, claim.node).d[key] == value for key, value in claim.shows.items())
    ]


def fits(value: Value, bound: KnownValue | Matching) -> bool:
    return bound.value == value if isinstance(bound, KnownValue) else bound.test is None or bound.test(value)


def failures(spec: Spec, state: State, after: State | None = None) -> frozenset[str]:
    """The properties that fail in a state, or by a step and after it."""
    found = {name for name, holds in spec.invariants.items() if not holds(state if after is None else after)}
    if after is not None:
        found |= {name for name, holds in spec.action_properties.items() if not holds(state, after)}
    return frozenset(found)


def minimal(sets: set[frozenset[str]]) -> list[frozenset[str]]:
    return sorted((each for each in sets if not any(other < each for other in sets)), key=sorted)


def assert_explains(made: MadeUp, spec: Spec, run: ExplainingRun) -> None:
    """Assert that an explanation is a behaviour with the steps of the lines, in an order that they may have."""
    start, *legs = run.whole()
    assert start.state in set(spec.initial_states())
    failed, state, order = failures(spec, start.state), start.state, []
    for leg in legs:
        line = next(each for each in made.threads[leg.thread].lines if each is leg.line)
        order.append((leg.thread, made.threads[leg.thread].lines.index(line)))
        counts = Counter(step.action for step in leg.steps if step.hidden)
        assert all(count <= made.hidden[name] for name, count in counts.items())
        hidden = [step.hidden for step in leg.steps]
        assert hidden == sorted(hidden, reverse=True), "a hidden step comes within a line"
        before = state
        for step in leg.steps:
            assert (step.action, step.args, step.state) in list(spec.successors(state))
            failed |= failures(spec, state, step.state)
            before = step.state if step.hidden else before
            state = step.state
        actions = [step.action for step in leg.steps if not step.hidden]
        assert any(
            actions == [claim.action for claim in claims if claim.action] and state in ends(spec, before, claims)
            for claims in line.readings
        )
        assert state == leg.state
    assert failed == run.failed
    assert sorted(order) == [(k, i) for k, thread in enumerate(made.threads) for i in range(len(thread.lines))]
    for place, one in enumerate(order):
        assert not any(comes_first(made.threads, later, one, made.slack) for later in order[place + 1 :])


def ends(spec: Spec, state: State, claims: tuple[Claim, ...]) -> list[State]:
    found = [state]
    for claim in claims:
        found = [after for each in found for after in said(spec, each, claim)]
    return found


# ---- Logs of random behaviours that leave parts out ----


@dataclass(frozen=True)
class MadeUp:
    """Logs of one behaviour, of clocks that differ by no more than `slack`."""

    threads: tuple[Thread, ...]
    slack: int
    hidden: Mapping[str, int]

    def order(self) -> Order:
        return Order(self.threads, self.slack - 5, 5) if self.slack > 5 else Order(self.threads, self.slack)


def some_bound(chooses: random.Random, name: str, value: Value) -> KnownValue | Matching | None:
    match chooses.randrange(3):
        case 0:
            return KnownValue(name, value)
        case 1 if isinstance(value, int):
            return Matching(name, lambda other, odd=value % 2: other % 2 == odd)  # type: ignore[misc]
    return None


def made_up(spec: Spec, seed: int) -> MadeUp:
    """Write the logs of a random behaviour: one of each node, with stamps of clocks that differ."""
    chooses = random.Random(seed)
    a, b = spec.model_values["a"], spec.model_values["b"]
    slack = chooses.choice([0, 10, 30])
    fast_by = {a: 0, b: chooses.randrange(slack + 1)}
    hidden = {"Send": chooses.choice([0, 1]), "Drop": chooses.choice([0, 1, 2])}
    logs: dict[Value, list[ThreadLine]] = {a: [], b: []}
    state = chooses.choice(list(spec.initial_states()))
    gap: Counter[str] = Counter()
    for moment in range(chooses.randrange(2, 5)):
        name, args, state = chooses.choice(list(spec.successors(state)))
        node = args["n"]
        if gap[name] < hidden.get(name, 0) and chooses.random() < 0.4:
            gap[name] += 1
            continue
        gap.clear()
        seen = spec.evaluate("Observe", state, node).d
        shows = {key: value for key, value in seen.items() if chooses.random() < 0.5}
        if shows and chooses.random() < 0.25:
            shows[chooses.choice(list(shows))] = chooses.randrange(7)
        known = {key: what for key, value in args.items() if (what := some_bound(chooses, key, value)) is not None}
        claim = Claim(name, known, shows, node)
        readings: list[tuple[Claim, ...]] = [(claim,)]
        if chooses.random() < 0.2:
            readings.append((Claim("", {}, shows, node),))
        if chooses.random() < 0.2:
            readings.append((replace(claim, shows={}), Claim("Drop", {"n": KnownValue("n", node)}, shows, node)))
        stamp = None if chooses.random() < 0.2 else 10 * moment + fast_by[node]
        line = ThreadLine(len(logs[node]) + 1, "", tuple(readings), stamp, chooses.choice([0, 0, 15]))
        logs[node].append(line)
    if logs[a] and logs[b] and chooses.random() < 0.3:
        ready = chooses.random() < 0.5
        one, other = (logs[a], logs[b]) if ready else (logs[b], logs[a])
        if min(each.time or 0 for each in one) <= max(each.time or 0 for each in other):
            one[0], other[-1] = replace(one[0], sends="m"), replace(other[-1], receives="m")
    return MadeUp((Thread("a.log", logs[a]), Thread("b.log", logs[b])), slack, hidden)


def all_made_up(spec: Spec, count: int) -> list[MadeUp]:
    """The first ones whose lines have an order."""
    found: list[MadeUp] = []
    for seed in itertools.count():
        made = made_up(spec, seed)
        try:
            made.order()
        except BadInputError:
            continue
        found.append(made)
        if len(found) == count:
            return found
    raise AssertionError


def explained(spec: Spec, made: MadeUp, **options: Any) -> Explanations:
    budget = {"max_hidden_steps": options.pop("hidden")} if "hidden" in options else {}
    return explain(made.order(), LineSteps(spec, interface(spec), made.hidden, **budget), **options)


@pytest.mark.parametrize("count", sampled(COUNTS, [EVERY_RUN]))
def test_the_search_finds_what_trying_every_behaviour_finds(count: int, relay: Spec) -> None:
    """Some logs are explained without a failure, some only with failures, and some not at all."""
    conclusions: Counter[Conclusion] = Counter()
    most = 0
    for made in all_made_up(relay, count):
        found = explained(relay, made)
        everything = Everything(made.threads, made.slack, relay, made.hidden)
        everything.try_all()
        assert found.left_out == ()
        assert found.failures() == minimal(everything.ends)
        assert minimal({run.failed for run in found.runs} - {NONE}) == minimal(everything.ends - {NONE})
        if not everything.ends:
            assert {(each.thread, each.line.number) for each in found.blocked} == everything.blocked
        for run in found.runs:
            assert_explains(made, relay, run)
        conclusions[found.conclusion] += 1
        most = max(most, found.spread.max_states)
    assert set(conclusions) == {Conclusion.EXPLAINED, Conclusion.VIOLATED, Conclusion.REFUTED}
    assert min(conclusions.values()) >= count // 20
    assert most > 20


@pytest.mark.parametrize("count", sampled(COUNTS, [EVERY_RUN]))
def test_a_search_that_gave_up_states_concludes_nothing_from_what_it_did_not_find(count: int, relay: Spec) -> None:
    gave_up = 0
    for made in all_made_up(relay, count):
        whole = explained(relay, made)
        for cut in (explained(relay, made, max_states=2), explained(relay, made, hidden=2)):
            gave_up += bool(cut.left_out)
            assert cut.conclusion is (whole.conclusion if not cut.left_out else cut.conclusion)
            if cut.left_out:
                assert cut.conclusion in (Conclusion.UNKNOWN, Conclusion.EXPLAINED)
            if cut.conclusion is Conclusion.EXPLAINED:
                assert whole.conclusion is Conclusion.EXPLAINED
    assert gave_up > count


@pytest.mark.parametrize("count", sampled(COUNTS, [EVERY_RUN]))
def test_a_log_that_is_cut_is_never_refuted_where_the_whole_one_is_explained(count: int, relay: Spec) -> None:
    """Each made-up log is cut. If the mapping did not allow for that, logs that can be explained would be refuted."""
    false_alarms = refuted = violated = undecided = 0
    for made in all_made_up(relay, count):
        whole = explained(relay, made)
        for number, thread in enumerate(made.threads):
            for keep in range(len(thread.lines)):
                short = replace(thread, lines=[replace(line, sends=None) for line in thread.lines[:keep]])
                others = [replace(each, lines=[replace(line, receives=None) for line in each.lines])
                          for each in made.threads]  # fmt: skip
                plain = replace(made, threads=(*others[:number], short, *others[number + 1 :]))
                cut = replace(plain, threads=tuple(
                    replace(each, is_cut=k == number) for k, each in enumerate(plain.threads)
                ))  # fmt: skip
                found, said = explained(relay, cut), explained(relay, plain)
                if whole.conclusion is Conclusion.EXPLAINED:
                    false_alarms += said.conclusion is not Conclusion.EXPLAINED
                    assert found.conclusion in (Conclusion.EXPLAINED, Conclusion.UNKNOWN)
                if whole.conclusion is Conclusion.VIOLATED:
                    assert found.conclusion is not Conclusion.REFUTED
                if found.conclusion is Conclusion.VIOLATED:
                    assert minimal({*found.failures(), *whole.failures()}) == found.failures()
                assert (found.conclusion is Conclusion.EXPLAINED) is (said.conclusion is Conclusion.EXPLAINED)
                undecided += found.conclusion is Conclusion.UNKNOWN
                refuted += found.conclusion is Conclusion.REFUTED
                violated += found.conclusion is Conclusion.VIOLATED
    assert min(false_alarms, refuted, undecided) >= count // 20
    assert violated


def one_line(spec: Spec, *readings: tuple[Claim, ...], hidden: Mapping[str, int] | None = None) -> Explanations:
    order = Order([Thread("a.log", [ThreadLine(1, "", readings)])])
    return explain(order, LineSteps(spec, interface(spec), hidden or {}))


def test_a_field_that_the_spec_does_not_know_is_a_mistake_and_refutes_nothing(relay: Spec) -> None:
    a = relay.model_values["a"]
    with pytest.raises(BadInputError, match=r"a\.log:1: field `shows\.cuont`"):
        one_line(relay, (Claim("", {}, {"cuont": 0}, a),))
    with pytest.raises(BadInputError, match=r"a\.log:1: field `shows\.count`"):
        one_line(relay, (Claim("", {}, {"count": "0"}, a),))


def test_a_reading_with_an_argument_of_another_kind_does_not_fit_and_another_may(relay: Spec) -> None:
    wrong = (Claim("Send", {"v": KnownValue("v", "x")}),)
    right = (Claim("Send", {"v": KnownValue("v", 1)}),)
    assert one_line(relay, wrong, right).conclusion is Conclusion.EXPLAINED
    with pytest.raises(BadInputError, match=r'a\.log:1: `v`: "x" and 1 cannot be compared'):
        one_line(relay, wrong)


def test_a_parameter_of_an_endless_set_that_a_line_leaves_out_is_not_tried_and_refutes_nothing(tmp_path: Path) -> None:
    module = tmp_path / "Endless.tla"
    body = "Init == x = 0\nAdd(v) == x' = x + v\nNext == \\E v \\in Nat : Add(v)"
    module.write_text(f"---- MODULE Endless ----\nEXTENDS Naturals\nVARIABLE x\n{body}\n====\n")
    spec = load_spec(module, None, cache_dir=tmp_path / "cache")
    assert one_line(spec, (Claim("Add", {"v": KnownValue("v", 5)}, {"x": 5}),)).conclusion is Conclusion.EXPLAINED
    assert one_line(spec, (Claim("Add", {"v": KnownValue("v", 5)}, {"x": 6}),)).conclusion is Conclusion.REFUTED
    for found in (
        one_line(spec, (Claim("Add", {}, {"x": 5}),)),
        one_line(spec, (Claim("", {}, {"x": 5}),), hidden={"Add": 1}),
    ):
        assert found.conclusion is Conclusion.UNKNOWN
        assert "v is not given, and Nat is infinite" in found.left_out[0]


# ---- The order of lines ----


def line(number: int, time: int | None = None, **more: Any) -> ThreadLine:
    return ThreadLine(number, "", ((Claim(""),),), time, **more)


def extensions(order: Order) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()

    def go_on(positions: Positions, so_far: tuple[int, ...]) -> None:
        waiting = list(order.next(positions))
        if not waiting:
            found.add(so_far)
        for thread in waiting:
            go_on(order.after(positions, thread), (*so_far, thread))

    go_on(order.start(), ())
    return found


def test_lines_whose_stamps_are_further_apart_than_the_clocks_differ_are_in_order() -> None:
    early, late = Thread("a", [line(1, 100)]), Thread("b", [line(1, 110)])
    assert extensions(Order([early, late], skew=5)) == {(0, 1)}
    assert extensions(Order([early, late], skew=5, resolution=4)) == {(0, 1)}
    assert extensions(Order([early, late], skew=5, resolution=5)) == {(0, 1), (1, 0)}
    assert extensions(Order([early, late], skew=10)) == {(0, 1), (1, 0)}


def test_a_line_that_was_written_late_may_be_of_a_moment_before_but_not_of_one_before_the_line_above() -> None:
    early, late = Thread("a", [line(1, 100)]), Thread("b", [line(1, 110, delay=10)])
    assert extensions(Order([early, late])) == {(0, 1), (1, 0)}
    above = Thread("b", [line(1, 105), line(2, 110, delay=10)])
    assert extensions(Order([early, above])) == {(0, 1, 1)}
    both_late = Thread("b", [line(1, 105, delay=10), line(2, 110, delay=10)])
    assert extensions(Order([early, both_late])) == {(0, 1, 1), (1, 0, 1)}


def test_a_message_is_sent_before_it_is_received() -> None:
    sender, receiver = Thread("a", [line(1), line(2, sends="m")]), Thread("b", [line(1), line(2, receives="m")])
    assert all(
        order.index(1, order.index(1) + 1) > 2 or order[:3] == (1, 0, 0)
        for order in extensions(Order([sender, receiver]))
    )
    assert len(extensions(Order([sender, receiver]))) == 3


def test_lines_that_have_no_order_are_refused() -> None:
    from lockstep.base.errors import BadInputError

    back = Thread("a", [line(1, 200), line(2, 50)])
    between = Thread("b", [line(1, 100)])
    with pytest.raises(BadInputError, match=r"a:1, b:1"):
        Order([back, between])
    with pytest.raises(BadInputError, match=r"a:1: 'm' is received before it is sent"):
        Order([Thread("a", [line(1, receives="m"), line(2, sends="m")])])
    with pytest.raises(BadInputError, match=r"b:1: no line sends 'm'"):
        Order([back, Thread("b", [line(1, receives="m")])])


# ---- What to log next ----


def test_the_variable_that_is_known_least_is_named_first(relay: Spec) -> None:
    a = relay.model_values["a"]
    seen = ThreadLine(1, "", ((Claim("", {}, {"count": 0}, a),),))
    found = explain(Order([Thread("a.log", [seen])]), LineSteps(relay, interface(relay), {}))
    assert found.spread.mean() == {"count": 1.0}
    assert found.spread.max_states == 2


def test_the_budget_of_hidden_steps_is_one_for_all_states_before_a_line(relay: Spec) -> None:
    """A search from all states at once looks at the same steps as one from each state, as far as the budget goes."""
    states = [Way(state) for state in relay.initial_states()]
    hidden = {"Send": 2, "Drop": 1}
    whole = tried(relay, hidden, [states])
    assert tried(relay, hidden, [states[:1]]) < whole
    for budget, left_out in ((whole, False), (whole - 1, True)):
        steps = LineSteps(relay, interface(relay), hidden, max_hidden_steps=budget)
        reached = steps.reached(states)
        assert bool(steps.left_out) is left_out
        if not left_out:
            alone = set()
            for one in states:
                steps.forget()
                alone |= {each.state for each in steps.hidden_from(one.state)}
            assert {each.state for each in reached} == alone


def test_the_budget_of_hidden_steps_is_shared_by_the_orders_that_lines_may_have(relay: Spec) -> None:
    (state, *_) = (Way(state) for state in relay.initial_states())
    once = tried(relay, {"Send": 1}, [[state]])
    assert tried(relay, {"Send": 1}, [[state], [state]]) == 2 * once
    steps = LineSteps(relay, interface(relay), {"Send": 1}, max_hidden_steps=once)
    for _ in range(3):
        steps.forget()
        steps.reached([state])
    assert not steps.left_out


def tried(spec: Spec, hidden: Mapping[str, int], several: Sequence[Sequence[Any]]) -> int:
    """The least budget of hidden steps that is enough for some states, one after the other."""
    low, high = 1, 100_000
    while low < high:
        middle = (low + high) // 2
        steps = LineSteps(spec, interface(spec), hidden, max_hidden_steps=middle)
        for begins in several:
            steps.reached(begins)
        low, high = (middle + 1, high) if steps.left_out else (low, middle)
    return low


def test_the_progress_of_a_search_includes_the_states_that_it_carries(relay: Spec) -> None:
    reported: list[tuple[int, int, int]] = []
    made = next(each for each in all_made_up(relay, EVERY_RUN) if explained(relay, each).spread.max_states > 5)
    found = explained(relay, made, on_line=lambda *numbers: reported.append(numbers))
    assert [number for number, _, tried in reported if not tried] == list(range(1, len(reported) + 1))
    assert max(states for _, states, _ in reported) <= max(
        found.spread.max_states * 2, len(list(relay.initial_states()))
    )
    assert len({states for _, states, _ in reported}) > 1


# ---- Another guide ----


class Boxes(LineSteps):
    """A guide to which only the boxes of a state matter; it notes how far each log was read."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, interface(spec), {})
        self.read: list[tuple[int, ...]] = []

    def essence(self, state: State) -> Hashable:  # type: ignore[override]  # LineSteps keys by all of a state
        return state["box"]

    def explaining(self, state: State, line: ThreadLine, positions: tuple[int, ...] = ()) -> list[Way]:
        self.read.append(positions)
        return super().explaining(state, line)


def test_states_that_a_guide_calls_one_are_carried_once(relay: Spec) -> None:
    nothing = (Claim("", {}, {}, relay.model_values["a"]),)
    threads = [
        Thread(name, [ThreadLine(1, "", (nothing,)), ThreadLine(2, "", (nothing,))]) for name in ("a.log", "b.log")
    ]
    all_of_them = explain(Order(threads), LineSteps(relay, interface(relay), {}))
    guide = Boxes(relay)
    fewer = explain(Order(threads), guide)
    assert fewer.spread.max_states == len({run.state["box"] for run in all_of_them.runs})
    assert fewer.spread.max_states < all_of_them.spread.max_states
    assert {*guide.read} == {(a, b) for a in range(3) for b in range(3) if (a, b) != (2, 2)}


def test_a_search_that_drops_states_keeps_some_of_every_order_of_the_lines(relay: Spec) -> None:
    nothing = (Claim("", {}, {}, relay.model_values["a"]),)
    send = (Claim("Send"),)
    threads = [Thread(name, [ThreadLine(1, "", (send,)), ThreadLine(2, "", (nothing,))]) for name in ("a.log", "b.log")]
    whole = explain(Order(threads[:1]), LineSteps(relay, interface(relay), {}))
    found = explain(Order(threads), LineSteps(relay, interface(relay), {}), max_states=len(whole.runs))
    assert found.left_out == (f"more than {len(whole.runs)} states fit everything logged up to some line",)
    orders = {tuple(leg.thread for leg in run.whole()[1:]) for run in found.runs}
    assert {order[0] for order in orders} == {0, 1}
