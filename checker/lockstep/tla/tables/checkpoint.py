"""A search kept in a file after a level, from which it goes on after an interruption.

The file is NumPy's, an archive of arrays, and holds no code: values stand in it as TLA+ prints them.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.base.errors import BadInputError
from lockstep.tla.tables.states.content import Hashes
from lockstep.tla.tables.states.layout import Layout, Rows
from lockstep.tla.tables.states.layout import Path as Place
from lockstep.tla.tables.trees import Ints
from lockstep.tla.values.kinds import Value, format_value
from lockstep.tla.values.text import parse_value

__all__ = ["Checkpoint", "Kept"]

_FORM = "lockstep checkpoint of a search by tables, form 1"


@dataclass(frozen=True)
class Kept:
    """A search after a level.

    Attributes:
        counts: what was counted, by name.
        levels: how many states each level has.
        whole: the parts of a state that are not taken apart.
        values: the values of each column, by number.
        found: the fingerprints of all states.
        parents: the number of the state before each.
        rows: the states of the last level.
    """

    counts: Mapping[str, int]
    levels: list[int]
    whole: list[Place]
    values: list[list[Value]]
    found: Hashes
    parents: Ints
    rows: Rows


class Checkpoint:
    """The file of a search of one specification."""

    def __init__(self, path: Path, identity: Mapping[str, Any], model_values: Sequence[str]) -> None:
        """Take the file's path, what tells one search from another, and the names of model values."""
        self.path, self._identity, self._model_values = path, dict(identity), tuple(model_values)

    def save(
        self,
        counts: Mapping[str, int],
        levels: list[int],
        whole: Sequence[Place],
        layout: Layout,
        arrays: tuple[Hashes, Ints, Rows],
    ) -> None:
        """Write the file; there is never a part of it in its place."""
        told = {
            "form": _FORM,
            "identity": self._identity,
            "counts": dict(counts),
            "levels": levels,
            "whole": [[format_value(each) for each in path] for path in whole],
            "values": [[format_value(value) for value in values] for values in layout.values],
        }
        found, parents, rows = arrays
        part = self.path.with_name(self.path.name + ".part")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                text = np.frombuffer(json.dumps(told).encode(), np.uint8)
                np.savez(file, told=text, found=found, parents=parents, rows=rows)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def load(self) -> Kept | None:
        """Read the file; None where there is none yet.

        Raises:
            BadInputError: if it is no checkpoint, or that of another search.
        """
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                told = json.loads(arrays["told"].tobytes())
                if told["form"] != _FORM:
                    raise ValueError(told["form"])
                kept = Kept(
                    told["counts"],
                    told["levels"],
                    [tuple(map(self._value, path)) for path in told["whole"]],
                    [list(map(self._value, values)) for values in told["values"]],
                    arrays["found"],
                    arrays["parents"],
                    arrays["rows"],
                )
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            said = "this is no checkpoint of a search by tables, or a damaged one"
            raise BadInputError(f"{self.path}: {said}") from error
        for name, mine in self._identity.items():
            if (other := told["identity"].get(name)) != mine:
                raise BadInputError(f"{self.path}: {name}: the checkpoint is of another search ({other}, not {mine})")
        return kept

    def _value(self, text: str) -> Value:
        return parse_value(text, self._model_values)
