"""A lab: the spec that its solutions are checked against, the form of their lines, and the rules that these break."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from lockstep.base.package_data import spec_dir
from lockstep.conformance.trace_verdict import Finding
from lockstep.logs.mapping import Mapping, read_mapping
from lockstep.models.search_result import SpecFiles

#: The rule of a condition, in a comment behind it, or in the line below.
_RULE = re.compile(r"\\\*\s*(.+?)\s*$")
_PLACE = re.compile(r"(?P<module>\w+)\.tla:(?P<line>\d+)")


class LabText(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The contents of lab.toml: the files of a lab, how lines are recognised, and the rules of shown values."""

    title: str
    spec: str
    cfg: str
    literal: str
    mapping: str
    lines: str
    mark: str
    test: str
    server: str
    life: str
    first: str
    shows: dict[str, str]


@dataclass(frozen=True)
class Lab:
    """A lab in a folder, with lab.toml and the files that it names."""

    folder: Path
    text: LabText

    @cached_property
    def mapping(self) -> Mapping:
        """The meaning of the lines."""
        return read_mapping(self.folder / self.text.mapping)

    def files(self, *, literal: bool) -> SpecFiles:
        """Return the spec with its mapping: what is unsafe is refused or, if literal, what is not as the rules say."""
        cfg = self.text.literal if literal else self.text.cfg
        return SpecFiles(self.folder / self.text.spec, self.folder / cfg, mapping=self.folder / self.text.mapping)

    def rule(self, finding: Finding) -> str:
        """Return the rule that a finding breaks, "" where the lab names none."""
        shows = self.text.shows
        if finding.kind == "shows":
            return shows.get(f"{finding.action}.{finding.name}") or shows.get(finding.name, "")
        place = _PLACE.search(finding.spec_line)
        if place is None or place["module"] not in self._modules:
            return ""
        lines = self._modules[place["module"]][int(place["line"]) - 1 :][:2]
        return next((found[1] for line in lines if (found := _RULE.search(line))), "")

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        return {path.stem: path.read_text(encoding="utf-8").splitlines() for path in self.folder.glob("*.tla")}


def load_lab() -> Lab:
    """Return the lab that comes with lockstep; raises SpecNotFoundError where it is not there."""
    folder = spec_dir() / "lab"
    tree = tomllib.loads((folder / "lab.toml").read_text(encoding="utf-8"))
    return Lab(folder, msgspec.convert(tree, LabText))
