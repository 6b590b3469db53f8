"""The library's streams and messages as bytes: what is refused, what is ignored, and that everything comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Request,
    RequestPreVoteRequest,
    RequestPreVoteResponse,
    RequestVoteRequest,
    RequestVoteResponse,
    Response,
    TimeoutNowRequest,
    TimeoutNowResponse,
)
from raftref.hashicorp.msgpack import pack, unpack
from raftref.hashicorp.stored_values import ZERO_TIME, EntryDetails, decode_configuration, go_time, to_value
from raftref.hashicorp.transport import MAX_SNAPSHOT_BYTES, AnswerReader, ReceivedRequest, RequestReader
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Snapshot, Term
from raftref.hashicorp.wire import RpcCall, RpcFailure, decode_answer, decode_request, encode_answer, encode_request
from raftref.wire_error import WireError

ADDRESSES = {f"n{k}": f"127.0.0.1:800{k}" for k in range(1, 6)}
VOTE = RequestVoteRequest("n1", "n2", Term(4), Index(7), Term(3), False)
ENTRIES = (Entry(Term(4), EntryType.COMMAND, "a value"), Entry(Term(4), EntryType.NOOP))
APPEND = AppendEntriesRequest("n1", "n2", Term(4), Index(7), Term(3), ENTRIES, Index(6))
SNAPSHOT = Snapshot(Index(7), Term(3), Configuration(frozenset({"n1", "n2"}), frozenset({"n3"})), Index(1), ())
INSTALL = InstallSnapshotRequest("n1", "n2", Term(4), SNAPSHOT)


def encoded(message: Request, data: bytes = b"") -> bytes:
    return encode_request(RpcCall(message, data=data), ADDRESSES)


def calls(data: bytes) -> list[RpcCall]:
    return [decode_request(each, "n2", ADDRESSES) for each in RequestReader().feed(data)]


def changed(message: Request, **fields: Any) -> bytes:
    """A request with other fields."""
    data = encoded(message)
    return data[:1] + pack(unpack(data[1:]) | fields)


def one_line(error: WireError) -> str:
    line = str(error)
    assert "\n" not in line
    assert len(line) < 200
    return line


def refused(data: bytes) -> str:
    with pytest.raises(WireError) as error:
        calls(data)
    return one_line(error.value)


def refused_answer(data: bytes, request: Request = VOTE) -> str:
    with pytest.raises(WireError) as error:
        [decode_answer(each, request) for each in AnswerReader().feed(data)]
    return one_line(error.value)


# ---- Streams ----


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_requests_that_are_cut_anywhere_come_once_they_are_complete(size: int) -> None:
    data = encoded(VOTE) + encoded(INSTALL, b"snapshot") + encoded(APPEND)
    reader = RequestReader()
    read = [each for at in range(0, len(data), size) for each in reader.feed(data[at : at + size])]
    found = [decode_request(each, "n2", ADDRESSES) for each in read]
    assert [each.message for each in found] == [VOTE, INSTALL, APPEND]
    assert [each.data for each in found] == [b"", b"snapshot", b""]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_answers_that_are_cut_anywhere_come_in_the_order_of_the_requests(size: int) -> None:
    sent: list[Response | RpcFailure] = [
        RequestVoteResponse("n2", "n1", Term(4), True),
        RpcFailure("not now"),
        RequestVoteResponse("n2", "n1", Term(5), False),
    ]
    data = b"".join(encode_answer(each, ADDRESSES) for each in sent)
    reader = AnswerReader()
    read = [each for at in range(0, len(data), size) for each in reader.feed(data[at : at + size])]
    assert [decode_answer(each, VOTE) for each in read] == sent


def test_a_torn_request_or_snapshot_is_waited_for() -> None:
    for data in (encoded(VOTE), encoded(INSTALL, b"snapshot")):
        reader = RequestReader()
        assert list(reader.feed(data[:-1])) == []
        assert len(list(reader.feed(data[-1:]))) == 1


def test_requests_before_a_broken_one_are_read_and_the_error_comes_again() -> None:
    reader = RequestReader()
    read = reader.feed(encoded(VOTE) + b"\x09")
    assert decode_request(next(read), "n2", ADDRESSES).message == VOTE
    for left in (read, reader.feed(b"more")):
        with pytest.raises(WireError, match="no request begins with the byte 9"):
            next(left)


def test_what_is_no_request_is_refused_in_one_line() -> None:
    assert refused(b"\x05") == "no request begins with the byte 5"
    assert refused(b"\x01\xc1") == "no value of MessagePack begins with 0xc1"
    assert refused(b"\x01\x90") == "REQUEST_VOTE is no map: []"
    assert refused(b"\x01\xc0") == "REQUEST_VOTE is no map: None"
    assert refused(b"\x01\xdf\xff\xff\xff\xff") == "a message is too long: it has a map of 4294967295"
    assert refused(b"\x01" + b"\x91" * 100_000) == "a message is nested deeper than 16"


@pytest.mark.parametrize("size", [-1, MAX_SNAPSHOT_BYTES + 1, (1 << 63) - 1])
def test_a_snapshot_of_an_impossible_size_is_refused_before_its_bytes(size: int) -> None:
    data = encoded(INSTALL)
    packed = b"\xd3" + size.to_bytes(8, "big", signed=True)
    line = refused(data.replace(b"\xa4Size\x00", b"\xa4Size" + packed))
    assert line == f"a snapshot has a size of {size} bytes, of at most {MAX_SNAPSHOT_BYTES}"


def test_a_snapshot_may_be_refused_before_its_bytes_and_the_error_comes_again() -> None:
    def refuses(received: ReceivedRequest) -> None:
        raise WireError(f"no snapshot is taken from {received.fields['ID'].decode()}")

    reader, data = RequestReader(refuses), encoded(VOTE) + encoded(INSTALL, b"snapshot")
    read = reader.feed(data[:-8])
    assert decode_request(next(read), "n2", ADDRESSES).message == VOTE
    for left in (read, reader.feed(b"snap")):
        with pytest.raises(WireError, match="no snapshot is taken from n1"):
            next(left)


def test_what_is_no_answer_is_refused_in_one_line() -> None:
    assert refused_answer(b"\x01") == "the error of an answer is no text: 1"
    assert refused_answer(b"\xa1\xff") == "the error of an answer is no UTF-8: b'\\xff'"
    assert refused_answer(b"\xa0\x90") == "an answer is no map: []"
    assert refused_answer(b"\xa0\xc0") == "an answer to REQUEST_VOTE is no map: None"
    assert refused_answer(pack("x" * 70_000)) == "an answer has an error of 70000 characters"


def test_an_error_stands_whatever_comes_with_it() -> None:
    for rest in (b"\xc0", b"\x80", pack({"Term": "x"})):
        (answer,) = AnswerReader().feed(pack("not now") + rest)
        assert decode_answer(answer, VOTE) == RpcFailure("not now")


# ---- Fields ----


@pytest.mark.parametrize("value", [True, "4", [4], {"a": 4}, {}], ids=str)
def test_a_term_is_an_unsigned_integer(value: Any) -> None:
    assert refused(changed(VOTE, Term=value)).startswith("Term of REQUEST_VOTE is no unsigned 64-bit integer: ")


@pytest.mark.parametrize(
    "term", [b"\xd0\xff", b"\xff", b"\xca\x3f\x80\x00\x00", b"\xcb\x7f\xf8" + bytes(6), b"\xd4\x01\x00"]
)
def test_a_term_is_no_negative_number_float_or_extension(term: bytes) -> None:
    data = encoded(VOTE)
    assert data.endswith(b"\xa4Term\x04")
    assert refused(data[:-1] + term).startswith("Term of REQUEST_VOTE is no unsigned 64-bit integer: ")


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"LeadershipTransfer": 1}, "LeadershipTransfer of REQUEST_VOTE is no bool: 1"),
        ({"Addr": 1}, "Addr of REQUEST_VOTE is no bytes: 1"),
        ({"Addr": b"\xff"}, "the address of a sender is no UTF-8: b'\\xff'"),
        ({"ID": b"\xff"}, "the ID of a sender is no UTF-8: b'\\xff'"),
        ({"ID": None, "Addr": None, "Candidate": None}, "no server is known at ''"),
        ({"ID": b"", "Addr": "elsewhere:1"}, "no server is known at 'elsewhere:1'"),
    ],
    ids=str,
)
def test_a_field_of_a_wrong_type_is_refused_by_its_name(fields: dict[str, Any], line: str) -> None:
    assert refused(changed(VOTE, **fields)) == line


ENTRY = {"Index": 8, "Term": 4, "Type": 0, "Data": b"x"}


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        (1, "Entries of APPEND_ENTRIES is no array: 1"),
        ([1], "an element of Entries of APPEND_ENTRIES is no map: 1"),
        ([ENTRY | {"Index": 9}], "the entries behind 7 do not follow each other"),
        ([ENTRY, ENTRY], "the entries behind 7 do not follow each other"),
        ([ENTRY | {"Type": 2}], "an entry has the type 2"),
        ([ENTRY | {"Type": 6}], "an entry has the type 6"),
        ([ENTRY | {"Data": 1}], "Data of an element of Entries of APPEND_ENTRIES is no bytes: 1"),
        ([ENTRY | {"AppendedAt": 1}], "AppendedAt of an element of Entries of APPEND_ENTRIES is no time: 1"),
        ([ENTRY | {"Type": 5, "Data": None}], "a value of MessagePack ends after 0 bytes, before its end"),
        ([ENTRY | {"Type": 5, "Data": b"\x01"}], "a configuration is no map: 1"),
        (
            [ENTRY | {"Type": 5, "Data": pack({"Servers": [{"ID": "n1"}, {"ID": "n1"}]})}],
            "a configuration has 'n1' twice",
        ),
        (
            [ENTRY | {"Type": 5, "Data": pack({"Servers": [{"ID": b"\xff"}]})}],
            "the ID of a server is no UTF-8: b'\\xff'",
        ),
    ],
    ids=str,
)
def test_entries_that_are_none_are_refused(entries: Any, line: str) -> None:
    assert refused(changed(APPEND, Entries=entries)) == line


def test_a_snapshot_of_another_version_is_refused() -> None:
    assert refused(changed(INSTALL, SnapshotVersion=0)) == "a snapshot is of version 0, not 1"


def test_unknown_fields_are_ignored_and_missing_ones_are_zero() -> None:
    (call,) = calls(b"\x01" + pack({"ID": "n1", "More": [{"Deep": None}]}))
    assert call.message == RequestVoteRequest("n1", "n2", Term(0), Index(0), Term(0), False)
    assert call.protocol_version == 0


def test_a_sender_without_an_id_is_known_by_its_address() -> None:
    (by_addr,) = calls(changed(VOTE, ID=None))
    (by_candidate,) = calls(changed(VOTE, ID=None, Addr=None))
    assert by_addr.message == by_candidate.message == VOTE


def test_an_append_entries_with_a_term_and_a_leader_alone_is_a_heartbeat() -> None:
    beat = HeartbeatRequest("n1", "n2", Term(4))
    assert calls(encoded(beat))[0].message == beat
    assert calls(encoded(beat.as_append_entries))[0].message == beat
    for fields in ({"Term": 0}, {"LeaderCommitIndex": 1}, {"PrevLogEntry": 1}, {"Addr": None, "Leader": None}):
        assert isinstance(calls(changed(beat, **fields))[0].message, AppendEntriesRequest)


def test_a_server_that_is_staging_has_no_vote() -> None:
    servers = [{"Suffrage": suffrage, "ID": f"n{suffrage}", "Address": "a:1"} for suffrage in range(3)]
    configuration, _ = decode_configuration(pack({"Servers": servers}))
    assert configuration == Configuration(frozenset({"n0"}), frozenset({"n1", "n2"}))


@pytest.mark.parametrize(
    ("extension", "expected"),
    [
        (b"\xd6\xff\x00\x00\x00\x02", go_time(2 * 10**9)),
        (b"\xd7\xff" + (5 << 34 | 2).to_bytes(8, "big"), go_time(2 * 10**9 + 5)),
        (b"\xc7\x0c\xff\x00\x00\x00\x05" + (-2).to_bytes(8, "big", signed=True), go_time(-2 * 10**9 + 5)),
    ],
    ids=["seconds", "nanoseconds", "before 1970"],
)
def test_a_time_may_be_an_extension(extension: bytes, expected: bytes) -> None:
    data = encoded(APPEND).replace(pack(ZERO_TIME), extension)
    assert calls(data)[0].details == (EntryDetails(expected), EntryDetails(expected))


def test_an_extension_that_is_no_time_is_refused() -> None:
    data = encoded(APPEND)
    assert refused(data.replace(pack(ZERO_TIME), b"\xd6\x05abcd")) == "an extension of type 5 and 4 bytes is no time"
    assert refused(data.replace(pack(ZERO_TIME), b"\xd5\xffab")) == "an extension of type -1 and 2 bytes is no time"


def test_what_has_no_bytes_is_not_sent() -> None:
    lone = Entry(Term(1), EntryType.COMMAND, "\ud800")
    unsent: list[tuple[RpcCall, str]] = [
        (RpcCall(RequestVoteRequest("n9", "n2", Term(1), Index(1), Term(1), False)), "no address of n9 is known"),
        (RpcCall(APPEND, (EntryDetails(),)), "the details of 1 entries do not belong to 2"),
        (
            RpcCall(AppendEntriesRequest("n1", "n2", Term(1), Index(0), Term(0), (lone,), Index(0))),
            "a value is no text",
        ),
        (RpcCall(HeartbeatRequest("n1", "n2", Term(-1))), "-1 is no unsigned 64-bit integer"),
    ]
    for call, line in unsent:
        with pytest.raises(WireError, match=line):
            encode_request(call, ADDRESSES)
    with pytest.raises(WireError, match="no address of n9 is known"):
        encode_answer(HeartbeatResponse("n9", "n1", Term(1), True), ADDRESSES)


# ---- Everything comes back ----

SERVERS = st.sampled_from(sorted(ADDRESSES))
NUMBERS = st.integers(0, 2**64 - 1)
TERMS, INDEXES = NUMBERS.map(Term), NUMBERS.map(Index)
VALUES = st.none() | st.binary(max_size=40).map(to_value)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    voters = draw(st.frozensets(SERVERS))
    return Configuration(voters, draw(st.frozensets(SERVERS)) - voters)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    type_ = draw(st.sampled_from(EntryType))
    if type_ is EntryType.CONFIGURATION:
        return Entry(draw(TERMS), type_, None, draw(configurations()))
    return Entry(draw(TERMS), type_, draw(VALUES) if type_ is EntryType.COMMAND else None)


@st.composite
def appends(draw: st.DrawFn) -> RpcCall:
    listed = tuple(draw(st.lists(entries(), min_size=1, max_size=3)))
    previous = Index(draw(st.integers(0, 2**64 - 4)))
    message = AppendEntriesRequest(draw(SERVERS), "n2", draw(TERMS), previous, draw(TERMS), listed, draw(INDEXES))
    details = st.builds(EntryDetails, st.integers(0, 2**62).map(go_time), st.none() | st.binary(max_size=3))
    return RpcCall(message, tuple(draw(details) for _ in listed))


CALLS = appends() | st.one_of(
    st.builds(RpcCall, st.builds(RequestVoteRequest, SERVERS, st.just("n2"), TERMS, INDEXES, TERMS, st.booleans())),
    st.builds(RpcCall, st.builds(RequestPreVoteRequest, SERVERS, st.just("n2"), TERMS, INDEXES, TERMS)),
    st.builds(RpcCall, st.builds(HeartbeatRequest, SERVERS, st.just("n2"), st.integers(1, 2**64 - 1).map(Term))),
    st.builds(RpcCall, st.builds(TimeoutNowRequest, SERVERS, st.just("n2"))),
    st.builds(
        RpcCall,
        st.builds(
            InstallSnapshotRequest,
            *(SERVERS, st.just("n2"), TERMS),
            st.builds(Snapshot, INDEXES, TERMS, configurations(), INDEXES, st.just(())),
        ),
        data=st.binary(max_size=50),
    ),
)

ANSWERS: dict[type[Request], Callable[[str], st.SearchStrategy[Response]]] = {
    AppendEntriesRequest: lambda dst: st.builds(
        AppendEntriesResponse, st.just("n2"), st.just(dst), TERMS, INDEXES, st.booleans(), st.booleans()
    ),
    HeartbeatRequest: lambda dst: st.builds(HeartbeatResponse, st.just("n2"), st.just(dst), TERMS, st.booleans()),
    RequestVoteRequest: lambda dst: st.builds(RequestVoteResponse, st.just("n2"), st.just(dst), TERMS, st.booleans()),
    RequestPreVoteRequest: lambda dst: st.builds(
        RequestPreVoteResponse, st.just("n2"), st.just(dst), TERMS, st.booleans()
    ),
    InstallSnapshotRequest: lambda dst: st.builds(
        InstallSnapshotResponse, st.just("n2"), st.just(dst), TERMS, st.booleans()
    ),
    TimeoutNowRequest: lambda dst: st.just(TimeoutNowResponse("n2", dst)),
}


@given(CALLS)
def test_every_request_comes_back(call: RpcCall) -> None:
    assert calls(encode_request(call, ADDRESSES)) == [call]


@given(st.data())
def test_every_answer_comes_back(data: st.DataObject) -> None:
    message = data.draw(CALLS).message
    failures = st.text(min_size=1, max_size=40).map(RpcFailure)
    answer = data.draw(ANSWERS[type(message)](message.src) | failures)
    (received,) = AnswerReader().feed(encode_answer(answer, ADDRESSES))
    assert decode_answer(received, message) == answer


# ---- Whatever bytes come ----


def read_all(data: bytes, request: Request) -> None:
    """Read whatever comes, as requests and as answers; only a WireError of one line may be raised."""

    def requests() -> Iterator[object]:
        return (decode_request(each, "n2", ADDRESSES) for each in RequestReader().feed(data))

    def answers() -> Iterator[object]:
        return (decode_answer(each, request) for each in AnswerReader().feed(data))

    for read in (requests, answers):
        try:
            list(read())
        except WireError as error:
            one_line(error)


@given(st.integers(0, 4), st.binary(max_size=200), CALLS)
def test_any_bytes_give_messages_or_one_line(code: int, data: bytes, call: RpcCall) -> None:
    read_all(data, call.message)
    read_all(bytes([code]) + data, call.message)
    read_all(b"\xa0" + data, call.message)


#: Bytes that are likely to stand where they may not.
JUNK = [b"\xc0", b"\xc3", b"\xff", b"\x80", b"\x90", b"\xa0", b"\xdd\xff\xff\xff\xff", b"\xcb\x7f\xf8" + bytes(6)]


@given(st.data())
@settings(max_examples=300)
def test_a_message_with_changed_bytes_gives_messages_or_one_line(data: st.DataObject) -> None:
    call = data.draw(CALLS)
    answer = ANSWERS[type(call.message)](call.message.src)
    is_request = data.draw(st.booleans())
    encoded_ = encode_request(call, ADDRESSES) if is_request else encode_answer(data.draw(answer), ADDRESSES)
    changed_ = bytearray(encoded_)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed_) - 1))
        changed_[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2) | st.sampled_from(JUNK))
    read_all(bytes(changed_), call.message)


PACKED = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**64 - 1) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(st.data())
@settings(max_examples=300)
def test_a_message_with_any_value_for_a_field_gives_messages_or_one_line(data: st.DataObject) -> None:
    call = data.draw(CALLS)
    sent = encode_request(call, ADDRESSES)
    fields = unpack(sent[1:])
    for name in data.draw(st.lists(st.sampled_from(sorted(fields)), max_size=3)):
        fields[name] = data.draw(PACKED)
    read_all(sent[:1] + pack(fields), call.message)
    read_all(b"\xa0" + pack(fields), call.message)
