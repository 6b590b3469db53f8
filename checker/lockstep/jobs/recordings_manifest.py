"""traces/manifest.toml: the recordings that ship with the project, and the expected verdict on each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.registry import constants
from lockstep.systems.system import ImportOptions, System
from lockstep.trace.json_lines import rephrase_error
from raftref.choices import REPAIRED

#: The variant that replaces no constant of the header.
AS_RECORDED = "published"

#: The folder of the recordings, beside their manifest, and the suffix of their descriptions.
RECORDED, DESCRIPTION = "captured", ".md"


class Departure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The step at which a recording leaves the spec: the action, and the line of the recording."""

    action: str
    line: int


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One recording, the variant of the spec that it is checked against, and the expected verdict.

    `repaired` are flaws that are repaired on top of the variant. `version` is that of the system, where the file does
    not have it; `violates` maps a property to the line of the recording from which on it fails. `tier` is that of
    `lockstep verify` which checks it.
    """

    name: str
    file: str
    verdict: Literal["holds", "violated"]
    tier: Literal["quick", "deep"] = "quick"
    variant: str = AS_RECORDED
    repaired: tuple[str, ...] = ()
    version: str | None = None
    violates: dict[str, int] = {}
    leaves: Departure | None = None

    @property
    def import_options(self) -> ImportOptions:
        """Facts that the file lacks."""
        return ImportOptions(self.version)

    def switches(self, system: System) -> dict[str, str]:
        """Return the constants that replace those of the recorded version, by name."""
        if system.constants is None:
            return {}
        variant = {} if self.variant == AS_RECORDED else system.constants.variants[self.variant]
        return {**variant, **dict.fromkeys(self.repaired, REPAIRED)}


class _RecordingsManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    recording: tuple[Recording, ...]


class RecordingsError(BadInputError):
    """The manifest of recordings is malformed; the message names file and field."""


def load_recordings(path: Path) -> tuple[Recording, ...]:
    """Read the manifest of recordings.

    Raises RecordingsError, naming the field, where it is wrong, names a file that is not there, or leaves out a
    recording of the folder `captured` beside it.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # TOMLDecodeError and UnicodeDecodeError are such
        raise RecordingsError(f"{path}: {error}") from error
    try:
        recordings = msgspec.convert(tree, _RecordingsManifest).recording
    except msgspec.ValidationError as error:
        raise RecordingsError(f"{path}: {rephrase_error(error, tree)}") from error
    known = {AS_RECORDED, *(name for each in constants() for name in each.variants)}
    for place, recording in enumerate(recordings):
        if recording.variant not in known:
            problem = f"{recording.variant!r} is none of {', '.join(sorted(known))}"
            raise RecordingsError(f"{path}: field `recording[{place}].variant`: {problem}")
    _check_files(path, recordings)
    return recordings


def _check_files(path: Path, recordings: tuple[Recording, ...]) -> None:
    """Raise RecordingsError unless there is a file for every entry, and an entry for every file."""
    if not recordings:
        raise RecordingsError(f"{path}: field `recording`: there is no entry")
    for place, recording in enumerate(recordings):
        if not (path.parent / recording.file).is_file():
            raise RecordingsError(f"{path}: field `recording[{place}].file`: there is no {recording.file}")
    # A recording without an entry would never be checked.
    inside = (each for each in (path.parent / RECORDED).rglob("*") if each.is_file())
    there = (each for each in inside if each.suffix != DESCRIPTION)
    left_out = sorted(set(there) - {path.parent / recording.file for recording in recordings})
    if left_out:
        names = ", ".join(each.name for each in left_out)
        raise RecordingsError(f"{path}: field `recording`: {names}: a recording without an entry")


def mismatches(recording: Recording, found: TraceVerdict) -> list[str]:
    """Return the differences from the expected verdict."""
    if found.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
        return [found.reason]
    problems: list[str] = []
    if str(found.verdict) != recording.verdict:
        problems.append(f"{found.verdict}: {found.reason}")
    deviation = found.deviation
    left = None if deviation is None else Departure(deviation.action, deviation.recorded_line or -1)
    if left != recording.leaves:
        problems.append(f"leaves the spec at {_place(left)}, not at {_place(recording.leaves)}")
    violated = {name: finding.recorded_line for name, finding in found.violations.items()}
    if violated != recording.violates:
        problems.append(f"violates {violated}, not {recording.violates}")
    return problems


def _place(leaves: Departure | None) -> str:
    return "no line" if leaves is None else f"line {leaves.line} ({leaves.action})"


def found_text(found: TraceVerdict) -> str:
    """Return a short description of the verdict, by lines of the recording."""
    if found.deviation is not None:
        text = f"leaves the spec at line {found.deviation.recorded_line}: {found.deviation.action}"
    else:
        text = "conforms" if found.violations else "holds"
    violated = ", ".join(f"{name} (line {each.recorded_line})" for name, each in found.violations.items())
    return f"{text}, and violates {violated}" if violated else text
