"""The term file: its keys, and every window in which a process can die while it is replaced."""

from __future__ import annotations

import pytest

from raftref.dledger.messages import Index, NodeId, Term
from raftref.dledger.storage import CheckPointFile, SimulatedDisk, Stopped, TermFile

TermAndVote = tuple[Term, NodeId | None]

NOTHING: TermAndVote = (Term(0), None)
OLD: TermAndVote = (Term(4), "n1")
NEW: TermAndVote = (Term(5), "n2")


def written() -> SimulatedDisk:
    disk = SimulatedDisk()
    TermFile(disk).persist(*OLD)
    return disk


def test_the_file_has_the_names_and_keys_that_dledger_gives_it() -> None:
    assert written().files() == {"currterm": b"voteLeader=n1\ncurrTerm=4\n"}


def test_the_file_before_is_kept_as_bak_and_never_read() -> None:
    disk = written()
    TermFile(disk).persist(*NEW)
    assert disk.files()["currterm.bak"] == b"voteLeader=n1\ncurrTerm=4\n"
    disk.delete("currterm")
    assert TermFile(disk).load() == NOTHING


@pytest.mark.parametrize("state", [OLD, NEW, (Term(7), None)])
def test_what_is_persisted_is_loaded(state: TermAndVote) -> None:
    disk = written()
    TermFile(disk).persist(*state)
    assert TermFile(disk).load() == state


def test_without_a_file_a_node_is_in_term_0_and_has_not_voted() -> None:
    assert TermFile(SimulatedDisk()).load() == NOTHING


#: The steps: empty .tmp, write it, empty .bak, write it, delete, rename.
WINDOWS = [OLD, OLD, OLD, OLD, OLD, NOTHING, NEW]


@pytest.mark.parametrize(("steps", "found"), list(enumerate(WINDOWS)))
def test_only_between_delete_and_rename_are_term_and_vote_forgotten(steps: int, found: TermAndVote) -> None:
    disk = written()
    disk.stop_after(steps)
    if steps < len(WINDOWS) - 1:
        with pytest.raises(Stopped):
            TermFile(disk).persist(*NEW)
    else:
        TermFile(disk).persist(*NEW)
    disk.kill()
    assert TermFile(disk).load() == found


def test_a_lost_power_forgets_a_term_that_was_never_forced() -> None:
    disk = written()
    disk.lose_power()
    assert TermFile(disk).load() == NOTHING


def test_a_renamed_file_may_come_back_empty_since_its_content_was_not_forced() -> None:
    disk = written()
    disk.write("data", 0, b"forced by the store, and with it all names")
    disk.force("data")
    disk.lose_power()
    assert disk.files()["currterm"] == b""
    assert TermFile(disk).load() == NOTHING


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"currTerm=x\nvoteLeader=n1\n", NOTHING),
        (b"\xff\xfe", NOTHING),
        (b"voteLeader=n1\n", (Term(0), "n1")),
        (b"currTerm=3", (Term(3), None)),
        (b"a comment\n\ncurrTerm = 3\nother=7\n", (Term(3), None)),
    ],
)
def test_a_damaged_file_is_read_as_far_as_it_goes(content: bytes, found: TermAndVote) -> None:
    disk = SimulatedDisk()
    disk.write("currterm", 0, content)
    assert TermFile(disk).load() == found


class TestCheckPoint:
    """The checkpoint file is replaced in the same steps."""

    def test_the_file_has_the_names_and_keys_that_dledger_gives_it(self) -> None:
        disk = SimulatedDisk()
        CheckPointFile(disk).persist(Index(5), Index(3))
        assert disk.files() == {"checkpoint": b"committedIndex=3\nendIndex=5\n"}

    def test_only_the_committed_index_is_read(self) -> None:
        disk = SimulatedDisk()
        CheckPointFile(disk).persist(Index(5), Index(3))
        assert CheckPointFile(disk).load() == 3

    @pytest.mark.parametrize("content", [b"", b"endIndex=5", b"committedIndex=", b"committedIndex=three", b"\0\xff"])
    def test_without_a_number_nothing_was_committed(self, content: bytes) -> None:
        disk = SimulatedDisk()
        disk.write("checkpoint", 0, content)
        assert CheckPointFile(disk).load() == -1

    def test_between_delete_and_rename_it_is_forgotten(self) -> None:
        disk = SimulatedDisk()
        CheckPointFile(disk).persist(Index(5), Index(3))
        disk.stop_after(5)
        with pytest.raises(Stopped):
            CheckPointFile(disk).persist(Index(6), Index(4))
        disk.kill()
        assert CheckPointFile(disk).load() == -1
