"""The chapters of DLedger's spec, as files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lockstep.base.paths import common_dir
from lockstep.systems.dledger import DLEDGER


def chapters() -> list[Path]:
    """The modules that the root of the spec reaches by EXTENDS, each after those that it extends."""
    return list(dict.fromkeys(_extended(DLEDGER.module)))


def _extended(module: Path) -> Iterator[Path]:
    text = module.read_text(encoding="utf-8")
    for extends in re.findall(r"^EXTENDS ((?:\w+,\s*)*\w+)$", text, re.MULTILINE):
        for name in re.findall(r"\w+", extends):
            for folder in (DLEDGER.module.parent, common_dir()):
                if (folder / f"{name}.tla").is_file():
                    yield from _extended(folder / f"{name}.tla")
    yield module
