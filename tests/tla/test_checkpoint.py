"""A search by tables that was interrupted or killed goes on from its file."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.base.errors import BadInputError, EnvironmentFailedError
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.tables import table_search
from lockstep.tla.tables.confirmed_count import explore_until_confirmed
from lockstep.tla.tables.expander import Expander
from lockstep.tla.tables.frontier import Frontier
from lockstep.tla.tables.packed_level import PackedLevel
from lockstep.tla.tables.search_checkpoint import CheckpointFile
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from tests.support.places import SPECS
from tests.support.tla.interrupted_search import InterruptedSearchError, interrupt_at

CFGS: dict[str, tuple[str, ...]] = {
    "properties": ("INVARIANT TypeOK", "PROPERTIES CountsUp"),
    "symmetry": ("SYMMETRY Symmetry", "CONSTRAINT Few"),
    "a violation": ("INVARIANTS TypeOK NoneIsFull",),
}


def cfg_of(folder: Path, *lines: str) -> Path:
    cfg = folder / "Post.cfg"
    constants = "CONSTANT Station = {a, b} Most = 2"
    cfg.write_text("\n".join([constants, "INIT Init", "NEXT Next", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return cfg


def post(folder: Path, *lines: str) -> Spec:
    """The post with two stations, and more lines of a cfg."""
    return load_spec(SPECS / "tables" / "Post.tla", cfg_of(folder, *lines), cache_dir=folder)


def counts(found: TableExploration) -> list[Any]:
    names = ("distinct", "generated", "depth", "levels", "violation", "complete")
    return [getattr(found, name) for name in names]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept" / "post.checkpoint"


@pytest.mark.parametrize("what", CFGS)
def test_a_search_goes_on_from_its_checkpoint(
    what: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = post(tmp_path, *CFGS[what])
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    monkeypatch.setattr(Expander, "size", 37)
    with pytest.raises(InterruptedSearchError):
        explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=interrupt_at(5)))
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    begun: list[SearchProgress] = []
    found = explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=begun.append))
    assert begun[0].depth == 5
    assert counts(found) == counts(explore_by_tables(spec))


#: A search that is killed at a level, while it expands or while it writes its file.
KILLED = """
import os, signal, sys
from pathlib import Path
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables import table_search

module, cfg, folder, file, level, when = sys.argv[1:]
depth = 0

def die():
    print(depth, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

def note_depth(far):
    global depth
    depth = far.depth
    if depth == int(level) and when == "expanding":
        die()

def fsync(number):
    if depth == int(level):
        die()

table_search._REPORT_SECONDS = 0.0
if when == "writing":
    os.fsync = fsync
table_options = SearchOptions(checkpoint=Path(file), checkpoint_seconds=0, on_progress=note_depth)
table_search.explore_by_tables(load_spec(Path(module), Path(cfg), cache_dir=Path(folder)), table_options)
"""


@pytest.mark.parametrize(("when", "what"), [("expanding", "properties"), ("writing", "symmetry")])
def test_a_search_that_was_killed_goes_on_to_the_same_counts(
    when: str, what: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's hashes differ in each process, so that sets, and the parts of states, have another order."""
    spec = post(tmp_path, *CFGS[what])
    words = [SPECS / "tables" / "Post.tla", tmp_path / "Post.cfg", tmp_path, file, "6", when]
    command = [sys.executable, "-c", KILLED, *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "6\n")
    begun: list[SearchProgress] = []
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    found = explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=begun.append))
    assert begun[0].depth == 6
    assert counts(found) == counts(explore_by_tables(spec))
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_the_states_of_a_search_that_goes_on_are_packed(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = post(tmp_path)
    monkeypatch.setattr(Expander, "size", 5)
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    with pytest.raises(InterruptedSearchError):
        explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=interrupt_at(7)))
    packed: list[list[bool]] = []
    right = Frontier.start

    def start(self: Any, parts: Any) -> int:
        count = right(self, parts)
        packed.append([isinstance(each.states, PackedLevel) for each in self._level if each.count])
        return count

    monkeypatch.setattr(Frontier, "start", start)
    assert counts(explore_by_tables(spec, SearchOptions(checkpoint=file))) == counts(explore_by_tables(spec))
    assert len(packed[0]) > 3
    assert packed[0][1:-1] == [True] * (len(packed[0]) - 2)


