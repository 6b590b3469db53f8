"""The library's requests and answers as bytes, and back: the messages of `raftref.hashicorp`.

A request is a byte and a map, to which InstallSnapshot appends the bytes of the snapshot. An answer is a text, which is
empty unless there is an error, and a map. Servers are written with their ids and addresses.

There are no sockets here: `raftref.hashicorp.transport` cuts what a connection receives into requests and answers.

Source: net_transport.go, commands.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
from raftref.hashicorp.msgpack import pack, to_text
from raftref.hashicorp.stored_values import (
    NO_DETAILS,
    Addresses,
    EntryDetails,
    address_of,
    decode_configuration,
    encode_configuration,
    encode_peers,
    entry_fields,
    entry_from,
    merged,
)
from raftref.hashicorp.transport import ReceivedAnswer, ReceivedRequest
from raftref.hashicorp.values import NO_INDEX, Index, NodeId, Snapshot
from raftref.hashicorp.wire_fields import (
    CODE_OF,
    FORMATS,
    PROTOCOL_VERSION,
    SNAPSHOT_VERSION,
    RpcCode,
    fill,
    read_fields,
)
from raftref.wire_error import WireError, shown


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A request with what its message lacks.

    Args:
        message: The request.
        details: Of the entries that it has, in their order; none stands for those of all being empty.
        data: The bytes of the snapshot that it has: what the application's state machine wrote. The message's
            snapshot has nothing applied, as only the application can read them.
        addresses: What is read brings addresses: of the sender, and of the servers in configurations.
        protocol_version: Of the sender.
    """

    message: Request
    details: tuple[EntryDetails, ...] = ()
    data: bytes = b""
    addresses: Addresses = field(default_factory=dict, compare=False)
    protocol_version: int = PROTOCOL_VERSION

    @property
    def code(self) -> RpcCode:
        """The first byte on the wire."""
        return CODE_OF[type(self.message)]


@dataclass(frozen=True, slots=True)
class RpcFailure:
    """The answer of a server that did not handle a request: why. Source: RPCResponse.Error."""

    error: str


# ---- Requests ----


def encode_request(call: RpcCall, addresses: Addresses) -> bytes:
    """Return the bytes of a request.

    Args:
        call: The request, and what its message lacks.
        addresses: Those of the sender, and of the servers in its configurations.

    Raises:
        WireError: An address is not known; the details are not those of the entries; or a value has no bytes.

    Source: net_transport.go, sendRPC, InstallSnapshot.
    """
    m = call.message
    sender = address_of(addresses, m.src)
    values = {"ProtocolVersion": call.protocol_version, "ID": m.src, "Addr": sender, "Term": getattr(m, "term", None)}
    match m:
        case AppendEntriesRequest():
            entries = _entries(m, call.details, addresses)
            place = {"PrevLogEntry": m.prev_log_entry, "PrevLogTerm": m.prev_log_term}
            values |= {"Leader": sender, **place, "Entries": entries, "LeaderCommitIndex": m.leader_commit_index}
        case HeartbeatRequest():
            values |= {"Leader": sender}
        case RequestVoteRequest():
            values |= {"Candidate": sender, "LeadershipTransfer": m.leadership_transfer}
            values |= {"LastLogIndex": m.last_log_index, "LastLogTerm": m.last_log_term}
        case RequestPreVoteRequest():
            values |= {"LastLogIndex": m.last_log_index, "LastLogTerm": m.last_log_term}
        case InstallSnapshotRequest():
            values |= {"Leader": sender, "Size": len(call.data), **_snapshot_fields(m.snapshot, addresses)}
        case TimeoutNowRequest():
            del values["Term"]
    return bytes([call.code]) + pack(fill(FORMATS[call.code].request_fields, values)) + call.data


def _entries(m: AppendEntriesRequest, details: tuple[EntryDetails, ...], addresses: Addresses) -> list[dict[str, Any]]:
    if details and len(details) != len(m.entries):
        raise WireError(f"the details of {len(details)} entries do not belong to {len(m.entries)}")
    all_details = details or [NO_DETAILS] * len(m.entries)
    return [
        entry_fields(m.prev_log_entry + 1 + k, entry, each, addresses)
        for k, (entry, each) in enumerate(zip(m.entries, all_details, strict=True))
    ]


