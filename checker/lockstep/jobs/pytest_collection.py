"""Files of traces as tests of pytest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.characters import visible
from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.verdict_text import verdict_text
from lockstep.systems.file_check import Judge, judge_known, judge_own
from lockstep.systems.trace_specs import switches_of


@dataclass(frozen=True, slots=True)
class _Check:
    """What checks the traces of a session, and the options that a command would do it with."""

    judge: Judge
    words: tuple[str, ...]


_CHECK = pytest.StashKey[_Check]()


class TraceFile(pytest.File):
    """A trace."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the one test that a trace is."""
        yield TraceItem.from_parent(self, name="check")


class TraceItem(pytest.Item):
    """The check of a trace.

    One that violates something fails, and so does one whose check came to no verdict: that is no pass. What is
    malformed, and an internal error, are errors: they say nothing about the system.
    """

    found: TraceVerdict
    words: tuple[str, ...] = ()

    def setup(self) -> None:
        """Check the trace; what is none is an error."""
        check = _check_of(self.config)
        self.found, self.words = check.judge(self.path), check.words
        if self.found.verdict in (Verdict.MALFORMED, Verdict.INTERNAL):
            pytest.fail(said(self.found, self.words), pytrace=False)

    def runtest(self) -> None:
        """Fail unless the trace holds."""
        if self.found.verdict is not Verdict.HOLDS:
            pytest.fail(said(self.found, self.words), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the trace."""
        return self.path, 0, visible(self.path.name)


def _check_of(config: pytest.Config) -> _Check:
    """Return the check that options and ini-file ask for, the same for all traces of a session."""
    if _CHECK not in config.stash:
        config.stash[_CHECK] = _made(config)
    return config.stash[_CHECK]


def _made(config: pytest.Config) -> _Check:
    spec, cfg = _file(config, "spec"), _file(config, "cfg")
    words = config.getoption("--lockstep-switch") or config.getini("lockstep_switches")
    try:
        if spec is None:
            if cfg is not None:
                raise BadInputError("a cfg goes with a spec")
            return _Check(judge_known(switches_of(words)), tuple(f"--switch {word}" for word in words))
        if words:
            raise BadInputError("switches are for traces of a system that lockstep knows, not of a spec of your own")
        return _Check(judge_own(spec, cfg or spec.with_suffix(".cfg"), None), own_words(spec, cfg, None))
    except BadInputError as error:
        pytest.fail(visible(f"lockstep: {error}"), pytrace=False)


def _file(config: pytest.Config, name: str) -> Path | None:
    """Return a file that an option names from the current folder, or the ini-file from its own."""
    given: str | None = config.getoption(f"--lockstep-{name}")
    if given is not None:
        return config.invocation_params.dir / given
    told: str = config.getini(f"lockstep_{name}")
    return (config.inipath.parent if config.inipath else config.rootpath) / told if told else None


def own_words(spec: Path, cfg: Path | None, mapping: Path | None) -> tuple[str, ...]:
    """Return the options of `lockstep check` that name a spec of the reader's own."""
    given = (("--spec", spec), ("--cfg", cfg), ("--mapping", mapping))
    return tuple(f"{option} {shlex.quote(str(path))}" for option, path in given if path is not None)


def said(verdict: TraceVerdict, words: Sequence[str]) -> str:
    """Say the verdict with its findings, and the command that gives it again."""
    replay = " ".join(["lockstep check", *words, shlex.quote(verdict.source)])
    return visible(f"{verdict_text(verdict)}\n\nreplay: {replay}")
