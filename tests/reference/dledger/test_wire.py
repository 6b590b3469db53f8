"""DLedger's frames and messages as bytes: what is refused, what is ignored, and that everything comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    BatchAppendEntryRequest,
    GetEntriesRequest,
    GetEntriesResponse,
    LeadershipTransferRequest,
    LeadershipTransferResponse,
    MetadataRequest,
    MetadataResponse,
    Refusal,
    RemotingFailure,
    ResponseCode,
)
from raftref.dledger.election_rules import HeartBeatCode, TransferCode, VoteCode
from raftref.dledger.messages import (
    NO_TERM,
    NONE,
    BatchRequest,
    BatchResponse,
    Code,
    CommitRequest,
    ElectionResponse,
    ElectionType,
    Entry,
    HeartBeatMessage,
    Index,
    PushType,
    Request,
    Response,
    Term,
    TransferMessage,
    VoteMessage,
)
from raftref.dledger.remoting import MAX_CONTAINERS, MAX_FRAME_BYTES, FrameReader, RemotingCommand
from raftref.dledger.storage.entry_coder import EntryHeader, header_of, to_value
from raftref.dledger.wire import AnyRequest, RpcCall, call_with, decode_call, encode_call
from raftref.dledger.wire_answers import CARRIES_TERM, OF_APPENDS, AnyResponse, decode_answer, encode_answer
from raftref.dledger.wire_fields import Rpc, Version
from raftref.wire_error import WireError

VOTE = VoteMessage("n1", "n2", Term(4), Term(3), Index(7))
ENTRY = Entry(Term(3), "a value")
HEADER = header_of(ENTRY, Index(7), 400, with_crc=False)
PUSH = Request(PushType.APPEND, "n1", "n2", Term(4), Index(7), ENTRY, Index(6))


def call_of(message: AnyRequest, *headers: EntryHeader) -> RpcCall:
    return call_with(message, 1, "g", Version.V0_3, headers)


def frames(data: bytes) -> list[RemotingCommand]:
    return list(FrameReader().feed(data))


def request(code: int, body: Any) -> RemotingCommand:
    return RemotingCommand(code, 1, body=body if isinstance(body, bytes) else json.dumps(body).encode())


def fields_of(call: RpcCall) -> dict[str, Any]:
    (frame,) = frames(encode_call(call))
    found: dict[str, Any] = json.loads(frame.body)
    return found


def refused(frame: RemotingCommand, call: RpcCall | None = None) -> str:
    """The line with which a frame is refused."""
    with pytest.raises(WireError) as error:
        if call is None:
            decode_call(frame)
        else:
            decode_answer(frame, call)
    return one_line(error.value)


def refused_bytes(data: bytes) -> str:
    with pytest.raises(WireError) as error:
        frames(data)
    return one_line(error.value)


def one_line(error: WireError) -> str:
    line = str(error)
    assert "\n" not in line
    assert len(line) < 200
    return line


# ---- Frames ----


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_a_frame_that_is_cut_anywhere_comes_once_it_is_complete(size: int) -> None:
    data = encode_call(call_of(VOTE)) + encode_call(call_of(PUSH, HEADER))
    reader = FrameReader()
    read = [frame for at in range(0, len(data), size) for frame in reader.feed(data[at : at + size])]
    assert [decode_call(each).message for each in read] == [VOTE, PUSH]


def test_a_torn_frame_is_waited_for() -> None:
    data = encode_call(call_of(VOTE))
    reader = FrameReader()
    assert list(reader.feed(data[:-1])) == []
    assert list(reader.feed(b"")) == []
    assert len(list(reader.feed(data[-1:]))) == 1


def test_bytes_are_taken_even_if_nobody_iterates() -> None:
    data = encode_call(call_of(VOTE))
    reader = FrameReader()
    reader.feed(data[:9])
    assert len(list(reader.feed(data[9:]))) == 1


def test_a_frame_longer_than_the_limit_ends_the_connection_with_one_line() -> None:
    length = MAX_FRAME_BYTES - 3
    assert refused_bytes(length.to_bytes(4, "big")) == f"a frame of {length + 4} bytes is longer than 16777216"
    assert frames((length - 1).to_bytes(4, "big")) == []


def test_a_length_of_two_to_the_31_is_negative_as_in_java() -> None:
    assert refused_bytes((1 << 31).to_bytes(4, "big")) == "a frame has a length of -2147483648 bytes"
    assert refused_bytes(b"\xff\xff\xff\xff") == "a frame has a length of -1 bytes"


def test_a_frame_without_a_header_is_refused() -> None:
    assert refused_bytes(b"\0\0\0\0") == "a frame of 0 bytes has no header"
    assert refused_bytes(b"\0\0\0\3abc") == "a frame of 3 bytes has no header"


def test_a_header_longer_than_its_frame_is_refused() -> None:
    assert refused_bytes(b"\0\0\0\6\0\0\0\3{}") == "a header of 3 bytes does not fit into a frame of 6"


def test_a_header_that_is_not_json_is_refused() -> None:
    assert refused_bytes(b"\0\0\0\6\1\0\0\2{}") == "the header is not JSON: its type of serialization is 1"
    assert refused_bytes(b"\0\0\0\6\0\0\0\2[]") == "the header is no JSON object: []"
    assert refused_bytes(b"\0\0\0\6\0\0\0\2{]").startswith("the header is no JSON: Expecting property name")
    assert refused_bytes(b"\0\0\0\6\0\0\0\2{}") == "code of the header is no 32-bit integer: None"


def test_frames_before_a_broken_one_are_read_and_the_error_comes_again() -> None:
    reader = FrameReader()
    read = reader.feed(encode_call(call_of(VOTE)) + b"\xff\0\0\0")
    assert decode_call(next(read)).message == VOTE
    for frames_left in (read, reader.feed(b"more")):
        with pytest.raises(WireError, match="a frame has a length of"):
            next(frames_left)


@pytest.mark.parametrize("value", ["1.0", "true", '"1"', "2147483648", "[1]", "1e2", "NaN"])
def test_a_number_of_the_header_is_a_32_bit_integer(value: str) -> None:
    header = f'{{"code":{value},"opaque":1}}'.encode()
    data = (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
    assert refused_bytes(data).startswith(("code of the header is no 32-bit integer", "the header is no JSON"))


def test_a_message_too_long_for_a_frame_is_refused_before_it_is_sent() -> None:
    with pytest.raises(WireError, match="is longer than 16777216"):
        encode_call(call_of(AppendEntryRequest("n1", "x" * MAX_FRAME_BYTES)))


# ---- Bodies ----


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "the body of VOTE is no JSON: Expecting value"),
        (b"[1]", "the body of VOTE is no JSON object: [1]"),
        (b'"text"', "the body of VOTE is no JSON object: 'text'"),
        (b"{\xff}", "the body of VOTE is no JSON: 'utf-8' codec can't decode byte 0xff"),
        (b'{"term":NaN}', "the body of VOTE is no JSON: NaN is no number of JSON"),
        (b'{"term":-Infinity}', "the body of VOTE is no JSON: -Infinity is no number of JSON"),
        (b'{"term":1e999}', "the body of VOTE is no JSON: '1e999' is too large a number"),
        (b'{"unknown":' + b"9" * 5000 + b"}", "the body of VOTE is no JSON: Exceeds the limit"),
        (b"[" * 100_000, "the body of VOTE is nested too deep"),
        (b'{"unknown":' * 100_000, "the body of VOTE is nested too deep"),
        (b"[" * (MAX_CONTAINERS + 1), f"the body of VOTE has more than {MAX_CONTAINERS} brackets"),
    ],
    ids=lambda each: each[:12] if isinstance(each, bytes) else "",
)
def test_a_body_that_is_no_object_of_json_is_refused(body: bytes, line: str) -> None:
    assert refused(request(Rpc.VOTE, body)).startswith(line)


@pytest.mark.parametrize("value", [1.0, True, "4", 1 << 63, -(1 << 63) - 1, [4], {"a": 1}, 1e300])
def test_a_term_is_a_64_bit_integer(value: Any) -> None:
    line = refused(request(Rpc.VOTE, fields_of(call_of(VOTE)) | {"term": value}))
    assert line.startswith("term of VOTE is no 64-bit integer: ")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"leaderId": 1}, "leaderId of PUSH is no text: 1"),
        ({"leaderId": "\ud800"}, "leaderId of PUSH is no text: '\\ud800'"),
        ({"leaderId": None}, "PUSH has no leaderId"),
        ({"remoteId": None}, "PUSH has no remoteId"),
        ({"type": "APPLY"}, "type of PUSH is unknown: 'APPLY'"),
        ({"type": ["APPEND"]}, "type of PUSH is unknown: ['APPEND']"),
        ({"entry": None}, "APPEND has no entry"),
        ({"entry": []}, "entry of PUSH is no object: []"),
        ({"entry": {}}, "entry of PUSH has no body"),
        ({"entry": {"body": "!"}}, "body of entry of PUSH is no base64: '!'"),
        ({"entry": {"body": "é"}}, "body of entry of PUSH is no base64: 'é'"),
        ({"entry": {"body": "", "pos": 0.5}}, "pos of entry of PUSH is no 64-bit integer: 0.5"),
        ({"entry": {"body": "", "size": 1 << 31}}, "size of entry of PUSH is no 32-bit integer: 2147483648"),
        ({"batchEntry": {}}, "batchEntry of PUSH is no list: {}"),
        ({"batchEntry": [1]}, "an element of batchEntry of PUSH is no object: 1"),
        (
            {"batchEntry": [{"body": "", "index": 1}, {"body": "", "index": 3}]},
            "the entries of a batch do not follow each other",
        ),
    ],
    ids=str,
)
def test_a_field_of_a_wrong_type_is_refused_by_its_name(change: dict[str, Any], line: str) -> None:
    body = fields_of(call_of(PUSH, HEADER))
    assert decode_call(request(Rpc.PUSH, body)).message == PUSH
    assert refused(request(Rpc.PUSH, body | change)) == line


def test_a_request_of_an_unknown_code_is_refused() -> None:
    assert refused(request(51003, {})) == "no request has the code 51003"
    assert refused(request(-1, {})) == "no request has the code -1"


def test_an_answer_is_no_request_and_a_request_no_answer() -> None:
    call = call_of(VOTE)
    answer = RemotingCommand.response(200, 1, b"{}")
    assert refused(answer) == "an answer, of code 200, where a request was expected"
    assert refused(request(Rpc.VOTE, {}), call) == "frame 1, of code 51001, is no answer to call 1"
    assert refused(RemotingCommand.response(200, 2, b"{}"), call) == "frame 2, of code 200, is no answer to call 1"


def test_unknown_fields_are_ignored_and_missing_ones_have_the_defaults_of_java() -> None:
    body = {"remoteId": "n2", "leaderId": "n1", "more": [{"a": None}], "ledgerEndTerm": None}
    assert decode_call(request(Rpc.VOTE, body)).message == VoteMessage("n1", "n2", NO_TERM, NO_TERM, NONE)


def test_a_push_without_a_type_is_an_append() -> None:
    body = fields_of(call_of(PUSH, HEADER))
    del body["type"]
    assert decode_call(request(Rpc.PUSH, body)).message == PUSH


@pytest.mark.parametrize("type_", [PushType.COMPARE, PushType.TRUNCATE, PushType.APPEND])
def test_a_push_of_an_entry_that_no_log_has_is_refused(type_: PushType) -> None:
    """Its index is below 0; nothing else is: an empty log has end and committed index -1.

    Source: EntryDispatcher.doCompare, which compares nothing where the log is empty.
    """
    body = fields_of(call_of(PUSH, HEADER)) | {"type": type_.value, "commitIndex": -1}
    below = body["entry"] | {"index": -1}
    assert refused(request(Rpc.PUSH, body | {"entry": below})) == f"the entry of {type_} is at index -1"
    assert decode_call(request(Rpc.PUSH, body | {"entry": below | {"index": 0}})).message.commit_index == -1  # type: ignore[union-attr]


def test_a_batch_of_entries_that_no_log_has_is_refused_and_a_commit_of_nothing_is_not() -> None:
    body = fields_of(call_of(PUSH, HEADER)) | {"commitIndex": -1}
    batch = [body["entry"] | {"index": index} for index in (-1, 0)]
    assert (
        refused(request(Rpc.PUSH, body | {"entry": None, "batchEntry": batch})) == "the entry of APPEND is at index -1"
    )
    commit = decode_call(request(Rpc.PUSH, body | {"entry": None, "type": "COMMIT"})).message
    assert commit == CommitRequest("n1", "n2", Term(4), NONE)


def test_an_append_with_a_batch_of_one_is_still_a_batch() -> None:
    batch = BatchRequest("n1", "n2", Term(4), Index(7), (ENTRY,), Index(6))
    assert decode_call(request(Rpc.PUSH, fields_of(call_of(batch, HEADER)))).message == batch


def test_a_transfer_is_the_leaders_only_at_the_transferee() -> None:
    body = {"transferId": "n1", "transfereeId": "n2", "term": 4, "takeLeadershipLedgerIndex": 9}
    read = {
        node: decode_call(request(Rpc.LEADERSHIP_TRANSFER, body | {"remoteId": node})).message
        for node in ("n1", "n2", "n3")
    }
    assert read == {
        "n1": LeadershipTransferRequest("n1", "n1", "n2", Term(4)),
        "n2": TransferMessage("n1", "n2", Term(4), Index(9)),
        "n3": LeadershipTransferRequest("n3", "n1", "n2", Term(4)),
    }


@pytest.mark.parametrize(
    "headers",
    [(), (HEADER, HEADER), (replace(HEADER, term=Term(2)),), (replace(HEADER, index=Index(8)),)],
    ids=["none", "two", "of another term", "of another index"],
)
def test_a_push_without_the_headers_of_its_entries_is_not_sent(headers: tuple[EntryHeader, ...]) -> None:
    with pytest.raises(WireError, match="headers"):
        encode_call(call_of(PUSH, *headers))


def test_a_batch_of_nothing_is_not_sent() -> None:
    with pytest.raises(WireError, match="a batch has no entries"):
        encode_call(call_of(BatchRequest("n1", "n2", Term(4), Index(7), (), Index(6))))


def test_texts_that_no_utf_8_has_are_not_sent() -> None:
    for message in (AppendEntryRequest("n1", "\ud800"), MetadataRequest("\ud800")):
        with pytest.raises(WireError, match=r"is no (text|Unicode): surrogates not allowed"):
            encode_call(call_of(message))


# ---- Answers ----


def test_a_code_that_the_spec_does_not_know_is_a_refusal() -> None:
    def answered(message: AnyRequest, **fields: Any) -> AnyResponse:
        return decode_answer(RemotingCommand.response(200, 1, json.dumps(fields).encode()), call_of(message))

    assert answered(PUSH, code=421) == Refusal(ResponseCode.PUSH_REQUEST_IS_FULL)
    assert answered(PUSH, code=999) == Refusal(ResponseCode.UNKNOWN)
    assert answered(VOTE, code=401, leaderId="n3") == Refusal(ResponseCode.UNKNOWN_MEMBER, "n3")
    assert answered(VOTE) == Refusal(ResponseCode.SUCCESS)
    assert answered(AppendEntryRequest("n1", "a"), code=404, leaderId="n2") == Refusal(ResponseCode.NOT_LEADER, "n2")
    assert answered(GetEntriesRequest("n1", Index(0)), code=410) == Refusal(ResponseCode.INDEX_OUT_OF_RANGE)


def test_an_append_that_waits_in_vain_has_its_place_all_the_same() -> None:
    late = AppendEntryResponse(Index(3), 99, Term(2), "n1", ResponseCode.WAIT_QUORUM_ACK_TIMEOUT)
    call = call_of(AppendEntryRequest("n1", "a"))
    (frame,) = frames(encode_answer(late, call))
    assert decode_answer(frame, call) == late


def test_a_push_answered_without_its_index_is_refused() -> None:
    assert refused(RemotingCommand.response(200, 1, b"{}"), call_of(PUSH, HEADER)) == "an answer to PUSH has no index"


def test_an_unknown_vote_is_refused_by_its_name() -> None:
    line = refused(RemotingCommand.response(200, 1, b'{"voteResult":"MAYBE"}'), call_of(VOTE))
    assert line == "voteResult of an answer to VOTE is unknown: 'MAYBE'"


def test_no_message_answers_a_request_of_another_rpc() -> None:
    with pytest.raises(WireError, match="a GetEntriesResponse answers no VOTE"):
        encode_answer(GetEntriesResponse((), ()), call_of(VOTE))


def test_a_callee_that_failed_says_so_in_the_header() -> None:
    call = call_of(VOTE)
    (frame,) = frames(encode_answer(RemotingFailure(3, "not supported"), call))
    assert (frame.code, frame.remark, frame.body) == (3, "not supported", b"")
    assert decode_answer(frame, call) == RemotingFailure(3, "not supported")


# ---- Everything comes back ----

NODES = st.text(max_size=5)
LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
TERMS, INDEXES = LONGS.map(Term), LONGS.map(Index)
LAST_TERM = 2**63 - 1
VALUES = st.binary(max_size=20).map(to_value)


@st.composite
def pushes(draw: st.DrawFn) -> RpcCall:
    """A push with headers as arbitrary as the wire allows."""
    src, dst, term, commit = draw(NODES), draw(NODES), draw(TERMS), draw(INDEXES)
    type_ = draw(st.sampled_from(PushType))
    first = draw(st.integers(0, 2**62))
    entries = tuple(draw(st.lists(st.builds(Entry, TERMS, VALUES), min_size=1, max_size=3)))
    headers = tuple(
        replace(
            header_of(entry, Index(first + k), draw(LONGS), with_crc=draw(st.booleans())),
            **{name: draw(INTS) for name in ("magic", "size", "channel", "chain_crc")},
        )
        for k, entry in enumerate(entries)
    )
    if type_ is PushType.COMMIT:
        return call_of(CommitRequest(src, dst, term, commit))
    if type_ is PushType.APPEND and draw(st.booleans()):
        return call_of(BatchRequest(src, dst, term, Index(first), entries, commit), *headers)
    return call_of(Request(type_, src, dst, term, Index(first), entries[0], commit), headers[0])


@st.composite
def transfers(draw: st.DrawFn) -> TransferMessage:
    src, dst = draw(st.lists(NODES, min_size=2, max_size=2, unique=True))
    return TransferMessage(src, dst, draw(TERMS.filter(lambda term: term < LAST_TERM)), draw(INDEXES))


@st.composite
def commands(draw: st.DrawFn) -> LeadershipTransferRequest:
    leader, transferee = draw(NODES), draw(NODES)
    return LeadershipTransferRequest(leader, leader, transferee, draw(TERMS))


CALLS = pushes() | st.one_of(
    st.builds(VoteMessage, NODES, NODES, TERMS, TERMS, INDEXES),
    st.builds(HeartBeatMessage, NODES, NODES, TERMS),
    transfers(),
    commands(),
    st.builds(MetadataRequest, NODES),
    st.builds(AppendEntryRequest, NODES, VALUES),
    st.builds(BatchAppendEntryRequest, NODES, st.lists(VALUES).map(tuple)),
    st.builds(GetEntriesRequest, NODES, INDEXES, INTS),
).map(call_of)


@st.composite
def answers(draw: st.DrawFn, call: RpcCall) -> AnyResponse:
    """One of the answers that a call may have, as it looks on the wire."""
    m, leader = call.message, draw(st.none() | NODES)
    match m:
        case VoteMessage():
            code: str = draw(st.sampled_from(VoteCode))
            return ElectionResponse(ElectionType.VOTE, m.dst, m.src, draw(TERMS), code)
        case HeartBeatMessage():
            code = draw(st.sampled_from(HeartBeatCode))
            term = draw(TERMS) if code in CARRIES_TERM else NO_TERM
            return ElectionResponse(ElectionType.HEARTBEAT, m.dst, m.src, term, code)
        case TransferMessage():
            return ElectionResponse(ElectionType.TRANSFER, m.dst, m.src, m.term, draw(st.sampled_from(TransferCode)))
        case Request() | BatchRequest() | CommitRequest():
            index = NONE if isinstance(m, CommitRequest) else draw(INDEXES)
            code_ = draw(st.sampled_from(Code))
            echo = m.type, m.dst, m.src, draw(TERMS), index, code_, draw(INDEXES), draw(INDEXES)
            return BatchResponse(*echo, draw(INTS)) if isinstance(m, BatchRequest) else Response(*echo)
        case AppendEntryRequest() | BatchAppendEntryRequest():
            place = draw(INDEXES), draw(LONGS), draw(TERMS), leader
            return AppendEntryResponse(*place, draw(st.sampled_from(sorted(OF_APPENDS))))
        case LeadershipTransferRequest():
            return LeadershipTransferResponse(draw(st.sampled_from(ResponseCode)), draw(TERMS))
        case MetadataRequest():
            return MetadataResponse(leader, draw(st.dictionaries(NODES, NODES, max_size=3)))
        case GetEntriesRequest():
            entry = draw(st.builds(Entry, TERMS, VALUES))
            return GetEntriesResponse((entry,), (header_of(entry, m.begin_index, draw(LONGS), with_crc=False),))


@given(CALLS)
def test_every_request_comes_back(call: RpcCall) -> None:
    (frame,) = frames(encode_call(call))
    assert decode_call(frame) == call


@given(st.data())
def test_every_answer_comes_back(data: st.DataObject) -> None:
    call = data.draw(CALLS)
    answer = data.draw(answers(call) | st.builds(RemotingFailure, st.just(1), st.text(max_size=9)))
    (frame,) = frames(encode_answer(answer, call))
    assert decode_answer(frame, call) == answer


def test_a_transfer_that_no_term_can_follow_has_no_answer_of_success() -> None:
    """A SUCCESS carries the term that the transferee leads, which is the next."""
    call = call_of(TransferMessage("n1", "n2", Term(LAST_TERM), Index(0)))
    answer = ElectionResponse(ElectionType.TRANSFER, "n2", "n1", Term(LAST_TERM), TransferCode.SUCCESS.name)
    with pytest.raises(WireError, match=f"no term of 64 bits follows {LAST_TERM}"):
        encode_answer(answer, call)


@given(CALLS, st.sampled_from([ResponseCode.UNKNOWN_GROUP, ResponseCode.ILLEGAL_MEMBER_STATE]), st.none() | NODES)
def test_every_request_may_be_refused(call: RpcCall, code: ResponseCode, leader: str | None) -> None:
    (frame,) = frames(encode_answer(Refusal(code, leader), call))
    assert decode_answer(frame, call) == Refusal(code, leader)


# ---- Whatever bytes come ----


def read_all(data: bytes, call: RpcCall) -> None:
    """Read whatever comes; only a WireError of one line may be raised."""
    reader = FrameReader().feed(data)
    while True:
        try:
            frame = next(reader)
        except StopIteration:
            return
        except WireError as error:
            one_line(error)
            return
        for read in (decode_call, lambda frame: decode_answer(frame, call)):
            try:
                read(frame)
            except WireError as error:
                one_line(error)


@given(st.binary(max_size=200), st.binary(max_size=200), CALLS)
def test_any_bytes_give_messages_or_one_line(header: bytes, body: bytes, call: RpcCall) -> None:
    read_all(header + body, call)
    framed = (4 + len(header) + len(body)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header + body
    read_all(framed, call)


@given(st.data())
@settings(max_examples=300)
def test_a_frame_with_changed_bytes_gives_messages_or_one_line(data: st.DataObject) -> None:
    call = data.draw(CALLS)
    frame = encode_call(call) if data.draw(st.booleans()) else encode_answer(data.draw(answers(call)), call)
    changed = bytearray(frame)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2) | st.sampled_from(JUNK))
    read_all(bytes(changed), call)


#: Pieces of JSON that are likely to stand where they may not.
JUNK = [b"null", b"[", b"{", b"]", b"1.5", b"true", b'"', b"\\ud800", b"-", b"NaN", b"9" * 20, b"\xff"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(st.data())
@settings(max_examples=300)
def test_a_body_with_any_json_for_a_field_gives_messages_or_one_line(data: st.DataObject) -> None:
    call = data.draw(CALLS)
    body = fields_of(call)
    for name in data.draw(st.lists(st.sampled_from(sorted(body)), max_size=3)):
        body[name] = data.draw(JSON)
    read_all(request(call.rpc, body).encode(), call)
    read_all(RemotingCommand.response(200, call.opaque, json.dumps(body).encode()).encode(), call)
