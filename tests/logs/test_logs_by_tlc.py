"""TLC explains and refutes the logs that the compiled search explains and refutes, with the same violations."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.json_values import Words, to_value
from lockstep.logs.continuations import NONE
from lockstep.logs.explanation_search import Conclusion, Explanations, explain, smallest
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_check import LogSpec, start_states
from lockstep.logs.log_lines import Claim, Thread, ThreadLine
from lockstep.logs.mapped_logs import read_logs
from lockstep.logs.mapping import Mapping as Said
from lockstep.logs.mapping import read_mapping
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.tla.loading.spec_project import Parsed, parse_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.itf_values import to_itf
from lockstep.tla.values.quantifier_bounds import KnownValue
from tests.support.logs.post_logs import MAPPING, write_logs, write_post
from tests.support.logs.tlc_log_search import Explored, explore
from tests.support.places import SPECS

#: Number of made-up logs that every run checks, that the nightly tests check, and that one run of TLC explores.
EVERY_RUN, NIGHTLY, AT_ONCE = 40, 1000, 100


@dataclass(frozen=True)
class OwnSpec:
    """A spec in a folder, and what its logs are checked against."""

    folder: Path
    subject: LogSpec
    parsed: Parsed

    def order(self, files: Sequence[Path]) -> Order:
        logs = read_logs(files, self.subject.mapping, self.subject.spec, self.subject.interface)
        return Order(logs.threads, logs.skew, logs.resolution)

    def explored(self, orders: Sequence[Order]) -> list[Explored]:
        """Explore the orders by TLC, in one run."""
        return explore(self.subject, self.parsed, orders)

    def explained(self, order: Order) -> Explanations:
        """Explain an order by the compiled search."""
        steps = LineSteps(self.subject.spec, self.subject.interface, self.subject.mapping.hidden)
        found = explain(order, steps, start_states(self.subject, steps))
        assert found.left_out == ()
        return found


def loaded(folder: Path, name: str) -> OwnSpec:
    mapping = read_mapping(folder / "mapping.toml")
    files = SpecFiles(folder / f"{name}.tla")
    system = own_system(files, mapping)
    spec = load_own_spec(files, system)
    start = None if mapping.start is None else load_own_spec(files, system, mapping.start)
    parsed = parse_spec(folder / f"{name}.tla", folder / f"{name}.cfg")
    return OwnSpec(folder, LogSpec(spec, system.interface(spec), mapping, start), parsed)


def post_office(folder: Path, mapping: str = MAPPING) -> OwnSpec:
    write_post(folder, mapping)
    return loaded(folder, "Post")


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> OwnSpec:
    return post_office(tmp_path_factory.mktemp("post"))


def assert_agree(order: Order, compiled: Explanations, by_tlc: Explored) -> None:
    """Assert that both find the same minimal sets of properties that explanations fail, or stop at the same lines."""
    assert smallest(by_tlc.ends) == compiled.failures()
    assert smallest(by_tlc.ends - {NONE}) == smallest({run.failed for run in compiled.runs} - {NONE})
    if not by_tlc.ends:
        assert by_tlc.blocked(order) == {(each.thread, each.line) for each in compiled.blocked}


# ---- Made-up logs ----


def made_up(post: OwnSpec, folder: Path, seeds: Iterator[int]) -> Iterator[tuple[list[Path], Order]]:
    """Random logs, as far as a line means something and the lines have an order."""
    for seed in seeds:
        files = write_logs(post.subject.spec, folder / str(seed), seed)
        try:
            order = post.order(files)
        except BadInputError:
            continue
        if order.threads:
            yield files, order


def assert_made_up_logs_agree(post: OwnSpec, folder: Path, count: int) -> None:
    logs = made_up(post, folder, itertools.count())
    conclusions: Counter[Conclusion] = Counter()
    for _ in range(0, count, AT_ONCE):
        orders = [order for _, order in itertools.islice(logs, min(count, AT_ONCE))]
        for order, by_tlc in zip(orders, post.explored(orders), strict=True):
            compiled = post.explained(order)
            assert_agree(order, compiled, by_tlc)
            conclusions[compiled.conclusion] += 1
    assert conclusions.keys() == {Conclusion.EXPLAINED, Conclusion.VIOLATED, Conclusion.REFUTED}
    assert min(conclusions.values()) >= count // 10


def test_tlc_and_the_compiled_search_agree_on_made_up_logs(post: OwnSpec, tmp_path: Path) -> None:
    assert_made_up_logs_agree(post, tmp_path, EVERY_RUN)


@pytest.mark.nightly
def test_tlc_and_the_compiled_search_agree_on_many_made_up_logs(post: OwnSpec, tmp_path: Path) -> None:
    assert_made_up_logs_agree(post, tmp_path, NIGHTLY)


# ---- Each thing that a mapping can say ----


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}


CARD = {"size": 1, "sort": "card"}
BIG = {"size": 2, "sort": "card"}

#: Of each case the lines of a and of b, and the smallest sets of properties that its explanations fail: none if there
#: is no explanation. At first each node has read 0 or 3 of what is in its letters; a hidden letter may be of any kind.
CASES: Mapping[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[set[str]]]] = {
    "a parameter in part, and one that is missing": (
        [line("Send", at=0, size=2), line("Send", at=30, sort="parcel", read=0)],
        [line("Read", at=20, read=2), line("Read", at=50, read=4)],
        [set()],
    ),
    "no letter is as the line has it": ([line("Send", at=0, size=1, sort="parcel")], [], []),
    "a stamp is as late as it may be": (
        [line("Send", at=20, **BIG)],
        [line("Read", at=30, read=1, waiting=0)],
        [set()],
    ),
    "a stamp is too late by a millisecond": (
        [line("Send", at=20, **BIG)],
        [line("Read", at=31, read=1, waiting=0)],
        [],
    ),
    "that line is written late": (
        [line("Send", at=20, **BIG)],
        [line("Read", at=31, read=1, waiting=0, late=True)],
        [set()],
    ),
    "a message is read after it is sent": (
        [line("Send", at=20, id="x", **BIG)],
        [line("Read", at=20, id="x", read=1, waiting=0)],
        [],
    ),
    "a hidden letter in each of two gaps": (
        [line("seen", at=0, read=0)],
        [line("Read", at=20, read=1), line("Read", at=50, read=4)],
        [set()],
    ),
    "two hidden letters in one gap": ([], [line("Send", at=5, waiting=2)], []),
    "one hidden letter in a gap": ([], [line("Send", at=5, waiting=1)], [set()]),
    "either it was read or it was not": (
        [line("Send", at=0, **CARD)],
        [line("seen", at=20, read=0), line("Read", at=40, sure=False, read=0), line("Read", at=60, read=1)],
        [set()],
    ),
    "two steps, one directly after the other": (
        [line("Send", at=0, **CARD), line("Send", at=20, **CARD)],
        [line("Read", at=60, twice=True, waiting=0)],
        [{"Few"}],
    ),
    "two steps, and too little is left": ([line("Send", at=0)], [line("Read", at=60, twice=True, waiting=1)], []),
    "an invariant fails": (
        [line("Send", at=0, **CARD), line("seen", at=9, read=0)],
        [line("Read", at=20, read=6)],
        [{"Low"}],
    ),
    "a property of steps fails": (
        [line("Send", at=0), line("seen", at=9, read=0)],
        [line("Read", at=20, read=0)],
        [{"Fresh"}],
    ),
    "a property of every state fails": (
        [line("seen", at=0, read=0)],
        [line("seen", at=9, read=3), line("Read", at=20, read=5)],
        [{"Fresh"}],
    ),
    "a property of the first state fails": ([line("seen", at=0, read=3)], [line("seen", at=0, read=3)], [{"Fresh"}]),
}


def written(folder: Path, name: str, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[Path]:
    place = folder / name.replace(" ", "_")
    place.mkdir()
    for node, lines in (("a", a), ("b", b)):
        (place / f"{node}.log").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return sorted(place.iterdir())


def assert_each(post: OwnSpec, folder: Path, cases: Mapping[str, Any]) -> None:
    """Assert that both engines find the expected result of each case."""
    orders = [post.order(written(folder, name, a, b)) for name, (a, b, _) in cases.items()]
    for (name, (_, _, expected)), order, by_tlc in zip(cases.items(), orders, post.explored(orders), strict=True):
        assert (name, list(map(set, smallest(by_tlc.ends)))) == (name, expected)
        assert_agree(order, post.explained(order), by_tlc)


#: With a letter that is lost and another that is sent in each gap, almost everything would be explained.
NOTHING_LOST = MAPPING.replace("Lose = 1\n", "")


def test_tlc_understands_what_a_mapping_says_of_lines(tmp_path: Path) -> None:
    """docs/own_logs/README.md, "What it means" and "The mapping"."""
    assert_each(post_office(tmp_path, NOTHING_LOST), tmp_path, CASES)


@pytest.mark.nightly
def test_tlc_lets_a_log_begin_in_the_middle_and_what_fails_there_fails(tmp_path: Path) -> None:
    """At Middle each box may hold a card, and 6, which is too much, may be read."""
    cases = {
        "the box is not empty": ([line("Read", at=0, read=1), line("Read", at=20, read=2)], [], [set()]),
        "the box is too full": ([], [line("Send", at=5, waiting=2), line("Send", at=9, waiting=3)], []),
        "too much was read before": ([line("seen", at=0, read=6)], [], [{"Low"}]),
    }
    assert_each(post_office(tmp_path, f'start = "Middle"\n{NOTHING_LOST}'), tmp_path, cases)


# ---- Specs of one file ----


def agreed(
    folder: Path, name: str, modules: str, cfg: str, mapping: str, lines: Sequence[dict[str, Any]]
) -> Explanations:
    """Return the explanations that both engines find for a log of a spec; `modules` has the texts of its modules."""
    for module in re.finditer(r"---- MODULE (\w+) ----.*?====\n", modules, re.DOTALL):
        (folder / f"{module[1]}.tla").write_text(module[0])
    (folder / f"{name}.cfg").write_text(f"INIT Init\nNEXT Next\n{cfg}")
    (folder / "mapping.toml").write_text(f'kind = "k"\n{mapping}')
    (folder / "a.log").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    spec = loaded(folder, name)
    order = spec.order([folder / "a.log"])
    compiled = spec.explained(order)
    assert_agree(order, compiled, spec.explored([order])[0])
    return compiled


DICE = """---- MODULE Dice ----
EXTENDS Naturals
VARIABLES face, sum
Init == face = 1 /\\ sum = 0
Roll == face' \\in 1..6 /\\ sum' = sum + face'
Next == Roll
====
"""


@pytest.mark.nightly
def test_an_action_that_chooses_is_searched_for_by_tlc_though_each_line_shows_all(tmp_path: Path) -> None:
    mapping = '[lines.roll]\naction = "Roll"\nshows = "seen"\n'
    for total, conclusion in ((12, Conclusion.EXPLAINED), (13, Conclusion.REFUTED)):
        rolls = [{"k": "roll", "seen": {}}, {"k": "roll", "seen": {"sum": total}}]
        assert agreed(tmp_path, "Dice", DICE, "", mapping, rolls).conclusion is conclusion


COUNT = """---- MODULE Count ----
EXTENDS Naturals
VARIABLE x
Init == x = 7
Add(v) == x' = x + v
Next == \\E v \\in 1..2 : Add(v)
shifted == x - 7
Abs == INSTANCE Grow WITH y <- shifted
Grows == Abs!Spec
====
---- MODULE Grow ----
EXTENDS Naturals
VARIABLE y
Init == y = 0
Next == y' = y + 1
Spec == Init /\\ [][Next]_y
====
"""


@pytest.mark.nightly
def test_a_refinement_that_is_made_of_definitions_is_found_violated_by_tlc_too(tmp_path: Path) -> None:
    mapping = '[lines.add]\naction = "Add"\nshows.x = "x"\n'
    for last, failures in ((9, [set()]), (10, [{"Grows"}])):
        lines = [{"k": "add", "x": 8}, {"k": "add", "x": last}]
        assert agreed(tmp_path, "Count", COUNT, "PROPERTY Grows\n", mapping, lines).failures() == failures


def test_logs_that_leave_steps_open_are_refused_by_the_engine_tlc(tmp_path: Path) -> None:
    post = post_office(tmp_path)
    spec, cfg, mapping = (post.folder / name for name in ("Post.tla", "Post.cfg", "mapping.toml"))
    files = written(tmp_path, "sent", [line("Send", at=0)], [])
    found = own_check(SpecFiles(spec, cfg, mapping=mapping), by_tlc=True).check_logs(files)
    assert found.verdict is Verdict.MALFORMED
    said = "a.log:1: the lines leave steps open, and TLC alone searches for none; leave --engine out"
    assert found.reason.endswith(said)


# ---- Other specs ----


def walk(spec: Spec, words: Words, seed: int) -> Order:
    """A log of random steps of a spec, with parts of them, missing lines, and perhaps two that are swapped."""
    chooses = random.Random(seed)
    state = chooses.choice(list(spec.initial_states()))
    lines: list[ThreadLine] = []
    for number in range(1, 7):
        successors = list(spec.successors(state))
        if not successors:
            break
        action, args, state = chooses.choice(successors)
        table = state.as_dict()
        trees = {name: to_itf(value) for name, value in table.items() if chooses.random() < 0.4}
        shows = {name: tree for name, tree in trees.items() if to_value(tree, words) == table[name]}
        bounds = {name: KnownValue(name, value) for name, value in args.items() if chooses.random() < 0.6}
        if chooses.random() < 0.85:
            lines.append(ThreadLine(number, "", ((Claim(action, bounds, shows),),)))
    if seed % 2 and len(lines) > 1:
        lines[-2:] = lines[:-3:-1]
    return Order([Thread("a.log", lines)])


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["Bakery", "DieHard", "PaxosVoting", "Philosophers", "ReadersWriters", "RingElection",
                                  "SearchTree", "Sorting", "TwoPhaseCommit"])  # fmt: skip
def test_tlc_and_the_compiled_search_agree_on_logs_of_other_specs(name: str) -> None:
    """The actions have many forms, and each in turn may be hidden."""
    tla, cfg = SPECS / "systems" / f"{name}.tla", SPECS / "systems" / f"{name}.cfg"
    files = SpecFiles(tla, cfg)
    system = own_system(files)
    spec = load_own_spec(files, system)
    interface = system.interface(spec)
    orders = [walk(spec, interface.words, seed) for seed in range(10)]
    conclusions: Counter[Conclusion] = Counter()
    for hidden in sorted(spec.actions)[:2]:
        subject = LogSpec(spec, interface, Said(lines={}, hidden={hidden: 1}))
        explored = explore(subject, parse_spec(tla, cfg), orders)
        for order, by_tlc in zip(orders, explored, strict=True):
            compiled = explain(order, LineSteps(spec, interface, subject.mapping.hidden))
            assert compiled.left_out == ()
            assert_agree(order, compiled, by_tlc)
            conclusions[compiled.conclusion] += 1
    assert conclusions[Conclusion.EXPLAINED] >= 5
    assert conclusions.total() == 20
