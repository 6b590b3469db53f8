"""Captures of a network as lines: streams of TCP put together, and said where that cannot be."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dpkt
import pytest
from click.testing import CliRunner

from lockstep.base.verdict import Verdict
from lockstep.cli.import_command import command
from lockstep.systems.file_check import check
from lockstep.systems.running_nodes import Address
from raftref.hashicorp.messages import HeartbeatRequest, HeartbeatResponse, RequestVoteRequest, RequestVoteResponse
from raftref.hashicorp.wire import RpcCall, encode_answer, encode_request
from tests.support.wire_sessions import ADDRESSES

CALLER, NODE = ("127.0.0.1", 50_000), ("127.0.0.1", 8002)
SYN, ACK, FIN, RST = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK, dpkt.tcp.TH_FIN, dpkt.tcp.TH_RST

VOTE = encode_request(RpcCall(RequestVoteRequest("n1", "n2", 2, 1, 1, False)), ADDRESSES)
GRANTED = encode_answer(RequestVoteResponse("n2", "n1", 2, True), ADDRESSES)
BEAT = encode_request(RpcCall(HeartbeatRequest("n1", "n2", 2)), ADDRESSES)
BEATEN = encode_answer(HeartbeatResponse("n2", "n1", 2, True), ADDRESSES)


def packet(src: Address, dst: Address, number: int, data: bytes = b"", flags: int = ACK) -> bytes:
    segment = dpkt.tcp.TCP(sport=src[1], dport=dst[1], seq=number % (1 << 32), flags=flags, data=data)
    addresses = {"src": bytes(map(int, src[0].split("."))), "dst": bytes(map(int, dst[0].split(".")))}
    ip = dpkt.ip.IP(**addresses, p=dpkt.ip.IP_PROTO_TCP, data=segment)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))


@dataclass
class Connection:
    """Both directions of a connection, whose first numbers are about to begin anew."""

    caller: Address = CALLER
    up: int = (1 << 32) - 20
    down: int = 7
    packets: list[bytes] = field(default_factory=list)

    def open(self) -> None:
        self.packets.append(packet(self.caller, NODE, self.up - 1, flags=SYN))
        self.packets.append(packet(NODE, self.caller, self.down - 1, flags=SYN | ACK))

    def send(self, data: bytes, pieces: int = 1) -> None:
        for each in cut(data, pieces):
            self.packets.append(packet(self.caller, NODE, self.up, each))
            self.up += len(each)

    def answer(self, data: bytes, pieces: int = 1) -> None:
        for each in cut(data, pieces):
            self.packets.append(packet(NODE, self.caller, self.down, each))
            self.down += len(each)

    def close(self) -> None:
        self.packets.append(packet(self.caller, NODE, self.up, flags=FIN | ACK))
        self.packets.append(packet(NODE, self.caller, self.down, flags=FIN | ACK))


def cut(data: bytes, pieces: int) -> list[bytes]:
    size = -(-len(data) // pieces)
    return [data[start : start + size] for start in range(0, len(data), size)]


def conversation(pieces: int = 1) -> Connection:
    found = Connection()
    found.open()
    found.send(VOTE, pieces)
    found.answer(GRANTED, pieces)
    found.send(BEAT, pieces)
    found.answer(BEATEN, pieces)
    found.close()
    return found


def written(path: Path, packets: Iterable[bytes], writer: Any = dpkt.pcap.Writer) -> Path:
    with path.open("wb") as file:
        into = writer(file)
        for number, each in enumerate(packets):
            into.writepkt(each, ts=1_000_000 + number)
    return path


def imported(path: Path, *words: str) -> tuple[list[dict[str, Any]], str]:
    output = path.with_suffix(".ndjson")
    usual = ["--system", "HashicorpRaft", "--node", "n2=127.0.0.1:8002"]
    result = CliRunner().invoke(command, [str(path), *usual, *words, "-o", str(output)], standalone_mode=False)
    assert result.exception is None, result.exception
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()[1:]], result.output


def kinds(lines: Sequence[dict[str, Any]]) -> list[str]:
    return [("answer " if each.get("answer") else "") + each["kind"] for each in lines]


WHOLE = ["opened", "RequestVote", "answer RequestVote", "Heartbeat", "answer Heartbeat", "closed"]


class BigEndian:
    """Writes pcap in the order of bytes that this host has not, with nanoseconds."""

    def __init__(self, file: Any) -> None:
        self.file = file
        file.write(b"\xa1\xb2\x3c\x4d" + struct.pack(">2H4I", 2, 4, 0, 0, 65_535, 1))

    def writepkt(self, data: bytes, ts: int) -> None:
        self.file.write(struct.pack(">4I", ts - 1, 1_000_000_000, len(data), len(data)) + data)


@pytest.mark.parametrize(
    "writer", [dpkt.pcap.Writer, dpkt.pcapng.Writer, BigEndian, lambda file: dpkt.pcap.Writer(file, nano=True)]
)
def test_a_capture_is_the_lines_of_a_tap(tmp_path: Path, writer: Any) -> None:
    found, said = imported(written(tmp_path / "a.pcap", conversation().packets, writer))
    assert kinds(found) == WHOLE
    assert found[1]["fields"]["Term"] == 2
    assert [each["time"] for each in found[:2]] == [1_000_001, 1_000_002]
    assert "6 lines of 1 connections, from 8 packets" in said
    assert check(tmp_path / "a.ndjson").verdict is Verdict.HOLDS


@pytest.mark.parametrize("seed", range(5))
def test_segments_out_of_order_and_twice_are_the_same_frames(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    whole = conversation(pieces=6).packets
    begin, middle, end = whole[:2], whole[2:-2], whole[-2:]
    requests = [each for each in middle if dpkt.ethernet.Ethernet(each).data.data.dport == NODE[1]]
    answers = [each for each in middle if each not in requests]
    for some in (requests, answers):
        some += chance.sample(some, 4)
        chance.shuffle(some)
    found, _ = imported(written(tmp_path / "a.pcap", [*begin, *requests, *answers, *end]))
    assert sorted(kinds(found)) == sorted(WHOLE)


def test_a_segment_that_overlaps_what_came_before_adds_its_rest(tmp_path: Path) -> None:
    talk = Connection()
    talk.open()
    talk.send(VOTE[:20])
    talk.packets.append(packet(CALLER, NODE, talk.up - 15, (VOTE + BEAT)[5:60]))
    talk.packets.append(packet(CALLER, NODE, talk.up + 20, (VOTE + BEAT)[40:]))
    found, _ = imported(written(tmp_path / "a.pcap", talk.packets))
    assert kinds(found) == ["opened", "RequestVote", "Heartbeat", "closed"]


def test_a_connection_that_began_before_the_capture_is_one_line(tmp_path: Path) -> None:
    found, said = imported(written(tmp_path / "a.pcap", conversation().packets[3:]))
    assert kinds(found) == ["opened", "answer unreadable", "closed"]
    assert "begins in the middle" in found[1]["why"]
    assert "1 connections could not be read to their end" in said


def test_bytes_that_the_capture_lacks_end_the_lines_of_their_connection_alone(tmp_path: Path) -> None:
    torn, whole = conversation(pieces=3), conversation()
    del torn.packets[3]
    other = Connection(("127.0.0.1", 50_001))
    other.open()
    other.send(VOTE)
    other.answer(GRANTED)
    found, _ = imported(written(tmp_path / "a.pcap", [*torn.packets, *other.packets]))
    assert [each["why"] for each in found if each["kind"] == "unreadable"] == ["an answer to no request"]
    assert kinds([each for each in found if each["conn"] == 2]) == [
        "opened",
        "RequestVote",
        "answer RequestVote",
        "closed",
    ]
    requests_alone = [each for each in torn.packets if dpkt.ethernet.Ethernet(each).data.data.dport == NODE[1]]
    found, _ = imported(written(tmp_path / "b.pcap", requests_alone))
    assert [each["why"] for each in found if each["kind"] == "unreadable"] == [
        "the capture lacks bytes of this connection"
    ]
    assert kinds(imported(written(tmp_path / "c.pcap", whole.packets))[0]) == WHOLE


def test_a_node_that_takes_no_connection_is_a_line(tmp_path: Path) -> None:
    refused = [packet(CALLER, NODE, 6, flags=SYN), packet(NODE, CALLER, 0, flags=RST | ACK)]
    found, said = imported(written(tmp_path / "a.pcap", [*refused, *conversation().packets]))
    assert kinds(found) == ["refused", *WHOLE]
    assert "could not be read" not in said


def test_packets_that_were_cut_short_are_said(tmp_path: Path) -> None:
    found, _ = imported(written(tmp_path / "a.pcap", [each[:80] for each in conversation().packets]))
    assert kinds(found) == ["opened", "unreadable", "closed"]
    assert "tcpdump -s 0" in found[1]["why"]


def test_a_capture_that_ends_within_a_packet_is_read_up_to_there(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets[:6])
    path.write_bytes(path.read_bytes() + b"\x01\x02\x03")
    found, said = imported(path)
    assert kinds(found) == [*WHOLE[:5], "closed"]
    assert "ends within a packet, after packet 6" in said


@pytest.mark.parametrize("writer", [dpkt.pcap.Writer, dpkt.pcapng.Writer])
@pytest.mark.parametrize("missing", [1, 5, 30, 80])
def test_a_last_packet_without_all_of_its_bytes_is_none(tmp_path: Path, writer: Any, missing: int) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets[:6], writer)
    path.write_bytes(path.read_bytes()[:-missing])
    found, said = imported(path)
    assert kinds(found) == [*WHOLE[:4], "closed"]
    assert "ends within a packet, after packet 5" in said


def block(kind: int, body: bytes, length: int | None = None, again: int | None = None) -> bytes:
    """A block of pcapng, with lengths of its own where some are given."""
    length = len(body) + 12 if length is None else length
    return struct.pack("<2I", kind, length) + body + struct.pack("<I", length if again is None else again)


EMPTY_PACKET = struct.pack("<5I", 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (block(6, EMPTY_PACKET, length=0), "a block has a length of 0 bytes"),
        (block(6, EMPTY_PACKET, length=4), "a block has a length of 4 bytes"),
        (block(5, b"1234", length=15), "a block has a length of 15 bytes"),
        (block(5, b"1234", length=0xFFFF_FFFC), "a block has a length of 4,294,967,292 bytes"),
        (block(5, b"1234", again=20), "16 bytes at its begin, and 20 at its end"),
        (block(6, b"1234"), "too short for its kind"),
        (block(6, struct.pack("<5I", 0, 0, 0, 99, 99)), "a packet of 99 bytes is in a block with 0"),
        (block(6, struct.pack("<5I", 7, 0, 0, 0, 0)), "interface 7, which is not described"),
    ],
)
def test_a_damaged_block_is_said_with_the_packet_before_it(tmp_path: Path, damage: bytes, why: str) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets[:6], dpkt.pcapng.Writer)
    path.write_bytes(path.read_bytes() + damage + bytes(40))
    found, said = imported(path)
    assert kinds(found) == [*WHOLE[:5], "closed"]
    assert "is malformed after packet 6" in said
    assert why in said


def test_a_packet_of_pcap_with_an_absurd_length_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets[:6])
    path.write_bytes(path.read_bytes() + b"\xff" * 16)
    _, said = imported(path)
    assert "is malformed after packet 6" in said


def interface(link: int, options: bytes = b"") -> bytes:
    return block(1, struct.pack("<2HI", link, 0, 0) + options)


def test_interfaces_of_different_links_are_refused_by_their_types(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets, dpkt.pcapng.Writer)
    path.write_bytes(path.read_bytes() + interface(113))
    usual = ["--system", "HashicorpRaft", "--node", "n2=127.0.0.1:8002"]
    result = CliRunner().invoke(command, [str(path), *usual, "-o", str(tmp_path / "b")])
    assert "a.pcap: it has interfaces of different link types, 1 and 113" in str(result.exception)
    assert not (tmp_path / "b").exists()


def test_interfaces_of_the_same_link_each_have_their_times(tmp_path: Path) -> None:
    nanoseconds = struct.pack("<2HB3x", 9, 1, 9) + struct.pack("<2Hq", 14, 8, 1_000)
    data = block(0x0A0D0D0A, b"\x4d\x3c\x2b\x1a" + struct.pack("<2Hq", 1, 0, -1))
    data += interface(1) + interface(1, nanoseconds + bytes(4))
    for number, each in enumerate(conversation().packets):
        time = 3_000_000 if number % 2 == 0 else 2_000_000_000
        padded = each + bytes(-len(each) % 4)
        data += block(6, struct.pack("<5I", number % 2, 0, time, len(each), len(each)) + padded)
    path = tmp_path / "a.pcap"
    path.write_bytes(data + data)  # two sections
    found, said = imported(path)
    assert kinds(found) == WHOLE * 2
    assert {each["time"] for each in found} == {3, 1_002}
    assert "note" not in said


def test_packets_that_cannot_be_decoded_are_counted(tmp_path: Path) -> None:
    whole = conversation().packets
    broken = [whole[0][:40], whole[0][:20], b"\x01", whole[0][:12] + b"\x12\x34"]
    found, said = imported(written(tmp_path / "a.pcap", [*broken, *whole]))
    assert kinds(found) == WHOLE
    assert "4 packets could not be decoded" in said
    arp = bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_ARP, data=dpkt.arp.ARP()))
    udp = dpkt.ip.IP(p=dpkt.ip.IP_PROTO_UDP, data=dpkt.udp.UDP())
    udp.len = len(udp)
    others = [arp, bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=udp))]
    assert "decoded" not in imported(written(tmp_path / "b.pcap", [*others, *whole]))[1]


def test_the_same_ports_once_more_are_another_connection(tmp_path: Path) -> None:
    again = conversation()
    reset = [packet(CALLER, NODE, again.up + 1, flags=RST)]
    found, _ = imported(written(tmp_path / "a.pcap", [*again.packets[:-2], *reset, *conversation().packets]))
    assert kinds(found) == WHOLE * 2
    found, _ = imported(written(tmp_path / "b.pcap", [again.packets[0], *again.packets]))  # a SYN sent twice
    assert kinds(found) == WHOLE


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "a capture needs --system"),
        (["--system", "HashicorpRaft"], "a capture needs --system"),
        (["--system", "HashicorpRaft", "--node", "n2=host:8002"], "no names of hosts"),
        (["--system", "Paxos", "--node", "n2=127.0.0.1:8002"], "is none of"),
    ],
)
def test_a_capture_needs_its_system_and_nodes(tmp_path: Path, words: list[str], problem: str) -> None:
    path = written(tmp_path / "a.pcap", conversation().packets)
    result = CliRunner().invoke(command, [str(path), *words, "-o", str(tmp_path / "b")])
    assert result.exit_code == 2
    assert problem in result.output


@pytest.mark.parametrize(
    "data", [b"\xa1\xb2\xc3\xd4", b"\x0a\x0d\x0d\x0a" + bytes(40), b"\xd4\xc3\xb2\xa1" + b"\xff" * 20]
)
def test_what_only_begins_like_a_capture_is_refused_with_its_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    usual = ["--system", "HashicorpRaft", "--node", "n2=127.0.0.1:8002"]
    result = CliRunner().invoke(command, [str(path), *usual, "-o", str(tmp_path / "b")])
    assert "a.pcap" in str(result.exception)
    assert not (tmp_path / "b").exists()


def test_check_says_that_a_capture_is_to_be_imported(tmp_path: Path) -> None:
    found = check(written(tmp_path / "a.pcap", conversation().packets))
    assert found.verdict is Verdict.MALFORMED
    assert "lockstep import" in found.reason
