"""Verdicts for GitHub Actions: commands that annotate lines of files, and a summary of the job in Markdown.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands describes the commands. The runner
takes any line of the output for a command, blanks before it or not. So texts of a trace are escaped, and all other
output stands between `::stop-commands::` and its end.
"""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockstep.base.characters import visible, visible_line
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.verdict_text import explained_text, verdict_text


def commands(verdicts: Sequence[TraceVerdict]) -> Iterator[str]:
    """Yield a command for each finding, and for each trace that has no verdict."""
    for verdict in verdicts:
        for finding in verdict.findings:
            source = finding.source or verdict.source
            text = explained_text(verdict, finding).removeprefix(f"{visible_line(source)}:{finding.line}: ")
            kind = "warning" if finding.disputed else "error"
            yield _command(kind, source, finding.line, text.partition("\n")[0], text)
        if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
            head = verdict_text(verdict).splitlines()[0]
            line = re.match(rf"{re.escape(visible_line(verdict.source))}:(\d+):", head)
            title = (
                f"{verdict.verdict}: no verdict" if verdict.verdict is Verdict.INCONCLUSIVE else str(verdict.verdict)
            )
            yield _command("error", verdict.source, int(line[1]) if line else 1, title, head)


def _command(kind: str, file: str, line: int, title: str, message: str) -> str:
    place = f"file={_property(relative_path(file))},line={line},title={_property(title)}"
    return f"::{kind} {place}::{_data(message)}"


def relative_path(file: str) -> str:
    """Return the path of a file from the current folder, with slashes; elsewhere the path as it is."""
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _data(text: str) -> str:
    """Escape the message of a command, so that it is one line."""
    return visible(text.replace("%", "%25")).replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of a command, which a colon or a comma would end."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def without_commands(text: str) -> str:
    """Return text in which the runner sees no command: it stands between two that nobody can guess."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::"


def summary(verdicts: Sequence[TraceVerdict]) -> str:
    """Return the summary of a job: a table with a row for each trace, and the findings below it.

    All text of a trace is within HTML code elements, where Markdown finds no link, no mention and no element.
    """
    lines = [
        "### lockstep check",
        "",
        "| trace | verdict | events | steps | compared |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for verdict in verdicts:
        counts = f"{verdict.events:,} | {verdict.steps:,} | {verdict.observed:,}"
        lines.append(f"| {_code(verdict.source)} | {verdict.verdict} | {counts} |")
    for verdict in verdicts:
        parts = [] if verdict.verdict in (Verdict.HOLDS, Verdict.VIOLATED) else [verdict_text(verdict).splitlines()[0]]
        parts += [explained_text(verdict, finding) for finding in verdict.findings]
        lines += ["", *(f"<pre>{_lines(each)}</pre>" for each in parts)] if parts else []
    return "\n".join(lines) + "\n"


def _lines(text: str) -> str:
    """Escape lines of text for an element of HTML, which an empty line would end in Markdown."""
    return "&#10;".join(_escaped(line) for line in text.split("\n"))


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    """Escape the syntax of HTML and Markdown."""
    plain = html.escape(visible(text).replace("\n", " "))
    return re.sub(r"[|`*_\[\]\\~@#!$:()]", lambda sign: f"&#{ord(sign[0])};", plain)
