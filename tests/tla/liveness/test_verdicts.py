"""Verdicts on temporal properties are TLC's: of every kind of formula, under every kind of fairness.

The verdicts of TLC are listed below. A few runs of TLC confirm some of them here, and the nightly tests confirm all.
One run of TLC confirms all properties that hold together.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tla.explore import explore
from lockstep.tla.liveness.behaviour_graph import Valuation, graph_of
from lockstep.tla.liveness.lasso_search import find_violation
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tlc import PropertyKind, TlcOptions, run_tlc
from tests.support.places import SPECS
from tests.support.sampling import sampled

MODULE = SPECS / "liveness" / "Counter.tla"
TEXT = MODULE.read_text()

#: The properties that are violated under each assumption; the others hold.
VIOLATED = {
    "Plain": (
        "Arrives Returns StaysOff LeadsBack Answered OftenUp WeakProperty StrongProperty WeakSet StrongOff "
        "EachNumber OneNumber OnThenOff NotAlways EitherAlways FromTheStart OneAfterAnother Both NoMoreSet "
        "ByLet ByIf OffLater Nested WhereEnabled Equal ByArgument"
    ),
    "Fair": (
        "Arrives Returns StaysOff Answered OftenUp WeakProperty StrongProperty StrongOff EachNumber OneNumber "
        "OnThenOff NotAlways EitherAlways FromTheStart OneAfterAnother Both NoMoreSet ByLet ByIf OffLater "
        "Nested WhereEnabled Equal ByArgument"
    ),
    "WeakUp": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart Both NoMoreSet OffLater Nested"
    ),
    "WeakEach": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart Both NoMoreSet OffLater Nested"
    ),
    "StrongEach": "StaysOff OneNumber EitherAlways FromTheStart NoMoreSet OffLater",
    "WeakAny": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart Both NoMoreSet OffLater Nested"
    ),
    "StrongAny": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart NoMoreSet OffLater Nested"
    ),
    "NeverJumps": "",
    "OnlyX": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart Both NoMoreSet OffLater Nested"
    ),
    "Often": (
        "Arrives Returns StaysOff OftenUp WeakProperty StrongProperty StrongOff EachNumber OneNumber "
        "OnThenOff NotAlways EitherAlways FromTheStart OneAfterAnother Both NoMoreSet ByLet OffLater Nested "
        "WhereEnabled ByArgument"
    ),
    "OftenStep": (
        "StaysOff StrongProperty StrongOff OneNumber OnThenOff EitherAlways FromTheStart Both NoMoreSet OffLater Nested"
    ),
}
PROPERTIES = re.findall(r"^(\w+) ==", TEXT.partition("Properties.")[2].partition("TLC has no answer")[0], re.M)
#: Formulas that TLC cannot check.
BEYOND = ("Divided", "Equal", "ByArgument")

#: Properties that TLC checks in every run; it checks the others at night.
HELD = ("WeakUp", "StrongEach")
BROKEN = (
    ("Plain", "Arrives"),
    ("Fair", "Returns"),
    ("WeakEach", "StrongProperty"),
    ("WeakEach", "OnThenOff"),
    ("StrongAny", "NoMoreSet"),
    ("OnlyX", "Nested"),
)


def written(folder: Path, assumed: str, *lines: str) -> tuple[Path, Path]:
    cfg = folder / "Counter.cfg"
    cfg.write_text("\n".join([f"SPECIFICATION {assumed}", *lines]) + "\n")
    return MODULE, cfg


def violated(folder: Path, assumed: str) -> set[str]:
    """The properties that the search finds a behaviour against."""
    spec = load_spec(*written(folder, assumed, *(f"PROPERTY {name}" for name in (*PROPERTIES, *BEYOND))))
    assert (spec.unchecked, len(spec.temporal)) == ({}, len(PROPERTIES) + len(BEYOND))
    plain = explore(load_spec(*written(folder, assumed)), SearchOptions(keep_edges=True, check_deadlock=False))
    follows: list[list[int]] = [[] for _ in plain.states]
    for edge in plain.edges:
        follows[edge.source].append(edge.target)
    graph = graph_of(plain.states, follows, range(plain.levels[0]))
    fair, properties = spec.temporal_formulas
    valuation = Valuation(graph)
    return {
        name
        for name, parts in properties.items()
        if any(find_violation(graph, valuation, fair, part) is not None for part in parts)
    }


@pytest.mark.parametrize("assumed", VIOLATED)
def test_the_properties_that_are_violated_are_those_that_are_violated_in_tlc(assumed: str, tmp_path: Path) -> None:
    assert violated(tmp_path, assumed) == set(VIOLATED[assumed].split())


def tlc(folder: Path, assumed: str, *properties: str) -> Verdict:
    """TLC's verdict on properties together."""
    return run_tlc(
        *written(folder, assumed, *(f"PROPERTY {name}" for name in properties)),
        TlcOptions(deadlock_check=False, is_short=True),
    ).verdict


def holding(assumed: str) -> list[str]:
    return [name for name in PROPERTIES if name not in VIOLATED[assumed].split()]


@pytest.mark.parametrize("assumed", HELD)
def test_tlc_finds_that_the_other_properties_hold(assumed: str, tmp_path: Path) -> None:
    assert tlc(tmp_path, assumed, *holding(assumed)) is Verdict.HOLDS


@pytest.mark.parametrize(("assumed", "name"), sampled(BROKEN, BROKEN[::4]))
def test_tlc_finds_a_violation_where_the_search_finds_one(assumed: str, name: str, tmp_path: Path) -> None:
    cfg = written(tmp_path, assumed, f"PROPERTY {name}")
    found = explore(load_spec(*cfg), SearchOptions(check_deadlock=False)).violation
    assert found is not None
    assert (found.kind, found.name) == ("temporal property", name)
    assert tlc(tmp_path, assumed, name) is Verdict.VIOLATED


@pytest.mark.nightly
@pytest.mark.parametrize("assumed", [assumed for assumed in VIOLATED if assumed not in HELD])
def test_tlc_finds_that_the_properties_hold_under_every_assumption(assumed: str, tmp_path: Path) -> None:
    assert tlc(tmp_path, assumed, *holding(assumed)) is Verdict.HOLDS


@pytest.mark.nightly
@pytest.mark.parametrize("assumed", VIOLATED)
def test_tlc_finds_every_violation(assumed: str, tmp_path: Path) -> None:
    names = [name for name in VIOLATED[assumed].split() if name not in BEYOND]
    assert [name for name in names if tlc(tmp_path, assumed, name) is not Verdict.VIOLATED] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", BEYOND)
def test_tlc_has_no_answer_to_the_formulas_that_it_cannot_handle(name: str, tmp_path: Path) -> None:
    asked = run_tlc(*written(tmp_path, "Plain", f"PROPERTY {name}"), TlcOptions(deadlock_check=False, is_short=True))
    assert asked.verdict is Verdict.MALFORMED or (asked.violation and asked.violation.kind is PropertyKind.EVALUATION)
