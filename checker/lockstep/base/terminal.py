"""Text on terminals, with control characters shown as escapes.

Names, values and messages come from files that others wrote. A control character in them could move the cursor, set a
title, paint over a verdict, or turn the direction of writing. So everything that the command line prints as text goes
through `VisibleText`, which `visible_output` puts in the place of standard output and standard error: there is no other
way out that could forget it. This program's own sequences, for colour and for the line of progress, are written by
`styled` and `wipe_line`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import BinaryIO, TextIO, cast

from lockstep.base.characters import visible

#: Lines are not broken into pieces shorter than this, however narrow the terminal.
MIN_WIDTH = 40

#: The beginning and the end of what `styled` marks: no file knows them.
_MARK = secrets.token_hex(8)
_STYLED = re.compile(f"{_MARK}<([0-9;]*)>")
#: The character for a mark while lines are broken; Unicode assigns none there.
_NO_WIDTH = "\ufdd0"
_COLOURS = {"red": 31, "green": 32, "yellow": 33}


class VisibleText(io.TextIOWrapper):
    """A text stream that shows control characters in place of writing them."""

    def write(self, text: str, /) -> int:
        """Write a text with its control characters as escapes."""
        super().write(_STYLED.sub(r"\033[\1m", visible(text)))
        return len(text)

    def control(self, sequence: str) -> None:
        """Write a control sequence of this program's own."""
        super().write(sequence)


@contextlib.contextmanager
def visible_output() -> Iterator[None]:
    """Show control characters in whatever is printed on standard output and standard error.

    Where nothing more can be written, as on a full disk, the streams stay: Python reports that as it ends.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_visible_stream(each) for each in before)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, VisibleText):
                    stream.detach()
            sys.stdout, sys.stderr = before


def _visible_stream(stream: TextIO) -> TextIO:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a stream of text alone has no terminal behind it
        return stream
    stream.flush()
    by_line: bool = getattr(stream, "line_buffering", True)
    made = VisibleText(cast(BinaryIO, buffer), stream.encoding, "backslashreplace", line_buffering=by_line)
    return cast(TextIO, made)


def styled(text: str, colour: str) -> str:
    """Return a text that is printed bold and in a colour, if standard output is a terminal that is to have colours."""
    is_wanted = isinstance(sys.stdout, VisibleText) and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"{_MARK}<{_COLOURS[colour]};1>{text}{_MARK}<0>" if is_wanted else text


def fit_to_terminal(text: str, stream: TextIO) -> str:
    """Return a text whose lines fit a terminal: they break between words, and go on further to the right.

    Arguments: `stream`, on which it will be printed; what is no terminal gets the lines as they are.
    """
    if not stream.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, MIN_WIDTH)
    marks: list[str] = []

    def short(found: re.Match[str]) -> str:
        marks.append(found[0])
        return _NO_WIDTH

    # The marks of styled text are not printed, and must not count as columns.
    bare = _STYLED.sub(short, text) if _NO_WIDTH not in text else text
    lines = "\n".join(_broken(line, width) for line in bare.split("\n"))
    for mark in marks:
        lines = lines.replace(_NO_WIDTH, mark, 1)
    return lines


def _broken(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip(" ")) + 4)
    wrapper = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    wrapper.replace_whitespace = wrapper.expand_tabs = False
    return wrapper.fill(line) if len(line) > width else line


def wipe_line() -> None:
    """Wipe the line of progress on standard error, if that is a terminal."""
    if isinstance(sys.stderr, VisibleText) and sys.stderr.isatty():
        sys.stderr.control("\r\033[K")
        sys.stderr.flush()


def write_bytes(data: bytes) -> None:
    """Write the lines of a file on standard output: as they are, or with escapes if that is a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
