"""Features and flaws as constants: two sets in a spec, one constant for each of them in the header of a trace."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lockstep.systems.system import Choice, HeaderChoices
from lockstep.tla.values.kinds import Value
from raftref.choices import PUBLISHED, REPAIRED


@dataclass(frozen=True, slots=True)
class FeatureConstants:
    """The features and flaws of a system, by the spec's names."""

    features: tuple[str, ...]
    flaws: tuple[str, ...]

    def in_spec(self, chosen: HeaderChoices) -> dict[str, Value]:
        """Return the sets of the spec for the constants of a header."""
        return {
            "Features": frozenset(each for each in self.features if chosen[each] is True),
            "Flaws": frozenset(each for each in self.flaws if chosen[each] == PUBLISHED),
        }

    def in_header(self, constants: Mapping[str, Value]) -> dict[str, Value]:
        """Return the constants of a spec, with its features and flaws as a header has them."""
        features = {each: each in constants["Features"] for each in self.features}
        return {**constants, **features, **self.forms(constants["Flaws"])}

    def forms(self, published: Collection[str]) -> dict[str, str]:
        """Return the form of each flaw where these are as published and the others repaired."""
        return {each: PUBLISHED if each in published else REPAIRED for each in self.flaws}

    @property
    def allowed(self) -> dict[str, tuple[Choice, ...]]:
        """The values of each constant of a header."""
        return {**dict.fromkeys(self.features, (True, False)), **dict.fromkeys(self.flaws, (PUBLISHED, REPAIRED))}
