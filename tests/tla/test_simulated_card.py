"""A search on a card that Numba simulates, whose threads interfere, in a process of its own; and compiled kernels."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from lockstep.models.pinned_models import files_of
from lockstep.systems.registry import model_named
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.table_search import explore_by_tables
from tests.support.places import ROOT
from tests.support.tla.card_on_processor import card_on_processor

pytestmark = pytest.mark.nightly
needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="it needs the package numba-cuda (the extra gpu)"
)

#: It prints where a search on the card differs from one on the processor; a bug is planted if its name is given.
PROGRAM = """
import json, sys, time
from dataclasses import replace
from lockstep.models.pinned_models import files_of
from lockstep.systems.registry import model_named
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables import cuda_kernels as kernels
from lockstep.tla.tables.table_search import explore_by_tables
from numba import cuda

name, states, bug = sys.argv[1], int(sys.argv[2]), sys.argv[3]

@cuda.jit(device=True)
def take_crowded_place(wanted, keys):
    place = int(wanted) & 3
    while True:
        there = keys[place]
        if there == 0:
            time.sleep(0.001)
            if bug == "race":
                keys[place] = wanted
                return place
            there = cuda.atomic.cas(keys, place, there, wanted)
        if there == 0 or there == wanted:
            return place
        place = (place + 1) & (keys.size - 1)

@cuda.jit(device=True)
def note_no_miss(node, value, state, misses, owners, status):
    return 0

if bug in ("race", "crowd"):
    kernels.take_place = take_crowded_place
if bug == "lost miss":
    kernels.note_miss = note_no_miss
manifest, entry = model_named(name)
spec = files_of(manifest, entry).load()
options = SearchOptions(check_deadlock=entry.deadlock and spec.check_deadlock)
compared = ("distinct", "generated", "depth", "levels", "complete", "violation", "evaluations")
other = explore_by_tables(spec, options)
try:
    found = explore_by_tables(spec, replace(options, device="cuda", device_states=states))
    differing = [each for each in compared if getattr(found, each) != getattr(other, each)]
except AssertionError as error:
    differing = [str(error)]
print(json.dumps({"differing": differing, "distinct": other.distinct}))
"""


def simulated(model: str, states: int, bug: str = "") -> dict[str, object]:
    """Compare two searches of a model; `states` are expanded on the card at once."""
    command = [sys.executable, "-c", PROGRAM, model, str(states), bug]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("model", "states", "distinct"),
    [("short_log", 1000, 31), ("transfer_again", 40, 220), ("unordered", 40, 241), ("raft_v173", 60, 195)],
)
def test_a_simulated_card_finds_what_the_processor_finds(model: str, states: int, distinct: int) -> None:
    assert simulated(model, states) == {"differing": [], "distinct": distinct}


@pytest.mark.parametrize("bug", ["race", "lost miss"])
def test_a_bug_that_is_planted_in_a_simulated_card_is_noticed(bug: str) -> None:
    assert simulated("transfer_again", 1000, bug)["differing"]


@needs_numba_cuda
def test_threads_that_meet_at_few_places_of_the_set_lose_nothing() -> None:
    assert simulated("transfer_again", 1000, "crowd")["differing"] == []


@pytest.mark.parametrize(("model", "states"), [("lossy", 1 << 20), ("crash", 700)])
def test_kernels_compiled_for_the_processor_find_what_its_own_engine_finds(model: str, states: int) -> None:
    manifest, entry = model_named(model)
    spec = files_of(manifest, entry).load()
    options = SearchOptions(check_deadlock=False)
    expected = explore_by_tables(spec, options)
    assert (expected.distinct, expected.generated, expected.depth) == (entry.distinct, entry.generated, entry.depth)
    with card_on_processor(compiled=True):
        found = explore_by_tables(spec, replace(options, device="cuda", device_states=states))
    compared = ("distinct", "generated", "depth", "levels", "complete", "violation", "evaluations")
    assert [getattr(found, name) for name in compared] == [getattr(expected, name) for name in compared]


#: It compiles every kernel for a card that is not there, and prints the names of those with floating-point arithmetic.
COMPILER = """
import inspect, json
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
from lockstep.tla.tables import cuda_kernels

dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
kinds = {
    "misses at owners status places new_places starts sums": types.int64,
    "ints results patterns steps counts new new_steps sources factors numbers": types.int32,
    "hashes new_hashes views keys": types.uint64,
    "rows after before": types.uint8,
    "firsts": types.uint32,
}
arrays = {name: kind for names, kind in kinds.items() for name in names.split()}
arrays |= {"found": types.uint64, "new_found": types.uint64, "array": types.int64}
compiled, floats = 0, []
for name, kernel in vars(cuda_kernels).items():
    if hasattr(kernel, "py_func") and not kernel.targetoptions.get("device"):
        names = inspect.signature(kernel.py_func).parameters
        mine = dict(arrays)
        if name == "fingerprint" or name == "write_new" or name == "image_hash":
            mine["sums"] = types.uint64
        if name == "start_parts":
            mine["firsts"] = types.int64
        signature = [types.Array(mine[each], 1, "C") if each in mine else types.int64 for each in names]
        text, _ = cuda.compile_ptx(kernel.py_func, tuple(signature), cc=(9, 0))
        compiled += 1
        if ".f64" in text or ".f32" in text:
            floats.append(name)
print(json.dumps({"compiled": compiled, "floats": floats}))
"""


@needs_numba_cuda
def test_every_kernel_compiles_for_a_card_without_floating_point_arithmetic() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPILER], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"compiled": 23, "floats": []}


def test_the_command_explores_on_a_simulated_card() -> None:
    service = ROOT / "docs" / "lock_service" / "LockService.tla"
    command = [sys.executable, "-m", "lockstep", "model", "--spec", str(service), "--engine", "tables"]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [*command, "--device", "cuda"], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, "no error in 49 distinct states, depth 8" in done.stdout) == (0, True)
