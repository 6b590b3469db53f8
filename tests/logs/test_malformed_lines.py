"""What a line says that the spec cannot have: the line is malformed where the lines before it are explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backup_service import EXAMPLE
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.systems.judge import ByTlc, judge_own

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
shows = { nonsense = "x" }
"""


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks logs of the example, each a list of lines, with an engine."""

    def check(*logs: list[dict[str, Any]], tlc: bool = False, mapping: str = MAPPING) -> TraceVerdict:
        (tmp_path / "mapping.toml").write_text(mapping)
        paths = [tmp_path / f"{number}.log" for number, _ in enumerate(logs)]
        for path, lines in zip(paths, logs, strict=True):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        spec, cfg = EXAMPLE / "PrimaryBackup.tla", EXAMPLE / "PrimaryBackup.cfg"
        return judge_own(spec, cfg, tmp_path / "mapping.toml", ByTlc(None, None) if tlc else None).all(paths)

    return check


def line(event: str, who: Any, ts: int, **fields: Any) -> dict[str, Any]:
    return {"event": event, "who": who, "ts": ts, **fields}


@pytest.mark.parametrize("tlc", [False, True])
@pytest.mark.parametrize("odd", [line("odd", "p", 20, x=1), line("stored", "b9", 20)])
def test_what_cannot_be_is_malformed_where_it_is_reached_and_hides_no_refutation_before_it(
    check: Check, odd: dict[str, Any], tlc: bool
) -> None:
    put = line("put", "p", 10, entry=1)
    reached = check([put, odd], [line("stored", "b1", 15)], tlc=tlc)
    assert reached.verdict is Verdict.MALFORMED
    assert "0.log:2: " in reached.reason
    behind = check([put, odd], [line("stored", "b1", 5)], tlc=tlc)
    assert behind.verdict is Verdict.VIOLATED
    assert [(Path(each.source).name, each.line) for each in behind.findings] == [("1.log", 1)]
