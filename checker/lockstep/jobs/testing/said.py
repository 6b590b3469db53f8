"""What a test says of a trace."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from lockstep.base.characters import visible
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.text import verdict_text


def own_words(spec: Path, cfg: Path | None, mapping: Path | None) -> tuple[str, ...]:
    """Return the options of `lockstep check` that name a spec of the reader's own."""
    given = (("--spec", spec), ("--cfg", cfg), ("--mapping", mapping))
    return tuple(f"{option} {shlex.quote(str(path))}" for option, path in given if path is not None)


def said(verdict: TraceVerdict, words: Sequence[str]) -> str:
    """Say the verdict with its findings, and the command that gives it again."""
    replay = " ".join(["lockstep check", *words, shlex.quote(verdict.source)])
    return visible(f"{verdict_text(verdict)}\n\nreplay: {replay}")
