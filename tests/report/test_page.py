"""The page of a trace, as it is written; what a browser makes of it is tested in one."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lockstep.jobs.view import trace_window
from lockstep.jobs.view.counterexample_view import view_model
from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.page_content import page_content
from lockstep.report.page.shown_behaviour import NothingToShowError
from lockstep.systems.trace_files import write_cluster
from lockstep.tla.tables.table_search import COMPILING
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.pages import HOSTILE, Elements, hostile_trace, page_of, tree_in, tree_of
from tests.support.sampling import sampled


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("traces")
    return {plan: write_cluster(folder, plan, 3, 200) for plan in ("published", "raft_whole")}


@pytest.fixture(scope="module")
def trees(traces: dict[str, Path]) -> dict[str, dict[str, Any]]:
    return {plan: tree_of(trace) for plan, trace in traces.items()}


@functools.cache
def model_tree(name: str) -> tuple[dict[str, Any], list[str]]:
    """The content of the page of a model, and the progress that was reported while it was searched."""
    progress: list[str] = []
    return page_content(*view_model(name, progress.append)), progress


SYSTEMS = pytest.mark.parametrize("plan", ["published", "raft_whole"])


@SYSTEMS
def test_every_event_is_a_step_after_the_initial_state(
    plan: str, traces: dict[str, Path], trees: dict[str, dict[str, Any]]
) -> None:
    events = [json.loads(line) for line in traces[plan].read_text(encoding="utf-8").splitlines()[1:-1]]
    tree = trees[plan]
    names = [tree["actions"][step["action"]]["name"] for step in tree["steps"]]
    assert names == ["Init", *(event["action"] for event in events)]
    nodes = [tree["nodes"][step["node"]] for step in tree["steps"][1:] if step["node"] >= 0]
    assert nodes == [event["node"] for event in events if event["node"] in tree["nodes"]]
    assert len(nodes) > 150


@SYSTEMS
def test_a_message_ends_where_its_receiver_takes_a_step_or_is_lost(plan: str, trees: dict[str, dict[str, Any]]) -> None:
    tree = trees[plan]
    steps = {step["number"]: step for step in tree["steps"]}
    fates = [message["fate"] for message in tree["messages"]]
    for message in tree["messages"]:
        if message["fate"] == "received":
            assert steps[message["ended"]]["node"] == message["dst"]
            assert message["sent"] < message["ended"]
        if not message["copy"]:
            assert steps[message["sent"]]["node"] == message["src"]
    assert fates.count("received") > 20
    assert fates.count("lost") > 2


@SYSTEMS
def test_the_messages_that_never_end_are_those_of_the_last_state(
    plan: str, traces: dict[str, Path], trees: dict[str, dict[str, Any]]
) -> None:
    behaviour, subject = view_trace(traces[plan], {})
    assert subject.network is not None
    channels = [channel for row in behaviour.steps[-1].state[subject.network].d.values() for channel in row.d.values()]
    under_way = sum(sum(channel.d.values()) if hasattr(channel, "d") else len(channel) for channel in channels)
    assert under_way == sum(message["fate"] == "under way" for message in trees[plan]["messages"])


def looks_of(step: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(int(node), look) for node, look in step["looks"].items()]


@SYSTEMS
def test_a_node_is_drawn_anew_where_it_changes_and_the_log_is_what_it_shows(
    plan: str, traces: dict[str, Path], trees: dict[str, dict[str, Any]]
) -> None:
    events = [json.loads(line) for line in traces[plan].read_text(encoding="utf-8").splitlines()[1:-1]]
    tree, compared = trees[plan], 0
    logs: dict[int, list[list[Any]]] = {node: look["log"][2] for node, look in looks_of(tree["steps"][0])}
    for event, step in zip(events, tree["steps"][1:], strict=True):
        for node, look in looks_of(step):
            at, gone, come = look["log"]
            logs[node][at : at + gone] = come
        look = step["looks"].get(str(step["node"]))
        log = event.get("shows", {}).get("log")
        if look is not None and log is not None:
            # hashicorp/raft's log has its indexes
            entries = list(enumerate(log)) if isinstance(log, list) else log["#map"]
            assert [entry[:2] for entry in logs[step["node"]]] == [[index, entry["term"]] for index, entry in entries]
            compared += 1
    assert compared > 20


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("late_truncate_bug", "HandleDoTruncate"),
        pytest.param("stale_install_bug", "InstallSnapshot", marks=pytest.mark.nightly),
    ],
)
def test_a_counterexample_shows_the_false_formula_and_the_lines_of_spec_and_reference(name: str, action: str) -> None:
    tree, _ = model_tree(name)
    (remark,) = tree["remarks"]
    last = tree["steps"][-1]
    assert remark["number"] == last["number"] == tree["count"]
    assert [tree["properties"][index] in remark["title"] for index in last["failed"]] == [True]
    assert any(line.startswith("false for ") for line in remark["lines"])
    assert any(" == " in line or line.endswith(" ==") for line in remark["lines"])
    shown = tree["actions"][last["action"]]
    assert shown["name"] == action
    assert f"{action}(n) ==" in shown["tla"]
    assert "def " in shown["python"]


def test_a_property_that_fails_in_a_trace_is_shown_with_what_it_is_false_for_and_its_formula(tmp_path: Path) -> None:
    tree = tree_of(write_cluster(tmp_path, "published", 4, 120))
    (remark,) = tree["remarks"]
    (step,) = (step for step in tree["steps"] if step["number"] == remark["number"])
    assert [tree["properties"][index] for index in step["failed"]] == ["VoteOncePerTermProp"]
    assert f"false for {tree['nodes'][step['node']]}" in remark["lines"]
    assert "VoteOncePerTermProp ==" in remark["lines"]
    assert "[][\\A n \\in Node" in "".join(remark["lines"])


def test_a_search_for_a_counterexample_reports_how_many_states_it_has_found() -> None:
    tree, progress = model_tree("late_truncate_bug")
    waits = [text for text in progress if text.endswith(COMPILING)]
    counting = [text for text in progress if text not in waits]
    assert len(waits) <= 1  # where the first search of a process goes on by tables
    counts = [int(text.removeprefix("late_truncate_bug: ").split()[0].replace(",", "")) for text in counting]
    assert 5 < len(counts) < tree["count"]  # of each level up to 500 states, and of tables now and then
    assert counts == sorted(set(counts))


def test_a_file_that_is_not_there_is_not_taken_for_a_misspelt_model_alone(tmp_path: Path) -> None:
    done = lockstep("view", "missing.ndjson", cwd=tmp_path)
    assert (done.returncode, "no file 'missing.ndjson', and no model 'missing.ndjson'" in done.stderr) == (2, True)


def test_an_action_of_the_network_has_lines_in_the_spec_and_none_in_the_reference(
    trees: dict[str, dict[str, Any]],
) -> None:
    (lose,) = [action for action in trees["published"]["actions"] if action["name"] == "Lose"]
    assert "Lose(n) ==" in lose["tla"]
    assert lose["python"] == ""


def test_a_step_that_the_spec_refuses_is_the_last_one_and_says_why(traces: dict[str, Path], tmp_path: Path) -> None:
    lines = traces["published"].read_text(encoding="utf-8").splitlines()
    at = next(index for index, line in enumerate(lines) if '"action":"AppendAsLeader"' in line)
    broken = tmp_path / "broken.trace.ndjson"
    event = json.loads(lines[at]) | {"action": "Restart", "args": {"resurrected": 0}, "shows": {}, "sent": []}
    broken.write_text("\n".join([*lines[:at], json.dumps(event), *lines[at + 1 :]]) + "\n", encoding="utf-8")
    tree = tree_of(broken)
    (remark,) = tree["remarks"]
    assert tree["verdict"] == "violated"
    assert tree["steps"][-1]["refused"]
    assert tree["steps"][-1]["number"] == remark["number"] == at
    assert any("DOWN" in line for line in remark["lines"])


def test_the_steps_of_a_long_trace_around_the_finding_are_shown(
    traces: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_window, "BEFORE", 30)
    monkeypatch.setattr(trace_window, "AFTER", 10)
    lines = traces["published"].read_text(encoding="utf-8").splitlines()
    at = next(index for index, line in enumerate(lines) if '"shows":{' in line and index > 100)
    event = json.loads(lines[at])
    event["shows"] = {"currTerm": 99}
    wrong = tmp_path / "wrong.trace.ndjson"
    wrong.write_text("\n".join([*lines[:at], json.dumps(event), *lines[at + 1 :]]) + "\n", encoding="utf-8")
    tree = tree_of(wrong)
    numbers = [step["number"] for step in tree["steps"]]
    assert numbers == list(range(at - 39, at + 1))
    assert tree["remarks"][0]["number"] == at


def test_a_hostile_trace_puts_no_element_into_the_page(tmp_path: Path) -> None:
    text = page_of(hostile_trace(tmp_path))
    honest = page_of(tmp_path / "published-3.trace.ndjson")
    assert [tag for tag, _ in Elements(text).found] == [tag for tag, _ in Elements(honest).found]
    assert HOSTILE in tree_in(text)["nodes"]


def test_the_policy_names_the_one_script_and_the_one_style_sheet_and_allows_nothing_else(
    traces: dict[str, Path],
) -> None:
    elements = Elements(page_of(traces["published"]))
    (policy,) = [
        attributes["content"]
        for _, attributes in elements.found
        if attributes.get("http-equiv", "") == "Content-Security-Policy"
    ]
    assert policy is not None
    style, _, script = elements.texts
    hashes = ["sha256-" + base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (script, style)]
    assert policy.startswith(f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}';")
    assert "unsafe" not in policy
    links = [value for _, attributes in elements.found for name, value in attributes.items() if name in ("src", "href")]
    assert links == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script + style)


def test_a_page_is_written_beside_nothing_else_and_named_after_its_trace(
    traces: dict[str, Path], tmp_path: Path
) -> None:
    done = lockstep("view", traces["raft_whole"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "raft_whole-3.html: 201 of 201 states, holds: a behaviour of the spec; every property holds\n"
    assert [each.name for each in tmp_path.iterdir()] == ["raft_whole-3.html"]


@pytest.mark.parametrize(
    ("switch", "name"),
    sampled([("repaired", "repaired"), ("VoteFile=repaired", "VoteFile=repaired")], [("repaired", "repaired")]),
)
def test_the_page_of_another_variant_has_a_name_of_its_own(
    switch: str, name: str, traces: dict[str, Path], tmp_path: Path
) -> None:
    trace = traces["published"]
    first = lockstep("view", trace, cwd=tmp_path)
    assert (first.returncode, first.stdout.split(":")[0]) == (0, "published-3.html")
    before = (tmp_path / "published-3.html").read_bytes()
    done = lockstep("view", "--switch", switch, trace, cwd=tmp_path)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, f"published-3.{name}.html"), done.stderr
    assert (tmp_path / "published-3.html").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_page_does_not_overwrite_its_trace(traces: dict[str, Path], tmp_path: Path) -> None:
    trace = tmp_path / "mine.html"
    trace.write_bytes(traces["published"].read_bytes())
    for words in (["view", trace], ["view", trace, "-o", trace]):
        done = lockstep(*words, cwd=tmp_path)
        named = done.returncode == 0 and done.stdout.startswith("mine.html.html: ")
        assert named or (done.returncode == 2 and "mine.html would overwrite what is to be shown" in done.stderr)
        assert trace.read_bytes() == traces["published"].read_bytes()


@pytest.mark.nightly
def test_a_page_names_and_shows_the_steps_that_it_leaves_out(tmp_path: Path) -> None:
    trace = write_cluster(tmp_path, "ordered", 3, 2_300)
    done = lockstep("view", trace, "-o", tmp_path / "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert ": 2,001 of 2,301 states, holds" in first
    assert second == "left out are the states before line 301"
    tree = tree_in((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert [tree["steps"][at]["number"] for at in (0, -1)] == [300, tree["count"]]


def test_a_malformed_trace_has_no_page(traces: dict[str, Path], tmp_path: Path) -> None:
    torn = tmp_path / "torn.trace.ndjson"
    torn.write_text(traces["published"].read_text(encoding="utf-8")[:2_000], encoding="utf-8")
    with pytest.raises(NothingToShowError, match=r"torn\.trace\.ndjson:\d+: LS301 malformed"):
        tree_of(torn)


@pytest.mark.nightly
def test_a_model_without_a_violation_has_no_page() -> None:
    with pytest.raises(NothingToShowError, match="known_leader_rejected has no violation to view"):
        model_tree("known_leader_rejected")


def test_a_trace_is_shown_against_another_variant_of_the_spec_up_to_where_it_leaves_that(tmp_path: Path) -> None:
    trace = write_cluster(tmp_path, "published", 4, 400)
    done = lockstep("view", "--switch", "repaired", trace, "-o", tmp_path / "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tree = tree_in((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert [step for step in tree["steps"] if step.get("refused")] == [tree["steps"][-1]]
    assert tree["remarks"][-1]["number"] == tree["steps"][-1]["number"] < 400
    assert tree_of(trace, repaired=True)["steps"] == tree["steps"]


def test_where_a_trace_shows_something_else_all_that_it_shows_stands_beside_what_the_spec_says(tmp_path: Path) -> None:
    trace = write_cluster(tmp_path, "published", 4, 200)
    lines = trace.read_text(encoding="utf-8").splitlines()
    place, event = next((n, json.loads(each)) for n, each in enumerate(lines) if '"currTerm":' in each)
    event["shows"]["currTerm"] += 7
    trace.write_text("\n".join([*lines[:place], json.dumps(event), *lines[place + 1 :]]) + "\n", encoding="utf-8")
    tree = tree_of(trace)
    (table,) = tree["remarks"][0]["tables"]
    rows = {path: (shown, expected) for path, shown, expected in table["rows"]}
    assert {path.partition(".")[0] for path in rows} == event["shows"].keys()
    assert [table["rows"][number][0] for number in table["marked"]] == ["currTerm"]
    assert rows["currTerm"] == (str(event["shows"]["currTerm"]), str(event["shows"]["currTerm"] - 7))
    assert all(shown == expected for path, (shown, expected) in rows.items() if path != "currTerm")


@pytest.mark.nightly
@pytest.mark.parametrize("browsers", [(), ("chromium",)])
def test_the_last_line_of_a_run_says_if_there_was_no_browser(browsers: tuple[str, ...], tmp_path: Path) -> None:
    for name in browsers:
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "tests/base/test_whole_files.py"]
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("no Chromium: ") is not bool(browsers)


def test_a_model_of_a_part_of_a_system_has_no_lanes() -> None:
    tree, _ = model_tree("half_is_no_quorum")
    assert (tree["nodes"], tree["messages"]) == ([], [])
    assert tree["steps"][0]["values"]
