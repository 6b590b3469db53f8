"""A search by tables on a graphics card finds what one on the processor finds, and a bug planted in it is noticed.

Here the kernels are interpreted, one thread after the other; test_simulated_card.py has threads that interfere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lockstep.base.errors import BadInputError
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.confirmed_count import explore_until_confirmed
from lockstep.tla.tables.table_search import explore_by_tables
from lockstep.tla.values.kinds import TlaError
from tests.support.places import ROOT, SPECS
from tests.support.tla.card_on_processor import card_on_processor

POST = SPECS / "tables" / "Post.tla"
SERVICE = ROOT / "docs" / "lock_service" / "LockService.tla"
COMPARED = ("distinct", "generated", "depth", "levels", "complete", "violation", "gave_up")


@pytest.fixture(scope="module")
def card() -> Iterator[SimpleNamespace]:
    with card_on_processor() as modules:
        yield modules


@pytest.fixture(scope="module")
def service() -> Spec:
    return load_spec(SERVICE, SERVICE.with_suffix(".cfg"))


def post(folder: Path, *lines: str, following: str = "Next", most: int = 1) -> Spec:
    """Two stations that write to each other, and more lines of a cfg."""
    constants = f"CONSTANT Station = {{a, b}} Most = {most}"
    cfg = folder / "Post.cfg"
    cfg.write_text("\n".join([constants, "INIT Init", f"NEXT {following}", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return load_spec(POST, cfg, cache_dir=folder)


def explored(spec: Spec, options: SearchOptions) -> Any:
    """Explore a spec; for an evaluation that fails, return the error with its steps."""
    try:
        return explore_by_tables(spec, options)
    except TlaError as error:
        return f"{error} after {getattr(error, 'trace', None)}"


def differences(spec: Spec, *, states: int = 7, **options: Any) -> list[str]:
    """List where a search on the card differs; `states` are expanded there at once."""
    on_processor = SearchOptions(**options)
    mine = explored(spec, replace(on_processor, device="cuda", device_states=states))
    other = explored(spec, on_processor)
    if isinstance(mine, str) or isinstance(other, str):
        return [] if mine == other else [f"{mine} on the card, {other} on the processor"]
    pairs = [(name, getattr(mine, name), getattr(other, name)) for name in COMPARED]
    return [f"{name}: {one} on the card, {two} on the processor" for name, one, two in pairs if one != two]


#: Further entries of the cfg.
CFGS: dict[str, tuple[str, ...]] = {
    "nothing more": (),
    "an invariant, and properties of steps": ("INVARIANT TypeOK", "PROPERTIES CountsUp"),
    "an invariant that is violated": ("INVARIANTS TypeOK NoneIsFull",),
    "a type that is violated": ("INVARIANTS TypeOK Narrow",),
    "a type with which values cannot be compared": ("INVARIANT Odd",),
    "a property of steps that is violated": ("PROPERTIES CountsUp Grows",),
    "a property of what stays as it was, violated": ("PROPERTIES Moves Answers",),
    "a property to which more comes to matter": ("PROPERTIES Rests",),
    "a deadlock": ("CHECK_DEADLOCK TRUE",),
    "constraints": ("CONSTRAINT Few", "ACTION_CONSTRAINT Slow", "INVARIANT NoneIsFull"),
    "symmetry": ("SYMMETRY Symmetry", "CONSTRAINT Few", "INVARIANT TypeOK"),
    "a view": ("VIEW Seen",),
}


#: Compared in each run of the tests; the others are so at night.
QUICK = {"a property of what stays as it was, violated"}
AT_NIGHT = [each if each in QUICK else pytest.param(each, marks=pytest.mark.nightly) for each in CFGS]


@pytest.mark.parametrize("what", AT_NIGHT)
def test_a_card_finds_what_the_processor_finds_level_for_level(
    what: str, tmp_path: Path, card: SimpleNamespace
) -> None:
    assert differences(post(tmp_path, *CFGS[what]), check_deadlock="deadlock" in what) == []


@pytest.mark.nightly
@pytest.mark.parametrize("following", ["AskingNext", "WrongAskingNext", "CarelessNext", "WrongNext"])
def test_definitions_that_are_columns_and_errors_are_those_of_the_processor(
    following: str, tmp_path: Path, card: SimpleNamespace
) -> None:
    assert differences(post(tmp_path, "INVARIANT FewWait", following=following)) == []


@pytest.mark.parametrize("states", [5, *(pytest.param(each, marks=pytest.mark.nightly) for each in (1, 1000))])
def test_the_size_of_pieces_changes_nothing(states: int, service: Spec, card: SimpleNamespace) -> None:
    assert differences(service, states=states) == []


@pytest.mark.nightly
def test_a_search_ends_after_the_state_whose_successors_are_enough(service: Spec, card: SimpleNamespace) -> None:
    for most in (1, 10, 30):
        assert differences(service, max_states=most) == []


@pytest.mark.nightly
def test_pieces_that_the_card_has_no_memory_for_are_kept_by_the_processor(service: Spec, card: SimpleNamespace) -> None:
    moved = []
    leave = card.cuda_pieces.CudaPiece.leave_device
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            card.cuda_pieces.CudaPiece, "leave_device", lambda piece: (moved.append(piece.count), leave(piece))
        )
        assert differences(service, states=5, device_memory=70_000) == []
    assert len(moved) > 5


def test_a_card_without_memory_for_the_fingerprints_is_no_pass(service: Spec, card: SimpleNamespace) -> None:
    options = SearchOptions(device="cuda", device_memory=1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(card.cuda_fingerprint_set, "_FIRST_CAPACITY", 32)
        found = explore_by_tables(service, options)
    assert (found.complete, found.violation) == (False, None)
    assert found.inconclusive.startswith("given up: the card has no memory for more than")


@pytest.mark.nightly
def test_rows_become_wider_where_a_column_has_many_values(tmp_path: Path, card: SimpleNamespace) -> None:
    module, cfg = tmp_path / "Counts.tla", tmp_path / "Counts.cfg"
    module.write_text(
        "---- MODULE Counts ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = 0 /\\ y = 0\n"
        "Next == \\/ x < 300 /\\ x' = x + 1 /\\ y' = y\n        \\/ x = 299 /\\ y' = 1 - y /\\ x' = x\n"
        "Small == x < 400\n====\n"
    )
    cfg.write_text("INIT Init NEXT Next INVARIANT Small CHECK_DEADLOCK FALSE\n")
    assert differences(load_spec(module, cfg, cache_dir=tmp_path)) == []


@pytest.mark.nightly
def test_a_state_without_any_action_is_the_only_one(tmp_path: Path, card: SimpleNamespace) -> None:
    module, cfg = tmp_path / "Still.tla", tmp_path / "Still.cfg"
    module.write_text("---- MODULE Still ----\nVARIABLE x\nInit == x = 0\nNext == FALSE /\\ x' = x\n====\n")
    cfg.write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    assert differences(load_spec(module, cfg, cache_dir=tmp_path)) == []


@pytest.mark.nightly
def test_a_count_is_confirmed_by_another_function_and_by_orbits(tmp_path: Path, card: SimpleNamespace) -> None:
    spec = post(tmp_path, "SYMMETRY Symmetry", "INVARIANT TypeOK")
    found = explore_until_confirmed(spec, SearchOptions(device="cuda", device_states=9))
    assert found.confirmed == explore_until_confirmed(spec, SearchOptions()).confirmed
    assert len(found.confirmed) == 2


def test_a_search_goes_on_from_a_checkpoint(tmp_path: Path, service: Spec, card: SimpleNamespace) -> None:
    file = tmp_path / "saved"
    options = SearchOptions(device="cuda", checkpoint=file, checkpoint_seconds=0.0)
    first = explore_by_tables(service, replace(options, max_states=20))
    assert not first.complete
    rest, whole = explore_by_tables(service, options), explore_by_tables(service)
    assert [getattr(rest, name) for name in COMPARED] == [getattr(whole, name) for name in COMPARED]


def test_steps_between_states_are_not_kept_on_a_card(service: Spec, card: SimpleNamespace) -> None:
    with pytest.raises(BadInputError, match="which no card keeps"):
        explore_by_tables(service, SearchOptions(device="cuda", keep_edges=True))


@pytest.mark.nightly
def test_temporal_properties_are_refused(tmp_path: Path, card: SimpleNamespace) -> None:
    with pytest.raises(BadInputError, match="which no card keeps"):
        explore_by_tables(post(tmp_path, "PROPERTY Ends"), SearchOptions(device="cuda"))


# ---- Planted bugs ----


def lose_misses(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """Something missing in the tables passes for the result 0."""
    patch.setattr(card.cuda_kernels, "note_miss", lambda *_: 0)


def note_misses_without_their_state(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """Something missing is counted, without the state that met it."""

    def note(_node: int, _value: int, _state: int, _misses: Any, _owners: Any, status: Any) -> int:
        status[card.cuda_kernels.MISSED] += 1
        return int(card.cuda_kernels.MISS)

    patch.setattr(card.cuda_kernels, "note_miss", note)


def put_fingerprints_in_twice(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """Two threads with the same fingerprint find different free places."""

    def take_free_place(wanted: Any, keys: Any) -> int:
        place = int(wanted) % keys.size
        while keys[place]:
            place = (place + 1) % keys.size
        keys[place] = wanted
        return place

    patch.setattr(card.cuda_kernels, "take_place", take_free_place)


def count_a_chunk_that_is_done_again_twice(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """The successors of a chunk in which something was missing are counted each time."""
    frontier, kernels = card.cuda_frontier.CudaFrontier, card.cuda_kernels

    def reset(search: Any) -> None:
        status = np.zeros(kernels.STATUS_COUNT, np.int64)
        status[kernels.GENERATED] = search._read_status()[kernels.GENERATED] % (1 << 20)
        status[kernels.WRONG] = np.iinfo(np.int64).max
        search._status.copy_to_device(status)

    patch.setattr(frontier, "_reset", reset)


def let_the_last_thread_be_first(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """The last of the successors with one fingerprint is kept, not the first."""
    insert = card.cuda_kernels.insert

    def late(
        count: int, most: int, constrained: bool, counts: Any, found: Any, places: Any, keys: Any, firsts: Any
    ) -> None:
        insert(count, most, constrained, counts, found, places, keys, firsts)
        for state in range(count):
            for number in range(counts[state]):
                place = places[number * count + state]
                if place >= 0 and firsts[place]:
                    firsts[place] = state * most + number + 1

    patch.setattr(card.cuda_kernels, "insert", late)


def leave_the_fingerprints_of_what_is_expanded_again(card: SimpleNamespace, patch: pytest.MonkeyPatch) -> None:
    """The states before a wrong one are expanded again, and their successors are not new any more."""
    patch.setattr(card.cuda_fingerprint_set.CudaFingerprintSet, "remove_last", lambda *_: None)


BUGS = [lose_misses, put_fingerprints_in_twice, count_a_chunk_that_is_done_again_twice]
BUGS_AT_NIGHT = [
    *BUGS,
    note_misses_without_their_state,
    let_the_last_thread_be_first,
    leave_the_fingerprints_of_what_is_expanded_again,
]


def noticed(bug: Any, spec: Spec, card: SimpleNamespace) -> list[str]:
    """List where a search with a planted bug differs, or how it failed."""
    with pytest.MonkeyPatch.context() as patch:
        bug(card, patch)
        try:
            return differences(spec, states=50, max_states=200)  # more than it has, and not without end
        except AssertionError as error:
            return [str(error)]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed(bug: Any, service: Spec, card: SimpleNamespace) -> None:
    assert noticed(bug, service, card)


@pytest.mark.nightly
@pytest.mark.parametrize("bug", BUGS_AT_NIGHT, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed_where_symmetric_states_are_one(
    bug: Any, tmp_path: Path, card: SimpleNamespace
) -> None:
    spec = post(tmp_path, "SYMMETRY Symmetry", "INVARIANT NoneIsFull", "PROPERTY CountsUp", most=2)
    assert noticed(lambda *_: None, spec, card) == []
    assert noticed(bug, spec, card)
