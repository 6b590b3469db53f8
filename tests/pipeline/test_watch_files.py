"""Files that grow, are rotated, truncated or removed: each line is read once, or it is told that it was not."""

from __future__ import annotations

import gzip
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from growing_files import NAME, Reader, Writer, event, header
from lockstep.base.errors import BadInputError
from lockstep.pipeline.watch import growing_files as files
from lockstep.pipeline.watch.growing_files import PIECE_BYTES, Offset, seen_files
from lockstep.trace.json_lines import MAX_LINE_BYTES


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
    assert [(each.begin, each.line) for each in reader.planner.torn] == [(len(header() + event(0)), 2)]
    append(tmp_path / NAME, event(1)[9:])
    reader.all()
    assert not reader.step()
    assert reader.lines == {NAME: [header(), event(0), event(1)]}
    assert reader.planner.torn == []


def test_a_look_at_many_files_opens_those_alone_that_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    between, parts = files.bytes_between, files.chunks

    def noting(path: Path, packed: bool, *rest: int) -> Any:
        opened.append(path.name)
        return between(path, packed, *rest) if rest[1:] else parts(path, packed, *rest)

    names = [f"{number}.trace.ndjson" for number in range(40)]
    for number, name in enumerate(names):
        append(tmp_path / name, header(), event(0), event(1)[: 9 * (number % 2)])
    append(tmp_path / "empty.trace.ndjson")
    append(tmp_path / "torn.trace.ndjson", header()[:30])
    reader = Reader(tmp_path)
    reader.all()
    for number, name in list(enumerate(names))[10:]:  # before copytruncate truncates them
        (tmp_path / f"{name}.1").write_bytes((tmp_path / name).read_bytes()[: -9 if number % 2 else None])
    reader.all()
    monkeypatch.setattr("lockstep.pipeline.watch.growing_files.bytes_between", noting)
    monkeypatch.setattr("lockstep.pipeline.watch.growing_files.chunks", noting)
    torn = len(reader.planner.torn)
    assert not reader.step()
    assert opened == []
    assert len(reader.planner.torn) == torn == 22
    append(tmp_path / names[3], event(1)[9:], event(2)[:5])
    append(tmp_path / names[4], event(1))
    append(tmp_path / names[5], event(1)[9:12])
    append(tmp_path / "torn.trace.ndjson", header()[30:])
    assert reader.step()
    changed = {*names[3:6], "torn.trace.ndjson"}
    assert set(opened) == changed
    opened.clear()
    assert not reader.step()
    assert set(opened) <= changed  # whether each is still the file that it was
    opened.clear()
    assert not reader.step()
    assert opened == []
    assert reader.lines[names[3]] == [header(), event(0), event(1)]
    assert reader.lines["torn.trace.ndjson"] == [header()]


@pytest.mark.parametrize("seed", [0, 10, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(11, 200))])
def test_no_rotation_loses_or_doubles_a_line(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    writer, reader = Writer(tmp_path, rng), Reader(tmp_path)
    writer.write(header())
    done = set()
    for number in range(400):
        writer.write(event(number, rng.randrange(60)))
        deed = rng.choices(["rename", "copytruncate", "compress", "read", "restart", ""], [2, 2, 2, 30, 3, 60])[0]
        if deed == "read":
            reader.step()
        elif deed == "restart":
            reader.planner = reader.new_planner()
        elif deed:
            getattr(writer, deed)()
        done.add(deed)
    writer.flush()
    reader.all(seconds=31)
    assert {"rename", "copytruncate", "compress", "restart"} <= done
    assert [text for _, _, text in reader.said] == []
    assert reader.lines == {NAME: writer.written}


@pytest.mark.parametrize("rotate", ["rename", "copytruncate"])
def test_what_was_written_before_a_rotation_and_not_read_is_read_after_it(tmp_path: Path, rotate: str) -> None:
    writer, reader = Writer(tmp_path, random.Random(0)), Reader(tmp_path)
    for line in [header(), *lines(5)]:
        writer.write(line)
    writer.flush()
    reader.all()
    for line in lines(5, 5):
        writer.write(line)
    getattr(writer, rotate)()
    writer.compress()
    for line in lines(5, 10):
        writer.write(line)
    writer.flush()
    reader.all(seconds=2)
    assert reader.lines == {NAME: [header(), *lines(15)]}
    assert reader.said == []
    assert not (tmp_path / f"{NAME}.1").exists()


def test_a_file_that_is_truncated_and_outgrows_what_was_read_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, random.Random(0)), Reader(tmp_path)
    for line in [header(), *lines(3)]:
        writer.write(line)
    writer.flush()
    reader.all()
    writer.copytruncate()
    for line in lines(30, 3):
        writer.write(line)
    writer.flush()
    reader.all()
    assert reader.lines == {NAME: [header(), *lines(33)]}
    assert reader.said == []


