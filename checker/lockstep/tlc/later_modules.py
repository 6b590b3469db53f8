"""The standard modules that a TLC is too old to have: TLCExt, which TLC 2.15 lacks."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from lockstep.tlc.result import Cause, TlcResult, TlcVerdict

__all__ = ["lacking_modules", "told_of_modules"]

_FOLDER = Path(__file__).parent / "standard"


def lacking_modules(jar: Path) -> list[Path]:
    """Return the folder of the modules that the TLC of a jar lacks, for the end of where modules are looked for.

    Arguments: `jar`, a jar that find_tla2tools returned.
    Returns no folder where it lacks none.
    """
    with zipfile.ZipFile(jar) as archive:
        there = set(archive.namelist())
    lacks = any(f"tla2sany/StandardModules/{file.name}" not in there for file in _FOLDER.glob("*.tla"))
    return [_FOLDER] if lacks else []


def told_of_modules(result: TlcResult, jar: Path) -> TlcResult:
    """Say what a TLC lacks that evaluated an operator which only a newer one has from Java: it judged nothing.

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
        verdict=TlcVerdict.INCONCLUSIVE,
        cause=Cause.TOOL_MISSING,
        reason=f"{reason} (--tla-tools)",
        violation=None,
        counterexample=None,
    )
