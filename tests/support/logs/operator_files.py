"""Files of logs as operators have them: cut anywhere, with the prefixes of collectors, and lines of other loggers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from tests.support.logs.broker_lines import BEGIN

Lines = Mapping[str, Sequence[tuple[float, str]]]

#: Lines of other parts of the programs, one in ten of all.
NOISE = (
    "2026-01-02T03:04:05.000Z [INFO]  agent: Synced node info",
    "2026-01-02T03:04:05.000Z [WARN]  agent.server.serf.lan: serf: received old event",
    "2026-01-02T03:04:05.000Z [DEBUG] core.cluster-listener: performing server cert lookup",
    "2026-01-02 03:04:05 INFO BrokerControllerScheduledThread1 - dispatch behind commit log 0 bytes",
    "2026-01-02 03:04:05 WARN ClientManageThread_1 - clientInstanceId of a consumer is too old",
    "java.nio.channels.ClosedChannelException: null",
    "\tat io.netty.channel.AbstractChannel$AbstractUnsafe.write(Unknown Source)",
    "==> Consul agent running!",
    "",
)


def _host(number: int) -> str:
    return f"raft-{number}"


def _syslog(at: float, host: str, line: str) -> str:
    moment = BEGIN + timedelta(seconds=at)
    return f"{moment:%b} {moment.day:>2} {moment:%H:%M:%S} {host} vault[1234]: {line}"


#: Each prefix by its name: of the moment, the host and the line.
PREFIXES: dict[str, Callable[[float, str, str], str]] = {
    "none": lambda _at, _host, line: line,
    "docker compose": lambda _at, host, line: f"{host}-1  | {line}",
    "kubectl": lambda _at, host, line: f"[pod/{host}/main] {line}",
    "journald": _syslog,
    "syslog": lambda at, host, line: f"<30>{_syslog(at, host, line)}",
    "iso": lambda at, host, line: f"{(BEGIN + timedelta(seconds=at)).isoformat()} {host} consul[77]: {line}",
    "docker -t": lambda at, _host, line: f"{BEGIN + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S.%f}123Z {line}",
    "rfc5424": lambda at, host, line: f"<30>1 {(BEGIN + timedelta(seconds=at)).isoformat()} {host} vault 1 - - {line}",
    "containerd": lambda at, _host, line: f"{BEGIN + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S.%f}123Z stderr F {line}",
    "docker json": lambda _at, _host, line: json.dumps({"log": line + "\n", "stream": "stderr"}),
    "journald json": lambda _at, host, line: json.dumps({"_HOSTNAME": host, "MESSAGE": line}),
}
#: The prefixes that say where a line is from, so that one file may have those of all nodes.
NAMING = ("docker compose", "kubectl", "journald", "syslog", "iso", "rfc5424", "journald json")


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a group's logs: beginning and end, the nodes that have logs, prefix, one file or several, level."""

    begin: float
    end: float
    nodes: tuple[str, ...]
    prefix: str
    together: bool
    level: str = "DEBUG"


def random_cut(chance: Random, nodes: Sequence[str], begin: float, end: float) -> Cut:
    """Choose the nodes, one of three times without one or two, and a prefix, for a part from one moment to another."""
    missing = chance.choice((1, 2)) if chance.random() < 1 / 3 else 0
    prefix = chance.choice(sorted(PREFIXES))
    chosen = tuple(sorted(chance.sample(sorted(nodes), len(nodes) - missing)))
    level = "DEBUG" if chance.random() < 0.25 else "INFO"
    return Cut(begin, end, chosen, prefix, prefix in NAMING and chance.random() < 0.5, level)


def write_cut(lines: Lines, cut: Cut, chance: Random, folder: Path) -> list[Path]:
    """Write a part of a group's logs and return the files, those of nodes without a line left out.

    Each log begins and ends within some seconds of the cut's, now and then in the middle of a line.
    """
    rows: list[tuple[float, str, str]] = []
    for number, node in enumerate(cut.nodes):
        begin, end = cut.begin + chance.uniform(0, 20), cut.end - chance.uniform(0, 20)
        hidden = "[DEBUG]" if cut.level == "INFO" else "no line has this"
        own = [(at, text) for at, text in lines.get(node, ()) if begin <= at <= end and hidden not in text]
        if own and chance.random() < 0.2:
            own[0] = (own[0][0], own[0][1][len(own[0][1]) // 2 :])
        for at, text in own:
            rows.append((at, node, PREFIXES[cut.prefix](at, _host(number), text)))
            if chance.random() < 0.1:
                rows.append((at, node, PREFIXES[cut.prefix](at, _host(number), chance.choice(NOISE))))
    if cut.together:
        path = folder / "group.log"
        path.write_text("".join(f"{text}\n" for _, _, text in sorted(rows, key=lambda row: row[0])), encoding="utf-8")
        return [path] if rows else []
    found = []
    for node in cut.nodes:
        own_rows = [text for _, name, text in rows if name == node]
        if own_rows:
            path = folder / f"{node}.log"
            path.write_text("".join(f"{text}\n" for text in own_rows), encoding="utf-8")
            found.append(path)
    return found