def test_old_files_that_were_there_first_are_read_before_the_newer_ones(tmp_path: Path) -> None:
    writer = Writer(tmp_path, random.Random(1))
    for line in [header(), *lines(3)]:
        writer.write(line)
    writer.rename()
    writer.compress()
    for line in lines(3, 3):
        writer.write(line)
    writer.rename()
    for line in lines(3, 6):
        writer.write(line)
    writer.flush()
    assert sorted(each.name for each in tmp_path.iterdir()) == [NAME, f"{NAME}.1", f"{NAME}.2.gz"]
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {NAME: [header(), *lines(9)]}


def test_a_copy_that_is_being_made_is_not_read_as_another_file(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(50))
    reader = Reader(tmp_path)
    reader.all()
    (tmp_path / f"{NAME}.1").write_bytes((tmp_path / NAME).read_bytes())
    reader.all(seconds=100)
    assert reader.lines == {NAME: [header(), *lines(50)]}
    assert reader.said == []


@pytest.mark.parametrize("pad", [0, 900], ids=["of less than 4 KiB", "of more"])
@pytest.mark.parametrize("torn", [0, 20], ids=["whole", "torn"])
def test_what_is_written_and_read_between_a_copy_and_the_truncation_is_read_once(
    tmp_path: Path, pad: int, torn: int
) -> None:
    path, copy = tmp_path / NAME, tmp_path / f"{NAME}.1"
    append(path, header(), *lines(10, pad=pad))
    append(tmp_path / "b.trace.ndjson", header())
    reader = Reader(tmp_path)
    reader.all()
    copy.touch()
    append(tmp_path / "b.trace.ndjson", event(0))  # so that there is a batch, which the copy is no part of
    reader.all()
    copy.write_bytes(path.read_bytes()[: -torn or None])
    append(path, *lines(5, 10, pad))
    reader.all(seconds=2)
    path.write_bytes(b"")
    append(path, *lines(5, 15, pad))
    reader.all(seconds=2)
    (tmp_path / f"{NAME}.1.gz").write_bytes(gzip.compress(copy.read_bytes()))
    copy.unlink()
    append(path, *lines(5, 20, pad))
    reader.all(seconds=40)
    assert reader.lines == {NAME: [header(), *lines(25, pad=pad)], "b.trace.ndjson": [header(), event(0)]}
    assert reader.said == []


def test_a_copy_that_is_older_than_what_was_read_is_not_known_to_a_watch_that_was_not_there(tmp_path: Path) -> None:
    path = tmp_path / NAME
    append(path, header(), *lines(3))
    copy = path.read_bytes()
    append(path, event(3))
    reader = Reader(tmp_path)
    reader.all()
    (tmp_path / f"{NAME}.1").write_bytes(copy)
    path.write_bytes(b"")
    reader.planner = reader.new_planner()
    reader.all(seconds=2)
    assert reader.said[0][:2] == (NAME, "lost")
    assert reader.lines[f"{NAME}#2"] == [header(), *lines(3)]


def test_a_file_that_only_begins_as_another_one_does_is_read_once_it_goes_on(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(3))
    reader = Reader(tmp_path)
    reader.all()
    append(tmp_path / f"{NAME}.1", header())
    reader.all(seconds=2)
    assert reader.lines == {NAME: [header(), *lines(3)]}
    append(tmp_path / f"{NAME}.1", event(7))
    reader.all()
    assert reader.lines == {NAME: [header(), *lines(3)], f"{NAME}#2": [header(), event(7)]}


