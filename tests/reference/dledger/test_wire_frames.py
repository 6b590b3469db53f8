"""The codec against frames of real groups: DLedger 0.2.7 and 0.3.2, three JVMs and a client, recorded by a proxy.

Every pair is equal byte for byte, both ways: fastjson sorts the fields of an object, and leaves out what is null. The
peers in an answer to METADATA come in the order of a Java map, which here is that of their names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

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
from raftref.dledger.remoting import FrameReader, RemotingCommand
from raftref.dledger.storage.entry_coder import header_of
from raftref.dledger.wire import AnyRequest, RpcCall, call_with, decode_call, encode_call
from raftref.dledger.wire_answers import AnyResponse, decode_answer, encode_answer
from raftref.dledger.wire_fields import Rpc, Version
from tests.support.frames import Pair, recorded_pairs

FRAMES = Path(__file__).parent / "frames"
VERSIONS = {"0.2.7": Version.V0_2_7, "0.3.2": Version.V0_3}
PAIRS = {
    (version, name): pair for version in VERSIONS for name, pair in recorded_pairs(FRAMES / f"{version}.txt").items()
}

VOTE, BEAT, TRANSFER = ElectionType.VOTE, ElectionType.HEARTBEAT, ElectionType.TRANSFER
T0, T1, T2, T3, T8 = map(Term, (0, 1, 2, 3, 8))
I0, I1, I9, I48 = map(Index, (0, 1, 9, 48))
VALUE_0, VALUE_1 = Entry(T1, "value 0"), Entry(T1, "value 1")
BURST = Entry(T1, "burst 2 0"), Entry(T1, "burst 1 0")
LATE_BURST = Entry(T2, "burst 5 0"), Entry(T2, "burst 12 0")
PEERS = {"n0": "127.0.0.1:12000", "n1": "127.0.0.1:12101", "n2": "127.0.0.1:12102"}
SERVER_ERROR = (
    'java.lang.NullPointerException: Cannot read the array length because "this.body" is null, '
    "io.openmessaging.storage.dledger.entry.DLedgerEntry.computeSizeInBytes(DLedgerEntry.java:92)"
)

EXPECTED: dict[tuple[str, str], tuple[AnyRequest, AnyResponse]] = {
    ("0.2.7", "APPEND of a batch of several"): (
        BatchRequest("n1", "n2", T1, I9, BURST, Index(8)),
        BatchResponse(PushType.APPEND, "n2", "n1", T1, I9, Code.SUCCESS, I0, Index(10), 2),
    ),
    ("0.2.7", "APPEND of an entry"): (
        Request(PushType.APPEND, "n0", "n2", T1, I1, VALUE_1, I0),
        Response(PushType.APPEND, "n2", "n0", T1, I1, Code.SUCCESS, I0, I1),
    ),
    ("0.2.7", "COMMIT"): (
        CommitRequest("n1", "n0", T2, I48),
        Response(PushType.COMMIT, "n0", "n1", T2, NONE, Code.SUCCESS, I0, I48),
    ),
    ("0.2.7", "COMPARE of an entry that is held"): (
        Request(PushType.COMPARE, "n1", "n2", T2, I48, Entry(T1, "burst 39"), Index(47)),
        Response(PushType.COMPARE, "n2", "n1", T2, I48, Code.SUCCESS, I0, I48),
    ),
    ("0.2.7", "COMPARE of an entry that is not held"): (
        Request(PushType.COMPARE, "n0", "n1", T1, I0, VALUE_0, NONE),
        Response(PushType.COMPARE, "n1", "n0", T1, I0, Code.INCONSISTENT_STATE, NONE, NONE),
    ),
    ("0.2.7", "TRUNCATE"): (
        Request(PushType.TRUNCATE, "n0", "n2", T1, I0, VALUE_0, NONE),
        Response(PushType.TRUNCATE, "n2", "n0", T1, I0, Code.SUCCESS, I0, I0),
    ),
    ("0.2.7", "a client appends a batch, on which the node fails"): (
        BatchAppendEntryRequest("n0", ("b1", "b2")),
        RemotingFailure(1, SERVER_ERROR),
    ),
    ("0.2.7", "a client appends an entry"): (
        AppendEntryRequest("n0", "burst 0"),
        AppendEntryResponse(I9, 485, T1, "n0"),
    ),
    ("0.2.7", "a client appends at a follower"): (
        AppendEntryRequest("n1", "to a follower"),
        Refusal(ResponseCode.NOT_LEADER, "n0"),
    ),
    ("0.2.7", "a client asks a follower for an entry"): (
        GetEntriesRequest("n1", I0),
        Refusal(ResponseCode.NOT_LEADER, "n0"),
    ),
    ("0.2.7", "a client asks a node of another group"): (
        MetadataRequest("n0"),
        Refusal(ResponseCode.UNKNOWN_GROUP, "n0"),
    ),
    ("0.2.7", "a client asks for an entry above the end"): (
        GetEntriesRequest("n1", Index(1000)),
        Refusal(ResponseCode.INDEX_OUT_OF_RANGE, "n1"),
    ),
    ("0.2.7", "a client asks who leads"): (MetadataRequest("n0"), MetadataResponse("n0", PEERS)),
    ("0.2.7", "a client gets an entry"): (
        GetEntriesRequest("n1", I1),
        GetEntriesResponse((VALUE_1,), (header_of(VALUE_1, I1, 55, with_crc=False),)),
    ),
    ("0.2.7", "a client transfers leadership"): (
        LeadershipTransferRequest("n1", "n1", "n2", T1),
        LeadershipTransferResponse(ResponseCode.SUCCESS, T2),
    ),
    ("0.2.7", "a client transfers the leadership of another term"): (
        LeadershipTransferRequest("n1", "n1", "n2", T8),
        Refusal(ResponseCode.INCONSISTENT_TERM, "n1"),
    ),
    ("0.2.7", "a heartbeat"): (
        HeartBeatMessage("n0", "n2", T1),
        ElectionResponse(BEAT, "n2", "n0", NO_TERM, HeartBeatCode.SUCCESS),
    ),
    ("0.2.7", "a heartbeat of a term that is over"): (
        HeartBeatMessage("n0", "n1", T1),
        ElectionResponse(BEAT, "n1", "n0", T2, HeartBeatCode.EXPIRED_TERM),
    ),
    ("0.2.7", "a heartbeat of a term that the member has to reach first"): (
        HeartBeatMessage("n2", "n1", T3),
        ElectionResponse(BEAT, "n1", "n2", NO_TERM, HeartBeatCode.TERM_NOT_READY),
    ),
    ("0.2.7", "a leader hands over"): (
        TransferMessage("n0", "n1", T1, I48),
        ElectionResponse(TRANSFER, "n1", "n0", T1, TransferCode.SUCCESS),
    ),
    ("0.2.7", "a vote is given"): (
        VoteMessage("n0", "n1", T1, NO_TERM, NONE),
        ElectionResponse(VOTE, "n1", "n0", T1, VoteCode.ACCEPT),
    ),
    ("0.2.7", "a vote is refused: the term is over"): (
        VoteMessage("n1", "n2", T2, T1, I48),
        ElectionResponse(VOTE, "n2", "n1", T3, VoteCode.REJECT_EXPIRED_VOTE_TERM),
    ),
    ("0.2.7", "a vote is refused: the voter has to reach the term first"): (
        VoteMessage("n0", "n2", T1, NO_TERM, NONE),
        ElectionResponse(VOTE, "n2", "n0", T0, VoteCode.REJECT_TERM_NOT_READY),
    ),
    ("0.2.7", "a vote is refused: the voter has voted"): (
        VoteMessage("n2", "n0", T0, NO_TERM, NONE),
        ElectionResponse(VOTE, "n0", "n2", T0, VoteCode.REJECT_ALREADY_VOTED),
    ),
    ("0.3.2", "APPEND of a batch of several"): (
        BatchRequest("n2", "n1", T2, Index(19), LATE_BURST, Index(8)),
        BatchResponse(PushType.APPEND, "n1", "n2", T2, Index(19), Code.SUCCESS, I0, Index(20), 2),
    ),
    ("0.3.2", "APPEND of an entry"): (
        Request(PushType.APPEND, "n1", "n0", T1, I1, VALUE_1, I0),
        Response(PushType.APPEND, "n0", "n1", T1, I1, Code.SUCCESS, I0, I1),
    ),
    ("0.3.2", "a client asks who leads before there is a leader"): (
        MetadataRequest("n0"),
        MetadataResponse(None, PEERS),
    ),
    ("0.3.2", "a heartbeat"): (
        HeartBeatMessage("n1", "n0", T1),
        ElectionResponse(BEAT, "n0", "n1", NO_TERM, HeartBeatCode.SUCCESS),
    ),
    ("0.3.2", "a leader hands over"): (
        TransferMessage("n1", "n2", T1, I48),
        ElectionResponse(TRANSFER, "n2", "n1", T1, TransferCode.SUCCESS),
    ),
    ("0.3.2", "a vote is given"): (
        VoteMessage("n1", "n0", T1, NO_TERM, NONE),
        ElectionResponse(VOTE, "n0", "n1", T1, VoteCode.ACCEPT),
    ),
    ("0.3.2", "a vote is refused: the voter's log ends in a later term"): (
        VoteMessage("n2", "n1", T1, NO_TERM, NONE),
        ElectionResponse(VOTE, "n1", "n2", T1, VoteCode.REJECT_EXPIRED_LEDGER_TERM),
    ),
}


def only_frame(data: bytes) -> RemotingCommand:
    (frame,) = FrameReader().feed(data)
    return frame


def read(pair: Pair) -> tuple[RpcCall, AnyResponse]:
    call = decode_call(only_frame(pair.request))
    return call, decode_answer(only_frame(pair.answer), call)


def test_every_rpc_was_recorded_and_every_pair_is_expected() -> None:
    assert set(EXPECTED) == set(PAIRS)
    assert {decode_call(only_frame(pair.request)).rpc for pair in PAIRS.values()} == set(Rpc)


@pytest.mark.parametrize("pair", PAIRS, ids=": ".join)
def test_real_frames_are_the_messages_that_were_sent(pair: tuple[str, str]) -> None:
    call, answer = read(PAIRS[pair])
    assert (call.message, answer) == EXPECTED[pair]


@pytest.mark.parametrize("pair", PAIRS, ids=": ".join)
def test_messages_become_the_bytes_that_java_sent(pair: tuple[str, str]) -> None:
    request, expected = EXPECTED[pair]
    frames = PAIRS[pair]
    recorded = decode_call(only_frame(frames.request))
    assert recorded.group is not None
    call = call_with(request, recorded.opaque, recorded.group, VERSIONS[pair[0]], recorded.headers)
    assert encode_call(call) == frames.request
    assert encode_answer(expected, call) == frames.answer


def test_an_entry_lies_in_the_leaders_file_where_its_header_says() -> None:
    call, _ = read(PAIRS["0.2.7", "APPEND of a batch of several"])
    first, second = BURST
    assert call.headers == (
        header_of(first, I9, 485, with_crc=False),
        header_of(second, Index(10), 542, with_crc=False),
    )


def test_only_the_later_version_sets_the_sender_in_votes_and_pushes() -> None:
    senders = {pair: read(PAIRS[pair])[0].local_id for pair in PAIRS}
    names = ("a vote is given", "APPEND of an entry", "a heartbeat", "a leader hands over")
    assert [senders["0.2.7", name] for name in names] == [None, None, "n0", "n0"]
    assert [senders["0.3.2", name] for name in names] == ["n1", "n1", "n1", "n1"]
