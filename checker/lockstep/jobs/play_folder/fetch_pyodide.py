"""Fetch the files that run Python in a browser, by npm and pip: `python -m lockstep.jobs.play_folder.fetch_pyodide`.

Where from is a matter of the configuration of npm and pip. The files are compared with their pinned checksums, and
stand in the folder all together or not at all.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lockstep.jobs.play_folder.pyodide_files import (
    MissingPyodideError,
    WrongPyodideError,
    default_folder,
    pins,
    read_pyodide,
)

__all__ = ["fetch"]

#: The time that npm or pip may take, in seconds.
_TIMEOUT = 600


def fetch(folder: Path) -> None:
    """Fetch the files into a folder.

    Raises MissingPyodideError where npm or pip is missing or fails; WrongPyodideError where a file is another.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as aside:
        work, whole = Path(aside), Path(aside) / "whole"
        whole.mkdir()
        _run([_npm(), "pack", "--silent", f"pyodide@{pins().pyodide.version}"], work)
        with tarfile.open(next(work.glob("pyodide-*.tgz"))) as archive:
            for pinned in pins().pyodide.files:
                content = archive.extractfile(f"package/{pinned.name}")
                assert content is not None
                (whole / pinned.name).write_bytes(content.read())
        wheel = pins().msgspec
        built_for = ["--platform", wheel.platform, "--python-version", wheel.python, "--abi", wheel.abi]
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
        words = [*options, *built_for, "--implementation", "cp", "-d", str(whole), f"msgspec=={wheel.version}"]
        _run([sys.executable, "-m", "pip", "download", *words], work)
        read_pyodide(whole)
        if not _is_there(folder):  # another process may have fetched them meanwhile
            shutil.rmtree(folder, ignore_errors=True)
            whole.rename(folder)


def _is_there(folder: Path) -> bool:
    """Return whether a folder has the files, all of them as they are pinned."""
    try:
        read_pyodide(folder)
    except (MissingPyodideError, WrongPyodideError):
        return False
    return True


def _npm() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingPyodideError(
            "npm is missing, which has the package of Pyodide (Debian, Ubuntu: apt-get install npm)"
        )
    return npm


def _run(words: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise MissingPyodideError(f"{' '.join(words[:3])}: no answer within {_TIMEOUT} s") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise MissingPyodideError(f"{' '.join(words)} failed: {lines[-1] if lines else done.returncode}")


def main() -> int:
    """Fetch the files into the folder that is named, or into the default one."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder()
    try:
        if not _is_there(folder):
            fetch(folder)
    except (MissingPyodideError, WrongPyodideError, OSError) as error:
        print(f"lockstep: {error}", file=sys.stderr)
        return 3
    print(f"{folder}: Pyodide {pins().pyodide.version}, msgspec {pins().msgspec.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
