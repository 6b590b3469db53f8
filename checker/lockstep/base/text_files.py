"""Text files from anyone: UTF-8, and an error that names file and line where one is not."""

from __future__ import annotations

from pathlib import Path

from lockstep.base.errors import BadInputError


class NotUtf8Error(BadInputError):
    """A text file has a byte that is no UTF-8; the message names file and line."""


def text_of(path: str | Path) -> str:
    """Return the text of a file; raises NotUtf8Error where it is no UTF-8, and OSError where it cannot be read."""
    raw = Path(path).read_bytes()
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotUtf8Error(f"{path}:{line}: the byte {raw[error.start]:#04x} is no UTF-8") from error
