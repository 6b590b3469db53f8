"""The files of a spec's chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lockstep.base.package_data import common_dir
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.system import System


def chapters(system: System = DLEDGER) -> list[Path]:
    """The modules that the root of the spec reaches by EXTENDS, each after those that it extends."""
    return list(dict.fromkeys(_extended(system.module, (system.module.parent, common_dir()))))


def _extended(module: Path, folders: tuple[Path, ...]) -> Iterator[Path]:
    text = module.read_text(encoding="utf-8")
    for extends in re.findall(r"^EXTENDS ((?:\w+,\s*)*\w+)$", text, re.MULTILINE):
        for name in re.findall(r"\w+", extends):
            for folder in folders:
                if (folder / f"{name}.tla").is_file():
                    yield from _extended(folder / f"{name}.tla", folders)
    yield module
