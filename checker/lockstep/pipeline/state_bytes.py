"""States as bytes, the same in every process, and its digest: of every variable, history and network too.

Two states have the same bytes if they are equal in TLA+, and only then.
"""

from __future__ import annotations

import hashlib
import zlib

import msgspec

from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.value_bytes import decoded, encoded

__all__ = ["FORMAT", "Stand", "StateBytesError", "packed", "state_bytes", "state_of_bytes", "unpacked"]

FORMAT = "lockstep-state/1"

#: So many hexadecimal digits of a variable's digest tell whether it differs; the digest of the state decides.
_SHORT = 16


class StateBytesError(ValueError):
    """Bytes that are no state of a spec."""


class Stand(msgspec.Struct, frozen=True):
    """What is known of a state by digests: the SHA-256 of its bytes, and a shorter one of each variable, by name."""

    digest: str
    variables: dict[str, str]

    @classmethod
    def of(cls, state: State) -> Stand:
        """Return the digests of a state; raises TlaError where something in it cannot be listed."""
        return cls.of_bytes(state_bytes(state))

    @classmethod
    def of_bytes(cls, text: bytes) -> Stand:
        """Return the digests of the state whose bytes these are; raises StateBytesError where they are none's.

        Other bytes, from which the same state could be made, have other digests.
        """
        values = _parts_of(text)
        short = {name: hashlib.sha256(value).hexdigest()[:_SHORT] for name, value in values.items()}
        return cls(hashlib.sha256(text).hexdigest(), short)

    def differing(self, other: Stand) -> list[str]:
        """Name the variables in which the state of another digest differs."""
        names = dict.fromkeys([*self.variables, *other.variables])
        return [name for name in names if self.variables.get(name) != other.variables.get(name)]


def state_bytes(state: State) -> bytes:
    """Return the bytes of a state, from which state_of_bytes makes it again.

    Raises TlaError where something in it cannot be listed.
    """
    values = {name: msgspec.Raw(encoded(value)) for name, value in state.as_dict().items()}
    return msgspec.msgpack.encode((FORMAT, values))


def state_of_bytes(spec: Spec, text: bytes) -> State:
    """Return the state of a spec whose bytes these are; raises StateBytesError where they are none's."""
    values = _parts_of(text)
    try:
        return spec.state({name: decoded(bytes(value)) for name, value in values.items()})
    except KeyError as error:
        raise StateBytesError(f"they are of other variables than {spec.name} has: {error}") from error
    except ValueError as error:
        raise StateBytesError(f"they are no state: {error}") from error


def _parts_of(text: bytes) -> dict[str, msgspec.Raw]:
    """Return the bytes of each variable."""
    try:
        told, values = msgspec.msgpack.decode(text, type=tuple[str, dict[str, msgspec.Raw]])
    except msgspec.MsgspecError as error:
        raise StateBytesError(f"they are no state: {error}") from error
    if told != FORMAT:
        raise StateBytesError(f"{told!r} is not {FORMAT!r}")
    return values


def packed(text: bytes) -> bytes:
    """Return the bytes of a state as a table has them, a tenth of them where what is remembered of history is long.

    Spark holds some rows at once, and after a million events a state can have 100 MB.
    """
    return zlib.compress(text, 1)


def unpacked(text: bytes) -> bytes:
    """Return the bytes of a state that were packed; raises StateBytesError where they were not."""
    try:
        return zlib.decompress(text)
    except zlib.error as error:
        raise StateBytesError(f"they are not packed: {error}") from error
