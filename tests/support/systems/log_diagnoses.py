"""Diagnoses of logs of small specs: the spec's text, the mapping, and the lines that nothing explains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.trace_verdict import Finding
from lockstep.logs.log_deviation import UnexplainedLine
from lockstep.models.search_result import SpecFiles
from lockstep.report.diagnosis_text import diagnosis_lines
from lockstep.systems.file_check import own_check


class DiagnosedLogs:
    """Logs that nothing explains, with what was found.

    Arguments: `spec`, the definitions of the spec; `mapping`, that of the lines, which have the field `event`; `logs`,
    the lines of each file by its name.
    """

    def __init__(self, folder: Path, spec: str, mapping: str, logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        (folder / "Own.tla").write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{spec.strip()}\n====")
        (folder / "Own.cfg").write_text("INIT Init\nNEXT Next\n")
        (folder / "mapping.toml").write_text(f'kind = "event"\n{mapping.strip()}\n')
        for name, lines in logs.items():
            (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        self.files = SpecFiles(folder / "Own.tla", folder / "Own.cfg", mapping=folder / "mapping.toml")
        self.paths = [folder / name for name in logs]
        self.check = own_check(self.files)
        refuted: list[UnexplainedLine] = []
        self.verdict = self.check.check_logs(self.paths, refuted.append)
        (self.refuted,) = refuted

    @property
    def finding(self) -> Finding:
        """The line that nothing explains."""
        (finding,) = self.verdict.findings
        return finding

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis, which must have a cause."""
        found = self.check.diagnosis_of(self.refuted)
        assert found is not None
        assert found.causes, found.notes
        return found

    @property
    def first(self) -> DeviationCause:
        """The first cause."""
        return self.diagnosis.causes[0]

    @property
    def text(self) -> str:
        """The diagnosis as text."""
        return "\n".join(diagnosis_lines(self.diagnosis, self.finding.line, self.finding.source))
