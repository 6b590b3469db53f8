"""A search saved in a file after a level, from which it goes on after an interruption.

The file is NumPy's, an archive of arrays, and holds no code: values stand in it as TLA+ prints them. Long lists
are several arrays, so that they are never in memory as a whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.base.errors import BadInputError, EnvironmentFailedError
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.state_layout import Layout
from lockstep.tla.tables.state_layout import Path as Place
from lockstep.tla.values.kinds import Value, format_value
from lockstep.tla.values.printed_values import parse_value

_FORM = "lockstep checkpoint of a search by tables, form 5"


@dataclass(frozen=True)
class SavedSearch:
    """A search after a level.

    Attributes:
        whole: the parts of a state that are not taken apart.
        columns: where each column is, as text. Their order may be another than in the search that goes on.
        values: the values of each column, by number.
    """

    path: Path
    counts: Mapping[str, Any]
    whole: list[Place]
    columns: list[list[str]]
    values: list[list[Value]]

    def take_values(self, layout: Layout) -> list[int]:
        """Give the columns of a layout their values; return the place of each among the file's columns.

        Raises:
            BadInputError: if the columns are others.
        """
        mine = _columns(layout)
        if sorted(mine) != sorted(self.columns):
            raise BadInputError(f"{self.path}: the checkpoint is of states with other parts")
        places = [self.columns.index(each) for each in mine]
        for slot, place in enumerate(places):
            for value in self.values[place]:
                layout.number(slot, value)
        return places

    def arrays(self, name: str) -> Iterator[Ints]:
        """Read the arrays of a name, one after the other; raises BadInputError if the file is damaged."""
        with _reading(self.path), np.load(self.path, allow_pickle=False) as arrays:
            number = 0
            while (entry := f"{name}.{number}") in arrays:
                yield arrays[entry]
                number += 1
            if not number:
                raise KeyError(entry)

    def pairs(self, name: str, other: str) -> Iterator[tuple[Ints, Ints]]:
        """Read the arrays of two names, side by side; raises BadInputError if the file is damaged."""
        with _reading(self.path):
            yield from zip(self.arrays(name), self.arrays(other), strict=True)


class CheckpointFile:
    """The file of a search of one specification."""

    def __init__(self, path: Path, identity: Mapping[str, Any], model_values: Sequence[str]) -> None:
        self.path, self._identity, self._model_values = path, dict(identity), tuple(model_values)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file against other searches, by a lock file beside it.

        Raises:
            EnvironmentFailedError: if no file can be written where it is to be.
            BadInputError: if another search has it.
        """
        name = self.path.absolute().with_name(self.path.name + ".lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = None if name in _HELD else _locked(name)
        except OSError as error:
            raise EnvironmentFailedError(f"{self.path}: no checkpoint can be written: {error.strerror}") from error
        if lock is None:
            raise BadInputError(f"{self.path}: another search is using this checkpoint")
        _HELD.add(name)
        try:
            yield
        finally:
            name.unlink(missing_ok=True)
            os.close(lock)
            _HELD.remove(name)

    def save(
        self,
        counts: Mapping[str, Any],
        whole: Sequence[Place],
        layout: Layout,
        arrays: Iterable[Mapping[str, Ints]],
    ) -> None:
        """Write the file; there is never a part of it in its place.

        Args:
            whole: the parts of a state that are not taken apart.
            layout: the columns, which may get values while arrays are listed.
            arrays: the arrays by their names, some at a time.
        """
        part = self.path.with_name(self.path.name + ".part")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
                    numbers: Counter[str] = Counter()
                    for name, array in (pair for each in arrays for pair in each.items()):
                        _write(archive, f"{name}.{numbers[name]}", array)
                        numbers[name] += 1
                    _write(archive, "header", np.frombuffer(self._header(counts, whole, layout), np.uint8))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _header(self, counts: Mapping[str, Any], whole: Sequence[Place], layout: Layout) -> bytes:
        header = {
            "form": _FORM,
            "identity": self._identity,
            "counts": dict(counts),
            "whole": [[format_value(each) for each in path] for path in whole],
            "columns": _columns(layout),
            "values": [[format_value(value) for value in values] for values in layout.values],
        }
        return json.dumps(header).encode()

    def load(self) -> SavedSearch | None:
        """Read the file; None where there is none yet.

        Raises:
            BadInputError: if it is no checkpoint, or that of another search.
        """
        if not self.path.exists():
            return None
        with _reading(self.path), np.load(self.path, allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes())
            if header["form"] != _FORM:
                raise ValueError(header["form"])
            whole = [tuple(map(self._value, path)) for path in header["whole"]]
            values = [list(map(self._value, each)) for each in header["values"]]
            saved = SavedSearch(self.path, header["counts"], whole, header["columns"], values)
        for name, mine in self._identity.items():
            if (other := header["identity"].get(name)) != mine:
                raise BadInputError(f"{self.path}: {name}: the checkpoint is of another search ({other}, not {mine})")
        return saved

    def _value(self, text: str) -> Value:
        return parse_value(text, self._model_values)


def _columns(layout: Layout) -> list[list[str]]:
    return [[format_value(each) for each in path] for path in layout.paths]


#: The locks of this process, which lockf would give it twice.
_HELD: set[Path] = set()


def _locked(name: Path) -> int | None:
    """Lock a file for this process, not for those that it starts; None if another process has it."""
    while True:
        file = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(file)
            return None
        except OSError:  # a file system without locks
            return file
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), name.stat()):
                return file
        os.close(file)  # the search that had it has removed it since


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise BadInputError(f"{path}: this is no checkpoint of a search by tables, or a damaged one") from error


def _write(archive: zipfile.ZipFile, name: str, array: Ints) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
