"""The plugin for pytest: collects traces as tests, and has a fixture that records a trace and checks it.

pytest imports this module whenever it starts, in every project, so it imports lockstep only when it is used.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lockstep.jobs.pytest_collection import TraceFile
    from lockstep.jobs.pytest_recorder import Recorder, RecorderFactory

#: A file that is a test, where traces are collected.
SUFFIX = ".trace.ndjson"

_RECORDERS: pytest.StashKey[list[Recorder]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and those of the ini-file; an option overrides the ini-file."""
    group = parser.getgroup("lockstep", "traces, checked against their TLA+ spec")
    group.addoption("--lockstep", action="store_true", help=f"Collect every *{SUFFIX} as a test.")
    group.addoption(
        "--lockstep-switch",
        action="append",
        metavar="SWITCH",
        help="A --switch of `lockstep check`; may be given several times.",
    )
    group.addoption("--lockstep-spec", metavar="FILE", help="The TLA+ module that the traces are of.")
    group.addoption("--lockstep-cfg", metavar="FILE", help="Its cfg (default: the one of the same name beside it).")
    parser.addini("lockstep_collect", f"Collect every *{SUFFIX} as a test.", type="bool", default=False)
    parser.addini("lockstep_switches", "The --switch of `lockstep check`.", type="args", default=[])
    parser.addini("lockstep_spec", "The TLA+ module that the traces are of, from the folder of this file.", default="")
    parser.addini("lockstep_cfg", "Its cfg, from the folder of this file.", default="")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TraceFile | None:
    """Collect a trace, if an option says so or the command line names the file."""
    if not file_path.name.endswith(SUFFIX):
        return None
    config = parent.config
    collects = config.getoption("--lockstep") or config.getini("lockstep_collect")
    if not collects and not parent.session.isinitpath(file_path):
        return None
    from lockstep.jobs.pytest_collection import TraceFile

    found: TraceFile = TraceFile.from_parent(parent, path=file_path)
    return found


@pytest.fixture
def lockstep_recorder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RecorderFactory:
    """Return a factory of recorders; a recorder writes a trace of this test, checked once the test has passed."""
    from lockstep.jobs.pytest_recorder import RecorderFactory

    made = request.node.stash.setdefault(_RECORDERS, [])
    return RecorderFactory(request.node.name, request.path.parent, lambda: tmp_path_factory.mktemp("lockstep"), made)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check the traces of a test: if it passed, they must hold; if it failed, its report has the verdicts."""
    try:
        result = yield
    except Exception:
        for recorder in item.stash.get(_RECORDERS, ()):
            item.add_report_section("call", "lockstep", recorder.verdict_text())
        raise
    for recorder in item.stash.get(_RECORDERS, ()):
        recorder.fail_unless_it_holds()
    return result
