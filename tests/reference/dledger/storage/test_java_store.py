"""The store on files beside the real one: io.openmessaging.storage:dledger:0.2.7, which Maven fetches.

`StoreCalls.java` makes calls of the unmodified classes, and shows files and positions after each. Files are so small
that logs have many.
"""

from __future__ import annotations

import random
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.storage import DirectoryDisk, DiskError, FileLedgerStore, StorageConfig
from raftref.dledger.storage.mapped_file_list import MappedFileList
from tests.support.places import TESTS
from tests.support.programs import java_programs
from tests.support.programs.java_programs import NO_MAVEN, OPENED

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(NO_MAVEN is not None, reason=str(NO_MAVEN)),
]

FOUR_HOURS = 4 * 3600 * 1000
STORAGE = StorageConfig(mapped_file_size_for_entry_data=300, mapped_file_size_for_entry_index=128)


@pytest.fixture(scope="session")
def classpath() -> str:
    """The jars, and the compiled calls."""
    source = TESTS / "support" / "dledger_store" / "StoreCalls.java"
    return java_programs.classpath(["io.openmessaging.storage:dledger:0.2.7"], [source])


class JavaStore:
    """The real store, in a process of its own."""

    def __init__(self, classpath: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.errors = (folder / "stderr").open("w")
        self.process = subprocess.Popen(
            ["java", *OPENED, "-cp", classpath, "StoreCalls"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=folder,
        )  # fmt: skip
        sizes = (STORAGE.mapped_file_size_for_entry_data, STORAGE.mapped_file_size_for_entry_index)
        self.shown = self.call("open", folder, *sizes)

    def call(self, *words: object) -> list[str]:
        """Make a call; return what the store shows then, first of all whether the call was done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.poll() is None, f"the process of Java has ended before {words}"
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("SHOWN "):
                shown = line.rstrip("\n").split(" ")[1:]
                return [*shown[:3], "-1", *shown[4:]] if shown[2] == "-1" else shown  # an empty log ends in no term
        return ["0"]  # the process ended itself

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            assert stream is not None
            stream.close()
        self.process.wait(timeout=20)


@pytest.fixture
def java(classpath: str, tmp_path: Path) -> Iterator[JavaStore]:
    made = JavaStore(classpath, tmp_path / "java")
    yield made
    made.close()


class PythonStore:
    """The same calls of the reference."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "dledger-n0"
        self.recover()

    def call(self, name: str, *words: object) -> list[str]:
        try:
            getattr(self, name)(*words)
        except DiskError:
            return ["0", *self.shown()]
        return ["1", *self.shown()]

    def recover(self) -> None:
        self.store = FileLedgerStore(DirectoryDisk(self.folder), storage=STORAGE)
        self.store.startup(curr_term=Term(0))

    def appendAsLeader(self, term: Term, body: str) -> None:  # noqa: N802 - the names of the code.
        self.store.append(Entry(term, body))

    def appendAsFollower(self, term: Term, index: Index, pos: int, body: str) -> None:  # noqa: N802
        assert index == self.store.end_index + 1
        self.store.append(Entry(term, body), pos)

    def truncate(self, term: Term, index: Index, pos: int, body: str) -> None:
        self.store.truncate(index, Entry(term, body), pos)

    def updateCommittedIndex(self, term: Term, index: Index, curr_term: Term) -> None:  # noqa: N802
        self.store.update_committed_index(term, index, curr_term=curr_term)

    def persistCheckPoint(self) -> None:  # noqa: N802
        self.store.persist_check_point()

    def flush(self) -> None:
        self.store.flush()

    def deleteExpired(self, milliseconds: int, immediately: int) -> None:  # noqa: N802
        assert (milliseconds, immediately) == (FOUR_HOURS, 1)
        self.store.clean_space(datetime(2030, 1, 1, 12), 0.86)

    def shown(self) -> list[str]:
        store = self.store
        read = store.log[max(0, store.begin_index) :]
        entries = "".join(f"{'-' if each is None else f'{each.term}:{each.value}'}," for each in read)
        ends = (store.begin_index, store.end_index, store.end_term, store.committed_index, store.committed_pos)
        lists = [self.listed(store.files.data, "data"), self.listed(store.files.index, "index")]
        return [*map(str, ends), *lists, entries]

    def listed(self, files: MappedFileList, name: str) -> str:
        positions = [f"{each.write_position}/{each.flushed_position}" for each in files.files]
        folder = self.folder / name
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        bytes_ = [f"{each.name}={each.stat().st_size}={zlib.crc32(each.read_bytes())}" for each in found]
        return "".join(f"{each};" for each in (files.flushed_where, *positions, *bytes_))


class Calls:
    """Random calls, which the state of the store makes sensible, and now and then not."""

    def __init__(self, seed: int, store: PythonStore) -> None:
        self.random = random.Random(seed)
        self.python = store
        self.term = 1

    def body(self) -> str:
        return self.random.choice(["a", "b", "cccccccc", "d" * 40, "e" * 150, ""])

    def position(self, index: int) -> int:
        """Where an entry lies, or would."""
        try:
            found = self.python.store.files.header_at(Index(index))
        except DiskError:
            return self.python.store.files.data.max_write_position
        return found.pos

    def next(self) -> tuple[object, ...]:
        store, chance = self.python.store, self.random.random()
        self.term += self.random.random() < 0.1
        end = store.end_index
        if chance < 0.45:
            return "appendAsLeader", self.term, self.body()
        if chance < 0.6:
            pos = store.files.data.max_write_position + (5 if self.random.random() < 0.1 else 0)
            return "appendAsFollower", self.term, end + 1, pos, self.body()
        if chance < 0.7:
            index = self.random.randint(min(max(0, store.begin_index), max(0, end)), max(0, end))
            held = store.log[index] if index <= end else None
            if held is not None and self.random.random() < 0.5:
                return "truncate", held.term, index, self.position(index), held.value
            return "truncate", self.term, index, self.position(index), self.body()
        if chance < 0.72:
            return "truncate", self.term, self.random.randint(0, 20), 300 * self.random.randint(0, 9), self.body()
        if chance < 0.8:
            return ("flush",)
        if chance < 0.81:
            return "deleteExpired", FOUR_HOURS, 1
        if chance < 0.85:
            return "updateCommittedIndex", self.term, self.random.randint(-1, end + 1), self.term
        if chance < 0.9:
            return ("persistCheckPoint",)
        return ("recover",)


@pytest.mark.parametrize("seed", range(6))
def test_every_call_does_what_it_does_in_the_real_store(seed: int, java: JavaStore, tmp_path: Path) -> None:
    python = PythonStore(tmp_path / "python")
    calls = Calls(seed, python)
    counts: Counter[tuple[object, ...]] = Counter()
    for number in range(250):
        call = calls.next()
        there, here = java.call(*call), python.call(*call)
        if call == ("recover",) and there[0] == "0":
            assert here[0] == "0"  # neither starts on these files any more
            break
        assert here == there, f"call {number}: {call}"
        counts[call[0], there[0]] += 1
        counts["files"] = max(counts["files"], len(python.store.files.data.files))
    assert counts["files"] > 2
    assert len(counts) > 5


def test_the_real_store_goes_on_in_a_folder_of_the_reference_and_the_reference_reads_what_it_wrote(
    classpath: str, tmp_path: Path
) -> None:
    python = PythonStore(tmp_path)
    for number in range(12):
        python.call("appendAsLeader", 1, f"python-{number}")
    python.call("truncate", 2, 9, python.store.files.header_at(Index(9)).pos, "python-9")
    python.call("updateCommittedIndex", 2, 9, 2)
    python.call("persistCheckPoint")
    assert len(python.store.files.data.files) == 2
    java = JavaStore(classpath, tmp_path)
    try:
        assert java.shown[:5] == ["1", "0", "9", "2", "9"]
        assert java.shown[-1] == python.shown()[-1]
        for number in range(10, 20):
            assert java.call("appendAsLeader", 3, f"java-{number}")[0] == "1"
        java.call("updateCommittedIndex", 3, 15, 3)
        java.call("persistCheckPoint")
    finally:
        java.close()
    python.recover()
    assert python.store.log == (
        *(Entry(Term(1), f"python-{number}") for number in range(9)),
        Entry(Term(2), "python-9"),
        *(Entry(Term(3), f"java-{number}") for number in range(10, 20)),
    )
    assert (python.store.committed_index, len(python.store.files.data.files)) == (15, 4)
