"""The compiled specification has TLC's state graph: states, steps with their actions' names, counts and depth."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc.java import find_tla2tools
from tests.support.places import SPECS
from tests.support.sampling import sampled

MODULES = SPECS / "tla"
#: Configurations, each with its module.
MODELS = {
    "DieHard": "DieHard",
    "BoundedQueue": "BoundedQueue",
    "BoundedQueueGuarded": "BoundedQueue",
    "MessageBag": "MessageBag",
    "Registers": "Registers",
}
#: A bag of messages; the others at night.
SAMPLE = ("MessageBag",)


@dataclass
class Dump:
    states: dict[str, tuple[Value, ...]]
    edges: Counter[tuple[tuple[Value, ...], str, tuple[Value, ...]]]
    generated: int
    distinct: int
    depth: int


def read_state(label: str, spec: Spec) -> tuple[Value, ...]:
    text = label.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    parts = re.split(r"(?:^|\n)/\\ ", text)
    table = {}
    for part in parts:
        if part.strip():
            name, _, value = part.partition(" = ")
            table[name.strip()] = parse_value(value, list(spec.model_values))
    return tuple(table[name] for name in spec.variables)


def dump(module: str, cfg: str, spec: Spec, folder: Path) -> Dump:
    dot = folder / f"{cfg}.dot"
    tlc = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(find_tla2tools()), "tlc2.TLC"]
    words = ["-deadlock", "-metadir", str(folder), "-dump", "dot,actionlabels", str(dot)]
    command = [*tlc, *words, "-config", f"{cfg}.cfg", module]
    done = subprocess.run(command, cwd=MODULES, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    counts = re.search(r"(\d+) states generated, (\d+) distinct", done.stdout)
    depth = re.search(r"state graph search is (\d+)", done.stdout)
    assert counts and depth
    states = {}
    steps = []
    for line in dot.read_text().splitlines():
        edge = re.match(r'(-?\d+) -> (-?\d+) \[label="(\w+)"', line)
        node = re.match(r'(-?\d+) \[label="((?:[^"\\]|\\.)*)"', line)
        if edge:
            steps.append(edge.groups())
        elif node:
            states[node[1]] = read_state(node[2], spec)
    edges = Counter((states[source], label, states[target]) for source, target, label in steps)
    return Dump(states, edges, int(counts[1]), int(counts[2]), int(depth[1]))


@pytest.fixture(scope="module", params=sampled(MODELS, SAMPLE))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, Exploration, Dump]:
    cfg = request.param
    module = MODELS[cfg]
    folder = tmp_path_factory.mktemp(cfg)
    spec = load_spec(MODULES / f"{module}.tla", MODULES / f"{cfg}.cfg", cache_dir=folder / "cache")
    return spec, explore(spec, SearchOptions(keep_edges=True, check_deadlock=False)), dump(module, cfg, spec, folder)


def test_the_distinct_states_are_those_of_tlc(model: tuple[Spec, Exploration, Dump]) -> None:
    _spec, found, tlc = model
    assert {tuple(state) for state in found.states} == set(tlc.states.values())
    assert found.distinct == tlc.distinct == len(tlc.states)


def test_the_steps_are_those_of_tlc_with_names_and_repetitions(model: tuple[Spec, Exploration, Dump]) -> None:
    spec, found, tlc = model
    ours: Counter[tuple[tuple[Value, ...], str, tuple[Value, ...]]] = Counter()
    for edge in found.edges:
        (label,) = spec.actions[edge.action].labels
        ours[tuple(found.states[edge.source]), label, tuple(found.states[edge.target])] += 1
    assert ours == tlc.edges


def test_generated_states_and_depth_are_counted_as_tlc_counts(model: tuple[Spec, Exploration, Dump]) -> None:
    _spec, found, tlc = model
    assert (found.generated, found.depth, found.complete) == (tlc.generated, tlc.depth, True)


def test_step_reaches_exactly_the_successors_that_were_generated(model: tuple[Spec, Exploration, Dump]) -> None:
    spec, found, _tlc = model
    for state in found.states[:100]:
        for action, args, after in spec.successors(state):
            following = {a for n, g, a in spec.successors(state) if (n, g) == (action, args)}
            if len(following) == 1:
                assert spec.step(state, action, args) == after
                assert spec.explain(state, action, args).enabled


def test_a_disabled_action_has_no_step_and_an_explanation(model: tuple[Spec, Exploration, Dump]) -> None:
    spec, found, _tlc = model
    seen: dict[str, list[dict[str, Value]]] = {}
    for edge in found.edges:
        if edge.args not in seen.setdefault(edge.action, []):
            seen[edge.action].append(edge.args)
    refused = 0
    for state in found.states[:40]:
        enabled = list(spec.enabled(state))
        for action, all_args in seen.items():
            for args in all_args:
                if (action, args) in enabled:
                    continue
                refused += 1
                assert spec.step(state, action, args) is None
                explanation = spec.explain(state, action, args)
                assert not explanation.enabled
                assert explanation.branches
    assert refused or spec.name == "DieHard"  # whose actions are always enabled
