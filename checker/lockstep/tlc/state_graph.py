"""Read the state graph that TLC dumps, with parallel edges kept.

The text is read line by line and not with a graph library: TLC writes `strict digraph`, and a library that
takes it at its word merges the edges of two actions which join the same states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lockstep.base.interrupts import deferred_interrupts
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.tlc.tlc_output import parse_state
from lockstep.tlc.tlc_result import TlcResult
from lockstep.tlc.tlc_run import TlcOptions, run_tlc

_NODE = re.compile(r'^(?P<id>-?\d+) \[label="(?P<label>[^"\\]*(?:\\.[^"\\]*)*)"(?P<rest>[^\]]*)\];?$')
_EDGE = re.compile(r'^(?P<source>-?\d+) -> (?P<target>-?\d+) \[label="(?P<label>[^"\\]*(?:\\.[^"\\]*)*)"[^\]]*\];?$')
# With a temporal property TLC adds the stuttering step of every state, which is no step of Next.
_STUTTERING = re.compile(r'^(?P<id>-?\d+) -> (?P=id) \[style="dashed"\];?$')
_FRAME = re.compile(
    r"^(strict digraph DiskGraph \{|edge \[|nodesep=|subgraph cluster_graph|color=|\{rank = same;|\}+$|$)"
)
_ESCAPE = re.compile(r"\\(.)")


class GraphError(Exception):
    """TLC's dump of the state graph cannot be had or cannot be read whole."""


@dataclass(frozen=True, slots=True)
class TlcNode:
    """One state of the state graph: TLC's id, its variables as TLC prints them, whether it is an initial one."""

    id: int
    variables: Mapping[str, str]
    is_initial: bool


@dataclass(frozen=True, slots=True)
class TlcEdge:
    """One step of the state graph: from a state, by an action, to a state (TLC's ids)."""

    source: int
    action: str
    target: int


@dataclass(frozen=True, slots=True)
class TlcGraph:
    """A state graph: the variables of each state by its id, the initial states, the edges as a multiset."""

    nodes: Mapping[int, Mapping[str, str]]
    initial: frozenset[int]
    edges: tuple[TlcEdge, ...]
    result: TlcResult | None = None


_WHOLE = TlcOptions(deadlock_check=False, is_short=True)


def dump_state_graph(
    spec_path: Path,
    cfg_path: Path,
    options: TlcOptions = _WHOLE,
) -> TlcGraph:
    """Have TLC explore a model with one worker and give its whole state graph.

    Arguments: as those of run_tlc; the graph is dumped wherever the options say.
    Returns the graph, with the result of the run in it.
    Raises GraphError when the model does not hold (the graph would be a part only), or when the number of
    states in the dump is not the number which TLC counted.
    """
    with dumped_graph(spec_path, cfg_path, options) as (lines, result):
        graph = parse_dot(lines)
    if len(graph.nodes) != result.distinct:
        raise GraphError(f"{spec_path}: {len(graph.nodes)} states dumped, {result.distinct} counted")
    return TlcGraph(graph.nodes, graph.initial, graph.edges, result)


@contextmanager
def dumped_graph(
    spec_path: Path, cfg_path: Path, options: TlcOptions = _WHOLE
) -> Iterator[tuple[Iterable[str], TlcResult]]:
    """Have TLC explore a model with one worker, and give the lines of its dump, for read_dot, and the result.

    Arguments and what is raised: as of dump_state_graph; the states are for the reader to count.
    """
    with deferred_interrupts(), scratch("graph") as folder:
        dump = folder / "graph.dot"
        result = run_tlc(spec_path, cfg_path, replace(options, dump=dump))
        if result.verdict is not Verdict.HOLDS:
            raise GraphError(f"{spec_path}: no whole state graph: {result.verdict.value}: {result.reason}")
        with dump.open(encoding="utf-8") as lines:
            yield lines, result


def parse_dot(lines: Iterable[str]) -> TlcGraph:
    """Read the text that `-dump dot,actionlabels` writes.

    Arguments: `lines`, of the file.
    Returns the graph.
    Raises GraphError as read_dot does, and on an edge to an unknown state.
    """
    nodes: dict[int, Mapping[str, str]] = {}
    initial: set[int] = set()
    edges: list[TlcEdge] = []
    for each in read_dot(lines):
        if isinstance(each, TlcEdge):
            edges.append(each)
            continue
        nodes[each.id] = each.variables
        if each.is_initial:
            initial.add(each.id)
    unknown = next((edge for edge in edges if edge.source not in nodes or edge.target not in nodes), None)
    if unknown is not None:
        raise GraphError(f"an edge of {unknown.action} joins a state that the dump does not have")
    return TlcGraph(nodes, frozenset(initial), tuple(edges))


def read_dot(lines: Iterable[str]) -> Iterator[TlcNode | TlcEdge]:
    """List the states and steps of the text that `-dump dot,actionlabels` writes, in its order.

    Arguments: `lines`, of the file.
    Raises GraphError on a line that is not in TLC's form, and on a truncated text.
    """
    depth, count = 0, 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\n")
        edge = _EDGE.match(line)
        node = _NODE.match(line) if edge is None else None
        if edge is not None:
            yield TlcEdge(int(edge["source"]), _unescape(edge["label"]), int(edge["target"]))
        elif node is not None:
            count += 1
            yield TlcNode(int(node["id"]), _state(_unescape(node["label"]), number), "filled" in node["rest"])
        elif line.startswith("subgraph cluster_legend"):
            raise GraphError(f"line {number}: a legend; dump without colorize")
        elif _STUTTERING.match(line):
            continue
        elif _FRAME.match(line):
            depth += 0 if line.startswith("{rank") else line.count("{") - line.count("}")
        else:
            raise GraphError(f"line {number}: not a line of TLC's dump: {line[:120]!r}")
    if depth != 0 or not count:
        raise GraphError("the dump is truncated or empty")


def _state(text: str, line_number: int) -> dict[str, str]:
    """The variables of a label; a label in another form is an error that names its line."""
    try:
        return parse_state(text)
    except ValueError as problem:
        raise GraphError(f"line {line_number}: {problem}") from problem


def _unescape(text: str) -> str:
    r"""Undo the escapes of a label: \n is a newline, \" and \\ stand for themselves."""
    if "\\\\" not in text:  # then the order matters; TLC writes no other escapes
        return text.replace("\\n", "\n").replace('\\"', '"')
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
