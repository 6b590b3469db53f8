"""Files of traces as tests of pytest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.characters import visible
from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.report.verdict_text import verdict_text
from lockstep.systems.file_check import FileCheck, KnownTraceCheck, own_check
from lockstep.systems.trace_opening import SpecOptions
from lockstep.systems.trace_specs import switches_of


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """The check of some traces, and the options that choose it."""

    judge: FileCheck
    options: SpecOptions

    @classmethod
    def prepare(cls, options: SpecOptions) -> PlannedCheck:
        """Prepare a check; raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does."""
        if options.own is None:
            return cls(KnownTraceCheck(options.switches), options)
        return cls(own_check(options.own), options)

    def failure_text(self, verdict: TraceVerdict) -> str:
        """Return the verdict with its findings, and the command that repeats the check."""
        replay = shlex.join(["lockstep", "check", *self.options.command_line(), verdict.source])
        return visible(f"{verdict_text(verdict)}\n\nreplay: {replay}")


_CHECK = pytest.StashKey[PlannedCheck]()


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

    check: PlannedCheck
    found: TraceVerdict

    def setup(self) -> None:
        """Check the trace; a malformed one is an error."""
        self.check = _check_of(self.config)
        self.found = self.check.judge(self.path)
        if self.found.verdict in (Verdict.MALFORMED, Verdict.INTERNAL):
            pytest.fail(self.check.failure_text(self.found), pytrace=False)

    def runtest(self) -> None:
        """Fail unless the trace holds."""
        if self.found.verdict is not Verdict.HOLDS:
            pytest.fail(self.check.failure_text(self.found), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the trace as the place of the test."""
        return self.path, 0, visible(self.path.name)


def _check_of(config: pytest.Config) -> PlannedCheck:
    """Return the check that options and ini-file choose, the same for all traces of a session."""
    if _CHECK not in config.stash:
        config.stash[_CHECK] = _load_check(config)
    return config.stash[_CHECK]


def _load_check(config: pytest.Config) -> PlannedCheck:
    spec, cfg = _file(config, "spec"), _file(config, "cfg")
    words = config.getoption("--lockstep-switch") or config.getini("lockstep_switches")
    try:
        if spec is None and cfg is not None:
            raise BadInputError("a cfg goes with a spec")
        if spec is not None and words:
            raise BadInputError("switches are for traces of a system that lockstep knows, not of a spec of your own")
        return PlannedCheck.prepare(SpecOptions(switches_of(words), None if spec is None else SpecFiles(spec, cfg)))
    except BadInputError as error:
        pytest.fail(visible(f"lockstep: {error}"), pytrace=False)


def _file(config: pytest.Config, name: str) -> Path | None:
    """Return a file that an option names relative to the current folder, or the ini-file relative to its own."""
    given: str | None = config.getoption(f"--lockstep-{name}")
    if given is not None:
        return config.invocation_params.dir / given
    named: str = config.getini(f"lockstep_{name}")
    return (config.inipath.parent if config.inipath else config.rootpath) / named if named else None