def _snapshot_fields(snapshot: Snapshot, addresses: Addresses) -> dict[str, Any]:
    return {
        "SnapshotVersion": SNAPSHOT_VERSION,
        "LastLogIndex": snapshot.index,
        "LastLogTerm": snapshot.term,
        "Peers": encode_peers(snapshot.configuration, addresses),
        "Configuration": encode_configuration(snapshot.configuration, addresses),
        "ConfigurationIndex": snapshot.configuration_index,
    }


def decode_request(received: ReceivedRequest, dst: NodeId, addresses: Addresses) -> RpcCall:
    """Read a request.

    Args:
        received: As the reader returned it.
        dst: The server that received it, which is not on the wire.
        addresses: Those that are known: a sender that does not say its id is known by its address.

    Raises:
        WireError: The sender is not known; the entries do not follow each other, or one is of a type that is not known;
            the snapshot is of another version; or a configuration or a text is none.

    Source: net_transport.go, handleCommand; commands.go.
    """
    fields = received.fields
    src, known = _sender(fields, addresses)
    version = fields["ProtocolVersion"]
    message: Request
    match received.code:
        case RpcCode.APPEND_ENTRIES if is_heartbeat(fields):
            message = HeartbeatRequest(src, dst, fields["Term"])
        case RpcCode.APPEND_ENTRIES:
            return _append_entries(fields, src, dst, known)
        case RpcCode.REQUEST_VOTE:
            end = fields["LastLogIndex"], fields["LastLogTerm"]
            message = RequestVoteRequest(src, dst, fields["Term"], *end, fields["LeadershipTransfer"])
        case RpcCode.REQUEST_PRE_VOTE:
            message = RequestPreVoteRequest(src, dst, fields["Term"], fields["LastLogIndex"], fields["LastLogTerm"])
        case RpcCode.INSTALL_SNAPSHOT:
            if fields["SnapshotVersion"] != SNAPSHOT_VERSION:
                raise WireError(f"a snapshot is of version {fields['SnapshotVersion']}, not {SNAPSHOT_VERSION}")
            configuration, servers = decode_configuration(fields["Configuration"] or b"")
            place = fields["LastLogIndex"], fields["LastLogTerm"]
            snapshot = Snapshot(*place, configuration, fields["ConfigurationIndex"], ())
            known = merged((known, servers))
            message = InstallSnapshotRequest(src, dst, fields["Term"], snapshot)
        case RpcCode.TIMEOUT_NOW:
            message = TimeoutNowRequest(src, dst)
    return RpcCall(message, (), received.data, known, version)


def is_heartbeat(fields: Mapping[str, Any]) -> bool:
    """Return whether an AppendEntries, by the fields of its struct, is a heartbeat: it has a term and a leader alone.

    Source: net_transport.go, handleCommand.
    """
    is_led = fields["Term"] != 0 and (bool(fields["Addr"]) or fields["Leader"] is not None)
    others = ("PrevLogEntry", "PrevLogTerm", "Entries", "LeaderCommitIndex")
    return is_led and not any(fields[name] for name in others)


def _sender(fields: Mapping[str, Any], addresses: Addresses) -> tuple[NodeId, dict[NodeId, str]]:
    """Return the id of a sender, and its address by it.

    Source: raft.go, DecodePeer of Addr, or of the deprecated Leader and Candidate.
    """
    given = fields["Addr"] or fields.get("Leader") or fields.get("Candidate") or b""
    address = to_text(given, "the address of a sender")
    if fields["ID"]:
        return (src := to_text(fields["ID"], "the ID of a sender")), {src: address} if address else {}
    for server, known in addresses.items():
        if address and known == address:
            return server, {}
    raise WireError(f"no server is known at {shown(address)}")


