"""The file of DLedger's recorder: what is in it when a process is killed, starts again, or finds the disk full."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from lockstep.systems.growing_text import GrowingText
from tests.support.places import TESTS
from tests.support.programs.java_programs import NO_JAVAC, RECORDER, compiled

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(NO_JAVAC is not None, reason=str(NO_JAVAC))]

SOURCES = [RECORDER / "src/main/java/lockstep/recorder" / f"{name}.java" for name in ("LineFile", "Lines")]
PIECE = 1 << 20
#: The status of a process that was killed, and of one that the recorder has ended.
KILLED, ENDED = 9, 70


def words(file: Path, commands: str) -> list[str]:
    classes = compiled([*SOURCES, TESTS / "support" / "dledger_java" / "LineWriter.java"])
    return ["java", "-Xmx64m", "-cp", str(classes), "lockstep.recorder.LineWriter", str(file), *commands.split()]


def run(file: Path, commands: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words(file, commands), capture_output=True, text=True, timeout=60, check=False)


def numbers(file: Path) -> list[int]:
    """Return the numbers of the lines, which are all whole."""
    text, found = GrowingText(file), list[int]()
    while (line := text.line()) is not None:
        found.append(json.loads(line)["n"])
    assert (text.rest(), text.goes_on()) == (b"", False)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "n0.ndjson"


def test_a_line_is_in_the_file_as_it_ends(file: Path) -> None:
    assert run(file, "lines 3 100 kill").returncode == KILLED
    assert (numbers(file), file.stat().st_size) == ([0, 1, 2], PIECE)


def test_lines_go_on_from_piece_to_piece_and_one_may_be_larger_than_these(file: Path) -> None:
    assert run(file, "lines 3000 1000 lines 1 3000000 lines 2 100 kill").returncode == KILLED
    assert numbers(file) == list(range(3003))


@pytest.mark.parametrize("left", [b"", b'\0"n":3,"te', b'\0"n":3,\0"text":"x"}\n'])
def test_the_next_process_goes_on_where_a_killed_one_stopped(left: bytes, file: Path) -> None:
    run(file, "lines 3 100 kill")
    text = file.read_bytes().rstrip(b"\0")
    file.write_bytes(text + left + bytes(PIECE - len(text + left)))
    assert run(file, "from 3 lines 2 100 kill").returncode == KILLED
    assert numbers(file) == [0, 1, 2, 3, 4]


def test_a_file_has_no_zeros_once_its_process_has_stopped_in_order_and_later_lines_are_there(file: Path) -> None:
    assert run(file, "lines 2 100 trim lines 1 100 kill").returncode == KILLED
    assert numbers(file) == [0, 1, 2]
    assert b"\0" not in file.read_bytes()


def test_a_thread_that_is_interrupted_goes_on_writing(file: Path) -> None:
    done = run(file, "interrupt lines 3000 1000 trim lines 1 100")
    assert (done.returncode, done.stderr) == (0, "")
    assert numbers(file) == list(range(3001))


def test_a_process_ends_where_its_file_may_not_grow_and_what_it_has_written_is_whole(file: Path) -> None:
    limited = f"ulimit -f 1500; exec {shlex.join(words(file, 'lines 3000 1000'))}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (ENDED, "recorder: cannot write")
    found = numbers(file)
    assert found == list(range(len(found)))
    assert 900 < len(found) < 1100


def test_a_full_disk_is_an_error_of_the_write_that_prepares_a_piece(file: Path) -> None:
    """Where a piece that the disk has no place for is mapped all the same, each line may be a fault of memory."""
    disk = file.parent / "disk"
    disk.mkdir()
    inside = (
        "mount -t tmpfs -o size=1500k none {0} && echo mounted || exit 1; {1}; status=$?; cp {0}/n0 {2}; exit $status"
    )
    script = inside.format(disk, shlex.join(words(disk / "n0", "lines 3000 1000")), file)
    command = ["unshare", "-rm", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "mounted" not in done.stdout:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    assert (done.returncode, "No space left on device" in done.stderr) == (ENDED, True)
    found = numbers(file)
    assert found == list(range(len(found)))
    assert 900 < len(found) < 1100


def test_a_second_process_does_not_write_into_a_file_that_is_in_use(file: Path) -> None:
    with subprocess.Popen(
        words(file, "lines 3 100 wait lines 3 100 kill"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == b"waiting\n"
        second = run(file, "lines 8 100")
        assert (second.returncode, "another process records into this file" in second.stderr) == (ENDED, True)
        first.stdin.write(b"\n")
        first.stdin.flush()
        assert first.wait(30) == KILLED
    assert numbers(file) == list(range(6))


def test_lines_behind_a_zero_are_not_written_over(file: Path) -> None:
    damaged = b'{"n":0}\n\0{"n":1}\n{"n":2}\n'
    file.write_bytes(damaged)
    done = run(file, "lines 1 100")
    assert (done.returncode, "lines stand after a zero byte" in done.stderr) == (ENDED, True)
    assert file.read_bytes() == damaged


def test_a_line_that_another_program_has_not_ended_gets_an_end(file: Path) -> None:
    file.write_bytes(b'{"n":7}')
    run(file, "lines 1 10 kill")
    assert numbers(file) == [7, 0]
