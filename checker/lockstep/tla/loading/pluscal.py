"""PlusCal in a module: whether it is translated, and whether algorithm and translation still belong together.

The translator writes two checksums into the lines around a translation: one of the translation, which is that of its
lines put together, and one of the syntax tree of the algorithm, which only the translator can make. So it is run again,
on a copy; where it writes another kind of checksum than the module has, there is no note. For an algorithm that begins
with `--fair` newer translators write the checksum of that word alone; there the translations themselves are compared.

Source: pcal.trans, pcal.Validator of TLA+.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from lockstep.base.errors import OLD_TRANSLATION
from lockstep.base.scratch import scratch
from lockstep.base.text_files import text_of
from lockstep.tla.loading.spec_cache import cache_folder, read_cached, write_cached
from lockstep.tlc.java import find_java, find_tla2tools
from lockstep.tlc.supervised_process import Budget, ProcessEnd, ToolMissing, run_supervised

_ALGORITHM = re.compile(r"--(?P<fair>fair\s+)?algorithm\b")
_BEGIN = re.compile(r"^.*\\\*+[ \t]*BEGIN TRANSLATION.*$", re.MULTILINE)
_END = re.compile(r"^.*\\\*+[ \t]*END TRANSLATION.*$", re.MULTILINE)
_CHECKSUM = re.compile(r'ch(?:ec)?ksum\((?P<of>p(?:lus)?cal|tla\+?)\)\s*=\s*"(?P<sum>[0-9A-Fa-f]*)"', re.IGNORECASE)
#: The form of the translator that comes with TLC 2.15, which has one checksum in each of the two lines.
_OLDER = re.compile(r"\b(?P<of>PCal|TLA)-(?P<sum>[0-9a-f]{32})\b")
_SECONDS = 30.0


def untranslated(text: str) -> int | None:
    """Return the line of an algorithm in a module that has no translation; None where there is none."""
    found = _ALGORITHM.search(text)
    if found is None or _BEGIN.search(text) is not None:
        return None
    return text.count("\n", 0, found.start()) + 1


def note_of_translation(module: Path, jar: Path | None = None) -> str | None:
    """Return a note, with file, line and code, if checksums show that algorithm and translation do not belong together.

    None where they do, where there are no checksums, or where the translator does not run: a note is worth no error.
    """
    text = text_of(module)
    algorithm, begin = _ALGORITHM.search(text), _BEGIN.search(text)
    end = None if begin is None else _END.search(text, begin.end())
    if algorithm is None or begin is None or end is None:
        return None
    kept = _checksums(begin[0] + end[0])
    translation = text[begin.end() + 1 : end.start()]
    if any(made != _MAKE[how](translation) for (of, how), made in kept.items() if of == "tla"):
        return _note(module, text, begin.start(), "the translation was edited since it was made of the algorithm")
    if not any(of == "pcal" for of, _ in kept):
        return None
    said = _parted(text, translation, kept, _cached(f"{text}{jar}", lambda: _translated(text, module.stem, jar)))
    return _note(module, text, algorithm.start(), said) if said else None


def _parted(text: str, translation: str, kept: dict[tuple[str, str], str], anew: str | None) -> str:
    """Describe how an algorithm differs from what it was when it was translated; "" where it does not, as far as known.

    `translation` and its `kept` checksums are as the module has them; `anew` is the module translated again.
    """
    if anew is None:
        return "the algorithm was changed since it was translated, and does not translate any more"
    begin = _BEGIN.search(anew)
    end = None if begin is None else _END.search(anew, begin.end())
    if begin is None or end is None:
        return ""
    now = _checksums(begin[0] + end[0])
    differs = any(made != now.get(key, made) for key, made in kept.items() if key[0] == "pcal")
    found = _ALGORITHM.search(text)
    if found is not None and found["fair"] and ("pcal", "crc") in kept.keys() & now.keys():
        differs = anew[begin.end() + 1 : end.start()].split() != translation.split()
    return "the algorithm was changed since it was translated" if differs else ""


def _note(module: Path, text: str, at: int, said: str) -> str:
    line = text.count("\n", 0, at) + 1
    return f"{module}:{line}: {OLD_TRANSLATION} note: {said}; the translation is what counts: translate it again"


def _checksums(lines: str) -> dict[tuple[str, str], str]:
    """Return the checksums in the lines around a translation: of what, `pcal` or `tla`, and how it is made."""
    newer = {
        ("tla" if each["of"].lower().startswith("tla") else "pcal", "crc"): each["sum"].lower()
        for each in _CHECKSUM.finditer(lines)
    }
    return newer | {(each["of"].lower(), "md5"): each["sum"] for each in _OLDER.finditer(lines)}


def _joined(lines: str) -> bytes:
    return "".join(lines.splitlines()).encode()


#: The checksum of a translation, by its kind.
_MAKE: dict[str, Callable[[str], str]] = {
    "crc": lambda lines: f"{zlib.crc32(_joined(lines)):x}",
    "md5": lambda lines: hashlib.md5(_joined(lines), usedforsecurity=False).hexdigest(),
}


def _cached(text: str, make: Callable[[], str | None]) -> str | None:
    """Return what the translator makes of a module, cached by its text; None where it refuses it."""
    file = cache_folder() / f"pcal-{hashlib.sha256(text.encode()).hexdigest()[:32]}.tla"
    known = read_cached(file)
    if known is not None:
        return known.decode() or None
    made = make()
    if made != "":
        write_cached(file, (made or "").encode())
    return made


def _translated(text: str, name: str, jar: Path | None) -> str | None:
    """Translate a copy of a module; None where the translator refuses it, "" where it does not run."""
    with scratch("pcal") as folder:
        copy = folder / f"{name}.tla"
        copy.write_text(text, encoding="utf-8")
        try:
            command = [str(find_java().path), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
            command += [str(find_tla2tools(jar)), "pcal.trans", "-nocfg", str(copy)]
        except ToolMissing:
            return ""
        said: list[bytes] = []
        ended = run_supervised(
            command,
            cwd=folder,
            stderr=folder / "stderr.txt",
            on_output=said.append,
            budget=Budget(cpu_seconds=_SECONDS),
            should_stop=lambda: False,
        )
        if ended.end is not ProcessEnd.EXITED:
            return ""
        return copy.read_text(encoding="utf-8") if b"Translation completed" in b"".join(said) else None
