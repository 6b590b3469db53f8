"""Made-up temporal properties under made-up fairness: the compiled search and TLC say the same.

TLC stops at the first property that is violated. So one run of TLC confirms all properties that hold, and a few of
those that are violated, each with a lasso that was replayed, are confirmed one by one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tlc import TlcOptions, TlcResult, run_tlc
from tests.support.sampling import SEED
from tests.support.tla.tla_temporal import TemporalSpec, made_up_spec

#: Number of specs that every run compares, that are compared at night besides, and that one nightly test compares.
IN_EVERY_RUN, AT_NIGHT, BATCH = 1, 600, 20
#: Number of properties of a spec, and of violated ones that TLC checks, each in a run of its own.
PROPERTIES, VIOLATED_CHECKED = 8, 2
#: TLC's error for a formula that it cannot bring into its form (about one in a hundred made-up ones), and for several
#: formulas together that it can handle one by one.
REFUSED = "Temporal formulas containing actions must be of forms"


def is_violated(spec: TemporalSpec, name: str, folder: Path) -> bool:
    """Return whether the search finds a behaviour that violates a property."""
    found = explore(
        load_spec(*spec.write(folder, name), cache_dir=folder / "cache"), SearchOptions(check_deadlock=False)
    )
    assert found.complete or found.violation
    assert not found.unchecked
    return found.violation is not None


def asked(spec: TemporalSpec, folder: Path, *names: str) -> TlcResult:
    return run_tlc(*spec.write(folder, *names), TlcOptions(deadlock_check=False, is_short=True))


def contradicts_itself(spec: TemporalSpec, name: str, folder: Path) -> bool:
    """Return whether TLC finds a property violated, and finds that an equal one holds.

    TLC 2.15 finds `~([](~[](x < 1) \\/ <>(y = 1)))` violated where x and y stay 0, and it finds that
    `~([](<>(x >= 1) \\/ <>(y = 1)))` holds: a `~` before `[]` is lost on it.
    """
    return asked(spec, folder, name).verdict is Verdict.VIOLATED and (
        asked(spec, folder, f"{name}Pushed").verdict is Verdict.HOLDS
    )


def compare(seed: int, folder: Path) -> tuple[int, int]:
    """Compare both engines on the properties of a made-up spec; return how many hold and how many are violated."""
    spec = made_up_spec(seed, PROPERTIES)
    violated = {name for name in spec.properties if is_violated(spec, name, folder)}
    holding = [name for name in spec.properties if name not in violated]
    if holding and (said := asked(spec, folder, *holding)).verdict is not Verdict.HOLDS:
        single = {name: asked(spec, folder, name) for name in holding}
        wrong = {name: each.reason for name, each in single.items() if each.verdict is not Verdict.HOLDS}
        refused = {name for name, reason in wrong.items() if REFUSED in reason}
        refused |= {name for name in wrong.keys() - refused if contradicts_itself(spec, name, folder)}
        assert wrong.keys() <= refused, f"seed {seed}: TLC says of what holds {wrong}\n{spec.text}"
        assert wrong or REFUSED in said.reason, f"seed {seed}: TLC says of all together {said.reason}\n{spec.text}"
        holding = [name for name in holding if name not in refused]
    for name in sorted(violated)[:VIOLATED_CHECKED]:
        result = asked(spec, folder, name)
        refused_too = REFUSED in result.reason
        assert refused_too or result.verdict is Verdict.VIOLATED, (
            f"seed {seed}: TLC says of {name}: {result.reason}\n{spec.text}"
        )
    return len(holding), len(violated)


@pytest.mark.parametrize("seed", range(IN_EVERY_RUN))
def test_a_made_up_property_holds_just_where_it_does_in_tlc(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(IN_EVERY_RUN, IN_EVERY_RUN + AT_NIGHT, BATCH))
def test_thousands_of_made_up_properties_hold_just_where_they_do_in_tlc(first: int, tmp_path: Path) -> None:
    """`LOCKSTEP_SEED` gives other specs than those of every night."""
    counts = []
    for seed in range(first, first + BATCH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        counts.append(compare(SEED * AT_NIGHT + seed, folder))
    holding, violated = (sum(each) for each in zip(*counts, strict=True))
    assert min(holding, violated) > 0.2 * BATCH * PROPERTIES, "too few properties hold, or are violated"
