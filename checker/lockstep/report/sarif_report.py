"""Verdicts as SARIF 2.1.0, the format in which static analysis tools exchange their results.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html is the standard. A rule is a code of lockstep, a result
is a finding at its line of the trace, and the code flow of a result holds the events up to there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lockstep.base.characters import visible_line, visible_tree
from lockstep.base.errors import BadInputError
from lockstep.base.package_data import common_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.report.code_explanation import rule
from lockstep.report.diagnosis_text import diagnosis_lines
from lockstep.report.github_actions import relative_path
from lockstep.report.verdict_text import NO_VERDICT_CODES, finding_text, split_place
from lockstep.systems.registry import SYSTEMS
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import read_trace

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: Length of a code flow, the last events before a finding; readers of SARIF show no more.
MAX_STEPS = 1_000

#: Bases of relative paths: the folder in which lockstep ran, and the folder of the spec's modules.
ROOT, SPEC = "%SRCROOT%", "SPEC"

_Tree = dict[str, Any]

_PLACE = re.compile(r"(.+?):([1-9]\d*)(?::([1-9]\d*))?", re.DOTALL)


def sarif_log(verdicts: Sequence[TraceVerdict], own: SpecFiles | None = None) -> str:
    """Return a log of one run, with a result for each finding and for each trace without a verdict.

    Malformed input is an error. An inconclusive check is an `open` result, and so is a finding in an order of events
    that the recording contradicts. A run with a trace that has no verdict is unsuccessful; a trace that holds has no
    result. Characters that a terminal or a viewer would obey are escapes.
    Arguments: `own`, the files of the user's own spec.
    """
    results = _Results([] if own is None else [own.module.parent, *own.library])
    listed = [result for verdict in verdicts for result in results.list_trace(verdict)]
    run = {
        "tool": {
            "driver": {"name": "lockstep", "version": version("lockstep-raft"), "rules": results.rules()},
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The folder in which lockstep ran."}},
            SPEC: {"description": {"text": "The folder of the spec's modules."}},
        },
        "invocations": [_invocation(verdicts)],
        "results": listed,
    }
    return json.dumps(visible_tree({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}), indent=2)


def _invocation(verdicts: Sequence[TraceVerdict]) -> _Tree:
    without = [verdict for verdict in verdicts if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED)]
    notifications = [
        {"level": "error", "message": {"text": f"{verdict.source}: {verdict.verdict}: {verdict.reason}"}}
        for verdict in without
    ]
    return {"executionSuccessful": not without, "toolExecutionNotifications": notifications}


@dataclass(slots=True)
class _Results:
    """The results of one run, and the rules that they name.

    `folders` hold the modules of the user's own spec; `names` are the codes of the results so far, in order, each with
    the name of its first finding.
    """

    folders: Sequence[Path]
    names: dict[str, str] = field(default_factory=dict)

    def rules(self) -> list[_Tree]:
        """Return a rule for each code of the results."""
        return [_rule(code, name) for code, name in self.names.items()]

    def list_trace(self, verdict: TraceVerdict) -> Iterator[_Tree]:
        """Yield the results of one trace."""
        for finding in verdict.findings:
            yield self._finding(verdict, finding)
        if verdict.verdict in NO_VERDICT_CODES:
            yield self._no_verdict(verdict)

    def _no_verdict(self, verdict: TraceVerdict) -> _Tree:
        code = NO_VERDICT_CODES[verdict.verdict]
        place, reason = split_place(verdict)
        line = place.removeprefix(f"{verdict.source}:")
        return {
            **self._rule_of_result(code, str(verdict.verdict)),
            **_severity(is_open=verdict.verdict is Verdict.INCONCLUSIVE),
            "message": {"text": f"{verdict.verdict}: {reason}"},
            "locations": [_location(_artifact(verdict.source), int(line) if line.isdigit() else 1)],
            "partialFingerprints": _fingerprint(relative_path(verdict.source), code, reason),
        }

    def _finding(self, verdict: TraceVerdict, finding: Finding) -> _Tree:
        source = finding.source or verdict.source
        text = finding_text(source, finding).removeprefix(f"{visible_line(source)}:{finding.line}: {finding.code} ")
        diagnosis = verdict.diagnosis if finding is verdict.deviation else None
        if diagnosis is not None:
            text = "\n    ".join([text, *map(visible_line, diagnosis_lines(diagnosis, finding.line, finding.source))])
        spec, steps = _events_before(source, finding)
        what = (finding.code, finding.name, finding.action, finding.node)
        return {
            **self._rule_of_result(finding.code, finding.name),
            **_severity(is_open=finding.disputed),
            "message": {"text": text},
            "locations": [_location(_artifact(source), finding.line)],
            "relatedLocations": self._related(finding, spec),
            "partialFingerprints": _fingerprint(relative_path(source), *what),
            **({"codeFlows": [_code_flow(source, spec, steps, text.splitlines()[0], diagnosis)]} if steps else {}),
        }

    def _rule_of_result(self, code: str, name: str) -> _Tree:
        self.names.setdefault(code, name)
        return {"ruleId": code, "ruleIndex": list(self.names).index(code)}

    def _related(self, finding: Finding, spec: str) -> list[_Tree]:
        """Return the locations of a finding in the spec and in the reference."""
        places = [(finding.spec_line, "the spec"), (finding.reference_line, "the reference")]
        return [
            {**self._place(place, spec), "id": number, "message": {"text": message}}
            for number, (place, message) in enumerate(places, start=1)
            if place
        ]

    def _place(self, place: str, spec: str) -> _Tree:
        """Return the location of FILE:LINE or FILE:LINE:COLUMN in a spec or in the reference."""
        match = _PLACE.fullmatch(place)
        file, numbers = (place, ["1"]) if match is None else (match[1], [each for each in match.groups()[1:] if each])
        known = SYSTEMS.get(spec)
        folders = [*self.folders, *([] if known is None else [known.module.parent, common_dir()])]
        found = next((folder / file for folder in folders if (folder / file).is_file()), None)
        artifact = {"uri": quote(file), "uriBaseId": ROOT if "/" in file else SPEC}
        if found is not None and not relative_path(str(found)).startswith("/"):
            artifact = _artifact(str(found))
        region = dict(zip(("startLine", "startColumn"), map(int, numbers), strict=False))
        return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _severity(*, is_open: bool) -> _Tree:
    """Return kind and level of a result: the level of an open one is `none` in the standard."""
    return {"kind": "open", "level": "none"} if is_open else {"kind": "fail", "level": "error"}


def _rule(code: str, name: str) -> _Tree:
    """Return the rule of a code, with the text of `lockstep explain`, or with the name where a mapping has the code."""
    try:
        known = rule(code)
    except KeyError:
        title = text = f"{name} is violated"
    else:
        title, text = known.title, known.text
    return {"id": code, "shortDescription": {"text": title}, "fullDescription": {"text": text}, "help": {"text": text}}


def _events_before(source: str, finding: Finding) -> tuple[str, Sequence[tuple[int, Event]]]:
    """Return the spec that a trace names and its events up to a finding, each with its line; none of another file."""
    steps: deque[tuple[int, Event]] = deque(maxlen=MAX_STEPS)
    if not Path(source).is_file():  # standard input cannot be read again
        return "", ()
    try:
        trace = read_trace(Path(source))
        for line, event in trace:
            if line > finding.line:
                break
            steps.append((line, event))
    except BadInputError:
        return "", ()
    return trace.header.spec, steps


def _code_flow(
    source: str, spec: str, steps: Sequence[tuple[int, Event]], message: str, diagnosis: Diagnosis | None
) -> _Tree:
    """Return the events up to a finding; those that can have had nothing to do with it are unimportant."""
    flow = [_step(source, spec, line, event) for line, event in steps]
    if diagnosis is not None:
        for (line, _), step in zip(steps, flow, strict=True):
            step["importance"] = "important" if line in diagnosis.past else "unimportant"
    flow[-1]["importance"] = "essential"
    flow[-1]["location"]["message"] = {"text": message}
    return {"message": {"text": "the events up to this one"}, "threadFlows": [{"locations": flow}]}


def _step(source: str, spec: str, line: int, event: Event) -> _Tree:
    args = ", ".join(f"{name} = {json.dumps(value)}" for name, value in event.args.items())
    location = _location(_artifact(source), line)
    location["logicalLocations"] = [
        {"name": event.action, "fullyQualifiedName": f"{spec}!{event.action}", "kind": "function"}
    ]
    location["message"] = {"text": f"{event.node}: {event.action}({args})" if args else f"{event.node}: {event.action}"}
    return {"location": location, "executionOrder": line - 1}


def _location(artifact: _Tree, line: int) -> _Tree:
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}}


def _artifact(file: str) -> _Tree:
    """Return the URI of a file: relative to the current folder, or absolute where the file lies elsewhere."""
    path = relative_path(file)
    if path.startswith("/"):
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": ROOT}


def _fingerprint(*parts: str) -> dict[str, str]:
    """Return the identity of a result, without its line: equal where another run finds the same at another line."""
    return {"lockstepFinding/v1": hashlib.sha256(json.dumps(parts).encode()).hexdigest()}