def test_a_checkpoint_that_lacks_states_is_refused(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is made to have only the first states of the level."""
    spec = post(tmp_path)
    right = Frontier.parts
    monkeypatch.setattr(Expander, "size", 5)
    monkeypatch.setattr(Frontier, "parts", lambda self: islice(right(self), 1))
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    with pytest.raises(InterruptedSearchError):
        explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=interrupt_at(5)))
    with pytest.raises(BadInputError, match="the checkpoint lacks states"):
        explore_by_tables(spec, SearchOptions(checkpoint=file))


def test_a_confirmation_goes_on_from_its_checkpoints(tmp_path: Path, file: Path) -> None:
    spec = post(tmp_path, "SYMMETRY Symmetry")
    found = [explore_until_confirmed(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0)) for _ in range(2)]
    assert {each.name for each in file.parent.iterdir()} == {file.name + end for end in ("", ".again", ".whole")}
    assert found[0].confirmed == found[1].confirmed
    assert (len(found[1].confirmed), found[1].doubt) == (2, "")


def test_a_search_whose_file_cannot_be_written_goes_on_and_says_so(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = post(tmp_path)
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    with pytest.raises(InterruptedSearchError):
        explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=interrupt_at(5)))
    before = file.read_bytes()
    monkeypatch.setattr(os, "fsync", _full)
    found = explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0))
    assert found.complete
    assert found.unsaved == f"level {found.depth} was not kept in {file}: No space left on device"
    assert [each.read_bytes() for each in file.parent.iterdir()] == [before]
    monkeypatch.undo()
    again = explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0))
    assert (counts(again), again.unsaved) == (counts(found), "")


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_search_does_not_begin_where_its_file_cannot_be_written(tmp_path: Path, file: Path) -> None:
    file.write_text("")
    with pytest.raises(EnvironmentFailedError, match=r"no checkpoint can be written: (File exists|Not a directory)"):
        explore_by_tables(post(tmp_path), SearchOptions(checkpoint=file / "post.checkpoint"))


def test_a_checkpoint_is_held_once_and_again_when_it_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = file.with_name(f"{file.name}.lock")
    lock.write_text("")  # as it is left by a search that was killed
    one, other = (CheckpointFile(file, {}, []) for _ in range(2))
    with one.locked():
        with pytest.raises(BadInputError, match="another search is using this checkpoint"), other.locked():
            pass
        assert lock.exists()
    assert not lock.exists()
    with other.locked():
        assert lock.exists()
    right = fcntl.lockf

    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def late(*args: int) -> None:
        lock.unlink()  # by the search that had it, between opening and locking
        monkeypatch.setattr(fcntl, "lockf", right)
        right(*args)

    for strange in (without, late):
        monkeypatch.setattr(fcntl, "lockf", strange)
        with one.locked():
            assert lock.exists()
        assert not lock.exists()


def test_two_searches_do_not_share_a_checkpoint(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two would overwrite the other's file."""
    spec = post(tmp_path)
    words = [SPECS / "tables" / "Post.tla", tmp_path / "Post.cfg", tmp_path, file, "0", "expanding"]
    monkeypatch.setattr(table_search, "_REPORT_SECONDS", 0.0)
    others = []

    def while_it_runs(progress: SearchProgress) -> None:
        if len(others) < 2:
            others.append(
                subprocess.run(
                    [sys.executable, "-c", KILLED, *map(str, words)], capture_output=True, text=True, check=False
                )
            )

    found = explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0, on_progress=while_it_runs))
    assert found.complete
    assert len(others) == 2
    said = f"{file}: another search is using this checkpoint"
    assert [each.stderr.splitlines()[-1].partition(": ")[2] for each in others] == [said, said]
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert counts(explore_by_tables(spec, SearchOptions(checkpoint=file))) == counts(found)


def test_a_checkpoint_of_another_search_or_none_is_refused(tmp_path: Path, file: Path) -> None:
    spec = post(tmp_path)
    explore_by_tables(spec, SearchOptions(checkpoint=file, checkpoint_seconds=0))
    for name, other in {"seed": SearchOptions(fingerprint_seed=1), "orbits": SearchOptions(count_orbits=True)}.items():
        with pytest.raises(BadInputError, match=f"{name}: the checkpoint is of another search"):
            explore_by_tables(spec, replace(other, checkpoint=file))
    with pytest.raises(BadInputError, match="spec: the checkpoint is of another search"):
        explore_by_tables(post(tmp_path, "CONSTRAINT Few"), SearchOptions(checkpoint=file))
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    with pytest.raises(BadInputError, match="this is no checkpoint of a search by tables"):
        explore_by_tables(spec, SearchOptions(checkpoint=file))
    number = np.frombuffer(whole, np.uint8).copy()
    number[whole.index(b"found.5.npy") + 170] ^= 1  # behind the array's head
    file.write_bytes(number.tobytes())
    with pytest.raises(BadInputError, match="or a damaged one"):
        explore_by_tables(spec, SearchOptions(checkpoint=file))
    for name in (b"parents.1.npy", b"rows.0.npy"):  # an array of another name: its fellow has none beside it
        file.write_bytes(whole.replace(name, name.replace(b".npy", b".npx")))
        with pytest.raises(BadInputError, match="or a damaged one"):
            explore_by_tables(spec, SearchOptions(checkpoint=file))
    with pytest.raises(BadInputError, match="temporal"):
        explore_by_tables(post(tmp_path, "PROPERTY Ends"), SearchOptions(checkpoint=file.with_name("other")))
