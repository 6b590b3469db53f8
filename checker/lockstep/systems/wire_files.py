"""The files of a tap, by their beginning."""

from __future__ import annotations

from pathlib import Path

from lockstep.systems.system import BEGINNING_BYTES
from lockstep.trace.json_lines import STDIN

#: What the first line of a file of wire lines has under `format`.
FORMAT = "lockstep-wire"


def is_wire(path: Path) -> bool:
    """Return whether a file has the lines of a tap."""
    if path == STDIN or not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    return begin.startswith(b'{"format":"%s"' % FORMAT.encode())
