"""A search by tables finds what a search state by state finds, and a bug planted in it is noticed."""

from __future__ import annotations

import itertools
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.systems.registry import manifests, model_named
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.symmetry import Images
from lockstep.tla.tables import (
    decision_trees,
    definition_columns,
    evaluator,
    fingerprints,
    frontier,
    kernel_threads,
    search_kernels,
    successor_groups,
    table_search,
)
from lockstep.tla.tables.decision_trees import Trees
from lockstep.tla.tables.definition_columns import DefinitionColumn
from lockstep.tla.tables.evaluator import Evaluator
from lockstep.tla.tables.expander import Expander
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.frontier import Frontier
from lockstep.tla.tables.kernel_threads import KernelThreads
from lockstep.tla.tables.memberships import Membership
from lockstep.tla.tables.packed_level import PackedLevel, PackedRows
from lockstep.tla.tables.predicate_trees import StatePredicates
from lockstep.tla.tables.state_layout import Layout, UnsuitedError
from lockstep.tla.tables.step_kinds import StepKinds
from lockstep.tla.tables.table_search import explore_by_tables
from lockstep.tla.tables.unread import Unread
from lockstep.tla.tables.written_steps import IntLists
from tests.support.places import SPECS
from tests.support.sampling import SEED
from tests.support.tla.tables import differences, literally, spec_of_one_part
from tests.support.tla.tla_models import Maker
from tests.support.tla.tla_richer_models import RicherMaker

