"""How many mutants of the reference conformance notices: `python bench/mutants.py SYSTEM [COUNT [SEED]]`.

Prints a line for each, and the sums; SYSTEM is dledger or hashicorp. docs/measured/mutants.md has the sums of some
runs.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lockstep.systems.registry import simulators
from tests.support.systems import dledger_mutants, hashicorp_mutants
from tests.support.systems.mutants import Mutant, spec_of

REFERENCES = {"dledger": dledger_mutants.REFERENCE, "hashicorp": hashicorp_mutants.REFERENCE}


def judge(chosen: tuple[str, Mutant]) -> tuple[str, str, str]:
    """Return a mutant of a system's reference, what notices it, and how."""
    system, mutant = chosen
    return (str(mutant), *REFERENCES[system].noticed(mutant))


def main(system: str, count: int = 100, seed: int = 1) -> None:
    """Judge a sample, each mutant in a process of its own."""
    reference, sums = REFERENCES[system], Counter[str]()
    _, simulator = simulators()[reference.order[0]]
    for plan in simulator.plans:
        spec_of(plan)
    chosen = [(system, mutant) for mutant in reference.sample(count, seed)]
    with multiprocessing.get_context("fork").Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        for name, by, how in pool.imap(judge, chosen):
            sums[by or "survives"] += 1
            print(f"{by or 'SURVIVES':9} {name}  [{how[:160]}]", flush=True)
    print(f"of {len(reference.mutants()):,} mutants {count} drawn with seed {seed}: {dict(sums)}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
