"""Java programs of the tests: compiled against jars that Maven fetches, and kept in the checkout's .cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.places import ROOT

#: Why a test that needs a Java compiler and Maven is skipped; None where they are there.
NO_MAVEN = (
    None if all(map(shutil.which, ("mvn", "java", "javac"))) else "no mvn, java or javac: no real node of Java runs"
)
#: Why a test that needs a Java compiler is skipped; None where there is one.
NO_JAVAC = None if all(map(shutil.which, ("java", "javac"))) else "no java or javac: the recorder's file is not tried"
#: What DLedger needs of Java 17: to map files, and to delete one.
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "sun.nio.ch", "jdk.internal.ref")]

#: The agent that records a node of DLedger.
RECORDER = ROOT / "traces" / "recorders" / "dledger"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lockstep.tests</groupId><artifactId>fetched</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies></project>"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def classpath(artifacts: Sequence[str], sources: Sequence[Path]) -> str:
    """Return the class path of sources, compiled, with the jars of Maven artifacts and all that these need.

    Arguments: `artifacts`, each `group:artifact:version`; `sources`, files of Java. Skips the test where Maven cannot
    fetch an artifact; raises CalledProcessError where a source cannot be compiled.
    """

    def make(folder: Path) -> None:
        _fetch(artifacts, folder)
        words = ["javac", "-cp", f"{folder / 'jars'}/*", "-d", str(folder / "classes"), *map(str, sources)]
        subprocess.run(words, check=True, timeout=120)

    folder = _cached(_key(artifacts, sources), make)
    return f"{folder / 'classes'}:{folder / 'jars'}/*"


def compiled(sources: Sequence[Path]) -> Path:
    """Return the folder with the classes of sources that need nothing but Java; raises CalledProcessError."""

    def make(folder: Path) -> None:
        subprocess.run(["javac", "-d", str(folder), *map(str, sources)], check=True, timeout=120)

    return _cached(_key([], sources), make)


def recorder_jar() -> Path:
    """Return the jar of the agent; skips the test where Maven cannot fetch what it needs."""

    def make(folder: Path) -> None:
        shutil.copytree(RECORDER, folder, ignore=shutil.ignore_patterns("target"))
        done = _maven(["package"], folder)
        if "Could not transfer" in done.stdout or "Could not resolve" in done.stdout:
            pytest.skip(f"Maven cannot fetch what the recorder needs: {done.stdout[-300:]}")
        assert done.returncode == 0, done.stdout

    return (
        _cached(_key([], [*sorted(RECORDER.glob("src/**/*.java")), RECORDER / "pom.xml"]), make) / "target/recorder.jar"
    )


def _cached(key: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that is made once; in one step, as tests run in several processes."""
    folder = ROOT / ".cache" / "java" / key
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary) / "made"
            make(made)
            try:
                made.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder


def _key(artifacts: Sequence[str], sources: Sequence[Path]) -> str:
    parts = [*(each.encode() for each in artifacts), *(each.read_bytes() for each in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _fetch(artifacts: Sequence[str], folder: Path) -> None:
    folder.mkdir()
    dependencies = "".join(_DEPENDENCY.format(*each.split(":")) for each in artifacts)
    (folder / "pom.xml").write_text(_POM.format(dependencies))
    done = _maven(["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"], folder)
    if done.returncode:
        pytest.skip(f"Maven cannot fetch {', '.join(artifacts)}: {done.stdout[-300:]}")


def _maven(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Maven in a folder; skips the test where it does not come to an end, as without a network."""
    try:
        return subprocess.run(
            ["mvn", "-q", "-B", *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired as error:
        pytest.skip(f"Maven did not end within {error.timeout:g} s")
