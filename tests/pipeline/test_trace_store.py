"""What a store keeps besides its tables is there whole, or not at all."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from lockstep.base.errors import BadInputError
from lockstep.pipeline.file_locations import Place
from lockstep.pipeline.trace_store import Batch, Store

RUN, BATCH = "r", Batch("told", "b")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"), create=True)


def elsewhere(folder: Path) -> Store:
    """A store on what pyarrow has for this, and takes for no file system of this machine."""
    (folder / "store").mkdir()
    return Store(Place("elsewhere://store", pafs.SubTreeFileSystem(str(folder), pafs.LocalFileSystem()), "store"))


@contextmanager
def full_disk() -> Iterator[None]:
    """Let the system write no more than some bytes into a file."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, most[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)


@pytest.mark.parametrize("opened", [lambda folder: Store.open(str(folder / "store"), create=True), elsewhere])
def test_with_a_full_disk_nothing_is_noted_and_with_room_it_goes_on(
    opened: Callable[[Path], Store], tmp_path: Path
) -> None:
    store = opened(tmp_path)
    with full_disk(), pytest.raises(OSError, match="File too large"):
        store.put_inputs(RUN, "generate", [BATCH], {"traces": 1})
    assert (list(store.inputs(RUN)), store.runs()) == ([], [])
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "_lockstep.json"]
    store.put_inputs(RUN, "generate", [BATCH], {"traces": 1})
    assert [each["traces"] for each in store.inputs(RUN)] == [1]
    store.put_inputs(RUN, "generate", [BATCH], {"traces": 1})
    assert len(list(store.inputs(RUN))) == 1


def test_a_store_that_could_not_be_made_can_be_made_with_room(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(OSError, match="File too large"):
        Store.open(str(tmp_path), create=True)
    (tmp_path / "_lockstep.json.partial").touch()  # what a kill leaves
    Store.open(str(tmp_path), create=True)
    Store.open(str(tmp_path))


def test_what_went_into_a_run_is_refused_by_name_where_it_is_torn(store: Store) -> None:
    store.put_inputs(RUN, "generate", [BATCH], {"traces": 1})
    (noted,) = (Path(store.place.path) / "_inputs").rglob("*.json")
    noted.write_bytes(b"")
    with pytest.raises(BadInputError, match=f"^{re.escape(str(noted))}: this does not say what went into a run"):
        list(store.inputs(RUN))