# ---- Several traces of one name ----


def test_a_header_at_the_begin_of_a_new_file_begins_another_trace(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, random.Random(2)), Reader(tmp_path)
    for line in [header("first"), *lines(3)]:
        writer.write(line)
    writer.rename()
    for line in [header("second"), *lines(2)]:
        writer.write(line)
    writer.flush()
    reader.all()
    assert reader.lines == {NAME: [header("first"), *lines(3)], f"{NAME}#2": [header("second"), *lines(2)]}
    assert [(trace, kind) for trace, kind, _ in reader.said] == [(NAME, "cut")]


def test_a_header_within_a_file_is_a_line_of_its_trace(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), event(0), header(), event(0))
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {NAME: [header(), event(0), header(), event(0)]}


def test_files_in_folders_are_traces_of_their_own_and_hidden_ones_are_none(tmp_path: Path) -> None:
    for folder in ("", "n1/", "n2/", ".lockstep/"):
        (tmp_path / folder).mkdir(exist_ok=True)
        append(tmp_path / folder / NAME, header(folder))
        append(tmp_path / folder / "other.ndjson", header(folder))
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {f"{folder}{NAME}": [header(folder)] for folder in ("", "n1/", "n2/")}


def test_an_empty_file_is_no_trace_yet_where_one_was_rotated_and_is_one_where_none_was(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, random.Random(2)), Reader(tmp_path)
    reader.all()
    assert [(each.trace, each.line) for each in reader.planner.torn] == [(NAME, 0)]
    for line in [header(), *lines(3)]:
        writer.write(line)
    writer.rename()
    reader.all()
    assert reader.planner.torn == []
    append(tmp_path / NAME, b'{"kind":"header","form')
    reader.all()
    assert [(each.trace, each.line) for each in reader.planner.torn] == [(f"{NAME}#2", 0)]
    (tmp_path / NAME).write_bytes(event(3)[:9])
    reader.all()
    assert [(each.trace, each.line) for each in reader.planner.torn] == [(NAME, 4)]


# ---- What cannot be read any more ----


def test_a_file_that_shrinks_without_a_copy_is_told_of(tmp_path: Path) -> None:
    append(tmp_path / NAME, header("long"), *lines(5))
    append(tmp_path / "b.trace.ndjson", header())
    reader = Reader(tmp_path)
    reader.all()
    (tmp_path / NAME).write_bytes(header())
    append(tmp_path / "b.trace.ndjson", event(0))
    reader.all(seconds=2)
    size = len(header("long") + b"".join(lines(5)))
    assert reader.said[0] == (
        NAME,
        "lost",
        f"{tmp_path / NAME}: the file shrank from {size} bytes or more to {len(header())}",
    )
    assert reader.lines["b.trace.ndjson"] == [header(), event(0)]
    assert reader.lines[f"{NAME}#2"] == [header()]


def test_a_file_that_vanishes_is_told_of_after_a_while_and_not_before(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(5))
    reader = Reader(tmp_path)
    reader.all()
    (tmp_path / NAME).unlink()
    reader.all(seconds=10)
    assert reader.said == []
    reader.all(seconds=30)
    assert reader.said == [(NAME, "lost", f"{tmp_path / NAME}: the file is gone")]
    reader.all(seconds=100)
    assert len(reader.said) == 1


def test_the_oldest_part_that_was_read_may_be_removed(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, random.Random(3)), Reader(tmp_path)
    for line in [header(), *lines(3)]:
        writer.write(line)
    writer.rename()
    for line in lines(3, 3):
        writer.write(line)
    writer.flush()
    reader.all()
    (tmp_path / f"{NAME}.1").unlink()
    reader.all(seconds=40)
    writer.write(event(6))
    writer.flush()
    reader.all()
    assert reader.said == []
    assert reader.lines == {NAME: [header(), *lines(7)]}


