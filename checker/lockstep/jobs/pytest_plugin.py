"""The plugin for pytest: traces that are tests, and a fixture that records one and checks it.

pytest imports this module whenever it starts, in every project; so it imports nothing of lockstep before that is used.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lockstep.jobs.pytest_collection import TraceFile
    from lockstep.jobs.pytest_recorder import Recorder, Recorders

#: A file that is a test, where traces are collected.
SUFFIX = ".trace.ndjson"

_RECORDERS: pytest.StashKey[list[Recorder]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, and what the ini-file may say; an option overrides the ini-file."""
    group = parser.getgroup("lockstep", "traces, checked against their TLA+ spec")
    group.addoption("--lockstep", action="store_true", help=f"Collect every *{SUFFIX} as a test.")
    group.addoption(
        "--lockstep-switch",
        action="append",
        metavar="SWITCH",
        help="What `lockstep check --switch` takes; may be given several times.",
    )
    group.addoption("--lockstep-spec", metavar="FILE", help="The TLA+ module that the traces are of.")
    group.addoption("--lockstep-cfg", metavar="FILE", help="Its cfg (default: the one of the same name beside it).")
    parser.addini("lockstep_collect", f"Collect every *{SUFFIX} as a test.", type="bool", default=False)
    parser.addini("lockstep_switches", "What `lockstep check --switch` takes.", type="args", default=[])
    parser.addini("lockstep_spec", "The TLA+ module that the traces are of, from the folder of this file.", default="")
    parser.addini("lockstep_cfg", "Its cfg, from the folder of this file.", default="")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TraceFile | None:
    """Collect a trace: where that was asked for, or where the command line names the very file."""
    if not file_path.name.endswith(SUFFIX):
        return None
    config = parent.config
    asked = config.getoption("--lockstep") or config.getini("lockstep_collect")
    if not asked and not parent.session.isinitpath(file_path):
        return None
    from lockstep.jobs.pytest_collection import TraceFile

    found: TraceFile = TraceFile.from_parent(parent, path=file_path)
    return found


@pytest.fixture
def lockstep_recorder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorders:
    """Return what makes recorders: each writes the trace of this test, which is checked once the test has passed."""
    from lockstep.jobs.pytest_recorder import Recorders

    made = request.node.stash.setdefault(_RECORDERS, [])
    return Recorders(request.node.name, request.path.parent, lambda: tmp_path_factory.mktemp("lockstep"), made)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check what a test recorded: one that passed fails where the spec refuses it, one that failed is told of it."""
    try:
        result = yield
    except Exception:
        for recorder in item.stash.get(_RECORDERS, ()):
            item.add_report_section("call", "lockstep", recorder.said())
        raise
    for recorder in item.stash.get(_RECORDERS, ()):
        recorder.fail_unless_it_holds()
    return result
