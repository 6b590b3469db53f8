"""Verdicts as SARIF 2.1.0, the form in which tools of static analysis give results to others.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html is the standard. A rule is a code of lockstep, a result
is a finding at the line of its trace, and its code flow are the events of the trace up to there.
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
from lockstep.conformance.finding_codes import INCONCLUSIVE, INTERNAL, MALFORMED
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.report.explain import rule
from lockstep.report.place import relative
from lockstep.report.text import finding_text, placed
from lockstep.systems.registry import SYSTEMS
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import read_trace

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: Of the events before a finding so many are in its code flow; readers of SARIF show no more.
MOST_STEPS = 1_000

#: What paths are relative to: the folder in which lockstep ran, and where the modules of its own specs are.
ROOT, SPEC = "%SRCROOT%", "SPEC"

_CODES = {Verdict.MALFORMED: MALFORMED, Verdict.INCONCLUSIVE: INCONCLUSIVE, Verdict.INTERNAL: INTERNAL}

_Tree = dict[str, Any]

_PLACE = re.compile(r"(.+?):([1-9]\d*)(?::([1-9]\d*))?", re.DOTALL)


def sarif(verdicts: Sequence[TraceVerdict], own: Path | None = None, library: Sequence[Path] = ()) -> str:
    """Return a log of one run.

    A trace without a verdict is a result of its own, too: malformed input an error, what is inconclusive one that is
    `open`; with either the run was not successful. So is a finding where the recording contradicts the order. What
    holds has no result. Its texts are visible: what a reader would obey in them is an escape.
    Arguments: `own`, the module of the reader's own spec, and `library`, further folders with modules.
    """
    run = _Run([] if own is None else [own.parent, *library])
    results = [result for verdict in verdicts for result in run.results(verdict)]
    tree = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "lockstep",
                        "version": version("lockstep-raft"),
                        "rules": [_rule(code, run.names[code]) for code in run.codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    ROOT: {"description": {"text": "The folder in which lockstep ran."}},
                    SPEC: {"description": {"text": "The folder of the spec's modules."}},
                },
                "invocations": [_invocation(verdicts)],
                "results": results,
            }
        ],
    }
    return json.dumps(visible_tree(tree), indent=2)


def _invocation(verdicts: Sequence[TraceVerdict]) -> _Tree:
    without = [verdict for verdict in verdicts if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED)]
    told = [
        {"level": "error", "message": {"text": f"{verdict.source}: {verdict.verdict}: {verdict.reason}"}}
        for verdict in without
    ]
    return {"executionSuccessful": not without, "toolExecutionNotifications": told}


@dataclass(slots=True)
class _Run:
    """One run: the folders with the reader's own modules, and the codes that results have, in order."""

    folders: Sequence[Path]
    codes: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def results(self, verdict: TraceVerdict) -> Iterator[_Tree]:
        for finding in verdict.findings:
            yield self._of_finding(verdict, finding)
        if verdict.verdict in _CODES:
            code = _CODES[verdict.verdict]
            place, reason = placed(verdict)
            line = place.removeprefix(f"{verdict.source}:")
            is_open = verdict.verdict is Verdict.INCONCLUSIVE
            yield {
                **self._head(code, str(verdict.verdict)),
                "kind": "open" if is_open else "fail",
                "level": "none" if is_open else "error",
                "message": {"text": f"{verdict.verdict}: {reason}"},
                "locations": [_location(_artifact(verdict.source), int(line) if line.isdigit() else 1)],
                "partialFingerprints": _fingerprint(relative(verdict.source), code, reason),
            }

    def _of_finding(self, verdict: TraceVerdict, finding: Finding) -> _Tree:
        source = finding.source or verdict.source
        text = finding_text(source, finding).removeprefix(f"{visible_line(source)}:{finding.line}: {finding.code} ")
        spec, steps = _told(source, finding)
        related = [(finding.spec_line, "the spec"), (finding.reference_line, "the reference")]
        result = {
            **self._head(finding.code, finding.name),
            **({"kind": "open", "level": "none"} if finding.disputed else {"level": "error"}),
            "message": {"text": text},
            "locations": [_location(_artifact(source), finding.line)],
            "relatedLocations": [
                {**self._place(place, spec), "id": number, "message": {"text": of}}
                for number, (place, of) in enumerate(related, start=1)
                if place
            ],
            "partialFingerprints": _fingerprint(
                relative(source), finding.code, finding.name, finding.action, finding.node
            ),
        }
        if steps:
            flow = [_step(source, spec, line, event) for line, event in steps]
            flow[-1]["importance"] = "essential"
            flow[-1]["location"]["message"] = {"text": text.splitlines()[0]}
            result["codeFlows"] = [
                {"message": {"text": "the events up to this one"}, "threadFlows": [{"locations": flow}]}
            ]
        return result

    def _head(self, code: str, name: str) -> _Tree:
        if code not in self.names:
            self.codes.append(code)
            self.names[code] = name
        return {"ruleId": code, "ruleIndex": self.codes.index(code)}

    def _place(self, place: str, spec: str) -> _Tree:
        """Return the location of FILE:LINE or FILE:LINE:COLUMN, a file of a spec or of the reference."""
        told = _PLACE.fullmatch(place)
        file, numbers = (place, ["1"]) if told is None else (told[1], [each for each in told.groups()[1:] if each])
        known = SYSTEMS.get(spec)
        folders = [*self.folders, *([] if known is None else [known.module.parent, common_dir()])]
        found = next((folder / file for folder in folders if (folder / file).is_file()), None)
        artifact = {"uri": quote(file), "uriBaseId": ROOT if "/" in file else SPEC}
        if found is not None and not relative(str(found)).startswith("/"):
            artifact = _artifact(str(found))
        region = dict(zip(("startLine", "startColumn"), map(int, numbers), strict=False))
        return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _rule(code: str, name: str) -> _Tree:
    """Return the rule of a code: what `lockstep explain` says of it, or its name, where a mapping gives the code."""
    try:
        known = rule(code)
    except KeyError:
        title = text = f"{name} is violated"
    else:
        title, text = known.title, known.text
    return {"id": code, "shortDescription": {"text": title}, "fullDescription": {"text": text}, "help": {"text": text}}


def _told(source: str, finding: Finding) -> tuple[str, Sequence[tuple[int, Event]]]:
    """Return the spec that a trace names and its events up to a finding; nothing where the file is no trace."""
    steps: deque[tuple[int, Event]] = deque(maxlen=MOST_STEPS)
    if not Path(source).is_file():  # standard input, which is gone
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
    """Return where a file is: relative to the current folder, or the URI of one that lies elsewhere."""
    here = relative(file)
    if here.startswith("/"):
        return {"uri": Path(here).as_uri()}
    return {"uri": quote(here, errors="surrogateescape"), "uriBaseId": ROOT}


def _fingerprint(*parts: str) -> dict[str, str]:
    """Return what stays when the same is found again, though at another line: the file, the rule, what and who."""
    told = json.dumps(parts).encode()
    return {"lockstepFinding/v1": hashlib.sha256(told).hexdigest()}