def _append_entries(fields: Mapping[str, Any], src: NodeId, dst: NodeId, known: Addresses) -> RpcCall:
    structs, previous = fields["Entries"] or [], fields["PrevLogEntry"]
    if [each["Index"] for each in structs] != list(range(previous + 1, previous + 1 + len(structs))):
        raise WireError(f"the entries behind {previous} do not follow each other")
    read = [entry_from(each) for each in structs]
    entries = tuple(entry for entry, _, _ in read)
    place = fields["Term"], previous, fields["PrevLogTerm"]
    message = AppendEntriesRequest(src, dst, *place, entries, fields["LeaderCommitIndex"])
    details = tuple(each for _, each, _ in read)
    return RpcCall(message, details, b"", merged((known, *(each for _, _, each in read))), fields["ProtocolVersion"])


# ---- Answers ----


def encode_answer(answer: Response | RpcFailure, addresses: Addresses, *, last_log: Index = NO_INDEX) -> bytes:
    """Return the bytes of an answer.

    Args:
        answer: What the server answers.
        addresses: That of the server, which most answers carry.
        last_log: The end of the log, which an answer to a heartbeat carries and its message does not have.

    Raises:
        WireError: The server's address is not known.

    Source: net_transport.go, handleCommand; raft.go, getRPCHeader, which installSnapshot and timeoutNow do not call.
    """
    if isinstance(answer, RpcFailure):
        return pack(answer.error) + pack(None)
    values: dict[str, Any] = {"Term": getattr(answer, "term", None)}
    code = RpcCode.APPEND_ENTRIES
    match answer:
        case AppendEntriesResponse():
            values |= {"LastLog": answer.last_log, "NoRetryBackoff": answer.no_retry_backoff}
            values |= {"Success": answer.success}
        case HeartbeatResponse():
            values |= {"LastLog": last_log, "Success": answer.success}
        case RequestVoteResponse():
            code = RpcCode.REQUEST_VOTE
            values |= {"Granted": answer.granted}
        case RequestPreVoteResponse():
            code = RpcCode.REQUEST_PRE_VOTE
            values |= {"Granted": answer.granted}
        case InstallSnapshotResponse():
            code = RpcCode.INSTALL_SNAPSHOT
            values |= {"Success": answer.success}
        case TimeoutNowResponse():
            code = RpcCode.TIMEOUT_NOW
            values = {}
    if code not in (RpcCode.INSTALL_SNAPSHOT, RpcCode.TIMEOUT_NOW):
        address = address_of(addresses, answer.src)
        values |= {"ProtocolVersion": PROTOCOL_VERSION, "ID": answer.src, "Addr": address}
    return pack("") + pack(fill(FORMATS[code].response_fields, values))


def decode_answer(received: ReceivedAnswer, request: Request) -> Response | RpcFailure:
    """Read the answer to a request.

    Args:
        received: As the reader returned it.
        request: The first request of the connection that has no answer yet.

    Returns:
        The message; an RpcFailure where there is an error, whatever comes with it.

    Raises:
        WireError: There is neither an error nor a map, or a field is of a wrong type.

    Source: net_transport.go, decodeResponse.
    """
    if received.error:
        return RpcFailure(received.error)
    code, src, dst = CODE_OF[type(request)], request.dst, request.src
    fields = read_fields(FORMATS[code].response_fields, received.fields, f"an answer to {code.name}")
    match request:
        case HeartbeatRequest():
            return HeartbeatResponse(src, dst, fields["Term"], fields["Success"])
        case AppendEntriesRequest():
            result = fields["LastLog"], fields["Success"], fields["NoRetryBackoff"]
            return AppendEntriesResponse(src, dst, fields["Term"], *result)
        case RequestVoteRequest():
            return RequestVoteResponse(src, dst, fields["Term"], fields["Granted"])
        case RequestPreVoteRequest():
            return RequestPreVoteResponse(src, dst, fields["Term"], fields["Granted"])
        case InstallSnapshotRequest():
            return InstallSnapshotResponse(src, dst, fields["Term"], fields["Success"])
        case _:
            return TimeoutNowResponse(src, dst)