def test_a_trace_that_has_waited_long_enough_is_told_so_while_others_grow(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), event(0), event(2))
    append(tmp_path / "b.trace.ndjson", header())
    reader.all()
    append(tmp_path / "b.trace.ndjson", event(0))
    assert reader.step(NAME)
    assert reader.lines["b.trace.ndjson"] == [header(), event(0)]
    assert [(trace, kind) for trace, kind, _ in reader.said] == [(NAME, "tick")]


def test_a_trace_is_not_told_that_it_waited_while_there_is_more_to_read(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), event(0), event(2))
    reader.all()
    append(tmp_path / NAME, *lines(PIECE_BYTES // 900, 3, 1000), event(1))
    assert reader.step(NAME)
    assert reader.planner.behind
    assert reader.said == []


def test_the_empty_file_that_a_compressor_begins_with_is_not_another_file(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), *lines(9))
    reader.all()
    old, packed = tmp_path / f"{NAME}.1", tmp_path / f"{NAME}.1.gz"
    (tmp_path / NAME).rename(old)
    append(tmp_path / NAME, event(9))
    packed.touch()
    reader.all()
    packed.write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()
    append(tmp_path / NAME, event(10))
    reader.all(seconds=31)
    assert reader.lines == {NAME: [header(), *lines(11)]}
    assert reader.said == []


@pytest.mark.parametrize(
    ("packed", "problem"),
    [
        (b"\x1f\x8bno gzip at all", "cannot be read"),
        (gzip.compress(b"x" * 99_999)[:-20], "cannot be read|the file is truncated"),
        (gzip.compress(b"no line"), "the file is truncated: this line does not end"),
    ],
    ids=["corrupt", "cut", "no line"],
)
def test_a_bad_compressed_file_is_told_of_while_others_grow(tmp_path: Path, packed: bytes, problem: str) -> None:
    (tmp_path / "b.trace.ndjson.gz").write_bytes(packed)
    append(tmp_path / NAME, header())
    reader = Reader(tmp_path)
    for number in range(70):
        append(tmp_path / NAME, event(number))
        reader.clock.now += 1
        reader.step()
    assert reader.lines == {NAME: [header(), *lines(70)]}
    ((trace, kind, text),) = reader.said
    assert (trace, kind) == ("b.trace.ndjson", "fault")
    assert re.search(problem, text)
    assert reader.offset.next_file < 5


def test_an_empty_compressed_file_that_stays_empty_does_no_harm(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    append(tmp_path / NAME, header(), event(0))
    (tmp_path / f"{NAME}.1.gz").touch()
    reader.all(seconds=31)
    append(tmp_path / NAME, event(1))
    reader.all(seconds=31)
    assert reader.lines == {NAME: [header(), event(0), event(1)]}
    assert not reader.step()


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["link", "hard link"])
def test_another_name_of_a_file_is_not_another_trace(tmp_path: Path, make: Any) -> None:
    run = tmp_path / "run-1.trace.ndjson"
    append(run, header(), event(0))
    make(run, tmp_path / "an-alias-that-is-longer.trace.ndjson")
    reader = Reader(tmp_path)
    reader.all(seconds=31)
    append(run, event(1))
    make(run, tmp_path / "a.trace.ndjson")  # shorter, and later
    reader.all(seconds=31)
    assert reader.lines == {run.name: [header(), event(0), event(1)]}
    assert reader.said == []


def test_another_link_to_a_folder_does_not_take_the_place_of_the_first(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    for each in (elsewhere, folder):
        each.mkdir()
    append(elsewhere / NAME, header(), event(0))
    (folder / "m").symlink_to(elsewhere)
    reader = Reader(folder)
    reader.all()
    for name in ("a", "z"):
        (folder / name).symlink_to(elsewhere)
    append(elsewhere / NAME, event(1))
    reader.all(seconds=31)
    assert reader.lines == {f"m/{NAME}": [header(), event(0), event(1)]}
    assert reader.said == []


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    for each in (elsewhere, folder / "sub"):
        each.mkdir(parents=True)
        append(each / NAME, header())
    (folder / "linked").symlink_to(elsewhere)
    (folder / "again").symlink_to(folder / "sub")
    (folder / "sub" / "circle").symlink_to(folder)
    assert [each.path for each in seen_files(folder)] == [f"linked/{NAME}", f"sub/{NAME}"]


def test_a_folder_that_may_not_be_listed_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").mkdir()
    scandir = os.scandir

    def refusing(path: Path) -> Any:
        if path.name == "secret":  # who runs the tests may be root, who may list all
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(files.os, "scandir", refusing)
    assert seen_files(tmp_path) == []
    with pytest.raises(BadInputError, match="secret: cannot be listed: Permission denied"):
        files.refuse_unlisted(tmp_path)


def test_an_inode_that_is_given_to_another_file_is_another_file(tmp_path: Path) -> None:
    append(tmp_path / NAME, header("one"), *lines(5))
    reader = Reader(tmp_path)
    reader.all()
    inode = (tmp_path / NAME).stat().st_ino
    (tmp_path / NAME).unlink()
    append(tmp_path / NAME, header("two"), *lines(50))
    if (tmp_path / NAME).stat().st_ino != inode:
        pytest.skip("this file system did not give the inode away again")
    reader.all(seconds=2)
    assert reader.lines[f"{NAME}#2"] == [header("two"), *lines(50)]
    assert reader.said[0][:2] == (NAME, "lost")


def test_a_line_that_never_ends_is_a_fault_and_not_waited_for(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), b"x" * (MAX_LINE_BYTES + 2))
    reader = Reader(tmp_path)
    reader.all()
    assert reader.lines == {NAME: [header()]}
    assert reader.said == [(NAME, "fault", f"{tmp_path / NAME}:2: a line of more than 16,777,216 bytes")]


def test_a_compressed_file_that_is_cut_is_told_of(tmp_path: Path) -> None:
    writer = Writer(tmp_path, random.Random(4))
    for line in [header(), *lines(300)]:
        writer.write(line)
    writer.rename()
    writer.compress()
    packed = tmp_path / f"{NAME}.1.gz"
    packed.write_bytes(packed.read_bytes()[:-200])
    reader = Reader(tmp_path)
    reader.all(seconds=31)
    assert [(trace, kind) for trace, kind, _ in reader.said] == [(NAME, "fault")]
    assert "a.trace.ndjson:" in reader.said[0][2]


# ---- Batches ----


def test_a_batch_takes_a_bounded_part_of_a_large_file(tmp_path: Path) -> None:
    append(tmp_path / NAME, header(), *lines(6, pad=PIECE_BYTES // 3))
    reader = Reader(tmp_path)
    sizes = []
    while reader.step():
        sizes.append(sum(piece.end - piece.begin for piece in reader.offset.pieces))
    assert len(sizes) > 2
    assert max(sizes) <= PIECE_BYTES
    assert reader.lines == {NAME: [header(), *lines(6, pad=PIECE_BYTES // 3)]}


def test_a_batch_that_is_done_again_reads_the_same_though_its_file_was_renamed(tmp_path: Path) -> None:
    writer, reader = Writer(tmp_path, random.Random(5)), Reader(tmp_path)
    for line in [header(), *lines(20)]:
        writer.write(line)
    writer.flush()
    planned = reader.planner.next(reader.offset)
    writer.rename()
    writer.compress()
    reader.take(planned)
    assert reader.lines == {NAME: [header(), *lines(20)]}
    (tmp_path / f"{NAME}.1.gz").unlink()
    again = Reader(tmp_path)
    again.take(planned)
    assert again.lines == {}
    assert [(trace, kind) for trace, kind, _ in again.said] == [(NAME, "lost")]


def test_the_offset_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="has an offset 'lockstep-watch-offset/0'"):
        Offset.of({"format": "lockstep-watch-offset/0"})


def test_a_dangling_link_a_pipe_and_a_name_that_is_no_text_do_no_harm(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.trace.ndjson")
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff.trace.ndjson")).touch()
    (tmp_path / "dangling.trace.ndjson").symlink_to(tmp_path / "nothing")
    append(tmp_path / NAME, header())
    assert [each.path for each in seen_files(tmp_path)] == [NAME]
