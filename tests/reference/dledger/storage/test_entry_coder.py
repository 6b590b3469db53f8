"""The bytes of entries and index units are those that DLedger writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.storage.entry_coder import (
    BODY_OFFSET,
    INDEX_UNIT_SIZE,
    EntryHeader,
    IndexUnit,
    header_of,
    to_body,
    to_value,
)

#: The bytes that DLedgerEntryCoder 0.2.7 writes for the entry "hé", index 7 of term 3, at 1234567890123.
JAVA_ENTRY = (
    "0000000100000033000000000000000700000000000000030000011f71fb04cb"  # magic, size, index, term, pos
    "00000000000000000000000000000003"  # channel, chain CRC, body CRC, body size
    "68c3a9"
)
JAVA_INDEX_UNIT = "000000010000011f71fb04cb0000003300000000000000070000000000000003"
ENTRY, INDEX, POS = Entry(Term(3), "hé"), Index(7), 1234567890123


def test_an_entry_has_the_bytes_that_the_java_coder_gives_it() -> None:
    header = header_of(ENTRY, INDEX, POS, with_crc=False)
    assert (header.encode() + to_body(ENTRY.value)).hex() == JAVA_ENTRY


def test_an_index_unit_has_the_bytes_that_the_java_coder_gives_it() -> None:
    assert header_of(ENTRY, INDEX, POS, with_crc=False).unit().encode().hex() == JAVA_INDEX_UNIT


def test_a_header_takes_48_bytes_and_an_index_unit_32() -> None:
    assert (BODY_OFFSET, INDEX_UNIT_SIZE) == (48, 32)


@given(st.text(), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.booleans())
def test_what_is_written_is_read_again(value: str, index: int, term: int, pos: int, with_crc: bool) -> None:
    header = header_of(Entry(Term(term), value), Index(index), pos, with_crc=with_crc)
    assert EntryHeader.decode(header.encode()) == header
    assert header.begins_entry_at(pos)
    assert IndexUnit.decode(header.unit().encode()) == header.unit()
    assert to_value(to_body(value)) == value


@given(st.binary())
def test_a_torn_body_is_a_value_and_goes_back_to_the_same_bytes(body: bytes) -> None:
    assert to_body(to_value(body)) == body


@given(st.binary(min_size=BODY_OFFSET, max_size=BODY_OFFSET), st.integers(0, 2**40))
def test_any_bytes_can_be_asked_whether_they_begin_an_entry(data: bytes, pos: int) -> None:
    assert not EntryHeader.decode(data).begins_entry_at(pos) or data[:4] == b"\0\0\0\1"
