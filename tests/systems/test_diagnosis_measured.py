"""docs/measured/diagnosis.md: its table is that of the kept rows, and planting them again gives the same diagnoses."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice

import pytest

from tests.scripts.diagnosis.judge import is_right, load_rules, read_rows, system_of, table, table_of_specs
from tests.scripts.diagnosis.plant import changes, mistakes
from tests.scripts.diagnosis.plant_in_specs import planted_mistakes
from tests.support.places import ROOT

MEASURED = ROOT / "docs" / "measured"
ROWS = read_rows(MEASURED / "diagnosis.csv")
SEEN = read_rows(MEASURED / "diagnosis_11.csv")
UNSEEN = read_rows(MEASURED / "diagnosis_unseen.csv")
SEED = 3

#: The seeds of the mistakes in specs.
SPEC_SEEDS = {"states": 3, "log": 4}

#: The mistakes in specs, by what the right spec does, and by the form in the words of the script.
IN_SPECS = {"a file of states": "states", "a log with steps left open": "log"}
OWN = {
    "states": read_rows(MEASURED / "diagnosis_states.csv"),
    "log": read_rows(MEASURED / "diagnosis_logs.csv"),
}


def test_the_page_has_the_tables_of_the_rows() -> None:
    page = (MEASURED / "diagnosis.md").read_text(encoding="utf-8")
    assert table(ROWS, load_rules()) in page
    assert table(SEEN, load_rules()) in page
    assert table(UNSEEN, load_rules()) in page
    assert (len(ROWS), len(SEEN), len(UNSEEN)) == (200, 60, 60)


def test_the_page_has_the_table_of_mistakes_in_specs() -> None:
    page = (MEASURED / "diagnosis.md").read_text(encoding="utf-8")
    assert table_of_specs({what: OWN[form] for what, form in IN_SPECS.items()}) in page
    assert {form: len(rows) for form, rows in OWN.items()} == {"states": 60, "log": 60}


@pytest.mark.nightly
@pytest.mark.parametrize("form", OWN)
def test_planting_a_mistake_in_a_spec_again_gives_the_same_diagnosis(form: str) -> None:
    for found, row in zip(planted_mistakes(form, 5, SPEC_SEEDS[form]), islice(OWN[form], 5), strict=True):
        assert without_time({name: str(value) for name, value in asdict(found).items()}) == without_time(row)


def test_a_row_is_right_as_the_rules_say() -> None:
    rules = load_rules()
    for rows in (ROWS, SEEN, UNSEEN):
        assert [row["right"] == "yes" for row in rows] == [is_right(row, rules) for row in rows]
    wrong = [row for row in ROWS if not is_right(row, rules)]
    assert wrong, "a judge that finds everything right judges nothing"


def test_every_rule_is_a_definition_or_a_flaw_of_its_spec() -> None:
    from lockstep.systems.registry import SYSTEMS, simulators
    from lockstep.systems.trace_specs import trace_spec

    for name, plan in (("dledger", "published"), ("hashicorp", "raft_whole_published")):
        system, simulator = simulators()[plan]
        header, _ = simulator.cluster(plan, 0, 0)
        known = {*trace_spec(header, plan).definitions, *header.constants}
        assert system.spec in SYSTEMS
        wrong = {rule for rules in load_rules()[name].values() for rule in rules} - known
        assert wrong == set(), name


@pytest.mark.nightly
@pytest.mark.parametrize("system", ["dledger", "hashicorp"])
def test_planting_a_mistake_again_gives_the_same_diagnosis(system: str) -> None:
    kept = [row for row in ROWS if " " not in row["rule"] and system_of(row) == system]
    for found, row in zip(mistakes(system, 4, SEED), islice(kept, 4), strict=True):
        assert without_time({name: str(value) for name, value in asdict(found).items()}) == without_time(row)


@pytest.mark.nightly
def test_changing_a_recording_again_gives_the_same_diagnosis() -> None:
    kept = [row for row in ROWS if " " in row["rule"]]
    for found, row in zip(changes(6, SEED), islice(kept, 6), strict=True):
        assert without_time({name: str(value) for name, value in asdict(found).items()}) == without_time(row)


def without_time(row: dict[str, str]) -> dict[str, str]:
    """Return a row without how long it took, and how it was judged."""
    return {name: value for name, value in row.items() if name not in ("seconds", "right")}
