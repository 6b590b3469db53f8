"""TLC searches for the explanations of logs: it finds what the compiled search finds, refutes and sees violated."""

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
from lockstep.conformance.check import TraceVerdict
from lockstep.conformance.shown.compare import to_value
from lockstep.conformance.shown.words import Words
from lockstep.logs.by_tlc.run import Explored, Runs
from lockstep.logs.check import Subject, begins_of
from lockstep.logs.lines import Claim, Line, Thread
from lockstep.logs.order import Order
from lockstep.logs.reading.mapped import read_logs
from lockstep.logs.reading.mapping import Mapping as Said
from lockstep.logs.reading.mapping import read_mapping
from lockstep.logs.search import Conclusion, Explained, explain, smallest
from lockstep.logs.steps import NONE, Steps
from lockstep.systems.file_check import ByTlc, judge_own
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.tla.loading.project import Parsed, parse_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.itf import to_itf
from lockstep.tla.values.operators.bounds import Exactly
from places import SPECS
from post_logs import MAPPING, write_logs, write_post

#: How many made-up logs every run looks at, and how many the nightly one does; so many are one run of TLC.
EVERY_RUN, NIGHTLY, AT_ONCE = 40, 1000, 100


@dataclass(frozen=True)
class Post:
    """The post office: its folder, and what its logs are checked against."""

    folder: Path
    subject: Subject
    parsed: Parsed

    def order(self, files: Sequence[Path]) -> Order:
        logs = read_logs(files, self.subject.mapping, self.subject.spec, self.subject.interface.words)
        return Order(logs.threads, logs.skew, logs.resolution)

    def explored(self, orders: Sequence[Order]) -> list[Explored]:
        """What TLC finds, in one run."""
        return Runs(self.subject, self.parsed, orders).explore()

    def explained(self, order: Order) -> Explained:
        """What the compiled search finds."""
        steps = Steps(self.subject.spec, self.subject.interface, self.subject.mapping.hidden)
        found = explain(order, steps, begins_of(self.subject, steps))
        assert found.left_out == ()
        return found

    def check(self, files: Sequence[Path], *, tlc: bool, **options: Any) -> TraceVerdict:
        """The verdict of an engine, as the command gives it."""
        spec, cfg, mapping = (self.folder / name for name in ("Post.tla", "Post.cfg", "mapping.toml"))
        return judge_own(spec, cfg, mapping, ByTlc(None, None) if tlc else None, **options).all(files)


def post_office(folder: Path, mapping: str = MAPPING) -> Post:
    write_post(folder, mapping)
    said = read_mapping(folder / "mapping.toml")
    system = own_system(folder / "Post.tla", folder / "Post.cfg", said)
    spec = load_own_spec(system)
    start = None if said.start is None else load_own_spec(system, start=said.start)
    parsed = parse_spec(folder / "Post.tla", folder / "Post.cfg")
    return Post(folder, Subject(spec, system.interface(spec), said, start), parsed)


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Post:
    return post_office(tmp_path_factory.mktemp("post"))


def assert_agree(order: Order, compiled: Explained, by_tlc: Explored) -> None:
    """Both find the same smallest sets of properties that explanations fail, of none and of some, or the same lines."""
    assert smallest(by_tlc.ends) == compiled.failures()
    assert smallest(by_tlc.ends - {NONE}) == smallest({run.failed for run in compiled.runs} - {NONE})
    if not by_tlc.ends:
        assert set(by_tlc.blocked(order)) == {(each.thread, each.line) for each in compiled.blocked}


def agreed(verdict: TraceVerdict) -> object:
    """What the engines agree in: all but which explanation is told of, and why a line has none."""
    notes = [note for note in verdict.notes if note.startswith("LS206")]
    findings = [(each.kind, each.code, each.name) for each in verdict.findings]
    lines = [(each.source, each.line) for each in verdict.findings if each.kind != "property"]
    return verdict.verdict, verdict.reason, notes, findings, lines, verdict.events


