"""Features and flaws of a server. The names are the spec's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

#: Forms of a flaw in the header of a trace: it is there, or it is not.
PUBLISHED, REPAIRED = "published", "repaired"


@dataclass(frozen=True, slots=True)
class Choices:
    """Features and flaws that were chosen, of those that a system has."""

    all_features: ClassVar[type[StrEnum]]
    all_flaws: ClassVar[type[StrEnum]]
    features: frozenset[Any]
    flaws: frozenset[Any]

    def has(self, choice: StrEnum) -> bool:
        """Return whether a feature, or a flaw, is there."""
        return choice in self.features or choice in self.flaws

    def constants(self) -> dict[str, bool | str]:
        """Return them as the header of a trace has them."""
        features = {each.value: each in self.features for each in self.all_features}
        return features | {each.value: PUBLISHED if each in self.flaws else REPAIRED for each in self.all_flaws}


def features_in(constants: Mapping[str, Any], kind: type[StrEnum]) -> frozenset[Any]:
    """Return the features that a header has."""
    return frozenset(each for each in kind if constants[each.value])


def flaws_in(constants: Mapping[str, Any], kind: type[StrEnum]) -> frozenset[Any]:
    """Return the flaws that a header has."""
    return frozenset(each for each in kind if constants[each.value] == PUBLISHED)
