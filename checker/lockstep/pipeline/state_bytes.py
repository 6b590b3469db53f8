"""States as bytes, the same in every process, and their digests, of every variable, history and network too.

Two states have the same bytes if they are equal in TLA+, and only then.
"""

from __future__ import annotations

import hashlib
import zlib

import msgspec

from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.value_bytes import decoded, encoded

FORMAT = "lockstep-state/1"

#: Hexadecimal digits of a variable's digest, which names the variables that differ; the digest of the state decides.
_SHORT_DIGITS = 16


class StateBytesError(ValueError):
    """Bytes that are no state of a spec."""


class StateDigest(msgspec.Struct, frozen=True):
    """The SHA-256 of the bytes of a state, and a shorter one of each variable, by name."""

    digest: str
    variables: dict[str, str]

    @classmethod
    def from_bytes(cls, text: bytes) -> StateDigest:
        """Return the digests of the state with these bytes; raises StateBytesError where they are those of none.

        Other bytes, from which the same state could be made, have other digests.
        """
        values = _parts_of(text)
        short = {name: hashlib.sha256(value).hexdigest()[:_SHORT_DIGITS] for name, value in values.items()}
        return cls(hashlib.sha256(text).hexdigest(), short)

    def differing(self, other: StateDigest) -> list[str]:
        """Return the names of the variables in which the state of another digest differs."""
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
        written, values = msgspec.msgpack.decode(text, type=tuple[str, dict[str, msgspec.Raw]])
    except msgspec.MsgspecError as error:
        raise StateBytesError(f"they are no state: {error}") from error
    if written != FORMAT:
        raise StateBytesError(f"{written!r} is not {FORMAT!r}")
    return values


def packed(text: bytes) -> bytes:
    """Return the bytes of a state as a table has them, a tenth of them where the state remembers a long history.

    Spark holds some rows at once, and after a million events a state can have 100 MB.
    """
    return zlib.compress(text, 1)


def unpacked(text: bytes) -> bytes:
    """Return the bytes of a state that were packed; raises StateBytesError where they were not."""
    try:
        return zlib.decompress(text)
    except zlib.error as error:
        raise StateBytesError(f"they are not packed: {error}") from error
