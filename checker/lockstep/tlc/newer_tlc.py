"""Entries of a cfg, and the standard module TLCExt, which only a newer TLC has than the jar at hand."""

from __future__ import annotations

import functools
import re
import zipfile
from dataclasses import replace
from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.tlc.java import identity
from lockstep.tlc.tlc_result import Cause, SpecError, TlcResult

#: Entries that TLC 2.15 does not know, at the begin of a line, where they are written.
_LATER = re.compile(r"^[ \t]*(?P<entry>ALIAS|POSTCONDITION|CHECK_DEADLOCK)\b", re.MULTILINE)
#: The alternatives to a newer TLC.
_ALTERNATIVES = {
    "ALIAS": "and so does --engine compiled, which passes it over",
    "POSTCONDITION": "and so does --engine compiled",
    "CHECK_DEADLOCK": "and so does --engine compiled; or leave it out, and say --no-deadlock",
}
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
#: Modules for a TLC that lacks them.
_FOLDER = Path(__file__).parent / "standard"
_READER = "tlc2/tool/impl/ModelConfig.class"


def jar_knows_entry(jar: Path, entry: str) -> bool:
    """Return whether the TLC of a jar knows an entry of the cfg, from the constants of the class that reads it.

    Arguments: `jar`, a jar that find_tla2tools returned; `entry`, such as ALIAS.
    Returns True, too, for a jar whose class has another name: then TLC's own message stands.
    """
    with zipfile.ZipFile(jar) as archive:
        try:
            return entry.encode() in archive.read(_READER)
        except KeyError:
            return True


def explain_unknown_entry(result: TlcResult, cfg: Path, jar: Path) -> TlcResult:
    """Name the entry where TLC refuses a cfg for one that only a newer TLC knows.

    TLC takes such a word for a name in the entry before it, and its message about that helps nobody.

    Arguments: `result`, of a run with `cfg` by the TLC of `jar`.
    Returns the result, with another error where this is why.
    """
    if result.verdict is not Verdict.MALFORMED or result.error is None or result.error.file != str(cfg):
        return result
    text = cfg.read_text(encoding="utf-8", errors="replace")
    for found in _LATER.finditer(without_comments(text)):
        entry = found["entry"]
        if not jar_knows_entry(jar, entry):
            line = text.count("\n", 0, found.start("entry")) + 1
            version = f"TLC {result.tlc_version.partition(' ')[0]}" if result.tlc_version else "this TLC"
            newer = f"a newer tla2tools.jar (--tla-tools) takes it, {_ALTERNATIVES[entry]}"
            error = SpecError(str(cfg), line, None, f"{version} does not know the entry {entry}; {newer}")
            return replace(result, reason=str(error), error=error)
    return result


def without_comments(text: str) -> str:
    """Blank the comments out, so that what is left stands where it stood."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def lacking_modules(jar: Path) -> list[Path]:
    """Return the folder of the modules that the TLC of a jar lacks, for the end of where modules are looked for.

    Arguments: `jar`, a jar that find_tla2tools returned.
    Returns no folder where it lacks none.
    """
    return [_FOLDER] if _lacks_modules(jar, identity(jar)) else []


@functools.cache
def _lacks_modules(jar: Path, file: tuple[int, ...]) -> bool:
    """Return whether a jar lacks one of the modules, asked once as long as it is the same `file`."""
    with zipfile.ZipFile(jar) as archive:
        there = set(archive.namelist())
    return any(f"tla2sany/StandardModules/{module.name}" not in there for module in _FOLDER.glob("*.tla"))


def explain_missing_operator(result: TlcResult, jar: Path) -> TlcResult:
    """Name the operator where a TLC evaluated one that only a newer one has from Java: it judged nothing.

    Arguments: `result`, of a run by the TLC of `jar`.
    """
    at = None if result.violation is None else result.violation.location
    if at is None or not (_FOLDER / f"{at.module}.tla").is_file() or not lacking_modules(jar):
        return result
    line = (_FOLDER / f"{at.module}.tla").read_text(encoding="utf-8").split("\n")[at.line - 1]
    operator = line.partition("(")[0].partition(" ")[0]
    version = f"TLC {result.tlc_version.partition(' ')[0]}" if result.tlc_version else "this TLC"
    reason = f"{version} has no {operator} of the module {at.module}: try --engine compiled, or a newer tla2tools.jar"
    return replace(
        result,
        verdict=Verdict.INCONCLUSIVE,
        cause=Cause.TOOL_MISSING,
        reason=f"{reason} (--tla-tools)",
        violation=None,
        counterexample=None,
    )
