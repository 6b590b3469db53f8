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
from lockstep.systems.file_check import FileCheck, KnownTraceCheck, own_check
from lockstep.systems.trace_specs import switches_of


@dataclass(frozen=True, slots=True)
class _SessionCheck:
    """The check of the traces of a session, and the options of the same check on a command line."""

    judge: FileCheck
    words: tuple[str, ...]


_CHECK = pytest.StashKey[_SessionCheck]()


class TraceFile(pytest.File):
    """The file of a trace."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the test of the trace."""
        yield TraceItem.from_parent(self, name="check")


class TraceItem(pytest.Item):
    """The check of a trace.

    It fails if the trace violates something, or if the check came to no verdict. A malformed trace and an internal
    error are errors: they say nothing about the system.
    """

    found: TraceVerdict
    words: tuple[str, ...] = ()

    def setup(self) -> None:
        """Check the trace; a malformed one is an error."""
        check = _check_of(self.config)
        self.found, self.words = check.judge(self.path), check.words
        if self.found.verdict in (Verdict.MALFORMED, Verdict.INTERNAL):
            pytest.fail(failure_text(self.found, self.words), pytrace=False)

    def runtest(self) -> None:
        """Fail unless the trace holds."""
        if self.found.verdict is not Verdict.HOLDS:
            pytest.fail(failure_text(self.found, self.words), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the trace as the place of the test."""
        return self.path, 0, visible(self.path.name)


def _check_of(config: pytest.Config) -> _SessionCheck:
    """Return the check that options and ini-file choose, the same for all traces of a session."""
    if _CHECK not in config.stash:
        config.stash[_CHECK] = _load_check(config)
    return config.stash[_CHECK]


def _load_check(config: pytest.Config) -> _SessionCheck:
    spec, cfg = _file(config, "spec"), _file(config, "cfg")
    words = config.getoption("--lockstep-switch") or config.getini("lockstep_switches")
    try:
        if spec is None:
            if cfg is not None:
                raise BadInputError("a cfg goes with a spec")
            return _SessionCheck(KnownTraceCheck(switches_of(words)), tuple(f"--switch {word}" for word in words))
        if words:
            raise BadInputError("switches are for traces of a system that lockstep knows, not of a spec of your own")
        return _SessionCheck(own_check(spec, cfg or spec.with_suffix(".cfg"), None), own_words(spec, cfg, None))
    except BadInputError as error:
        pytest.fail(visible(f"lockstep: {error}"), pytrace=False)


def _file(config: pytest.Config, name: str) -> Path | None:
    """Return a file that an option names relative to the current folder, or the ini-file relative to its own."""
    given: str | None = config.getoption(f"--lockstep-{name}")
    if given is not None:
        return config.invocation_params.dir / given
    named: str = config.getini(f"lockstep_{name}")
    return (config.inipath.parent if config.inipath else config.rootpath) / named if named else None


def own_words(spec: Path, cfg: Path | None, mapping: Path | None) -> tuple[str, ...]:
    """Return the options of `lockstep check` that name a spec of the user's own."""
    given = (("--spec", spec), ("--cfg", cfg), ("--mapping", mapping))
    return tuple(f"{option} {shlex.quote(str(path))}" for option, path in given if path is not None)


def failure_text(verdict: TraceVerdict, words: Sequence[str]) -> str:
    """Return the verdict with its findings, and the command that repeats the check."""
    replay = " ".join(["lockstep check", *words, shlex.quote(verdict.source)])
    return visible(f"{verdict_text(verdict)}\n\nreplay: {replay}")
