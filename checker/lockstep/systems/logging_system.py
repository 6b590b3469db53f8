"""The system whose nodes wrote a log, by the lines in it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.logs.operator_lines import operator_lines
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import BEGINNING_BYTES, System
from lockstep.trace.json_lines import STDIN

#: A program may write other lines for long before its log of the library begins.
MAX_LINES_SEARCHED = 100_000
#: The keys of lines of logs in JSON; no trace and no recording begins with them.
_KEYS = (b'"@message"', b'"log"', b'"MESSAGE"')


def logging_system(path: Path) -> System | None:
    """Return the system whose own log a file is; None for a trace, a recording, and what no system writes."""
    if path == STDIN or not path.is_file() or _is_no_log(path):
        return None
    readers = [(each, each.own_logs().reader()) for each in SYSTEMS.values() if each.own_logs is not None]
    try:
        for line in islice(operator_lines([path], []), MAX_LINES_SEARCHED):
            for system, reader in readers:
                if reader.read(line.text).is_own:
                    return system
    except BadInputError:  # whoever opens it next says so
        pass
    return None


def _is_no_log(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    return begin.lstrip().startswith(b"{") and not any(key in begin for key in _KEYS)
