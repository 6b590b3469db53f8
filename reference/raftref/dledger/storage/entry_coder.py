"""Bytes of an entry in the data file, and of its unit in the index file. Numbers are big-endian and signed."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from raftref.dledger.messages import Entry, Index, Term, Value

#: The only magic there is: bytes that begin otherwise are no entry. Source: DLedgerMmapFileStore.CURRENT_MAGIC.
CURRENT_MAGIC = 1

_HEADER = struct.Struct(">iiqqqiiii")
_HEADER_TO_INDEX = struct.Struct(">iiq")
_INDEX_UNIT = struct.Struct(">iqiqq")

#: The size in bytes of what precedes the body of an entry. Source: DLedgerEntry.BODY_OFFSET.
BODY_OFFSET = _HEADER.size
#: The size in bytes of what a header has up to its index.
HEADER_TO_INDEX_SIZE = _HEADER_TO_INDEX.size
#: The size of an index unit in bytes. Source: DLedgerMmapFileStore.INDEX_UNIT_SIZE.
INDEX_UNIT_SIZE = _INDEX_UNIT.size


@dataclass(frozen=True, slots=True)
class IndexUnit:
    """The place of an entry in the data file: `pos` and `size` in bytes.

    Source: DLedgerEntryCoder.encodeIndex.
    """

    magic: int
    pos: int
    size: int
    index: Index
    term: Term

    def encode(self) -> bytes:
        """Return the unit's bytes."""
        return _INDEX_UNIT.pack(self.magic, self.pos, self.size, self.index, self.term)

    @classmethod
    def decode(cls, data: bytes) -> IndexUnit:
        """Read a unit from its bytes; any bytes are one."""
        return cls(*_INDEX_UNIT.unpack(data))


@dataclass(frozen=True, slots=True)
class EntryHeader:
    """The header of an entry: `size` is that of the whole, `pos` its place, in bytes.

    `channel` and `chain_crc` are reserved and 0.

    Source: DLedgerEntry.
    """

    magic: int
    size: int
    index: Index
    term: Term
    pos: int
    channel: int
    chain_crc: int
    body_crc: int
    body_size: int

    def encode(self) -> bytes:
        """Return the header's bytes. Source: DLedgerEntryCoder.encode."""
        return _HEADER.pack(
            self.magic,
            self.size,
            self.index,
            self.term,
            self.pos,
            self.channel,
            self.chain_crc,
            self.body_crc,
            self.body_size,
        )

    @classmethod
    def decode(cls, data: bytes) -> EntryHeader:
        """Read a header from its bytes; any bytes are one. Source: DLedgerEntryCoder.decode."""
        return cls(*_HEADER.unpack(data))

    def begins_entry_at(self, pos: int) -> bool:
        """Return whether these bytes, which lie at `pos`, are the header of an entry.

        Source: DLedgerMmapFileStore.recover, which takes a body of -1 to -3 bytes for one, and then fails.
        """
        return (
            self.magic == CURRENT_MAGIC
            and self.pos == pos
            and self.size == BODY_OFFSET + self.body_size
            and self.body_size >= 0
        )

    def unit(self) -> IndexUnit:
        """Return the index unit that belongs to this header."""
        return IndexUnit(self.magic, self.pos, self.size, self.index, self.term)


def header_of(entry: Entry, index: Index, pos: int, *, with_crc: bool) -> EntryHeader:
    """Make the header of an entry.

    Args:
        entry: Its term and value.
        index: Its index.
        pos: The place where it is to lie in the data file, in bytes.
        with_crc: Whether the body's CRC is written; otherwise it is 0.

    Source: DLedgerMmapFileStore.appendAsLeader, DLedgerEntryCoder.setIndexTerm, setPos.
    """
    body = to_body(entry.value)
    crc = int.from_bytes(zlib.crc32(body).to_bytes(4, "big"), "big", signed=True) if with_crc else 0
    size = BODY_OFFSET + len(body)
    return EntryHeader(CURRENT_MAGIC, size, index, entry.term, pos, 0, 0, crc, len(body))


def index_in(data: bytes) -> Index:
    """Return the index in the first HEADER_TO_INDEX_SIZE bytes of a header; any bytes have one."""
    return Index(_HEADER_TO_INDEX.unpack(data)[2])


def to_body(value: Value) -> bytes:
    """Return a value as the body of an entry: UTF-8, and whatever bytes `to_value` met."""
    return value.encode("utf-8", "surrogateescape")


def to_value(body: bytes) -> Value:
    """Return the value of a body; one that was torn need not be UTF-8 any more, and is still one value."""
    return body.decode("utf-8", "surrogateescape")


def as_read(entry: Entry) -> Entry:
    """Return an entry as it is read again once it is written: bytes that are UTF-8 together become so."""
    return entry if entry.value.isascii() else Entry(entry.term, to_value(to_body(entry.value)))
