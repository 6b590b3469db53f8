"""Examples of a hunt, as Hypothesis runs them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from lockstep.hunt.archive import Archive, Prefix
from lockstep.hunt.example import Example, Target
from lockstep.systems.hunted_group import NODES, Hunted
from lockstep.systems.registry import SYSTEMS


def hunted(spec: str) -> Hunted:
    """Return a system as hunts need it."""
    make = SYSTEMS[spec].hunted
    assert make is not None
    return make()


def target(spec: str, *flaws: str) -> Target:
    """Return the target of a hunt for any property: with flaws, what they cause."""
    system = hunted(spec)
    return Target(system, NODES, flaws, frozenset(system.properties), because=bool(flaws))


def examples(
    wanted: Target, archive: Archive, count: int, prefixes: Sequence[Prefix] = (), first: int = 5
) -> list[Example]:
    """Take some examples, as a run of Hypothesis does."""
    done = []

    @settings(max_examples=count, deadline=None, database=None, phases=(Phase.generate,))
    @seed(first)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        example = Example(wanted, data, archive, prefixes)
        example.run()
        done.append(example)

    run()
    return done
