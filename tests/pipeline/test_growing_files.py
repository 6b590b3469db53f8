"""Files that grow: each line is read once, and one that shrinks or is replaced ends the watch."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.pipeline.watch import growing_files
from lockstep.pipeline.watch.growing_files import MAX_PIECE_BYTES, NotGrowingError, refuse_unlisted, trace_files
from lockstep.trace.json_lines import MAX_LINE_BYTES
from tests.support.pipeline.growing_files import NAME, Reader, event, header

OTHER = "b.trace.ndjson"


def lines(count: int, begin: int = 0, pad: int = 0) -> list[bytes]:
    return [event(seq, pad) for seq in range(begin, begin + count)]


def append(path: Path, *data: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(data)


def test_only_complete_lines_are_read_and_each_once(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    assert not reader.step()
    append(tmp_path / NAME, header(), event(0), event(1)[:9])
    reader.all()
    assert reader.lines == {NAME: [header(), event(0)]}
    assert reader.planner.torn == {NAME: len(header() + event(0))}
    append(tmp_path / NAME, event(1)[9:])
    reader.all()
    assert not reader.step()
    assert reader.lines == {NAME: [header(), event(0), event(1)]}
    assert reader.planner.torn == {}


def test_a_file_without_a_complete_line_is_torn_from_its_begin(tmp_path: Path) -> None:
    append(tmp_path / NAME)
    append(tmp_path / OTHER, header()[:9])
    reader = Reader(tmp_path)
    assert not reader.step()
    assert reader.planner.torn == {NAME: 0, OTHER: 0}
    (tmp_path / NAME).unlink()
    assert not reader.step()
    assert reader.planner.torn == {OTHER: 0}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 50))])
def test_files_that_grow_in_torn_pieces_are_read_once_over_restarts(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    reader, written = Reader(tmp_path), {}
    torn = dict.fromkeys((NAME, OTHER), b"")
    for number in range(400):
        name = rng.choice((NAME, OTHER))
        line = event(number, rng.randrange(60))
        written.setdefault(name, []).append(line)
        data = torn[name] + line
        cut = rng.randrange(len(data)) if rng.random() < 0.3 else len(data)
        append(tmp_path / name, data[:cut])
        torn[name] = data[cut:]
        match rng.choices(["read", "restart", ""], [30, 3, 60])[0]:
            case "read":
                reader.step()
            case "restart":
                reader.restart()
    for name, data in torn.items():
        append(tmp_path / name, data)
    reader.all()
    assert reader.lines == written
    assert reader.notices == []


def test_a_look_at_many_files_opens_those_alone_that_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.trace.ndjson" for number in range(40)]
    for number, name in enumerate(names):
        append(tmp_path / name, header(), event(0), event(1)[: 9 * (number % 2)])
    append(tmp_path / "empty.trace.ndjson")
    reader = Reader(tmp_path)
    reader.all()
    opened: list[str] = []
    new_bytes = growing_files.BatchPlanner._new_bytes

    def noting(planner: growing_files.BatchPlanner, path: str, *rest: object) -> object:
        opened.append(path)
        return new_bytes(planner, path, *rest)

    monkeypatch.setattr(growing_files.BatchPlanner, "_new_bytes", noting)
    assert not reader.step()
    assert opened == []
    assert len(reader.planner.torn) == 21
    append(tmp_path / names[3], event(1)[9:], event(2)[:5])
    append(tmp_path / names[4], event(1))
    assert reader.step()
    assert sorted(opened) == names[3:5]
    assert reader.lines[names[3]] == [header(), event(0), event(1)]


# ---- Files that do not only grow ----

#: Changes of a file whose first ten lines were read.
NOT_GROWN: dict[str, Callable[[Path], object]] = {
    "it shrinks": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "it is emptied": lambda path: path.write_bytes(b""),
    "it is emptied and outgrows what was read": lambda path: path.write_bytes(b"".join(lines(50, 10))),
    "another takes its name": lambda path: (
        append(path.with_suffix(".new"), header("new"), *lines(50)),
        path.with_suffix(".new").rename(path),
    ),
    "its last line is changed": lambda path: path.write_bytes(path.read_bytes().replace(b'"seq": 8', b'"seq": 7')),
}


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "started again"])
@pytest.mark.parametrize("name", NOT_GROWN)
def test_a_file_that_shrinks_or_is_replaced_ends_the_watch(tmp_path: Path, name: str, is_running: bool) -> None:
    path = tmp_path / NAME
    append(path, header(), *lines(9))
    reader = Reader(tmp_path)
    reader.all()
    NOT_GROWN[name](path)
    if not is_running:
        reader.restart()
    with pytest.raises(NotGrowingError, match=rf"{NAME}: the file has shrunk or was replaced after line 10 was read"):
        reader.step()
    assert reader.lines == {NAME: [header(), *lines(9)]}
    assert reader.notices == []


def test_a_file_that_is_replaced_by_what_it_grew_to_is_read_on(tmp_path: Path) -> None:
    """As by rsync."""
    append(tmp_path / NAME, header(), *lines(200, pad=100))
    reader = Reader(tmp_path)
    reader.all()
    append(tmp_path / "new", header(), *lines(300, pad=100))
    (tmp_path / "new").rename(tmp_path / NAME)
    reader.all()
    assert reader.lines == {NAME: [header(), *lines(300, pad=100)]}


def test_a_file_that_vanishes_is_given_up_after_a_while_and_not_before(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(5))
    reader = Reader(tmp_path)
    reader.all()
    (tmp_path / NAME).unlink()
    reader.all(seconds=10)
    assert reader.planner.is_waiting
    assert reader.notices == []
    reader.all(seconds=30)
    assert reader.notices == [(NAME, "gone", f"{tmp_path / NAME}: the file is gone")]
    reader.all(seconds=100)
    assert len(reader.notices) == 1
    append(tmp_path / NAME, header("another"), *lines(50))
    with pytest.raises(NotGrowingError):
        reader.step()


def test_a_file_that_cannot_be_read_is_a_fault_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / NAME, header())
    append(tmp_path / OTHER, header())
    new_bytes = growing_files.BatchPlanner._new_bytes

    def refusing(planner: growing_files.BatchPlanner, path: str, *rest: object) -> object:
        if path == NAME:  # who runs the tests may be root, who may read all
            raise PermissionError(13, "Permission denied")
        return new_bytes(planner, path, *rest)

    monkeypatch.setattr(growing_files.BatchPlanner, "_new_bytes", refusing)
    reader = Reader(tmp_path)
    reader.all(seconds=10)
    assert reader.notices == []
    reader.all(seconds=30)
    assert reader.notices == [(NAME, "fault", f"{tmp_path / NAME}:1: cannot be read: Permission denied")]
    assert reader.lines == {OTHER: [header()]}


def test_a_line_that_never_ends_is_a_fault_and_not_waited_for(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), b"x" * (MAX_LINE_BYTES + 2))
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {NAME: [header()]}
    assert reader.notices == [(NAME, "fault", f"{tmp_path / NAME}:2: a line of more than 16,777,216 bytes")]
    assert reader.planner.torn == {}


# ---- Time ----


def test_a_trace_that_has_waited_long_enough_has_a_notice_while_others_grow(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), event(0), event(2))
    append(tmp_path / OTHER, header())
    reader.all()
    append(tmp_path / OTHER, event(0))
    assert reader.step(NAME)
    assert reader.lines[OTHER] == [header(), event(0)]
    assert [(trace, kind) for trace, kind, _ in reader.notices] == [(NAME, "time")]


def test_a_trace_has_no_notice_of_the_time_while_there_is_more_to_read(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), event(0), event(2))
    reader.all()
    append(tmp_path / NAME, *lines(MAX_PIECE_BYTES // 900, 3, 1000), event(1))
    assert reader.step(NAME)
    assert reader.planner.is_behind
    assert reader.notices == []


# ---- Folders ----


def test_files_in_folders_are_traces_and_hidden_ones_and_other_names_are_none(tmp_path: Path) -> None:
    for folder in ("", "n1/", "n1/deep/", ".lockstep/"):
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in (NAME, f".{NAME}", "other.ndjson", f"{NAME}.1", f"{NAME}.gz"):
            append(tmp_path / folder / name, header(folder))
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {f"{folder}{NAME}": [header(folder)] for folder in ("", "n1/", "n1/deep/")}


def test_links_pipes_and_names_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    for each in (elsewhere, folder):
        each.mkdir()
        append(each / NAME, header())
    os.mkfifo(folder / "pipe.trace.ndjson")
    Path(os.fsdecode(bytes(folder) + b"/\xff.trace.ndjson")).touch()
    (folder / "dangling.trace.ndjson").symlink_to(folder / "nothing")
    (folder / "current.trace.ndjson").symlink_to(folder / NAME)
    (folder / "linked").symlink_to(elsewhere)
    assert [path for path, _, _ in trace_files(folder)] == [NAME]


def test_a_folder_that_may_not_be_listed_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("secret"):  # who runs the tests may be root, who may list all
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(BadInputError, match="secret: cannot be listed: Permission denied"):
        refuse_unlisted(tmp_path)


# ---- Batches ----


def test_a_batch_takes_a_bounded_part_of_a_large_file(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(6, pad=MAX_PIECE_BYTES // 3))
    reader = Reader(tmp_path)
    sizes = []
    while reader.step():
        sizes.append(sum(piece.end - piece.begin for piece in reader.offset.pieces))
    assert len(sizes) > 2
    assert max(sizes) <= MAX_PIECE_BYTES
    assert reader.lines == {NAME: [header(), *lines(6, pad=MAX_PIECE_BYTES // 3)]}


def test_a_line_of_more_than_a_piece_is_read_whole_and_alone(tmp_path: Path) -> None:
    long = event(0, MAX_PIECE_BYTES + 5)
    append(tmp_path / NAME, long, *lines(3, 1))
    reader = Reader(tmp_path)
    assert reader.step()
    assert reader.lines == {NAME: [long]}
    reader.all()
    assert reader.lines == {NAME: [long, *lines(3, 1)]}


def test_a_batch_that_is_done_again_reads_the_same_or_says_that_it_cannot(tmp_path: Path) -> None:
    path = tmp_path / NAME
    append(path, header(), *lines(20))
    planned = Reader(tmp_path).planner.next(Reader(tmp_path).offset)
    append(path, event(20))
    again = Reader(tmp_path)
    again.read(planned)
    assert again.lines == {NAME: [header(), *lines(20)]}
    path.write_bytes(b"".join([header(), *lines(20, 1)]))
    with pytest.raises(NotGrowingError, match="after line 0 was read"):
        Reader(tmp_path).read(planned)
    path.unlink()
    last = Reader(tmp_path)
    last.read(planned)
    assert last.lines == {}
    assert last.notices == [(NAME, "gone", f"{path}: line 1 cannot be read: No such file or directory")]
