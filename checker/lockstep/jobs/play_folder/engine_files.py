"""The scripts of a folder that bring Python and lockstep into a page, the same for all its pages.

A page that is opened from a disk can load scripts, and nothing else. So each file is a script that calls a
function of the page with its bytes, compressed, in base64.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Container, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from lockstep.base.package_data import course_dir, spec_dir
from lockstep.jobs.play_folder.pyodide_files import pins

__all__ = ["ENGINE_FOLDER", "compressed", "engine_digest", "engine_scripts", "zipped"]

#: The folder of the scripts within that of the pages.
ENGINE_FOLDER = "engine"

#: What no page needs of lockstep: the packages that start processes or read the command line, and a wheel's traces.
_LEFT_OUT = frozenset({"cli", "cluster", "hunt", "pipeline", "_spec", "_traces", "_course"})

#: The endings of what Python, the loader of specs, or the grader of an exercise reads.
_ENDINGS = frozenset({".py", ".tla", ".cfg", ".toml", ".ndjson"})

#: The package that a trace of the reference names with its version.
_DISTRIBUTION = "lockstep-raft"


def engine_scripts(pyodide: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the scripts by the names of the files that they bring.

    Arguments: `pyodide`, the pinned files by name.
    """
    brought = {
        "worker.js": files("lockstep.report.page").joinpath("static", "engine_worker.js").read_bytes(),
        "pyodide.mjs": pyodide["pyodide.mjs"],
        "pyodide.asm.mjs": pyodide["pyodide.asm.mjs"],
        "pyodide.asm.wasm": pyodide["pyodide.asm.wasm"],
        "python_stdlib.zip": pyodide["python_stdlib.zip"],
        "lock.json": _lock(pyodide["pyodide-lock.json"]),
        "msgspec.whl": pyodide[pins().wheel],
    }
    scripts = {name: _script(name, content) for name, content in brought.items()}
    return {**scripts, "lockstep.zip": _packages_script()}


@cache
def _packages_script() -> bytes:
    """Return the script of lockstep itself, which does not change while it runs."""
    return _script("lockstep.zip", zipped(_packages()))


def engine_digest(scripts: Mapping[str, bytes]) -> str:
    """Return a digest of the scripts of a folder: pages go with the scripts that they were written with."""
    digest = hashlib.sha256()
    for name, script in sorted(scripts.items()):
        digest.update(f"{name} {len(script)} ".encode() + script)
    return digest.hexdigest()


def compressed(content: bytes) -> str:
    """Return bytes as a script has them: by gzip, in base64."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _script(name: str, content: bytes) -> bytes:
    return f'lockstepFile({json.dumps(name)}, "{compressed(content)}");\n'.encode()


def _lock(text: bytes) -> bytes:
    """Return Pyodide's list of packages without the packages: none is loaded."""
    return json.dumps({"info": json.loads(text)["info"], "packages": {}}).encode()


def _packages() -> dict[str, bytes]:
    """Return the Python packages that a page runs, the specs and the exercises.

    Each stands in a folder with the name of the one that it is in here: the page names places in the reference so.
    """
    found: dict[str, bytes] = {}
    for name in ("lockstep", "raftref", "platformdirs"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).resolve().parent
        found |= _tree(f"{root.parent.name}/{name}", root, _LEFT_OUT)
        if name == "lockstep":
            found |= _tree(f"{root.parent.name}/{name}/_spec", spec_dir())
            found |= _tree(f"{root.parent.name}/{name}/_course", course_dir())
            found |= _metadata(root.parent.name)
    return found


def _metadata(folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the file by which Python knows the version of lockstep."""
    known = version(_DISTRIBUTION)
    text = f"Metadata-Version: 2.1\nName: {_DISTRIBUTION}\nVersion: {known}\n"
    yield f"{folder}/{_DISTRIBUTION.replace('-', '_')}-{known}.dist-info/METADATA", text.encode()


def _tree(name: str, root: Path, left_out: Container[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder, with their paths in the archive."""
    for file in sorted(root.rglob("*")):
        parts = file.relative_to(root).parts
        if file.suffix in _ENDINGS and file.is_file() and parts[0] not in left_out:
            yield "/".join((name, *parts)), file.read_bytes()


def zipped(contents: Mapping[str, bytes]) -> bytes:
    """Return an archive of files, the same for the same files; what it is put into compresses it."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()
