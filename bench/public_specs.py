"""Run the models of a checkout of public specs on both engines, and compare what they find.

Of tlaplus/Examples these are the models that its manifests list; of any other folder, each cfg beside the module of its
name.
A model runs in a process of its own, the compiled search first and then TLC, so that whatever happens to one is a row
and not the end. TLC 2.15 knows no ALIAS, POSTCONDITION or CHECK_DEADLOCK: it is given the cfg without them, and an
option where deadlock does not count. A model that it cannot read is compared with the counts of its manifest.

    python bench/public_specs.py ~/Examples --library ~/CommunityModules/modules --output rows.ndjson
    python bench/public_specs.py ~/Examples --output rows.ndjson --table
    python bench/public_specs.py ~/Examples --engine tables --most-states 1000000
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from public_engines import run_one
from public_models import Model, models, modules, why_not
from public_rows import Outcome, Row, line_of, markdown, read, read_all, summary, written

#: How many times its processor time a model may take by the clock, for both engines together.
_PATIENCE = 6


def main() -> None:
    """Run the models that were asked for, or print what a file has of them."""
    chosen = _arguments().parse_args()
    wanted = [model for model in models(chosen.checkout) if fnmatch.fnmatch(model.name, chosen.only)]
    if chosen.one:
        (model,) = (each for each in wanted if each.name == chosen.one)
        print(written(run_one(model, chosen.engine, chosen.library, chosen.most_states, chosen.budget)))
        return
    rows = [] if chosen.output is None else read_all(chosen.output)
    if not chosen.table:
        rows = _run(wanted, chosen, rows)
    names = {model.name for model in wanted}
    shown = sorted((row for row in rows if row.name in names), key=lambda row: row.name.lower())
    print("\n".join([*(markdown(shown) if chosen.table else ()), "", *summary(shown), *_bare(chosen.checkout)]))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="the checkout, or a folder of it")
    parser.add_argument("--library", type=Path, action="append", default=[], help="a further folder with modules")
    parser.add_argument(
        "--engine", choices=("literal", "tables"), default="literal", help="the compiled search (%(default)s)"
    )
    parser.add_argument("--most-states", type=int, default=50_000, help="larger models are not run (%(default)s)")
    parser.add_argument("--budget", type=float, default=120, help="seconds of processor time an engine (%(default)s)")
    parser.add_argument("--only", default="*", help="the models whose names match this pattern")
    parser.add_argument("--output", type=Path, help="where rows are kept; models that it has are not run again")
    parser.add_argument("--table", action="store_true", help="run nothing, print the rows of --output as Markdown")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser


def _run(wanted: list[Model], chosen: argparse.Namespace, known: list[Row]) -> list[Row]:
    """Run the models that have no row yet, the smallest first; return all rows."""
    rows, done = list(known), {row.name for row in known}
    for model in sorted(wanted, key=lambda each: each.size):
        if model.name in done:
            continue
        reason = why_not(model, chosen.most_states)
        row = Row(model.name, Outcome.NOT_RUN, reason) if reason else _in_own_process(model, chosen)
        rows.append(row)
        print(line_of(row), flush=True)
        if chosen.output is not None:
            with chosen.output.open("a", encoding="utf-8") as file:
                file.write(written(row) + "\n")
    return rows


def _in_own_process(model: Model, chosen: argparse.Namespace) -> Row:
    command = [sys.executable, __file__, str(chosen.checkout), "--one", model.name]
    command += ["--engine", chosen.engine, "--most-states", str(chosen.most_states), "--budget", str(chosen.budget)]
    command += [word for folder in chosen.library for word in ("--library", str(folder))]
    limit = 60 + _PATIENCE * chosen.budget
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Row(model.name, Outcome.UNFINISHED, f"no answer within {limit:g} s")
    if ended.returncode == 0:
        return read(ended.stdout.splitlines()[-1])
    said = (ended.stderr.strip().splitlines() or ["nothing"])[-1]
    return Row(model.name, Outcome.INTERNAL, f"the process ended with {ended.returncode}: {said}")


def _bare(checkout: Path) -> Iterator[str]:
    """Yield a line about the modules that the manifests list without a model, if there are manifests."""
    if listed := list(modules(checkout)):
        bare = [module for module in listed if not module["models"]]
        proofs = sum("proof" in module for module in bare)
        yield f"Of the modules {len(bare)} have no model; {proofs} of these have proofs."


if __name__ == "__main__":
    main()
