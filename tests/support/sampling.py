"""The seed of what tests draw, and the parameters that every run takes, while the others are for the night."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

#: Seed of what tests draw at random; another one in the environment draws other terms, models and specs.
SEED = int(os.environ.get("LOCKSTEP_SEED", "0"))


def sampled(parameters: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """Mark as nightly all parameters but those of a sample; the sample has some, and its names must be there."""
    everything = list(parameters)
    assert sample, "the sample is empty: no run but the nightly one would test anything"
    assert all(each in everything for each in sample), "the sample names what is not there"
    return [
        each if each in sample else pytest.param(*_arguments(each), marks=pytest.mark.nightly) for each in everything
    ]


def _arguments(parameter: Any) -> tuple[Any, ...]:
    return parameter if isinstance(parameter, tuple) else (parameter,)
