"""Recordings of a whole group, cut into the files that recorders of its nodes would have written.

What no recorder of one node sees is left out: what the network did, what clients and the harness did, how a process was
killed, and the numbers that pushes and calls have in the whole.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]

#: 2026-01-01 in milliseconds since 1970.
WALL_MS = 1_767_225_600_000

OF_DLEDGER = frozenset(
    {
        *(
            "start",
            "recovered",
            "role",
            "store",
            "checkpoint",
            "watermark",
            "dispatcher",
            "handler",
            "stopping",
            "stop",
        ),
        *("send_push", "recv_push", "resp_push", "recv_resp_push", "net_error"),
    }
)
OF_HASHICORP = frozenset(
    {
        *("start", "started", "stable_set", "stable_fail", "store_logs", "delete_range", "state", "leader_obs"),
        *("send", "recv", "respond", "reply_recv", "rpc_error", "fsm_apply", "fsm_snapshot", "fsm_restore"),
        *("snapshot_saved", "liblog", "transfer_req", "transfer_resp", "stop_begin", "stopped"),
        *("verify_req", "verify_resp"),
    }
)


def lines_of(recording: Path) -> list[Line]:
    """The lines of a recording."""
    return [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]


def written(folder: Path, files: Mapping[str, Sequence[Line]]) -> list[Path]:
    """Write a file for each node."""
    paths = []
    for node, lines in sorted(files.items()):
        paths.append(folder / f"{node}.lines.ndjson")
        paths[-1].write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return paths


def split(
    recording: Path,
    folder: Path,
    *,
    skews_ms: Mapping[str, float] | None = None,
    uptimes_ms: Mapping[str, float] | None = None,
    changed: Callable[[list[Line]], None] = lambda _: None,
) -> list[Path]:
    """Cut a recording into one file for each node, and return these in the order of their names.

    Arguments: `skews_ms`, by how much the wall clock of a node's host is fast; `uptimes_ms`, what its monotonic clock
    shows more than those of others; `changed` may change the lines first.
    """
    lines = lines_of(recording)
    changed(lines)
    cut = _cut_dledger if lines[0].get("format", "").startswith("dledger") else _cut_hashicorp
    skews, uptimes = skews_ms or {}, uptimes_ms or {}
    return written(folder, cut(lines, lambda node: skews.get(node, 0.0), lambda node: uptimes.get(node, 0.0)))


_Clock = Callable[[str], float]


def _cut_dledger(lines: list[Line], skew: _Clock, uptime: _Clock) -> dict[str, list[Line]]:
    header, files = lines[0], defaultdict[str, list[Line]](list)
    callers: dict[int, str] = {}
    for line in lines[1:]:
        node, kind = line.get("node"), line["kind"]
        if node not in header["nodes"] or kind not in OF_DLEDGER or line.get("rpc", "push") != "push":
            continue
        if kind == "send_push":
            callers[line["mid"]] = node
        fields = {name: value for name, value in line.items() if name not in ("seq", "t_ms", "inc", "why")}
        if "mid" in fields:
            fields["mid"] = f"{callers[line['mid']]}/{line['mid']}"
        if "lost" in fields:
            fields["lost"] = [[index, f"{callers[mid]}/{mid}"] for index, mid in fields["lost"]]
        now = line["t_ms"] + skew(node)
        if kind == "start":
            batches = header["config"]["enableBatchPush"]
            fields |= {"version": header["version"], "batches": batches, "members": header["nodes"]}
            fields["wall_ms"] = WALL_MS + round(now)
        files[node].append({"t": round((now + uptime(node)) * 1e6), **fields})
    return files


def _cut_hashicorp(lines: list[Line], skew: _Clock, uptime: _Clock) -> dict[str, list[Line]]:
    first, files = lines[0], defaultdict[str, list[Line]](list)
    counts, own, handled = Counter[str](), dict[int, int](), dict[tuple[str, int], int]()
    for line in lines[1:]:
        node, kind = line.get("node", ""), line["kind"]
        if kind not in OF_HASHICORP or not line["inc"]:
            continue
        fields = {name: value for name, value in line.items() if name not in ("seq", "t_ms", "inc")}
        now = line["t_ms"] + skew(node)
        if kind == "start":
            shared = ("library_version", "go", "prevote", "pipeline", "config")
            optional = ("fast_path", "restore_committed_logs")
            kept = {name: first[name] for name in shared} | {name: first.get(name, False) for name in optional}
            header = {"kind": "header", "node": node, **kept, "wall_ms": WALL_MS + round(now)}
            files[node].append({**header, "at": (now + uptime(node)) / 1000})
        if kind == "send":
            counts[node] += 1
            own[line["rpc"]] = counts[node]
        if kind == "recv":
            counts[f"{node} beside"] += fields.get("beside", False)
            handled[node, line["rpc"]] = counts[f"{node} beside"] if fields.get("beside") else 0
        if "rpc" in fields:
            fields["rpc"] = handled[node, line["rpc"]] if kind in ("recv", "respond") else own[line["rpc"]]
        files[node].append({**fields, "at": (now + uptime(node)) / 1000})
    return files


def without_deaths(lines: list[Line]) -> None:
    """Leave out how lives of servers ended: they are killed."""
    lines[:] = [line for line in lines if line["kind"] not in ("stop_begin", "stopped")]
