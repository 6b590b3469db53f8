"""The spec with something wrong in it, to see whose fault the checker calls it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lockstep.specs
from lockstep.paths import spec_dir


@contextmanager
def broken_spec(folder: Path, *replaced: tuple[str, str], cfg: str = "") -> Iterator[None]:
    """Let traces be checked against a copy of the spec: texts of DLedger.tla replaced, lines added to Trace.cfg."""
    text = (spec_dir() / "DLedger.tla").read_text(encoding="utf-8")
    for before, after in replaced:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    place = folder / "spec"
    place.mkdir()
    (place / "DLedger.tla").write_text(text, encoding="utf-8")
    for module in ("Quorum.tla", "Election.tla"):
        (place / module).write_bytes((spec_dir() / module).read_bytes())
    (place / "Trace.cfg").write_text((spec_dir() / "Trace.cfg").read_text(encoding="utf-8") + cfg, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lockstep.specs, "spec_dir", lambda: place)
        patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        lockstep.specs.spec_hash.cache_clear()
        yield
    lockstep.specs.spec_hash.cache_clear()


#: An action whose guard has no value: whatever a trace says, the fault is the spec's.
NO_VALUE = ("MayCheckPoint(n)   == TRUE", "MayCheckPoint(n)   == Head(<< >>)")
