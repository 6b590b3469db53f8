"""The files that run Python in a browser, as tests have them: fetched once, into the user's cache."""

from __future__ import annotations

import functools
import json
import shutil

import pytest

from lockstep.jobs.play_folder.fetch_pyodide import fetch
from lockstep.jobs.play_folder.pyodide_files import MissingPyodideError, default_folder, pins, read_pyodide

#: What npm and pip say where they cannot reach whoever has a package.
_NOT_FETCHED = (
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "E404", "E403"),
    *("No matching distribution found", "no answer within"),
)


@functools.cache
def pyodide_files() -> dict[str, bytes]:
    """Return the files by name; skip the test where they are not there and cannot be fetched."""
    try:
        return read_pyodide(default_folder())
    except MissingPyodideError:
        if shutil.which("npm") is None:
            pytest.skip("Pyodide is not there, and npm is missing")
    try:
        fetch(default_folder())
    except MissingPyodideError as error:
        if any(word in str(error) for word in _NOT_FETCHED):
            pytest.skip(f"Pyodide cannot be fetched: {str(error)[-300:]}")
        raise
    return read_pyodide(default_folder())


def no_pyodide() -> dict[str, bytes]:
    """Return files with the names of those, which run nothing."""
    return {pinned.name: json.dumps({"info": {}}).encode() for pinned in pins().files}
