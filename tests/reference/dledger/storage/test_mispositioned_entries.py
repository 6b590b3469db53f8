"""A follower whose files cannot have an entry where it lies at the leader refuses it, and lives on.

Source: DLedgerMmapFileStore.appendAsFollower and truncate, DISK_ERROR; EntryHandler.handleDoAppend, handleDoTruncate,
their handlers of exceptions.
"""

from __future__ import annotations

import pytest

from raftref.dledger.choices import Config, Feature
from raftref.dledger.messages import (
    BatchRequest,
    Code,
    CommitRequest,
    Entry,
    Index,
    Message,
    PushType,
    Request,
    Response,
    Term,
)
from raftref.dledger.server import Server
from raftref.dledger.state import Role
from raftref.dledger.storage import DiskError, FileLedgerStore, SimulatedDisk, StorageConfig
from raftref.dledger.storage.entry_coder import BODY_OFFSET

TERM = Term(1)
A, B, C = (Entry(TERM, value) for value in "abc")
#: The size of each of these in the data file.
SIZE = BODY_OFFSET + 1
SMALL = StorageConfig(mapped_file_size_for_entry_data=4096, mapped_file_size_for_entry_index=4096)


def follower(leader_positions: dict[int, int], *log: Entry, batches: bool = False) -> Server:
    """A follower of n1 with a log, given where the leader has its entries."""
    config = Config(features=frozenset({Feature.PENDING_MAP, Feature.BATCHES} if batches else ()), flaws=frozenset())
    positions: dict[int, int] = {}
    made = Server(
        "n2",
        ("n1", "n2", "n3"),
        config,
        lambda choices: FileLedgerStore(
            SimulatedDisk(),
            choices,
            storage=SMALL,
            leader_position=lambda index, _entry: positions.get(index, index * SIZE),
        ),
    )
    state = made.member_state
    state.role, state.curr_term, state.leader_id = Role.FOLLOWER, TERM, "n1"
    for each in log:
        made.ledger_store.append(each)
    positions.update(leader_positions)
    return made


def request(type_: PushType, index: int, entry: Entry, commit: int = -1) -> Request:
    return Request(type_, "n1", "n2", TERM, Index(index), entry, Index(commit))


def answer(messages: tuple[Message, ...]) -> tuple[Code, int]:
    """The code of the only answer, and the end of the log that it reports."""
    (m,) = messages
    assert isinstance(m, Response)
    return m.code, m.end_index


def test_an_append_is_stored_where_it_lies_at_the_leader() -> None:
    node = follower({}, A)
    assert answer(node.handle_do_append(request(PushType.APPEND, 1, B)).sent) == (Code.SUCCESS, 1)


def test_an_append_that_would_lie_elsewhere_is_inconsistent_and_not_stored() -> None:
    node = follower({1: SIZE + 7}, A)
    assert answer(node.handle_do_append(request(PushType.APPEND, 1, B, 0)).sent) == (Code.INCONSISTENT_STATE, 0)
    assert (node.ledger_store.log, node.ledger_store.committed_index) == ((A,), -1)


def test_of_a_batch_the_entries_before_a_mispositioned_one_stay() -> None:
    node = follower({2: 7}, A, batches=True)
    batch = BatchRequest("n1", "n2", TERM, Index(1), (B, C), Index(1))
    assert answer(node.handle_do_batch_append(batch).sent) == (Code.INCONSISTENT_STATE, 1)
    assert node.ledger_store.log == (A, B)


def test_a_truncate_to_a_position_that_no_file_can_have_is_inconsistent() -> None:
    node = follower({1: -SIZE}, A, B)
    assert answer(node.handle_do_truncate(request(PushType.TRUNCATE, 1, C)).sent)[0] is Code.INCONSISTENT_STATE


@pytest.mark.parametrize("type_", [PushType.APPEND, PushType.COMMIT])
def test_a_committed_index_without_its_unit_is_not_taken_over_and_changes_no_answer(
    type_: PushType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: DLedgerMmapFileStore.updateCommittedIndex, which EntryHandler calls after it has answered."""

    def no_unit(offset: int, _size: int) -> bytes:
        raise DiskError(f"the index files begin behind {offset}")

    node = follower({}, A)
    monkeypatch.setattr(node.ledger_store.files.index, "select", no_unit)  # type: ignore[attr-defined]
    if type_ is PushType.COMMIT:
        assert node.handle_do_commit(CommitRequest("n1", "n2", TERM, Index(0))).sent == ()
    else:
        append = request(PushType.APPEND, 1, B, 0)
        assert answer(node.handle_do_append(append).sent) == (Code.SUCCESS, 1)
    assert node.ledger_store.committed_index == -1
