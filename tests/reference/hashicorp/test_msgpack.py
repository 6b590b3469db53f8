"""MessagePack in the old format: what Go would write, and that no bytes do harm."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raftref.hashicorp.msgpack import MAX_DEPTH, MAX_VALUE_BYTES, MAX_VALUES, Extension, Scan, Signed, pack, unpack
from raftref.wire_error import WireError


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, "c0"),
        (True, "c3"),
        (False, "c2"),
        (127, "7f"),
        (128, "cc80"),
        (256, "cd0100"),
        (1 << 16, "ce00010000"),
        (1 << 32, "cf0000000100000000"),
        (Signed(127), "7f"),
        (Signed(128), "d10080"),
        (Signed(1 << 15), "d200008000"),
        (Signed(1 << 31), "d30000000080000000"),
        (Signed(-32), "e0"),
        (Signed(-33), "d0df"),
        (b"", "a0"),
        ("ab", "a26162"),
        ("a" * 32, "da0020" + "61" * 32),
        ([], "90"),
        ([0] * 16, "dc0010" + "00" * 16),
        ({"b": 1, "a": None}, "82a161c0a16201"),
        ({chr(ord("a") + k): 0 for k in range(16)}, "de0010" + "".join(f"a1{ord('a') + k:02x}00" for k in range(16))),
    ],
    ids=str,
)
def test_values_have_the_bytes_that_go_writes(value: Any, data: str) -> None:
    assert pack(value).hex() == data


def test_a_raw_of_65536_bytes_has_a_length_of_four() -> None:
    assert pack(b"x" * 65536)[:5].hex() == "db00010000"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("d903616263", b"abc"),
        ("c403616263", b"abc"),
        ("d0ff", -1),
        ("ff", -1),
        ("ca3fc00000", 1.5),
        ("cb3ff8000000000000", 1.5),
        ("d6ff00000001", Extension(-1, b"\0\0\0\1")),
        ("c702057879", Extension(5, b"xy")),
        ("dd00000001c0", [None]),
        ("df00000001a161c0", {"a": None}),
        ("c3ffff", True),
    ],
)
def test_the_newer_format_is_read_as_well_and_what_follows_is_ignored(data: str, value: Any) -> None:
    assert unpack(bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("c1", "no value of MessagePack begins with 0xc1"),
        ("", "a value of MessagePack ends after 0 bytes, before its end"),
        ("cf00", "a value of MessagePack ends after 2 bytes, before its end"),
        ("81c0c0", "a key is no text: None"),
        ("8101c0", "a key is no text: 1"),
        ("81a1ffc0", "a key is no UTF-8: b'\\xff'"),
        ("dbffffffff", "a message is too long: it has a raw of 4294967295"),
        ("c6ffffffff", "a message is too long: it has a raw of 4294967295"),
        ("ddffffffff", "a message is too long: it has an array of 4294967295"),
        ("dfffffffff", "a message is too long: it has a map of 4294967295"),
        ("c9ffffffff05", "a message is too long: it has an extension of 4294967295"),
        ("91" * 100_000, "a message is nested deeper than 16"),
        ("81a161" * 100_000, "a message is nested deeper than 16"),
    ],
    ids=lambda each: each[:12],
)
def test_what_is_no_value_is_refused_in_one_line(data: str, line: str) -> None:
    with pytest.raises(WireError) as error:
        unpack(bytes.fromhex(data))
    assert str(error.value) == line


def test_as_deep_as_allowed_is_read() -> None:
    value = unpack(b"\x91" * MAX_DEPTH + b"\xc0")
    for _ in range(MAX_DEPTH):
        (value,) = value
    assert value is None


def test_the_limits_count_what_lies_within_others() -> None:
    arrays = b"\xdd" + (MAX_VALUES // 2 + 1).to_bytes(4, "big") + b"\xdd" + (MAX_VALUES // 2).to_bytes(4, "big")
    with pytest.raises(WireError, match="a message is too long: it has an array of 524288"):
        unpack(arrays)
    raw = (MAX_VALUE_BYTES - 5).to_bytes(4, "big")
    assert Scan().end_in(b"\xdb" + raw) is None
    with pytest.raises(WireError, match="a message is too long: it has a raw"):
        unpack(b"\x91\xdb" + raw)


def test_a_length_takes_no_memory_before_its_bytes_have_come() -> None:
    tracemalloc.start()
    try:
        for head in (b"\xdd\x00\x0f\xff\xff", b"\xdf\x00\x07\xff\xff", b"\xdb\x03\xff\xff\x00"):
            assert Scan().end_in(head) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_a_scan_goes_on_where_it_stopped() -> None:
    data = pack({"Entries": [{"Data": b"x" * 40, "Index": 300}] * 20, "Term": 1 << 40})
    scan = Scan()
    assert [scan.end_in(data[:size]) for size in range(len(data))] == [None] * len(data)
    assert scan.end_in(data + b"more") == len(data)


@pytest.mark.parametrize("value", [-1, 1 << 64, Signed(1 << 63), "\ud800"], ids=ascii)
def test_what_go_has_no_type_for_is_not_written(value: Any) -> None:
    with pytest.raises(WireError):
        pack(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**64 - 1) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=3), inner, max_size=20),
    max_leaves=20,
)


@given(VALUES)
def test_every_value_comes_back(value: Any) -> None:
    assert unpack(pack(value)) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_signed_integer_comes_back(value: int) -> None:
    assert unpack(pack(Signed(value))) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_one_line(data: bytes) -> None:
    try:
        unpack(data)
    except WireError as error:
        assert "\n" not in str(error)
