"""Input by the community's modules Json and IOUtils: files, the environment, numbers in strings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from lockstep.tla.values.json_operators import value_of_json
from lockstep.tla.values.kinds import Fcn, TlaError, Value, as_fcn, format_value, wrong

__all__ = ["FileValues", "atoi", "io_env"]


class FileValues:
    """Values of files, each read once: a constant has one value."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], Value] = {}

    def json(self, path: Value) -> Value:
        """Compute ``JsonDeserialize(path)``.

        Raises:
            TlaError: if there is no such file, or it is not JSON that TLA+ has a value for; with file and line.
        """
        return self._once("json", path, lambda source: value_of_json(_text(source), source))

    def json_lines(self, path: Value) -> Value:
        """Compute ``ndJsonDeserialize(path)``: the sequence of the values of its lines; blank ones do not count.

        Raises:
            TlaError: as :meth:`json`.
        """
        return self._once("lines", path, _json_lines)

    def text(self, path: Value, options: Value) -> Value:
        """Compute ``Deserialize(path, [format |-> "TXT", charset |-> ...])``.

        Raises:
            TlaError: if there is no such file, it is of another charset, or another format is asked for.
        """
        said = options.d if type(options) is Fcn else {}
        if said.get("format") != "TXT" or type(said.get("charset")) is not str:
            raise wrong("Deserialize", 'the options [format |-> "TXT", charset |-> ...]', options)
        charset = said["charset"]
        return self._once(
            charset, path, lambda source: Fcn({"exitValue": 0, "stdout": _text(source, charset), "stderr": ""})
        )

    def _once(self, how: str, path: Value, read: Callable[[str], Value]) -> Value:
        if type(path) is not str:
            raise wrong("the name of a file", "a string", path)
        if (how, path) not in self._read:
            self._read[how, path] = read(path)
        return self._read[how, path]


def _json_lines(source: str) -> Value:
    lines = enumerate(_text(source).split("\n"), start=1)
    return tuple(value_of_json(line, source, number) for number, line in lines if line.strip())


def _text(source: str, charset: str = "utf-8") -> str:
    """Return the text of a file; a relative name is one of the folder that the command runs in, as for TLC."""
    try:
        return Path(source).read_bytes().decode(charset)
    except LookupError:
        raise TlaError(f"{source}: the charset {charset} is not known") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TlaError(f"{source}:{line}: not {charset}: {error.reason}") from None
    except OSError as error:
        raise TlaError(f"{source}: {error.strerror}") from None


def io_env() -> Value:
    """Compute ``IOEnv``: the variables of the environment, as a record."""
    return as_fcn(dict(os.environ))


def atoi(text: Value) -> int:
    """Compute ``atoi(text)``; raises TlaError if the text is no integer of 32 bits."""
    if type(text) is str and re.fullmatch(r"[-+]?[0-9]{1,40}", text) and -(2**31) <= int(text) < 2**31:
        return int(text)
    raise TlaError(f"atoi needs a string with an integer of 32 bits, but was given {format_value(text)}")
