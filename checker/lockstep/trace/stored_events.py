"""Events in a temporary file: as many as there are, in as much memory as one takes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import overload

import msgspec

from lockstep.base.errors import EnvironmentFailedError
from lockstep.trace.trace_format import Event

#: The bytes that are held in memory; a longer file is on disk. It has no name, and so goes with its process.
IN_MEMORY_BYTES = 1 << 20

#: The bytes that are read at once.
_BATCH_BYTES = 1 << 16

_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Event)


@contextmanager
def _named() -> Iterator[None]:
    """Name the file in an error."""
    try:
        yield
    except OSError as error:
        raise EnvironmentFailedError(f"the temporary file of an import cannot be written or read: {error}") from error


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    with suppress(OSError):  # what it holds back finds no space, and nobody needs it any more
        file.close()


class StoredEvents(Sequence[Event]):
    """The events of a trace, in their order."""

    def __init__(self) -> None:
        """Begin with none."""
        self._file = SpooledTemporaryFile[bytes](IN_MEMORY_BYTES)
        self._end = self._count = 0
        weakref.finalize(self, _close, self._file)

    def append(self, event: Event) -> None:
        """Add an event; raises EnvironmentFailedError where the disk takes no more."""
        text = _encoder.encode(event) + b"\n"
        with _named():
            self._file.seek(self._end)
            self._file.write(text)
        self._end += len(text)
        self._count += 1

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __iter__(self) -> Iterator[Event]:
        """Yield each, read from the file; raises EnvironmentFailedError where that fails, or what it holds back."""
        place = 0
        while place < self._end:
            with _named():
                self._file.seek(place)
                lines = self._file.readlines(_BATCH_BYTES)
            place += sum(map(len, lines))
            yield from map(_decoder.decode, lines)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        """Return the event at a place, or those of a slice; all before it are read for that."""
        if isinstance(index, slice):
            return list(self)[index]
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(index)
        return next(islice(self, place, None))
