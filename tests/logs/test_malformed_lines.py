"""A line with a value that the spec cannot have is malformed where the lines before it are explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.mapped_logs import read_logs
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from tests.support.logs.backup_service import EXAMPLE

Check = Callable[..., TraceVerdict]

MAPPING = """
kind = "event"
files = "together"
node = { field = "who", optional = true }
time = { field = "ts", unit = "ms" }
[lines.put]
action = "Put"
shows = { entries = { field = "entry", optional = true } }
[lines.stored]
action = "Store"
args = { b = { node = true } }
[lines.odd]
shows = "seen"
"""


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks logs of the example, each a list of lines."""

    def check(*logs: list[dict[str, Any]], mapping: str = MAPPING) -> TraceVerdict:
        (tmp_path / "mapping.toml").write_text(mapping)
        paths = [tmp_path / f"{number}.log" for number, _ in enumerate(logs)]
        for path, lines in zip(paths, logs, strict=True):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        spec, cfg = EXAMPLE / "PrimaryBackup.tla", EXAMPLE / "PrimaryBackup.cfg"
        return own_check(SpecFiles(spec, cfg, mapping=tmp_path / "mapping.toml")).check_logs(paths)

    return check


def line(event: str, who: Any, ts: int, **fields: Any) -> dict[str, Any]:
    return {"event": event, "who": who, "ts": ts, **fields}


@pytest.mark.parametrize("odd", [line("odd", "p", 20, seen={"nonsense": 1}), line("stored", "b9", 20)])
def test_an_impossible_value_is_malformed_where_it_is_reached_and_hides_no_earlier_refutation(
    check: Check, odd: dict[str, Any]
) -> None:
    put = line("put", "p", 10, entry=1)
    reached = check([put, odd], [line("stored", "b1", 15)])
    assert reached.verdict is Verdict.MALFORMED
    assert "0.log:2: " in reached.reason
    behind = check([put, odd], [line("stored", "b1", 5)])
    assert behind.verdict is Verdict.VIOLATED
    assert [(Path(each.source).name, each.line) for each in behind.findings] == [("1.log", 1)]


# ---- Nodes ----

NODES = MAPPING.replace(', optional = true }\ntime = { field = "ts", unit = "ms" }', " }")


@pytest.mark.parametrize("who", ["zz", 7, None])
def test_a_node_that_the_spec_cannot_observe_is_malformed(check: Check, who: Any) -> None:
    lines = [line("put", "p", 1, entry=1), line("put", who, 2, entry=2)]
    found = check(lines, mapping=NODES)
    assert found.verdict is Verdict.MALFORMED, found.reason
    assert "0.log:2: " in found.reason


def test_a_line_that_shows_an_observation_needs_a_node(check: Check) -> None:
    lines: list[dict[str, Any]] = [{"event": "put", "ts": 1, "entry": 1}]
    found = check(lines, mapping=MAPPING)
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.endswith("0.log:1: `node`: it shows what Observe gives of a node, and has no node")


@pytest.mark.parametrize("who", [{"a": 1}, ["p"], 1.5])
def test_a_node_that_is_no_name_is_malformed(check: Check, who: Any) -> None:
    found = check([line("put", who, 1)], mapping=f'order = "node"\n{NODES}')
    assert found.verdict is Verdict.MALFORMED
    assert "0.log:1: " in found.reason


def test_true_and_1_are_two_nodes(tmp_path: Path) -> None:
    mapping = 'kind = "event"\norder = "node"\nnode = "who"\n[lines.put]\naction = "Put"\n'
    (tmp_path / "mapping.toml").write_text(mapping)
    (tmp_path / "a.log").write_text("".join(json.dumps(line("put", who, 1)) + "\n" for who in (True, 1, "1", True)))
    spec = EXAMPLE / "PrimaryBackup.tla"
    searched = own_check(SpecFiles(spec, mapping=tmp_path / "mapping.toml")).loaded.logs
    assert searched is not None
    logs = read_logs([tmp_path / "a.log"], searched.mapping, searched.spec, searched.interface)
    assert [[each.number for each in thread.lines] for thread in logs.threads] == [[1, 4], [2], [3]]


def test_a_group_that_takes_no_part_in_a_files_name_names_no_node(check: Check) -> None:
    mapping = NODES.replace('node = { field = "who" }', "node = { file = '^(?:0|(b))' }")
    assert mapping != NODES
    found = check([line("put", "p", 1, entry=1)], mapping=mapping)
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.endswith("0.log:1: the group of '^(?:0|(b))' takes no part in the file's name")
