"""The files that run Python in a browser: pinned by `pyodide.toml`, and refused where they are others."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.tla.loading.spec_cache import cache_folder

__all__ = ["MissingPyodideError", "Pins", "Release", "WrongPyodideError", "default_folder", "pins", "read_pyodide"]

#: The command that fetches the files.
FETCH = "python -m lockstep.jobs.play_folder.fetch_pyodide"


class MissingPyodideError(GaveUpError):
    """A file that runs Python in a browser is missing; the message says what fetches it."""


class WrongPyodideError(BadInputError):
    """A file is another than the pinned one; the message names it, and both checksums."""


class PinnedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the checksum of a file."""

    name: str
    sha256: str


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a package, its licence and its files; of a wheel also what it is built for."""

    version: str
    license: str
    files: tuple[PinnedFile, ...]
    python: str = ""
    abi: str = ""
    platform: str = ""


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The two packages."""

    pyodide: Release
    msgspec: Release

    @property
    def wheel(self) -> str:
        """The name of the wheel's file."""
        return self.msgspec.files[0].name

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """All files."""
        return self.pyodide.files + self.msgspec.files


@cache
def pins() -> Pins:
    """Return what is pinned."""
    text = files("lockstep.jobs.play_folder").joinpath("pyodide.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Pins)


def default_folder() -> Path:
    """Return the folder that the files are fetched into, and taken from where none is named."""
    return cache_folder() / "pyodide" / pins().pyodide.version


def read_pyodide(folder: Path) -> dict[str, bytes]:
    """Return the content of each file by its name.

    Raises MissingPyodideError where one is missing, WrongPyodideError where one is another than the pinned file, and
    OSError where it cannot be read.
    """
    found = {}
    for pinned in pins().files:
        file = folder / pinned.name
        if not file.is_file():
            fetched = f"Fetch it by `make pyodide` or `{FETCH}`, or name its folder by --pyodide."
            raise MissingPyodideError(f"{file} is missing: Pyodide runs Python in the browser. {fetched}")
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != pinned.sha256:
            versions = f"Pyodide {pins().pyodide.version} and msgspec {pins().msgspec.version}"
            problem = f"another file than that of {versions}: its SHA-256 is {digest}, not {pinned.sha256}"
            raise WrongPyodideError(f"{file}: {problem}")
        found[pinned.name] = content
    return found