# ---- Made-up logs ----


def made_up(post: Post, folder: Path, seeds: Iterator[int]) -> Iterator[tuple[list[Path], Order]]:
    """Random logs, as far as they tell of something and their lines have an order."""
    for seed in seeds:
        files = write_logs(post.subject.spec, folder / str(seed), seed)
        try:
            order = post.order(files)
        except BadInputError:
            continue
        if order.threads:
            yield files, order


def assert_made_up_logs_agree(post: Post, folder: Path, count: int) -> None:
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


def test_tlc_finds_of_made_up_logs_what_the_compiled_search_finds(post: Post, tmp_path: Path) -> None:
    assert_made_up_logs_agree(post, tmp_path, EVERY_RUN)


@pytest.mark.nightly
def test_tlc_finds_of_many_made_up_logs_what_the_compiled_search_finds(post: Post, tmp_path: Path) -> None:
    assert_made_up_logs_agree(post, tmp_path, NIGHTLY)


@pytest.mark.nightly
def test_the_verdicts_on_made_up_logs_are_the_same(post: Post, tmp_path: Path) -> None:
    verdicts: Counter[Verdict] = Counter()
    for files, _ in itertools.islice(made_up(post, tmp_path, itertools.count(10_000)), 30):
        by_tlc, compiled = post.check(files, tlc=True), post.check(files, tlc=False)
        assert agreed(by_tlc) == agreed(compiled)
        assert by_tlc.steps >= by_tlc.events - sum("sure" in line for file in files for line in file.open())
        verdicts[by_tlc.verdict] += 1
    assert min(verdicts[Verdict.HOLDS], verdicts[Verdict.VIOLATED]) >= 5


# ---- Each thing that a mapping can say ----


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}


CARD = {"size": 1, "sort": "card"}
BIG = {"size": 2, "sort": "card"}

