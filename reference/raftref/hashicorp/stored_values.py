"""Entries and configurations as the library writes them, in messages and in its stores.

A `Configuration` of the reference has ids; the library's has an address for each. So what is written takes addresses,
and what is read brings some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from raftref.hashicorp.msgpack import Extension, pack, to_text, unpack
from raftref.hashicorp.values import NO_CONFIGURATION, Configuration, Entry, EntryType, NodeId, Value
from raftref.hashicorp.wire_fields import (
    CONFIGURATION,
    ENTRY_TYPE_CODES,
    ENTRY_TYPES,
    LOG,
    NONVOTER,
    SERVER,
    VOTER,
    fill,
    read_fields,
)
from raftref.wire_error import WireError

#: Where each server is: HOST:PORT by id.
Addresses: TypeAlias = Mapping[NodeId, str]

#: Go's zero time, the begin of year 1. Source: Time.MarshalBinary.
ZERO_TIME = b"\x01" + bytes(12) + b"\xff\xff"

_TIME_EXTENSION = -1
_NANOSECONDS = 1_000_000_000
#: The seconds from the begin of year 1 to that of 1970. Source: Go's time.go, unixToInternal.
_TO_UNIX = 62_135_596_800
_UTC = b"\xff\xff"


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """The part of an entry that is on the wire and not in the reference.

    `appended_at` is when its leader appended it, in the bytes of Go; `extensions` is what a layer above the library
    adds. Both go from the leader's log into that of a follower as they are.

    Source: log.go, Log.
    """

    appended_at: bytes = ZERO_TIME
    extensions: bytes | None = None


NO_DETAILS = EntryDetails()


def go_time(unix_nanoseconds: int) -> bytes:
    """Return a time in UTC as Go writes it, from the nanoseconds since the begin of 1970.

    Source: Time.MarshalBinary.
    """
    seconds, nanoseconds = divmod(unix_nanoseconds, _NANOSECONDS)
    return b"\x01" + (seconds + _TO_UNIX).to_bytes(8, "big", signed=True) + nanoseconds.to_bytes(4, "big") + _UTC


def _appended_at(value: bytes | Extension | None) -> bytes:
    """Return a time in the bytes of Go, which a server may be set to write as an extension.

    Source: msgpack.go, decodeTime.
    """
    if not isinstance(value, Extension):
        return ZERO_TIME if value is None else value
    data, number = value.data, int.from_bytes(value.data[-8:], "big")
    if value.type != _TIME_EXTENSION or len(data) not in (4, 8, 12):
        raise WireError(f"an extension of type {value.type} and {len(data)} bytes is no time")
    if len(data) == 8:
        number, nanoseconds = number & (1 << 34) - 1, number >> 34
    elif len(data) == 12:
        number, nanoseconds = int.from_bytes(data[4:], "big", signed=True), int.from_bytes(data[:4], "big")
    else:
        nanoseconds = 0
    # A second too late for Go's eight bytes wraps around there, and may do so here.
    seconds = (number + _TO_UNIX) % (1 << 64)
    return b"\x01" + seconds.to_bytes(8, "big") + nanoseconds.to_bytes(4, "big") + _UTC


# ---- Configurations ----


def address_of(addresses: Addresses, server: NodeId) -> str:
    """Return the address of a server; raises WireError where it is not known."""
    if server not in addresses:
        raise WireError(f"no address of {server} is known")
    return addresses[server]


def encode_configuration(configuration: Configuration, addresses: Addresses) -> bytes:
    """Return the bytes of a configuration, its servers in the order of their ids.

    A server that was read as Staging is written as Nonvoter.

    Raises:
        WireError: The address of a server is not known.

    Source: configuration.go, EncodeConfiguration.
    """
    servers = [
        fill(SERVER, {"Suffrage": suffrage, "ID": server, "Address": address_of(addresses, server)})
        for server in sorted(configuration.servers)
        for suffrage in [VOTER if configuration.has_vote(server) else NONVOTER]
    ]
    return pack({"Servers": servers or None})


def decode_configuration(data: bytes) -> tuple[Configuration, dict[NodeId, str]]:
    """Return a configuration and the addresses in it.

    Raises:
        WireError: It is none, or has a server twice.

    Source: configuration.go, DecodeConfiguration.
    """
    servers = read_fields(CONFIGURATION, unpack(data), "a configuration")["Servers"] or []
    suffrages: dict[NodeId, int] = {}
    addresses = {}
    for each in servers:
        server = to_text(each["ID"] or b"", "the ID of a server")
        if server in suffrages:
            raise WireError(f"a configuration has {server!r} twice")
        suffrages[server] = each["Suffrage"]
        addresses[server] = to_text(each["Address"] or b"", "the Address of a server")
    voters = frozenset(server for server, suffrage in suffrages.items() if suffrage == VOTER)
    return Configuration(voters, frozenset(suffrages) - voters), addresses


def encode_peers(configuration: Configuration, addresses: Addresses) -> bytes:
    """Return the addresses of the voters, as servers of old versions read a configuration.

    Source: configuration.go, encodePeers.
    """
    return pack([address_of(addresses, server) for server in sorted(configuration.voters)])


# ---- Entries ----


def to_data(value: Value | None) -> bytes | None:
    """Return the data of a command: UTF-8, and whatever bytes `to_value` met; None is Go's nil."""
    try:
        return None if value is None else value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise WireError(f"a value is no text: {error.reason}") from None


def to_value(data: bytes | None) -> Value | None:
    """Return the value of a command's data, of any bytes."""
    return None if data is None else data.decode("utf-8", "surrogateescape")


def entry_fields(index: int, entry: Entry, details: EntryDetails, addresses: Addresses) -> dict[str, Any]:
    """Return the struct of an entry; raises WireError. Source: log.go, Log."""
    is_configuration = entry.type is EntryType.CONFIGURATION
    data = encode_configuration(entry.configuration, addresses) if is_configuration else to_data(entry.value)
    values = {
        "Index": index,
        "Term": entry.term,
        "Type": ENTRY_TYPE_CODES[entry.type],
        "Data": data,
        "Extensions": details.extensions,
        "AppendedAt": details.appended_at,
    }
    return fill(LOG, values)


def entry_from(fields: Mapping[str, Any]) -> tuple[Entry, EntryDetails, dict[NodeId, str]]:
    """Return the entry of a struct, its details, and the addresses in it.

    Data of entries that are neither a command nor a configuration is dropped: the library writes none.

    Raises:
        WireError: Its type is unknown or deprecated, or its configuration is none.
    """
    type_ = ENTRY_TYPES.get(fields["Type"])
    if type_ is None:
        raise WireError(f"an entry has the type {fields['Type']}")
    data, details = fields["Data"], EntryDetails(_appended_at(fields["AppendedAt"]), fields["Extensions"])
    configuration = NO_CONFIGURATION
    addresses: dict[NodeId, str] = {}
    if type_ is EntryType.CONFIGURATION:
        configuration, addresses = decode_configuration(data or b"")
    value = to_value(data) if type_ is EntryType.COMMAND else None
    return Entry(fields["Term"], type_, value, configuration), details, addresses


def merged(each: Iterable[Addresses]) -> dict[NodeId, str]:
    """Return all addresses; of a server that has several, the last."""
    return {server: address for addresses in each for server, address in addresses.items()}
