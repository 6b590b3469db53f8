"""The Go programs that tests run: a server of the real hashicorp/raft, and a client of either kind of server."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from tests.support.places import ROOT

SOURCES = ROOT / "traces" / "recorders" / "hashicorp"

#: The releases of hashicorp/raft that the programs are built with, each with the file that pins it.
RELEASES = {"1.8.0": "go.mod", "1.7.3": "go-1.7.3.mod"}

#: The time that a build may take, in seconds; the first one fetches the modules.
BUILD_TIMEOUT = 600

#: What Go says where it cannot reach whoever has a module.
_NOT_FETCHED = ("dial tcp", "no such host", "module lookup disabled", "i/o timeout", "404 Not Found", "403 Forbidden")


def _digest(release: str) -> str:
    found = hashlib.sha256(release.encode())
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix in (".go", ".mod", ".sum"):
            found.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:20]


def skip_unless_fetched(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test if a command of Go failed since it reached nobody who has a module."""
    if done.returncode and "go: " in done.stderr and any(word in done.stderr for word in _NOT_FETCHED):
        pytest.skip(f"Go cannot fetch a module: {done.stderr[-300:]}")


def go_programs(release: str = "1.8.0") -> Path:
    """Return the folder with `server` and `client`, built if their sources have changed; skip the test without Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is missing")
    built = user_cache_path("lockstep", appauthor=False) / "go" / f"{release}-{_digest(release)}"
    if built.is_dir():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as aside:
        words = [
            go,
            "build",
            "-mod=readonly",
            f"-modfile={RELEASES[release]}",
            "-o",
            f"{aside}/",
            "./server",
            "./client",
        ]
        done = subprocess.run(words, cwd=SOURCES, capture_output=True, text=True, timeout=BUILD_TIMEOUT, check=False)
        skip_unless_fetched(done)
        assert done.returncode == 0, done.stderr
        finished = Path(tempfile.mkdtemp(dir=built.parent))
        for program in Path(aside).iterdir():
            program.rename(finished / program.name)
    try:
        finished.rename(built)
    except OSError:  # another process has built the same meanwhile
        shutil.rmtree(finished)
        assert os.access(built / "server", os.X_OK)
    return built
