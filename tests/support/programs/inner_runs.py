"""Runs of pytest within a test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Where compiled specs are kept; `pytester` gives each of its tests a home of its own.
_CACHES = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")


def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a run within this one the specs that are compiled already, and only the plugins that it names."""
    monkeypatch.setenv("XDG_CACHE_HOME", _CACHES)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
