"""The page that several browser tests look at: the recorded trace of figure 8."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.programs.browsers import quiet_tab
from tests.support.programs.pages import figure8_page


@pytest.fixture(scope="module")
def figure8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of figure 8."""
    return figure8_page(tmp_path_factory.mktemp("figure8"))


@pytest.fixture
def opened(browser: Browser, figure8: Path) -> Iterator[Page]:
    """A tab with the page of figure 8."""
    with quiet_tab(browser, figure8) as tab:
        yield tab
