"""Faults of the machine are not blamed on the input: a full disk exits with 4, a dead tool is inconclusive (3)."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.base.package_data import spec_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.trace_module import TraceModule
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import KnownTraceCheck, own_check
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

LOCK_SERVICE = spec_dir().parent / "docs" / "lock_service"
NAME = "ordered-7.trace.ndjson"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("traces")
    assert lockstep("simulate", "--seed", "7", "--events", "20", cwd=place).returncode == 0
    assert lockstep("check", NAME, cwd=place).returncode == 0  # from here on its spec is compiled
    return place


# ---- A full disk ----


@pytest.mark.parametrize("number", sampled([errno.ENOSPC, errno.EDQUOT, errno.EROFS], [errno.ENOSPC]))
def test_a_disk_that_takes_no_module_for_tlc_is_not_blamed_on_the_trace(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(TraceModule, "write", full)
    found = KnownTraceCheck({}, by_tlc=True)(folder / NAME)
    assert (found.verdict, found.verdict.exit_code) == (Verdict.INTERNAL, 4)
    assert os.strerror(number) in found.reason
    log = folder / "service.log"
    log.write_bytes(subprocess.run([sys.executable, LOCK_SERVICE / "lock_service.py"], stdout=subprocess.PIPE).stdout)
    own = own_check(
        SpecFiles(LOCK_SERVICE / "LockService.tla", mapping=LOCK_SERVICE / "mapping.toml"),
        by_tlc=True,
    )
    assert own(log).verdict is Verdict.INTERNAL


def limited(folder: Path, most_bytes: int, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no file can have more bytes, as on a disk with so much room."""
    return subprocess.run(
        [sys.executable, "-m", "lockstep", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("most_bytes", "code", "expected"),
    [
        (0, 4, "LS501 internal error: the machine, not the trace: no temporary folder can be made"),
        (1000, 3, "LS401 inconclusive: .*SANY .*cannot write its temporary files: File too large"),
    ],
)
def test_a_full_disk_under_tlc_is_never_malformed_input(
    most_bytes: int, code: int, expected: str, folder: Path
) -> None:
    cold = str(folder / "cache")
    done = limited(folder, most_bytes, "check", "--engine", "tlc", NAME, XDG_CACHE_HOME=cold)
    assert (done.returncode, done.stderr) == (code, "")
    assert re.search(expected, done.stdout)


def test_a_full_disk_under_a_model_is_no_error_of_its_spec(folder: Path) -> None:
    done = limited(folder, 1000, "model", "witness_leader")
    assert (done.returncode, done.stderr) == (3, "")
    assert "inconclusive: TLC cannot write its temporary files: File too large" in done.stdout


def test_a_cache_that_takes_nothing_is_no_error(folder: Path) -> None:
    done = limited(folder, 0, "check", NAME)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_trace_that_cannot_be_read_is_malformed(folder: Path) -> None:
    for engine in ("compiled", "tlc"):
        (folder / "within.ndjson").mkdir(exist_ok=True)
        found = KnownTraceCheck({}, by_tlc=engine == "tlc")(folder / "within.ndjson")
        assert found.verdict is Verdict.MALFORMED
        assert found.reason == f"{folder / 'within.ndjson'}: cannot be read: Is a directory"


# ---- A tool that dies ----

DYING = {
    "prints rubbish": ("echo rubbish", "ended with status 0 and said 'rubbish'"),
    "prints nothing": ("exit 0", "ended with status 0 and said 'nothing'"),
    "ends with an error": ("echo 'Error: could not load'; exit 1", "ended with status 1 and said 'Error: could not"),
    "is killed": ("kill -KILL $$", "was killed by SIGKILL"),
    "is terminated": ("kill -TERM $$", "was killed by SIGTERM"),
    "runs out of memory": ("echo java.lang.OutOfMemoryError: Java heap space; exit 3", "ended with OutOfMemoryError"),
}


def java_that(home: Path, script: str) -> Path:
    """Make a Java that prints its version and then does something else; return the folder for JAVA_HOME."""
    (home / "bin").mkdir(parents=True, exist_ok=True)
    version = 'case "$*" in *-version*) echo \'openjdk version "17.0.9"\' >&2; exit 0;; esac'
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{version}\n{script}\n")
    (home / "bin" / "java").chmod(0o755)
    return home


@pytest.mark.parametrize("what", DYING)
def test_a_java_that_dies_leaves_a_trace_without_a_verdict(what: str, folder: Path, tmp_path: Path) -> None:
    script, expected = DYING[what]
    home, cold = str(java_that(tmp_path, script)), str(tmp_path / "cache")
    done = lockstep("check", "--engine", "tlc", NAME, cwd=folder, JAVA_HOME=home, XDG_CACHE_HOME=cold)
    assert (done.returncode, done.stderr) == (3, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{NAME}: LS401 inconclusive: ")
    assert "SANY" in line and expected in line


def test_a_java_that_is_not_executable_leaves_a_trace_without_a_verdict(folder: Path, tmp_path: Path) -> None:
    java_that(tmp_path, "exit 0")
    (tmp_path / "bin" / "java").chmod(0o644)
    environment = {"JAVA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = lockstep("check", "--engine", "tlc", NAME, cwd=folder, **environment, PATH=str(tmp_path / "bin"))
    assert (done.returncode, "LS401 inconclusive: Java 17 or newer is required" in done.stdout) == (3, True)
    (tmp_path / "bin" / "java").write_bytes(b"\x00nonsense")
    (tmp_path / "bin" / "java").chmod(0o755)
    done = lockstep("check", "--engine", "tlc", NAME, cwd=folder, **environment)
    assert (done.returncode, "does not run" in done.stdout) == (3, True)


@pytest.fixture(scope="module")
def real_java() -> Iterator[str]:
    found = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin{os.pathsep}{os.environ['PATH']}")
    assert found is not None
    yield found


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("kill -KILL $$", "TLC: the JVM was killed by SIGKILL"),
        ("echo rubbish; exit 7", "TLC: the JVM ended with status 7"),
    ],
)
def test_a_java_that_dies_of_tlc_alone_leaves_a_trace_without_a_verdict(
    script: str, expected: str, folder: Path, tmp_path: Path, real_java: str
) -> None:
    home = java_that(tmp_path, f'case "$*" in *tlc2.TLC*) {script};; esac\nexec {real_java} "$@"')
    done = lockstep("check", "--engine", "tlc", NAME, cwd=folder, JAVA_HOME=str(home))
    assert (done.returncode, done.stderr) == (3, "")
    assert f"{NAME}: LS401 inconclusive: {expected}" in done.stdout


def test_a_java_that_dies_leaves_a_spec_of_the_reader_s_own_without_a_verdict(folder: Path, tmp_path: Path) -> None:
    home = str(java_that(tmp_path, "echo rubbish; exit 1"))
    own = ("--spec", LOCK_SERVICE / "LockService.tla", "--engine", "compiled")
    done = lockstep("model", *own, cwd=folder, JAVA_HOME=home, XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1)
    assert "SANY did not run: java ended with status 1 and said 'rubbish'" in done.stderr
