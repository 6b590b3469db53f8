"""A spec with a planted mistake, for the tests of whose fault the checker reports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lockstep.base.package_data
import lockstep.systems.system
from lockstep.base.package_data import spec_dir
from tests.support.tla.spec_book import chapters


@contextmanager
def broken_spec(folder: Path, *replaced: tuple[str, str], cfg: str = "") -> Iterator[None]:
    """Check traces, within the block, against a copy of the spec with texts replaced and lines added to Trace.cfg."""
    place = folder / "spec"
    shutil.copytree(spec_dir(), place, ignore=shutil.ignore_patterns("models"))
    texts = {chapter.relative_to(spec_dir()): chapter.read_text(encoding="utf-8") for chapter in chapters()}
    for before, after in replaced:
        assert [text.count(before) for text in texts.values() if before in text] == [1], before
        texts = {chapter: text.replace(before, after) for chapter, text in texts.items()}
    for chapter, text in texts.items():
        (place / chapter).write_text(text, encoding="utf-8")
    with (place / "dledger" / "Trace.cfg").open("a", encoding="utf-8") as file:
        file.write(cfg)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.base.package_data, "spec_dir", lambda: place)
        patched.setattr(lockstep.systems.system, "spec_dir", lambda: place)
        patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield


#: An action whose guard has no value: whatever a trace says, the fault is the spec's.
NO_VALUE = ("MayCheckPoint(n)    == TRUE", "MayCheckPoint(n)    == CHOOSE x \\in {} : TRUE")
