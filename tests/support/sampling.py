"""A fixed sample of a test's parameters in every run, and the others at night."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(parameters: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """Mark as nightly all parameters but those of a sample; what the sample names must be there."""
    everything = list(parameters)
    assert all(each in everything for each in sample), "the sample names what is not there"
    return [
        each if each in sample else pytest.param(*_arguments(each), marks=pytest.mark.nightly) for each in everything
    ]


def _arguments(parameter: Any) -> tuple[Any, ...]:
    return parameter if isinstance(parameter, tuple) else (parameter,)
