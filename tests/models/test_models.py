"""The models of the manifest: every cfg has an entry and a true header, and every result is compared with its pin."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from lockstep.base.package_data import spec_dir, traces_dir
from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.recordings_manifest import Recording, RecordingsError, load_recordings, mismatches
from lockstep.models.model_manifest import ModelEntry
from lockstep.models.pinned_models import ModelOutcome, run_models
from lockstep.systems.registry import SYSTEMS, manifest
from lockstep.systems.trace_files import imported_trace
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import Flaw

MODELS = spec_dir() / "dledger" / "models"
MANIFEST = manifest()


def header_of(name: str) -> str:
    lines = cfg_text(name).splitlines()
    return "\n".join(line for line in lines if line.startswith("\\*"))


@functools.cache
def cfg_text(name: str) -> str:
    return MANIFEST.files(MANIFEST.model(name))[1].read_text(encoding="utf-8")


def test_every_cfg_is_a_model_of_the_manifest_and_every_model_has_its_cfg() -> None:
    assert {path.stem for path in MODELS.rglob("*.cfg")} == {entry.name for entry in MANIFEST.models}


@pytest.mark.parametrize(("folder", "least"), [("green", 40), ("bugs", 10), ("witnesses", 60)])
def test_a_cfg_lies_in_the_folder_of_what_its_model_must_find(folder: str, least: int) -> None:
    names = {path.stem for path in (MODELS / folder).glob("*.cfg")}
    assert len(names) >= least
    for entry in (each for each in MANIFEST.models if each.name in names):
        assert (entry.result == "holds", entry.witness) == (folder == "green", folder == "witnesses"), entry.name


@pytest.mark.parametrize("name", [entry.name for entry in MANIFEST.models])
def test_the_header_of_a_cfg_says_how_to_run_it_and_what_to_expect(name: str) -> None:
    entry, text = MANIFEST.model(name), header_of(name)
    assert f"lockstep model {name}" in text
    if entry.result == "holds":
        assert "Green" in text
    else:
        assert entry.violates is not None
        assert re.search(rf"\b{entry.violates}\b", text)


def settings(name: str) -> set[str]:
    """The constants but for the flaws, substitutions, symmetry and initial states of a cfg, one line each."""
    lines = [line.strip() for line in re.split("INVARIANTS|PROPERTIES", cfg_text(name))[0].splitlines()]
    return {line for line in lines if not line.startswith(("\\*", "Flaws = "))}


def published(name: str) -> set[str]:
    """The flaws that are as published in a model."""
    return set(re.findall(r'"(\w+)"', "".join(re.findall(r"^  Flaws = (.*)$", cfg_text(name), re.MULTILINE))))


SENSITIVE = [each for each in MANIFEST.models if each.switch is not None]


@pytest.mark.parametrize("entry", SENSITIVE, ids=lambda each: each.name)
def test_a_flaw_and_its_green_twin_differ_in_the_switch_alone(entry: ModelEntry) -> None:
    assert entry.twin is not None
    assert MANIFEST.model(entry.twin).result == "holds"
    assert published(entry.name) - published(entry.twin) == {entry.switch}
    assert published(entry.twin) <= published(entry.name)
    assert settings(entry.name) == settings(entry.twin)


@pytest.mark.parametrize(
    ("flawed", "green", "flaw"),
    [
        ("push_term_check_five_bug", "push_term_check_five", "PushTermCheck"),
        ("power_three_bug", "power_three", "AsyncFlush"),
        ("rewrite_first_leader_bug", "rewrite_first_leader", "StaleCompareIndex"),
        ("rewrite_stale_compare_bug", "rewrite_stale_compare", "StaleCompareIndex"),
        ("rewrite_late_truncate_bug", "rewrite_late_truncate", "LateTruncate"),
        ("rewrite_commit_past_end_bug", "rewrite_commit_past_end", "CommitPastEnd"),
        ("rewrite_stale_push_bug", "rewrite_stale_push", "PushTermCheck"),
        ("rewrite_append_term_bug", "rewrite_append_term", "AppendTermCheck"),
    ],
)
def test_a_flaw_shown_a_second_time_differs_from_its_green_model_in_the_switch_alone(
    flawed: str, green: str, flaw: str
) -> None:
    assert published(flawed) == published(green) | {flaw} != published(green)
    assert settings(flawed) == settings(green)


REPLACEMENT = re.compile(r"^  \w+ <- (?:Rewrite|Clamped|MarkedAsBefore)\w*$", re.MULTILINE)


@pytest.mark.parametrize(
    ("flawed", "green", "replaced"),
    [
        ("rewrite_prior_term_bug", "rewrite_prior_term", {"  Marked <- MarkedAsBefore"}),
        ("rewrite_same_term_bug", "same_term", {*REPLACEMENT.findall(cfg_text("rewrite_same_term_bug"))}),
        ("eager_votes_terms_bug", "eager_votes_terms", {"  MayLead <- MayAlwaysLead"}),
    ],
)
def test_a_variant_of_a_protocol_and_its_green_model_differ_in_what_is_replaced_alone(
    flawed: str, green: str, replaced: set[str]
) -> None:
    assert published(flawed) == published(green)
    assert settings(flawed) - settings(green) == {each.strip() for each in replaced}
    assert settings(green) <= settings(flawed)


@pytest.mark.parametrize("name", ["eager_votes_log", "eager_votes_transfer"])
def test_a_round_that_outlives_its_term_is_mended_by_one_comparison(name: str) -> None:
    assert settings(name) - settings(f"{name}_bug") == {"MayStand <- MayStandInLaterTermOnly"}
    assert settings(f"{name}_bug") <= settings(name)


EAGER = [each for each in MANIFEST.models if "EagerVoteHandled" in cfg_text(each.name)]


@pytest.mark.parametrize("entry", EAGER, ids=lambda each: each.name)
def test_a_model_of_the_elections_of_332_replaces_all_that_it_changed(entry: ModelEntry) -> None:
    text = (MODELS / "MCElectionRepairs.tla").read_text(encoding="utf-8")
    anew = set(re.findall(r"^(Eager\w+)(?:\(.*?\))? +==", text, re.M))
    assert len(anew) == 11
    assert set(re.findall(r"<- (Eager\w+)$", cfg_text(entry.name), re.M)) == anew
    assert "  LedgerCode <- LedgerCodeInOwnTerm\n" in cfg_text(entry.name)


REWRITE = [each for each in MANIFEST.models if "RewriteTruncateHandled" in cfg_text(each.name)]


@pytest.mark.parametrize("entry", REWRITE, ids=lambda each: each.name)
def test_a_model_of_the_dispatcher_of_0_4_0_replaces_all_that_it_wrote_anew(entry: ModelEntry) -> None:
    anew = set(
        re.findall(r"^(Rewrite\w+)(?:\(.*?\))? ==", (MODELS / "MCRewrite.tla").read_text(encoding="utf-8"), re.M)
    )
    assert len(anew) == 16
    assert set(re.findall(r"<- (Rewrite\w+)$", cfg_text(entry.name), re.M)) == anew


def test_the_readme_of_the_spec_has_a_verdict_by_every_model_of_a_repair() -> None:
    text = (spec_dir() / "dledger" / "README.md").read_text(encoding="utf-8")
    section = text.partition("### DLedger's own repairs")[2].partition("\n## ")[0]
    for each in (each for each in MANIFEST.models if each.result == "violated" and not each.witness):
        if each.module in ("MCRepairs", "MCElectionRepairs", "MCHighTerm", "MCRewrite"):
            assert re.search(rf"`{each.name}` ?\({each.depth}\b|`{each.name}`, {each.depth} states", section), each.name


def test_every_flaw_switch_has_a_green_model_that_it_alone_makes_fail() -> None:
    assert {each.switch for each in SENSITIVE} == set(Flaw)


def test_a_green_model_in_which_a_flaw_is_published_says_so() -> None:
    for entry in MANIFEST.models:
        if entry.result == "holds" and published(entry.name):
            assert "as published" in " ".join(header_of(entry.name).split())


def test_the_readme_of_the_spec_lists_the_sensitivity_of_every_switch() -> None:
    text = (spec_dir() / "dledger" / "README.md").read_text(encoding="utf-8")
    for each in SENSITIVE:
        assert f"| `{each.switch}` | `{each.twin}` | `{each.name}` | `{each.violates}` | {each.depth} |" in text


FLAWS = [each for each in MANIFEST.models if each.result == "violated"]


@pytest.mark.parametrize("entry", FLAWS, ids=lambda each: each.name)
def test_a_green_model_checks_every_property_that_a_flaw_violates(entry: ModelEntry) -> None:
    """A property that no green model has could fail everywhere."""
    greens = [each for each in MANIFEST.models if each.result == "holds"]
    checked_in = [each.name for each in greens if re.search(rf"^  {entry.violates}$", cfg_text(each.name), re.M)]
    assert checked_in or entry.witness


def outcome(name: str) -> ModelOutcome:
    (found,) = run_models([(MANIFEST, MANIFEST.model(name))], parallel=1)
    return found


def test_a_green_model_is_as_pinned() -> None:
    found = outcome("unordered")
    assert (found.verdict, found.found) == (Verdict.HOLDS, "holds")


def test_an_expected_violation_counts_as_expected() -> None:
    found = outcome("late_truncate_bug")
    assert (found.verdict, found.found) == (Verdict.HOLDS, "violates CommittedEntriesStayProp, as expected")


def test_a_changed_pin_is_unexpected_and_no_pass() -> None:
    entry = msgspec.structs.replace(MANIFEST.model("unordered"), distinct=454)
    (found,) = run_models([(MANIFEST, entry)], parallel=1)
    assert found.verdict is Verdict.VIOLATED
    assert found.found.startswith("UNEXPECTED: ")


@pytest.mark.nightly
def test_a_model_whose_budget_is_spent_is_inconclusive() -> None:
    entry = msgspec.structs.replace(MANIFEST.model("two_messages"), budget_seconds=3)
    (found,) = run_models([(MANIFEST, entry)], parallel=1)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_the_verdict_on_several_models_is_the_worst_and_on_none_inconclusive() -> None:
    assert worst([]) is Verdict.INCONCLUSIVE
    assert worst([Verdict.HOLDS, Verdict.INCONCLUSIVE]) is Verdict.INCONCLUSIVE
    assert worst([Verdict.INCONCLUSIVE, Verdict.VIOLATED, Verdict.HOLDS]) is Verdict.VIOLATED
    assert worst([Verdict.HOLDS, Verdict.HOLDS]) is Verdict.HOLDS


RECORDINGS = load_recordings(traces_dir() / "manifest.toml")


def checked(recording: Recording) -> TraceVerdict:
    imported = imported_trace(traces_dir() / recording.file, recording.import_options)
    trace = Trace(trace_lines(imported.header, imported.events), recording.file)
    system = SYSTEMS[trace.header.spec]
    spec = trace_spec(trace.header, recording.file, recording.switches(system))
    return check_trace(trace, spec, system.interface(spec))


#: Recordings that every run checks; the others are for the night, and `verify` checks them all.
SAMPLE = ("figure8, its log alone", "TornVote, 1.8.0")


def test_every_recording_of_the_sample_is_in_the_manifest() -> None:
    assert {*SAMPLE} < {each.name for each in RECORDINGS}


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in SAMPLE else [pytest.mark.nightly])
        for each in RECORDINGS
    ],
)
def test_a_recording_of_the_real_system_gets_the_verdict_that_the_manifest_pins(recording: object) -> None:
    each = next(one for one in RECORDINGS if one is recording)
    assert mismatches(each, checked(each)) == []


def test_a_recording_with_another_verdict_than_pinned_is_no_pass() -> None:
    pinned = next(each for each in RECORDINGS if each.name == "figure8")
    found = checked(pinned)
    silent = msgspec.structs.replace(pinned, violates={})
    assert mismatches(silent, found)
    assert mismatches(msgspec.structs.replace(pinned, verdict="holds"), found)
    assert mismatches(pinned, replace(found, verdict=Verdict.INCONCLUSIVE, reason="died")) == ["died"]


def test_every_recording_of_the_folder_is_in_the_manifest() -> None:
    files = {path.name for path in (traces_dir() / "captured").glob("*/*") if path.suffix != ".md"}
    assert {Path(each.file).name for each in RECORDINGS} == files


def test_the_page_lists_where_recordings_leave_the_repaired_spec() -> None:
    page = (traces_dir() / "captured" / "hashicorp" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)`, line (\d+) \|", page, re.MULTILINE)
    repaired = [each for each in RECORDINGS if each.name.startswith("raft, ") and each.variant == "repaired"]
    left = [(each.name.split(", ")[1], each.leaves.action, str(each.leaves.line)) for each in repaired if each.leaves]
    assert sorted(listed) == sorted(left)
    holding = {each.name.split(", ")[1] for each in repaired if each.verdict == "holds"}
    assert holding == set(re.findall(r"`(\w+)`", page[page.index("In `quiet`") :]))


ENTRY = '[[recording]]\nname = "x"\nfile = "captured/x.ndjson"\nverdict = "holds"\n'


def recordings(folder: Path, text: str, *files: str) -> Path:
    """Write a manifest of recordings into a folder with these files."""
    (folder / "captured").mkdir()
    for file in (*files, "README.md"):
        (folder / "captured" / file).touch()
    path = folder / "manifest.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "files", "problem"),
    [
        ("recording = []\n", ("x.ndjson",), "there is no entry"),
        (ENTRY, (), r"field `recording\[0\]\.file`: there is no captured/x\.ndjson"),
        (ENTRY, ("x.ndjson", "y.log"), r"y\.log: a recording without an entry"),
    ],
)
def test_a_recording_without_an_entry_and_an_entry_without_one_are_refused(
    tmp_path: Path, text: str, files: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(RecordingsError, match=problem):
        load_recordings(recordings(tmp_path, text, *files))


def test_a_manifest_that_has_every_recording_is_read(tmp_path: Path) -> None:
    (read,) = load_recordings(recordings(tmp_path, ENTRY, "x.ndjson"))
    assert read.file == "captured/x.ndjson"


def test_an_entry_repairs_the_flaws_that_it_names_on_top_of_its_variant(tmp_path: Path) -> None:
    path = recordings(tmp_path, ENTRY + 'repaired = ["TornVote"]\n', "x.ndjson")
    (read,) = load_recordings(path)
    assert read.switches(SYSTEMS["HashicorpRaft"]) == {"TornVote": "repaired"}
    whole = msgspec.structs.replace(read, variant="repaired")
    assert {*whole.switches(SYSTEMS["HashicorpRaft"]).values()} == {"repaired"}
    assert len(whole.switches(SYSTEMS["HashicorpRaft"])) > 10


def test_a_malformed_manifest_of_recordings_names_the_field(tmp_path: Path) -> None:
    path = tmp_path / "manifest.toml"
    path.write_text('[[recording]]\nname = "x"\nfile = "y"\nverdict = "fine"\n')
    with pytest.raises(RecordingsError, match=r"manifest\.toml: .*verdict"):
        load_recordings(path)


def test_the_counts_that_the_docs_show_are_those_that_are_pinned() -> None:
    text = (spec_dir().parent / "docs" / "tiers.md").read_text(encoding="utf-8")
    shown = re.findall(r"^  (\w+) +([\d,]+) +([\d,]+) +[\d.]+ s +holds$", text.partition("\nLemmas")[0], re.M)
    assert len(shown) > 5
    for name, *counts in shown:
        entry = MANIFEST.model(name)
        assert [int(count.replace(",", "")) for count in counts] == [entry.distinct, entry.generated], name
