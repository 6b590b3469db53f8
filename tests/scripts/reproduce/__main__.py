"""Show a flaw on the released code: `python -m tests.scripts.reproduce FLAW [--version V] [--out FOLDER]`.

The exit code is 0 where every run showed the loss and its recording what it should, 1 where one did not, 3 where one
says nothing: the code cannot be fetched or built here, or a node or a tool failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

from tests.scripts.reproduce.registry import REPRODUCTIONS
from tests.scripts.reproduce.reproduction import NotSeenError, Reproduction
from tests.scripts.reproduce.runs import report, run

#: What cannot be decided has this exit code, as it has in lockstep.
UNDECIDED = 3


def main() -> int:
    """Run the scripts that are named; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scripts.reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "flaws", nargs="+", metavar="FLAW", choices=[*REPRODUCTIONS, "all"], help=", ".join(REPRODUCTIONS)
    )
    parser.add_argument("--version", help="one version of those that a script is for (default: each)")
    parser.add_argument("--out", type=Path, help="a folder for the recordings and the logs of the nodes")
    args = parser.parse_args()
    chosen = [*REPRODUCTIONS] if "all" in args.flaws else args.flaws
    runs = [(flaw, each) for flaw in chosen for each in REPRODUCTIONS[flaw].versions if args.version in (None, each)]
    if not runs:
        parser.error(f"no script of {', '.join(chosen)} is for version {args.version}")
    out = args.out or Path(tempfile.mkdtemp(prefix="lockstep-reproduce-"))
    codes = [_shown(REPRODUCTIONS[flaw], version, out / f"{flaw}-{version}") for flaw, version in runs]
    return max(codes, key=(0, UNDECIDED, 1, 2).index)


def _shown(reproduction: Reproduction, version: str, folder: Path) -> int:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        print(f"{folder} is there already", file=sys.stderr)
        return 2
    try:
        found = run(reproduction, version, folder)
    except NotSeenError as error:
        print(f"{reproduction.flaw} on {version}: not seen: {error}; {folder}")
        return 1
    except pytest.skip.Exception as error:  # the fetching of real code is that of the tests
        print(f"{reproduction.flaw} on {version}: inconclusive: {error}")
        return UNDECIDED
    except Exception as error:  # the other runs go on
        (folder / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
        print(
            f"{reproduction.flaw} on {version}: inconclusive: {type(error).__name__}: {error}; {folder / 'error.txt'}"
        )
        return UNDECIDED
    print("\n".join(report(found)))
    return 1 if [*found.problems()] else 0


if __name__ == "__main__":
    sys.exit(main())
