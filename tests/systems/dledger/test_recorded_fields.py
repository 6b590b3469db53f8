"""Changed fields of a recording are noticed, and docs/measured/tampering.md lists those that are not."""

from __future__ import annotations

import pytest

from lockstep.base.package_data import traces_dir
from tests.scripts.recorded_fields import changed, found, label, section
from tests.support.systems.dledger_lines import CAPTURED, lines_of

RESTARTS = lines_of(CAPTURED / "dledger-0.2.7-restarts.ndjson")


@pytest.mark.parametrize(
    ("kind", "path", "is_noticed"),
    [
        ("handler.take", ("st", "end"), True),
        pytest.param("send_push.APPEND", ("entryTerm",), True, marks=pytest.mark.nightly),
        pytest.param("watermark.put", ("prev",), True, marks=pytest.mark.nightly),
        ("store.appendAsFollower", ("pos",), False),
    ],
)
def test_a_changed_field_is_noticed_unless_the_page_lists_it(kind: str, path: tuple[str], is_noticed: bool) -> None:
    number = next(number for number, line in enumerate(RESTARTS) if label(line) == kind)
    assert (found(changed(RESTARTS, number, path)) != found(RESTARTS)) is is_noticed


@pytest.mark.nightly
def test_the_page_lists_what_is_not_noticed() -> None:
    """Rewrite it with `python -m tests.scripts.recorded_fields`."""
    assert section() in (traces_dir().parent / "docs" / "measured" / "tampering.md").read_text(encoding="utf-8")
