"""The files of a store besides its tables are written whole, or not at all."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from lockstep.base.errors import BadInputError
from lockstep.pipeline.file_locations import FileLocation
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.trace_store import Batch, TraceStore

RUN, BATCH = "r", Batch(DECLARED, "b")


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore.open(str(tmp_path / "store"), create=True)


def elsewhere(folder: Path) -> TraceStore:
    """A store on what pyarrow has for this, and takes for no file system of this machine."""
    (folder / "store").mkdir()
    return TraceStore(
        FileLocation("elsewhere://store", pafs.SubTreeFileSystem(str(folder), pafs.LocalFileSystem()), "store")
    )


@contextmanager
def full_disk() -> Iterator[None]:
    """Let the system write no more than some bytes into a file."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, most[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)


@pytest.mark.parametrize("opened", [lambda folder: TraceStore.open(str(folder / "store"), create=True), elsewhere])
def test_with_a_full_disk_nothing_is_noted_and_with_room_it_goes_on(
    opened: Callable[[Path], TraceStore], tmp_path: Path
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
        TraceStore.open(str(tmp_path), create=True)
    (tmp_path / "_lockstep.json.partial").touch()  # what a kill leaves
    TraceStore.open(str(tmp_path), create=True)
    TraceStore.open(str(tmp_path))


def test_torn_inputs_of_a_run_are_refused_by_name(store: TraceStore) -> None:
    store.put_inputs(RUN, "generate", [BATCH], {"traces": 1})
    (noted,) = (Path(store.location.path) / "_inputs").rglob("*.json")
    noted.write_bytes(b"")
    with pytest.raises(BadInputError, match=f"^{re.escape(str(noted))}: these are not the inputs of a run"):
        list(store.inputs(RUN))
