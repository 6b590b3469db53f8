"""A sample of tests in a bounded time, drawn anew for each commit: `pytest -m nightly --minutes 15 --draw COMMIT`.

The word of `--draw` decides the order of the tests. A test that still runs when the time is up is cut off. Tests that
are cut off or not reached are skipped and counted; they neither pass nor fail. A sample in which hardly any test comes
to its end fails.
"""

from __future__ import annotations

import hashlib
import signal
import time
from collections.abc import Generator, Iterator
from types import FrameType

import pytest

#: The least number of tests that must pass or fail in a sample.
MIN_ENDED = 10

#: The time between two alarms for a test that goes on after it was cut off, in seconds.
ALARM_PERIOD = 5.0

NOT_REACHED = "not reached: the sample's time is up"
CUT_OFF = "cut off: the sample's time is up"

_END = pytest.StashKey[float]()
#: Set for a test that was cut off.
_IS_CUT_OFF = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options of a sample."""
    group = parser.getgroup("sample", "a sample in a bounded time")
    group.addoption("--minutes", type=float, help="begin no test after this many minutes, and cut off what runs then")
    group.addoption("--draw", metavar="WORD", help="run the tests in the order that this word decides, e.g. a commit")


def pytest_configure(config: pytest.Config) -> None:
    """Begin the sample's time."""
    minutes = config.getoption("minutes")
    if minutes is not None:
        config.stash[_END] = time.monotonic() + 60 * minutes


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests by the digest of the drawn word and their name."""
    word = config.getoption("draw")
    if word is not None:
        items.sort(key=lambda item: hashlib.sha256(f"{word}\0{item.nodeid}".encode()).digest())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Skip a test that would begin too late; cut off one that still runs at the end of the time."""
    end = item.config.stash.get(_END, None)
    if end is None:
        return (yield)
    left = end - time.monotonic()
    if left <= 0:
        item.add_marker(pytest.mark.skip(reason=NOT_REACHED))
        return (yield)

    def cut_off(_number: int, _frame: FrameType | None) -> None:
        item.stash[_IS_CUT_OFF] = True
        pytest.skip(CUT_OFF)

    before = signal.signal(signal.SIGALRM, cut_off)
    # Once more each few seconds: a test may catch what stops it, and go on.
    signal.setitimer(signal.ITIMER_REAL, left, ALARM_PERIOD)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test that was cut off as skipped, whatever that made it raise: Hypothesis calls it flaky, for one."""
    report = yield
    if report.failed and item.stash.get(_IS_CUT_OFF, False):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {CUT_OFF}")
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a sample in which too few tests came to their end, otherwise than one in which a test failed."""
    if _END in session.config.stash and not hasattr(session.config, "workerinput"):
        ended, _, _ = _counts(session.config)
        if session.exitstatus == pytest.ExitCode.OK and ended < MIN_ENDED:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print how much of the whole the sample is."""
    if _END in config.stash:
        ended, cut, missed = _counts(config)
        terminalreporter.write_line(
            f"sample: {ended} tests came to their end, {cut} were cut off, {missed} were not reached"
            + (f"; at least {MIN_ENDED} must come to their end" if ended < MIN_ENDED else "")
        )


def _counts(config: pytest.Config) -> tuple[int, int, int]:
    """Return the numbers of tests that came to their end, that were cut off, and that were not reached."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    skips = [str(report.longrepr) for report in reporter.stats.get("skipped", ())]
    ended = sum(len(reporter.stats.get(outcome, ())) for outcome in ("passed", "failed", "xfailed", "xpassed"))
    return ended, sum(CUT_OFF in each for each in skips), sum(NOT_REACHED in each for each in skips)
