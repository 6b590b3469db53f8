"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write; what is written stands at `path` once the block is left without an error.

    The bytes go to a file beside it that is renamed at the end, so that an interruption leaves no part of it. A link is
    followed; what is no file, such as a pipe or a device, is written to as it is.

    Raises OSError, which names `path`, where it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        target = path.resolve()
        partial = target.with_name(f"{target.name}.partial")
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