POST = SPECS / "tables" / "Post.tla"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def post(cache: Path, *lines: str, following: str = "Next", stations: str = "a, b", most: int = 2) -> Spec:
    """The post with some stations, and more lines of a cfg."""
    constants = f"CONSTANT Station = {{{stations}}} Most = {most}"
    cfg = cache / f"{abs(hash((lines, following, stations, most)))}.cfg"
    cfg.write_text("\n".join([constants, "INIT Init", f"NEXT {following}", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return load_spec(POST, cfg, cache_dir=cache)


#: Further entries of the cfg, and the expected result.
CFGS: dict[str, tuple[str, ...]] = {
    "nothing more": (),
    "an invariant, and properties of steps": ("INVARIANT TypeOK", "PROPERTIES CountsUp"),
    "an invariant that is violated": ("INVARIANTS TypeOK NoneIsFull",),
    "a type that is violated": ("INVARIANTS TypeOK Narrow",),
    "a type with which values cannot be compared": ("INVARIANT Odd",),
    "a property of steps that is violated": ("PROPERTIES CountsUp Grows",),
    "a property of what stays as it was": ("PROPERTIES Moves CountsUp",),
    "a property of what stays as it was, violated": ("PROPERTIES Moves Answers",),
    "a property to which more comes to matter": ("PROPERTIES Rests",),
    "a deadlock": ("CHECK_DEADLOCK TRUE",),
    "constraints": ("CONSTRAINT Few", "ACTION_CONSTRAINT Slow", "INVARIANT NoneIsFull"),
    "symmetry": ("SYMMETRY Symmetry", "CONSTRAINT Few", "INVARIANT TypeOK"),
    "a view": ("VIEW Seen",),
}


ASKING = ("INVARIANT FewWait", "PROPERTY FillsUp")


@pytest.mark.parametrize("what", CFGS)
def test_tables_come_to_what_a_search_state_by_state_comes_to(what: str, cache: Path) -> None:
    spec = post(cache, *CFGS[what])
    merged = spec.symmetry is not None or spec.view is not None
    assert differences(spec, edges=not merged, check_deadlock="deadlock" in what) == []
    assert differences(spec, max_states=40) == []


@pytest.mark.parametrize("more", [(), ("SYMMETRY Symmetry",), ("CONSTRAINT Few", "ACTION_CONSTRAINT Slow")])
@pytest.mark.parametrize("following", ["AskingNext", "WrongAskingNext"])
def test_definitions_that_are_columns_change_nothing_of_what_is_found(
    following: str, more: tuple[str, ...], cache: Path
) -> None:
    spec = post(cache, *ASKING, *more, following=following)
    assert differences(spec, max_states=400) == []


def test_states_and_steps_are_those_that_come_without_columns_of_definitions(cache: Path) -> None:
    assert differences(post(cache, *ASKING, following="AskingNext", most=1), edges=True) == []


def test_a_definition_is_evaluated_once_for_what_it_reads(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = post(cache, *ASKING, following="AskingNext")
    with_columns = explore_by_tables(spec)
    for each in (definition_columns, evaluator):
        monkeypatch.setattr(each, "MAX_DEFINITIONS", 0)
    without = explore_by_tables(spec)
    assert with_columns.distinct == without.distinct
    assert with_columns.evaluations < without.evaluations


def test_a_type_is_evaluated_no_more_often_than_its_sets_have_outcomes(cache: Path) -> None:
    without, typed = explore_by_tables(post(cache)), explore_by_tables(post(cache, "INVARIANT TypeOK"))
    assert typed.distinct == without.distinct
    assert 0 < typed.evaluations - without.evaluations <= 2


def test_a_definition_may_be_recursive_and_stand_in_the_place_of_another(tmp_path: Path) -> None:
    module, cfg = tmp_path / "Sums.tla", tmp_path / "Sums.cfg"
    module.write_text(
        "---- MODULE Sums ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = 0 /\\ y = 0\n"
        "RECURSIVE Sum(_)\nSum(i) == IF i = 0 THEN x + y ELSE y + Sum(i - 1)\n"
        "May(n) == TRUE\nSmall(n) == Sum(20) + n < 45\n"
        "Next == \\E n \\in 1..3 : May(n) /\\ ((x' = x + n /\\ y' = y) \\/ (y' = y + 1 /\\ x' = x))\n====\n"
    )
    cfg.write_text("INIT Init NEXT Next CONSTANT May <- Small CHECK_DEADLOCK FALSE\n")
    assert differences(load_spec(module, cfg, cache_dir=tmp_path), check_deadlock=False) == []


def test_a_property_of_behaviours_is_checked_on_states_and_steps_kept_as_arrays(cache: Path) -> None:
    spec = post(cache, "PROPERTY Ends", most=1)
    assert differences(spec) == []
    found = explore_by_tables(spec)
    assert found.violation is not None
    assert found.violation.kind == "temporal property"


def test_a_conjunct_is_evaluated_only_where_those_before_it_hold(cache: Path) -> None:
    assert differences(post(cache, following="CarelessNext")) == []
    wrong = post(cache, following="WrongNext")
    assert differences(wrong) == []
    with pytest.raises(Exception, match=re.escape("Post.tla:54:13: LS603 Wrong(n = a): Head")):
        explore_by_tables(wrong)


def test_the_counts_depend_on_no_choice_of_the_fingerprint(cache: Path) -> None:
    spec = post(cache, "SYMMETRY Symmetry", stations="a, b, c", most=1)
    one, *others = (explore_by_tables(spec, SearchOptions(fingerprint_seed=seed)) for seed in range(3))
    for other in others:
        assert (one.distinct, one.generated, one.levels) == (other.distinct, other.generated, other.levels)
    assert one.distinct >= 100


def test_a_set_says_of_each_fingerprint_whether_it_is_new_and_of_equal_ones_the_first_is() -> None:
    seen = FingerprintSet()
    assert seen.add(np.array([3, 1, 3, 1, 3], np.uint64)).tolist() == [True, True, False, False, False]
    left_out = np.array([False, True, False])
    assert seen.add(np.array([1, 2, 0], np.uint64), left_out).tolist() == [False, False, True]
    assert seen.has(np.array([0, 1, 2, 3], np.uint64)).tolist() == [True, True, False, True]


@pytest.mark.parametrize("first", [7, 4_095])
def test_fingerprints_that_were_added_last_are_removed_and_the_others_are_found(first: int) -> None:
    """These lie behind one another, from one place on, also where the table ends; it grows as they are added."""
    crowded = (np.arange(1, 2_100, dtype=np.uint64) << np.uint64(40)) | np.uint64(first)
    seen = FingerprintSet()
    seen.add(crowded)
    seen.remove_last(crowded[500:])
    assert len(seen) == 500
    assert seen.has(crowded).tolist() == [True] * 500 + [False] * 1_599
    assert seen.add(crowded).sum() == 1_599


def test_a_collision_is_as_probable_as_tlc_calculates() -> None:
    """TLC prints 1.0E-13 for the model `ordered`; the least of two numbers falls on another by 4/3 as often."""
    assert f"{fingerprints.collision_probability(683, 3409, 1):.1E}" == "1.0E-13"
    assert fingerprints.collision_probability(683, 3409, 2) == pytest.approx(
        4 / 3 * fingerprints.collision_probability(683, 3409, 1)
    )


def test_orbits_under_symmetry_expand_to_the_states_without_it(cache: Path) -> None:
    found = explore_by_tables(post(cache, "SYMMETRY Symmetry", most=1), SearchOptions(keep_edges=True))
    whole = explore_by_tables(post(cache, most=1))
    assert found.graph is not None
    swapped = Images(dict(_swap(found.graph.states[0])))
    orbits = [{state, type(state)(map(swapped.image, state))} for state in found.graph.states]
    assert sum(map(len, orbits)) == whole.distinct > found.distinct


def _swap(state: Any) -> list[tuple[Any, Any]]:
    one, other = state.mail.d
    return [(one, other), (other, one)]


# ---- Long searches ----


def shared_among(threads: int, patch: pytest.MonkeyPatch) -> None:
    """Let some threads share even a few rows."""
    right = KernelThreads.__init__
    patch.setattr(KernelThreads, "__init__", lambda self, _count=1: right(self, threads))
    patch.setattr(kernel_threads, "_LEAST_ROWS", 1)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("what", CFGS)
def test_threads_that_share_the_rows_find_what_one_finds(
    what: str, threads: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_among(threads, monkeypatch)
    spec = post(cache, *CFGS[what])
    merged = spec.symmetry is not None or spec.view is not None
    assert differences(spec, edges=not merged, check_deadlock="deadlock" in what) == []


def test_a_search_has_the_threads_that_its_options_ask_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    right = KernelThreads.run

    def run(self: Any, rows: int, work: Any) -> Any:
        found = right(self, rows, work)
        parts.append(len(found))
        return found

    monkeypatch.setattr(KernelThreads, "run", run)
    monkeypatch.setattr(kernel_threads, "_LEAST_ROWS", 1)
    for threads in (1, 3):
        parts.clear()
        explore_by_tables(post(cache), SearchOptions(threads=threads))
        assert set(parts) == {threads}


def test_loops_are_compiled_where_there_is_no_folder_to_keep_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def njit(*, cache: bool = False, **_: Any) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(search_kernels, "njit", njit)
    assert search_kernels.compiled(len) is len
    assert asked == [True, False]


def test_the_first_search_of_a_process_says_what_it_waits_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded, said in ((False, [table_search.COMPILING]), (True, [])):
        monkeypatch.setattr(table_search, "is_loaded", lambda answer=loaded: answer)
        reports: list[SearchProgress] = []
        explore_by_tables(post(cache), SearchOptions(on_progress=reports.append))
        assert [each.waits_for for each in reports if each.waits_for] == said


def test_threads_fill_in_the_definitions_of_their_own_rows(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_among(3, monkeypatch)
    assert differences(post(cache, *ASKING, following="AskingNext"), max_states=400) == []


@pytest.mark.parametrize("what", ["symmetry", "a property of steps that is violated"])
def test_nothing_depends_on_how_many_states_are_expanded_at_once(
    what: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, packed = post(cache, *CFGS[what]), list[int]()
    right = PackedLevel.unpacked
    monkeypatch.setattr(PackedLevel, "unpacked", lambda self: packed.append(self.nbytes) or right(self))
    monkeypatch.setattr(Expander, "size", 5)
    assert differences(spec) == []
    assert len(packed) > 5
    assert differences(spec, max_states=50) == []


@pytest.mark.parametrize(("what", "narrow"), [("symmetry", 30), ("an invariant that is violated", 12)])
def test_a_level_may_have_narrow_and_wide_rows(
    what: str, narrow: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows take four bytes a column once a column has more values than two bytes hold: here, from some part on."""
    kinds: list[set[str]] = []
    parts = itertools.count()
    advance = Frontier.advance

    def note_kinds(self: Any) -> None:
        kinds.append({str(each.unpacked().full.dtype) for each in self._next})
        advance(self)

    monkeypatch.setattr(Frontier, "advance", note_kinds)
    monkeypatch.setattr(Expander, "size", 3)
    monkeypatch.setattr(Layout, "wide", lambda _, rows: rows.astype(np.int32) if next(parts) > narrow else rows)
    assert differences(post(cache, *CFGS[what])) == []
    assert {"int16", "int32"} in kinds


def test_states_that_have_been_expanded_are_forgotten(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[int, int] = {}
    right = Frontier.expand

    def expand(self: Any, begin: int, end: int) -> Any:
        left[end] = sum(each.count for each in self._level)
        return right(self, begin, end)

    monkeypatch.setattr(Expander, "size", 5)
    monkeypatch.setattr(Frontier, "expand", expand)
    levels = explore_by_tables(post(cache)).levels
    assert max(levels) > 3 * 5
    assert left[max(levels)] <= 5


@settings(deadline=None)  # the first example of each kind compiles loops
@given(
    arrays(
        st.sampled_from([np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)]),
        st.tuples(st.integers(1, 5), st.integers(0, 6)),
        elements=st.sampled_from([-32_768, -129, -128, -1, 0, 1, 127, 128, 32_767]),
    ),
    st.sampled_from([0, 1, 2**15]),
)
def test_rows_that_are_packed_come_out_as_they_were(rows: Any, more: int) -> None:
    rows = rows if rows.dtype == np.int16 else rows * (1 + more)
    packed = PackedRows(rows)
    found = packed.unpacked()
    assert (found.dtype, found.tolist()) == (rows.dtype, rows.tolist())


def test_a_column_that_is_the_same_everywhere_is_kept_once_and_a_small_number_in_a_byte() -> None:
    rows = np.zeros((1_000, 10), np.int16)
    rows[:, 3] = np.arange(1_000) % 128
    rows[:, 4] = np.arange(1_000)
    assert PackedRows(rows).nbytes == 1_000 * (1 + 2) + 10 * 2 + 2 * 8


@pytest.mark.parametrize(
    ("lines", "more"), [((), 0), (("CONSTRAINT Few",), 1), (("VIEW Seen",), 1), (("CONSTRAINT Few", "VIEW Seen"), 2)]
)
def test_the_evaluations_of_each_successor_state_by_state_are_counted(
    lines: tuple[str, ...], more: int, cache: Path
) -> None:
    spec = post(cache, *lines)
    layout = Layout(spec.variables, list(spec.initial_states()), ())
    expander = Expander(spec, layout, check_deadlock=False, function=fingerprints.FingerprintFunction())
    assert expander.literal_evaluations(0, 10) == 10 * more
    assert expander.literal_evaluations(10, 0) == 10 * expander.groups.count


def test_a_search_that_would_need_too_much_memory_is_inconclusive(cache: Path) -> None:
    spec = post(cache)
    whole = explore_by_tables(spec)
    most = 3 * whole.memory // 4
    found = explore_by_tables(spec, SearchOptions(memory_budget=most))
    assert (found.complete, found.violation) == (False, None)
    assert re.search("more than .* GB of memory", found.gave_up)
    assert 1 < found.distinct < whole.distinct
    cfg = max(cache.glob("*.cfg"), key=lambda each: each.stat().st_mtime)
    found = explore_spec(SpecFiles(POST, cfg), Engine.TABLES, SearchOptions(memory_budget=most))
    assert (found.verdict, found.reason.startswith("given up: the search would need")) == (Verdict.INCONCLUSIVE, True)


# ---- What cannot be taken apart ----


def test_a_long_search_says_what_a_graphics_card_would_save_at_most(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cuda" not in " ".join(explore_by_tables(post(cache)).notes)
    monkeypatch.setattr(table_search, "LONG_SEARCH_SECONDS", 0.0)
    evaluate, begin = Trees._evaluate, time.perf_counter()

    def slowly(trees: Trees, node: int, lookup: Any) -> None:
        time.sleep(0.005)
        evaluate(trees, node, lookup)

    monkeypatch.setattr(Trees, "_evaluate", slowly)
    found = explore_by_tables(post(cache))
    seconds = time.perf_counter() - begin
    (note,) = (each for each in found.notes if "--device cuda" in each)
    saved, whole, evaluations = map(float, re.findall(r"[0-9]+\.[0-9]", note))
    assert 0.8 * 0.005 * found.evaluations < evaluations <= whole < seconds + 0.1
    assert saved == pytest.approx(whole - evaluations, abs=0.11)


def test_a_search_with_temporal_properties_names_no_card(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_search, "LONG_SEARCH_SECONDS", 0.0)
    assert not explore_by_tables(post(cache), SearchOptions(keep_edges=True)).on_a_card


def test_a_spec_that_tables_cannot_explore_is_explored_state_by_state_and_a_note_says_so(tmp_path: Path) -> None:
    found = explore_spec(
        SpecFiles(SPECS / "tla" / "Registers.tla", SPECS / "tla" / "Registers.cfg"),
        Engine.TABLES,
        SearchOptions(check_deadlock=False),
    )
    assert (found.engine, found.verdict) == (Engine.TABLES, Verdict.HOLDS)
    module = tmp_path / "Counting.tla"
    module.write_text(
        "---- MODULE Counting ----\nEXTENDS Naturals, TLC\nVARIABLE x\nInit == x = 0 /\\ TLCSet(1, 0)\n"
        "Next == x < 3 /\\ TLCSet(1, TLCGet(1) + 1) /\\ x' = x + 1\n====\n"
    )
    cfg = tmp_path / "Counting.cfg"
    cfg.write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    with pytest.raises(UnsuitedError, match="TLCGet"):
        explore_by_tables(load_spec(module, cfg, cache_dir=tmp_path))
    found = explore_spec(SpecFiles(module, cfg), Engine.TABLES, SearchOptions(check_deadlock=False))
    assert (found.distinct, found.verdict) == (4, Verdict.HOLDS)
    assert any("state by state, not by tables: TLCGet" in note for note in found.notes)


def test_a_spec_whose_states_are_one_part_is_explored_state_by_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "GAIN_CHECK", 1_000)
    found = explore_spec(spec_of_one_part(tmp_path), Engine.TABLES)
    assert (found.distinct, found.generated, found.verdict) == (256, 2049, Verdict.HOLDS)
    assert any("state by state, not by tables: its actions" in note for note in found.notes)


@pytest.mark.parametrize(("patience", "gives_up"), [(0.0, True), (float("inf"), False)])
def test_tables_are_given_up_where_they_take_much_longer_than_states_one_by_one(
    patience: float, gives_up: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time that tables may take is none, or unlimited; the time per state, one by one, is measured."""
    for name, value in {
        "GAIN_CHECK": 20,
        "DOUBTFUL_EVALUATION_SHARE": 0.0,
        "MAX_EVALUATION_SHARE": float("inf"),
        "MAX_SLOWDOWN": patience,
    }.items():
        monkeypatch.setattr(table_search, name, value)
    spec = post(cache, "INVARIANT TypeOK", "CHECK_DEADLOCK FALSE")
    if gives_up:
        with pytest.raises(UnsuitedError, match="evaluated one by one in less time"):
            explore_by_tables(spec)
    else:
        assert differences(spec) == []


def test_a_function_that_changes_its_domain_is_taken_as_a_whole(tmp_path: Path) -> None:
    module = tmp_path / "Shapes.tla"
    module.write_text(
        "---- MODULE Shapes ----\nEXTENDS Integers, Sequences\nVARIABLES x, r\nInit == x = <<1, 2>> /\\ r = [a |-> 0]\n"
        "Next == \\/ Len(x) < 4 /\\ x' = Append(x, Len(x)) /\\ r' = r\n"
        "        \\/ r' = [b |-> 1, c |-> x[1]] /\\ x' = Tail(x) /\\ x # <<>>\n"
        "        \\/ x' = [i \\in -1..0 |-> i] /\\ UNCHANGED r\n====\n"
    )
    cfg = tmp_path / "Shapes.cfg"
    cfg.write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    assert differences(load_spec(module, cfg, cache_dir=tmp_path), check_deadlock=False) == []


def test_an_except_that_changes_nothing_is_noted_as_by_the_search_state_by_state(tmp_path: Path) -> None:
    module, cfg = tmp_path / "Misses.tla", tmp_path / "Misses.cfg"
    module.write_text(
        "---- MODULE Misses ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = [a |-> 0] /\\ y = 0\n"
        "Miss(k) == y < 3 /\\ y' = y + 1 /\\ x' = [x EXCEPT ![k] = 1]\nNext == Miss(\"b\")\n====\n"
    )
    cfg.write_text("INIT Init NEXT Next\n")
    noted = explore_spec(SpecFiles(module, cfg), Engine.LITERAL, SearchOptions(check_deadlock=False)).notes
    assert noted != ()
    assert (
        explore_spec(SpecFiles(module, cfg), Engine.TABLES, SearchOptions(check_deadlock=False)).notes[: len(noted)]
        == noted
    )


# ---- Planted bugs ----


def a_footprint_lacks_a_column(patch: pytest.MonkeyPatch) -> None:
    """The last column that an evaluation read is forgotten."""
    right = Evaluator._evaluated

    def evaluated(self: Any, path: Any, *rest: Any, **named: Any) -> Any:
        whole, found = right(self, path, *rest, **named)
        return whole[:-1] if len(whole) > len(path) else whole, found

    patch.setattr(Evaluator, "_evaluated", evaluated)


def a_write_is_missed(patch: pytest.MonkeyPatch) -> None:
    """The first column that a step writes is forgotten, if it writes several."""
    right = Layout.writes

    def writes(self: Any, *rest: Any) -> Any:
        found = right(self, *rest)
        return found[1:] if len(found) > 2 else found

    patch.setattr(Layout, "writes", writes)


def a_guard_is_moved(patch: pytest.MonkeyPatch) -> None:
    """A conjunct without a value counts as false, as if a later one stood before it."""
    right = Evaluator._attempt

    def attempt(self: Any, *rest: Any, **named: Any) -> Any:
        found, failed = right(self, *rest, **named)
        return (() if failed else found), False

    patch.setattr(Evaluator, "_attempt", attempt)


class _Wrong(Images):
    def image(self, value: Any) -> Any:
        return value if type(value) is frozenset else super().image(value)


def an_image_is_wrong(patch: pytest.MonkeyPatch) -> None:
    """Under SYMMETRY the stations within sets stay as they are."""
    right = fingerprints.Fingerprints.__init__

    def prepare(self: Any, layout: Layout, images: Any, function: Any) -> None:
        right(self, layout, [_Wrong(each.permutation) for each in images], function)

    patch.setattr(fingerprints.Fingerprints, "__init__", prepare)


def a_read_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    """The values that an evaluation reads are not noted."""

    def value(self: Unread) -> Any:
        number = self.current.now.lookup(self.column)
        return self.current.now._values[self.column][number]

    patch.setattr(Unread, "value", value)


class _Once(IntLists):
    def number(self, items: tuple[int, ...]) -> int:
        return super().number(tuple(dict.fromkeys(items)))


def a_successor_counts_once(patch: pytest.MonkeyPatch) -> None:
    """A state that is generated twice is counted once."""
    patch.setattr(successor_groups, "IntLists", _Once)


def the_last_way_to_a_state_counts(patch: pytest.MonkeyPatch) -> None:
    """The last of several equal states stands for all of them, instead of the first one found."""
    right = successor_groups.SuccessorGroups.generate

    def generate(self: Any, *rest: Any) -> Any:
        found = right(self, *rest)
        order = np.lexsort((-np.arange(len(found.rows)), found.rows))
        return successor_groups.Generated(found.rows, found.steps[order], found.groups[order], found.failing)

    patch.setattr(successor_groups.SuccessorGroups, "generate", generate)


def a_constraint_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A predicate of states is true."""
    patch.setattr(StatePredicates, "verdicts", lambda self, rows: np.ones(len(rows), np.int8))
    patch.setattr(StatePredicates, "verdicts_after", lambda self, rows, *_: np.ones(len(rows), np.int8))


def fingerprints_are_short(patch: pytest.MonkeyPatch) -> None:
    """A fingerprint has six bits."""
    right = fingerprints.FingerprintFunction.__call__
    patch.setattr(fingerprints.FingerprintFunction, "__call__", lambda self, *place: right(self, *place) & 0x3F)


def a_definition_stays_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """A step that writes what a definition reads leaves its column alone."""
    right = Expander.accept

    def accept(self: Any, level: Any, expanded: Any, new: Any, into: Any, to: int) -> Any:
        found = right(self, level, expanded, new, into, to)
        of_definitions = level.full[expanded.generated.rows[new], self.layout.width :]
        into.full[to : to + len(new), self.layout.width :] = of_definitions
        return found

    patch.setattr(Expander, "accept", accept)


def what_a_definition_reads_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An action that asks for a definition is not asked again after a step that writes what that reads."""
    patch.setattr(Trees, "reads", lambda self, tree: tree.columns)


def values_of_a_definition_are_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """A definition has one value."""
    right = DefinitionColumn.number
    patch.setattr(DefinitionColumn, "number", lambda self, value: min(1, right(self, value)))


def nothing_matters_to_a_property_of_steps(patch: pytest.MonkeyPatch) -> None:
    """All steps from a state are of one kind."""
    patch.setattr(StepKinds, "record", lambda self, path: None)


def what_is_not_asked_about_stays_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """A property of steps is evaluated as if a step wrote nothing but what matters."""
    patch.setattr(StepKinds, "written", lambda self, kind: self._written[kind])


def kinds_stay_as_they_were_when_more_matters(patch: pytest.MonkeyPatch) -> None:
    """Steps of one kind stay so though a property has come to ask about columns that one of them writes."""
    right = StepKinds._begin
    patch.setattr(StepKinds, "_begin", lambda self: None if hasattr(self, "_numbers") else right(self))


def whatever_is_met_later_is_in_the_set(patch: pytest.MonkeyPatch) -> None:
    """A field that was found in its set stays in it with every value."""
    patch.setattr(Membership, "outcome", lambda self, number: 1)


def a_value_outside_a_set_is_taken_for_one_in_it(patch: pytest.MonkeyPatch) -> None:
    """The branches of all values lead to one node, whether they are in the set or not."""
    right = Trees._of_outcome
    patch.setattr(Trees, "_of_outcome", lambda self, node, asks, _outcome: right(self, node, asks, 1))


def a_choice_is_taken_for_another(patch: pytest.MonkeyPatch) -> None:
    """Actions that choose with the same arguments share a tree, whatever they choose from."""
    patch.setattr(successor_groups, "code_key", lambda code: code.co_argcount)


def what_is_missing_is_lost(patch: pytest.MonkeyPatch) -> None:
    """A row that lacks something in the trees does not go down again once that is evaluated."""
    right = decision_trees._look_up_part

    def look_up_part(*rest: Any) -> Any:
        again, missed = right(*rest)
        return again[:0], missed

    patch.setattr(decision_trees, "_look_up_part", look_up_part)


def what_is_missing_below_a_choice_is_lost(patch: pytest.MonkeyPatch) -> None:
    """A state in which something is missing below a choice is not done again."""
    right = successor_groups.SuccessorGroups._generate

    def generate(self: Any, *rest: Any) -> Any:
        made, again, missed = right(self, *rest)
        return made, again[:0], missed

    patch.setattr(successor_groups.SuccessorGroups, "_generate", generate)


def states_are_done_twice(patch: pytest.MonkeyPatch) -> None:
    """States in which something was missing are done again together with one that was complete."""
    right = successor_groups.SuccessorGroups._generate

    def generate(self: Any, *rest: Any) -> Any:
        made, again, missed = right(self, *rest)
        if len(again) and len(made[0]):
            again = np.concatenate([again, made[0][:1]])
        return made, again, missed

    patch.setattr(successor_groups.SuccessorGroups, "_generate", generate)


def parts_of_threads_are_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """The steps of the last thread come first."""
    shared_among(2, patch)
    right = KernelThreads.run
    patch.setattr(KernelThreads, "run", lambda self, rows, work: right(self, rows, work)[::-1])
    patch.setattr(np, "argsort", lambda numbers, kind=None: np.arange(len(numbers)))


def a_fingerprint_is_new_each_time(patch: pytest.MonkeyPatch) -> None:
    """A set says of what it has that it is new, if it is asked in one call."""
    right = FingerprintSet.add

    def add(self: Any, hashes: Any, *skipped: Any) -> Any:
        found = right(self, hashes, *skipped)
        return np.isin(hashes, hashes[found]) & np.logical_not(skipped[0] if skipped else False)

    patch.setattr(FingerprintSet, "add", add)


def packed_states_are_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """States that were packed come out in another order."""
    right = PackedLevel.unpacked

    def unpacked(self: Any) -> Any:
        level = right(self)
        for name in ("full", "results", "hashes", "patterns"):
            setattr(level, name, getattr(level, name)[::-1].copy())
        return level

    patch.setattr(Expander, "size", 5)
    patch.setattr(PackedLevel, "unpacked", unpacked)


def states_are_forgotten_too_soon(patch: pytest.MonkeyPatch) -> None:
    """With the states that were expanded go those that wait next, if others wait behind them."""
    patch.setattr(Expander, "size", 5)
    patch.setattr(frontier, "deque", _HastyDeque)


class _HastyDeque(deque[Any]):
    def popleft(self) -> Any:
        if len(self) > 2:
            del self[1]
        return super().popleft()


PLANTED: dict[Callable[[pytest.MonkeyPatch], None], dict[str, Any]] = {
    a_footprint_lacks_a_column: {},
    a_read_is_not_noticed: {},
    a_write_is_missed: {},
    a_guard_is_moved: {"following": "WrongNext"},
    an_image_is_wrong: {"lines": CFGS["symmetry"]},
    a_successor_counts_once: {},
    the_last_way_to_a_state_counts: {"lines": CFGS["a view"]},
    a_constraint_is_forgotten: {"lines": CFGS["constraints"]},
    fingerprints_are_short: {},
    a_definition_stays_as_it_was: {"following": "AskingNext", "most": 1},
    what_a_definition_reads_is_forgotten: {"following": "AskingNext", "most": 1},
    values_of_a_definition_are_mixed_up: {"following": "AskingNext", "most": 1},
    a_choice_is_taken_for_another: {"following": "AskingNext", "most": 1},
    whatever_is_met_later_is_in_the_set: {"lines": ("INVARIANT Narrow",)},
    a_value_outside_a_set_is_taken_for_one_in_it: {"lines": ("INVARIANT Narrow",)},
    nothing_matters_to_a_property_of_steps: {"lines": ("PROPERTIES Answers",)},
    what_is_not_asked_about_stays_as_it_was: {"lines": ("PROPERTIES Answers",)},
    kinds_stay_as_they_were_when_more_matters: {"lines": ("PROPERTIES Rests",)},
    what_is_missing_is_lost: {},
    what_is_missing_below_a_choice_is_lost: {},
    states_are_done_twice: {},
    parts_of_threads_are_mixed_up: {"lines": CFGS["an invariant that is violated"]},
    a_fingerprint_is_new_each_time: {},
    packed_states_are_mixed_up: {"lines": CFGS["an invariant that is violated"]},
    states_are_forgotten_too_soon: {},
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_does_not_pass(
    plant: Callable[[pytest.MonkeyPatch], None], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = dict(PLANTED[plant])
    spec = post(cache, *options.pop("lines", ()), **options)
    assert differences(spec) == []
    plant(monkeypatch)
    assert noticed(spec)


def noticed(spec: Spec, **options: Any) -> bool:
    """Return whether a search by tables differs from one state by state, or stops as it contradicts itself."""
    try:
        return differences(spec, **options) != []
    except AssertionError:  # a LeakError is one
        return True


# ---- The models ----

#: Models that every run explores by tables; the others of the quick tier are for the night.
SAMPLE = ("ordered", "witness_second_leader")
CHECKED = [each for of_one in manifests() for each in of_one.models if (each.tier, each.mode) == ("quick", "check")]
QUICK = [each.name for each in CHECKED]
#: Models that a search state by state explores within a minute.
SMALL = [each.name for each in CHECKED if (each.distinct or 0) <= 25_000]


def model(name: str) -> tuple[Spec, Any]:
    manifest, entry = model_named(name)
    module, cfg = manifest.files(entry)
    library = [manifest.path.parent / each for each in manifest.library]
    return load_spec(module, cfg, search_path=library), entry


def hold_to_pins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explore a model of the manifests, however slowly, and compare with what TLC finds."""
    monkeypatch.setattr(table_search, "MAX_SLOWDOWN", float("inf"))
    spec, entry = model(name)
    found = explore_by_tables(spec, SearchOptions(check_deadlock=entry.deadlock and spec.check_deadlock))
    if entry.result == "holds":
        counts = found.distinct, found.generated, found.depth
        assert (counts, found.violation, found.complete) == ((entry.distinct, entry.generated, entry.depth), None, True)
    else:
        assert found.violation is not None
        assert found.violation.label == entry.violates
        if found.violation.back_to is None:  # of behaviours that repeat TLC finds another
            assert len(found.violation.trace) == entry.depth


@pytest.mark.parametrize("name", SAMPLE)
def test_tables_find_what_tlc_finds_in_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_to_pins(name, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in QUICK if name not in SAMPLE])
def test_tables_find_what_tlc_finds_in_every_quick_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_to_pins(name, monkeypatch)


@pytest.mark.nightly
def test_another_function_of_fingerprints_counts_a_large_model_alike() -> None:
    spec, entry = model("replication")
    found = explore_by_tables(spec, SearchOptions(check_deadlock=False, fingerprint_seed=1))
    assert (found.distinct, found.generated, found.depth) == (entry.distinct, entry.generated, entry.depth)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SMALL)
def test_tables_have_the_states_and_steps_of_a_search_state_by_state(name: str) -> None:
    spec, entry = model(name)
    merged = spec.symmetry is not None or spec.view is not None
    assert differences(spec, edges=not merged, check_deadlock=entry.deadlock and spec.check_deadlock) == []


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 600, 50))
def test_tables_come_to_the_same_in_hundreds_of_made_up_models(first: int, tmp_path: Path) -> None:
    """`LOCKSTEP_SEED` gives other models than those of every night."""
    violated = 0
    for seed in range(first, first + 50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        maker = Maker(SEED * 600 + seed)
        spec = load_spec(*maker.write(folder), cache_dir=folder / "cache")
        if spec.view is not None and spec.symmetry is not None:
            continue
        assert differences(spec, check_deadlock=maker.random.random() < 0.6, max_states=3_000) == []
        violated += explore_by_tables(spec, SearchOptions(max_states=3_000)).violation is not None
    assert 0 < violated < 50


def compare_richer_models(seed: int, count: int, folder: Path) -> list[str]:
    """Compare tables with the search state by state in made-up models of one module; return the outcome of each."""
    module, cfgs = RicherMaker(seed).write(folder, count)
    outcomes = []
    for number, cfg in enumerate(cfgs):
        spec = load_spec(module, cfg, cache_dir=folder / "cache")
        merged = spec.symmetry is not None or spec.view is not None
        edges = number % 4 == 1 and not merged
        assert differences(spec, edges=edges, max_states=250) == [], cfg
        found = literally(spec, max_states=250)
        outcomes.append("fails" if isinstance(found, str) else "holds" if found.violation is None else "violated")
    return outcomes


@pytest.mark.nightly
def test_tables_come_to_the_same_in_made_up_models_of_records_sequences_and_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator, "_AUDIT_EVERY", 1)
    monkeypatch.setattr(Expander, "size", 5)
    assert len({*compare_richer_models(0, 6, tmp_path)}) > 1


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(20))
def test_tables_come_to_the_same_in_hundreds_of_made_up_models_of_records_sequences_and_sets(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`LOCKSTEP_SEED` gives other models than those of every night."""
    monkeypatch.setattr(evaluator, "_AUDIT_EVERY", (1, 257)[first % 2])
    monkeypatch.setattr(Expander, "size", (3, 37, 1_000)[first % 3])
    outcomes = compare_richer_models(SEED * 20 + first, 24, tmp_path)
    assert {*outcomes} == {"holds", "violated", "fails"}