#: Of each case the lines of a and of b, and the smallest sets of properties that its explanations fail: none if there
#: is no explanation. At first each node has read 0 or 3 of what is in its letters; a hidden letter may be of any kind.
CASES: Mapping[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[set[str]]]] = {
    "a parameter that is told in part, and one that is not": (
        [line("Send", at=0, size=2), line("Send", at=30, sort="parcel", read=0)],
        [line("Read", at=20, read=2), line("Read", at=50, read=4)],
        [set()],
    ),
    "no letter is what is told of it": ([line("Send", at=0, size=1, sort="parcel")], [], []),
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


def assert_each(post: Post, folder: Path, cases: Mapping[str, Any]) -> None:
    """Both engines find just what each case must come to."""
    orders = [post.order(written(folder, name, a, b)) for name, (a, b, _) in cases.items()]
    for (name, (_, _, expected)), order, by_tlc in zip(cases.items(), orders, post.explored(orders), strict=True):
        assert (name, list(map(set, smallest(by_tlc.ends)))) == (name, expected)
        assert_agree(order, post.explained(order), by_tlc)


#: With a letter that is lost and another that is sent in each gap, almost everything would be explained.
NOTHING_LOST = MAPPING.replace("Lose = 1\n", "")


def test_tlc_understands_what_a_mapping_says_of_lines(tmp_path: Path) -> None:
    """docs/own_logs/README.md, "What it means" and "The mapping"."""
    assert_each(post_office(tmp_path, NOTHING_LOST), tmp_path, CASES)


def test_tlc_lets_a_log_begin_in_the_middle_and_what_fails_there_fails(tmp_path: Path) -> None:
    """At Middle each box may hold a card, and 6, which is too much, may be read."""
    cases = {
        "the box is not empty": ([line("Read", at=0, read=1), line("Read", at=20, read=2)], [], [set()]),
        "the box is too full": ([], [line("Send", at=5, waiting=2), line("Send", at=9, waiting=3)], []),
        "too much was read before": ([line("seen", at=0, read=6)], [], [{"Low"}]),
    }
    assert_each(post_office(tmp_path, f'start = "Middle"\n{NOTHING_LOST}'), tmp_path, cases)


# ---- Verdicts ----


def both(post: Post, files: Sequence[Path], **options: Any) -> TraceVerdict:
    """The verdict of TLC, which is that of the compiled search."""
    by_tlc, compiled = post.check(files, tlc=True, **options), post.check(files, tlc=False, **options)
    assert agreed(by_tlc) == agreed(compiled)
    return by_tlc


@pytest.mark.nightly
def test_a_property_that_each_explanation_violates_is_found_by_tlc_at_its_line(post: Post, tmp_path: Path) -> None:
    a, b, _ = CASES["an invariant fails"]
    found = both(post, written(tmp_path, "low", a, b))
    assert (found.verdict, found.reason) == (Verdict.VIOLATED, "each explanation violates Low")
    (finding,) = found.findings
    assert (finding.name, finding.action, finding.line, finding.spec_line) == ("Low", "Read", 1, "Post.tla:16:1")
    assert (found.events, found.steps, found.observed) == (3, 2, 2)


@pytest.mark.nightly
def test_what_only_some_explanations_violate_is_told_by_tlc_too(post: Post, tmp_path: Path) -> None:
    files = written(tmp_path, "few", [line("Send", at=0, read=0)], [])
    found = both(post, files, strict=True)
    assert (found.verdict, found.notes) == (Verdict.INCONCLUSIVE, ["LS206 note: another explanation violates Few"])


@pytest.mark.nightly
def test_what_a_line_shows_stands_beside_what_tlc_saw_in_its_place(post: Post, tmp_path: Path) -> None:
    found = both(post, written(tmp_path, "wrong", [line("seen", at=0, read=0), line("seen", at=20, read=3)], []))
    (finding,) = found.findings
    assert (finding.line, finding.details[1]) == (2, "read: the line shows 3, the spec says 0")


def without_known_fields(post: Post) -> Post:
    """What a line may show is not written out: it is what EXCEPT gives."""
    tla = post.folder / "Post.tla"
    text, count = re.subn(r"Observe\(n\) == (\[.*\])\n", r"Observe(n) == [\1 EXCEPT !.read = @]\n", tla.read_text())
    assert count == 1
    tla.write_text(text)
    return post


@pytest.mark.nightly
def test_a_word_and_a_field_that_the_spec_does_not_have_are_malformed_for_tlc_too(post: Post, tmp_path: Path) -> None:
    (tmp_path / "c.log").write_text(json.dumps(line("Read", at=0, read=1)))
    found = both(post, [tmp_path / "c.log"])
    said = '1: `n`: "c" is none of the model values a, b'
    assert (found.verdict, found.reason.partition("c.log:")[2]) == (Verdict.MALFORMED, said)
    misspelt = without_known_fields(post_office(tmp_path, MAPPING.replace("shows = { read =", "shows = { raed =")))
    found = both(misspelt, written(tmp_path, "raed", [line("seen", at=0, read=0)], []))
    assert found.reason.endswith("a.log:1: field `shows.raed`: the spec shows no such field: did you mean read?")


@pytest.mark.nightly
def test_a_field_that_only_one_reading_of_a_line_misspells_is_no_mistake_for_tlc_either(tmp_path: Path) -> None:
    mapping = MAPPING.replace("Send = 1\nLose = 1\n", "Lose = 1\n").replace("{ shows = { read =", "{ shows = { raed =")
    misspelt = without_known_fields(post_office(tmp_path, mapping))
    found = both(misspelt, written(tmp_path, "one", [line("Read", at=0, sure=False, read=0)], []))
    assert found.verdict is Verdict.VIOLATED
    assert "no behaviour of the spec explains line 1 of" in found.reason


@pytest.mark.nightly
def test_an_action_that_chooses_is_searched_for_by_tlc_though_each_line_tells_all(tmp_path: Path) -> None:
    (tmp_path / "Dice.tla").write_text(
        "---- MODULE Dice ----\nEXTENDS Naturals\nVARIABLES face, sum\nInit == face = 1 /\\ sum = 0\n"
        "Roll == face' \\in 1..6 /\\ sum' = sum + face'\nNext == Roll\n====\n"
    )
    (tmp_path / "Dice.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "mapping.toml").write_text('kind = "k"\n[lines.roll]\naction = "Roll"\nshows = "seen"\n')
    judge = judge_own(tmp_path / "Dice.tla", tmp_path / "Dice.cfg", tmp_path / "mapping.toml", ByTlc(None, None))
    for total, verdict in ((12, Verdict.HOLDS), (13, Verdict.VIOLATED)):
        rolls = [{"k": "roll", "seen": {}}, {"k": "roll", "seen": {"sum": total}}]
        (tmp_path / "dice.log").write_text("".join(f"{json.dumps(roll)}\n" for roll in rolls))
        assert judge(tmp_path / "dice.log").verdict is verdict


@pytest.mark.nightly
def test_a_value_of_another_kind_is_malformed_for_tlc_too(post: Post, tmp_path: Path) -> None:
    files = written(tmp_path, "kind", [line("seen", at=0, read="0")], [])
    for tlc in (False, True):
        found = post.check(files, tlc=tlc)
        assert (found.verdict, found.reason.partition("a.log:")[2][:22]) == (
            Verdict.MALFORMED,
            "1: field `shows.read`:",
        )


def test_tlc_says_what_it_cannot_do_and_refutes_nothing(tmp_path: Path) -> None:
    """A parameter without end that is not told, and a property that speaks of another module's variables."""
    (tmp_path / "Endless.tla").write_text(
        "---- MODULE Endless ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0\nAdd(v) == x' = x + v\n"
        "Next == \\E v \\in Nat : Add(v)\nAbs == INSTANCE Grows WITH y <- x\nGrows == Abs!Spec\n====\n"
    )
    (tmp_path / "Grows.tla").write_text(
        "---- MODULE Grows ----\nEXTENDS Naturals\nVARIABLE y\nSpec == y = 0 /\\ [][y' >= y]_y\n====\n"
    )
    (tmp_path / "Endless.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "Refines.cfg").write_text("INIT Init\nNEXT Next\nPROPERTY Grows\n")
    (tmp_path / "mapping.toml").write_text(
        'kind = "kind"\n[lines.add]\naction = "Add"\nargs.v = { field = "v", optional = true }\nshows.x = "x"\n'
    )
    (tmp_path / "untold.log").write_text('{"kind": "add", "x": 5}\n')
    (tmp_path / "told.log").write_text('{"kind": "add", "v": 5, "x": 5}\n')

    def check(log: str, cfg: str = "Endless.cfg", tlc: ByTlc | None = ByTlc(None, None)) -> TraceVerdict:  # noqa: B008 - it has no state
        return judge_own(tmp_path / "Endless.tla", tmp_path / cfg, tmp_path / "mapping.toml", tlc)(tmp_path / log)

    untold = check("untold.log")
    assert (untold.verdict, check("untold.log", tlc=None).verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert untold.reason.startswith("TLC: ")
    assert "Nat" in untold.reason
    spent = check("untold.log", tlc=ByTlc(0.001, None))
    assert (spent.verdict, "spent" in spent.reason) == (Verdict.INCONCLUSIVE, True)
    refused = check("told.log", "Refines.cfg")
    assert (refused.verdict, check("told.log", "Refines.cfg", tlc=None).verdict) == (Verdict.MALFORMED, Verdict.HOLDS)
    assert "TLC cannot say where the PROPERTY Grows fails: its parts are of an INSTANCE" in refused.reason


@pytest.mark.nightly
def test_a_refinement_that_is_made_of_definitions_is_found_violated_by_tlc_too(tmp_path: Path) -> None:
    (tmp_path / "Count.tla").write_text(
        "---- MODULE Count ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 7\nAdd(v) == x' = x + v\n"
        "Next == \\E v \\in 1..2 : Add(v)\nshifted == x - 7\n"
        "Abs == INSTANCE Grow WITH y <- shifted\nGrows == Abs!Spec\n====\n"
    )
    (tmp_path / "Grow.tla").write_text(
        "---- MODULE Grow ----\nEXTENDS Naturals\nVARIABLE y\nInit == y = 0\nNext == y' = y + 1\n"
        "Spec == Init /\\ [][Next]_y\n====\n"
    )
    (tmp_path / "Count.cfg").write_text("INIT Init\nNEXT Next\nPROPERTY Grows\n")
    (tmp_path / "mapping.toml").write_text('kind = "kind"\n[lines.add]\naction = "Add"\nshows.x = "x"\n')
    verdicts = []
    for name, last in (("right", 9), ("wrong", 10)):
        log = tmp_path / f"{name}.log"
        log.write_text(f'{{"kind": "add", "x": 8}}\n{{"kind": "add", "x": {last}}}\n')
        own = tmp_path / "Count.tla", tmp_path / "Count.cfg", tmp_path / "mapping.toml"
        by_tlc, compiled = (judge_own(*own, tlc)(log) for tlc in (ByTlc(None, None), None))
        assert agreed(by_tlc) == agreed(compiled)
        assert [each.line for each in by_tlc.findings] == [each.line for each in compiled.findings]
        verdicts.append(by_tlc.reason)
    assert verdicts == [
        "a behaviour of the spec explains all lines; every property holds",
        "each explanation violates Grows",
    ]


# ---- Other specs ----


def walk(spec: Spec, words: Words, seed: int) -> Order:
    """A log of random steps of a spec, of which parts are told, lines are missing, and two are perhaps swapped."""
    chooses = random.Random(seed)
    state = chooses.choice(list(spec.initial_states()))
    lines: list[Line] = []
    for number in range(1, 7):
        successors = list(spec.successors(state))
        if not successors:
            break
        action, args, state = chooses.choice(successors)
        table = state.as_dict()
        trees = {name: to_itf(value) for name, value in table.items() if chooses.random() < 0.4}
        shows = {name: tree for name, tree in trees.items() if to_value(tree, words) == table[name]}
        told = {name: Exactly(name, value) for name, value in args.items() if chooses.random() < 0.6}
        if chooses.random() < 0.85:
            lines.append(Line(number, "", ((Claim(action, told, shows),),)))
    if seed % 2 and len(lines) > 1:
        lines[-2:] = lines[:-3:-1]
    return Order([Thread("a.log", lines)])


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["Bakery", "DieHard", "PaxosVoting", "Philosophers", "ReadersWriters", "RingElection",
                                  "SearchTree", "Sorting", "TwoPhaseCommit"])  # fmt: skip
def test_tlc_finds_what_the_compiled_search_finds_of_other_specs(name: str) -> None:
    """Whatever form their actions have: each action in turn may be hidden."""
    tla, cfg = SPECS / "systems" / f"{name}.tla", SPECS / "systems" / f"{name}.cfg"
    system = own_system(tla, cfg)
    spec = load_own_spec(system)
    interface = system.interface(spec)
    orders = [walk(spec, interface.words, seed) for seed in range(10)]
    conclusions: Counter[Conclusion] = Counter()
    for hidden in sorted(spec.actions)[:2]:
        subject = Subject(spec, interface, Said(lines={}, hidden={hidden: 1}))
        explored = Runs(subject, parse_spec(tla, cfg), orders).explore()
        for order, by_tlc in zip(orders, explored, strict=True):
            compiled = explain(order, Steps(spec, interface, subject.mapping.hidden))
            assert compiled.left_out == ()
            assert_agree(order, compiled, by_tlc)
            conclusions[compiled.conclusion] += 1
    assert conclusions[Conclusion.EXPLAINED] >= 5
    assert conclusions.total() == 20
