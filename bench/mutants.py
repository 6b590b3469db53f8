"""How many mutants of the reference conformance notices: `python bench/mutants.py [COUNT [SEED]]`.

Prints a line for each, and the sums; docs/measured/mutants.md has those of one run.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from pathlib import Path

from lockstep.systems.dledger.plans import PLANS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from mutants import SECONDS, Mutant, limited, mutants, noticed, sample, spec_of


def judge(mutant: Mutant) -> tuple[str, str, str]:
    """Return a mutant, what notices it, and how."""
    try:
        with limited(SECONDS):
            return (str(mutant), *noticed(mutant))
    except TimeoutError as error:
        return str(mutant), "traces", str(error)


def main(count: int = 110, seed: int = 1) -> None:
    """Judge a sample, each mutant in a process of its own."""
    for plan in PLANS:
        spec_of(plan)
    drawn, sums = sample(count, seed), Counter[str]()
    with multiprocessing.get_context("fork").Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        for name, by, how in pool.imap(judge, drawn):
            sums[by or "survives"] += 1
            print(f"{by or 'SURVIVES':9} {name}  [{how[:160]}]", flush=True)
    print(f"of {len(mutants()):,} mutants {count} drawn with seed {seed}: {dict(sums)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
