"""The cost of logs that leave parts out: python bench/log_cost.py [--transactions 8] [--runs 4]

Runs of a two-phase commit (bench/two_phase) are logged in several ways, from every step in full to a log of each node
in which nobody writes that a message arrives, and checked: by following the lines where they have everything, and by
searching for what they leave open. All of it is measured in one run, side by side, in processor time: only the ratios
carry over. An event is a step of the run, whether it has a line or not. A rash transaction manager commits when
half of them are prepared; of its runs it is counted how many are refuted.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from two_phase.runs import MAX_OFFSET_MS, Run

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.report.text_table import table
from lockstep.systems.file_check import OwnTraceCheck, own_check

SPEC = Path(__file__).parent / "two_phase" / "TwoPhase.tla"

#: Of each kind of line: its action, and its parameters with the fields that have them.
LINES = {
    "prepared": ("Prepare", {"r": "rm", "t": "tx"}),
    "heard": ("Hear", {"r": "rm", "t": "tx"}),
    "decided": ("Decide", {"t": "tx", "outcome": "outcome"}),
    "received": ("Receive", {"r": "rm", "t": "tx"}),
    "finished": ("Finish", {"r": "rm", "t": "tx"}),
}
#: The kinds of lines about the arrival of a message.
ARRIVALS = ("heard", "received")
SHOWING = ("prepared", "decided", "finished")
#: Milliseconds from the begin of one transaction to that of the next.
EVERY = 25.0
#: How often each way is measured; the fastest time counts.
TIMES = 3


@dataclass(frozen=True)
class Way:
    """A way to log a run: what is left out, whether each node has a log of its own, and whether it is searched."""

    title: str
    without_lines: tuple[str, ...] = ()
    without_transaction: tuple[str, ...] = ()
    by_node: bool = False
    search: bool = True

    def mapping(self) -> str:
        """Return the mapping of such logs."""
        said = ['kind = "event"']
        if self.by_node:
            said += ['files = "together"', 'time = { field = "ts", unit = "ms" }', f'skew = "{2 * MAX_OFFSET_MS:g} ms"']
        elif self.search:
            said.append('files = "together"')
        if self.without_lines:
            said += ["[hidden]", *(f"{LINES[kind][0]} = 4" for kind in self.without_lines)]
        for kind, (action, params) in LINES.items():
            fields = {name: field for name, field in params.items() if field in self.kept_fields(kind, params.values())}
            args = ", ".join(f'{name} = "{field}"' for name, field in fields.items())
            shows = ['shows = "shows"'] if kind in SHOWING else []
            said += [f"[lines.{kind}]", f'action = "{action}"', f"args = {{ {args} }}", *shows]
        return "\n".join(said) + "\n"

    def kept_fields(self, kind: str, fields: Iterable[str]) -> list[str]:
        """Return the fields that a line of a kind keeps."""
        return [name for name in fields if name != "tx" or kind not in self.without_transaction]

    def logs(self, run: Run, folder: Path) -> tuple[list[Path], int]:
        """Write the logs of a run; return them, and how many steps the run has."""
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, list[str]] = {}
        steps = list(run)
        for node, line in steps:
            if line["event"] not in self.without_lines:
                kept = {name: line[name] for name in self.kept_fields(line["event"], line)}
                files.setdefault(node if self.by_node else "all", []).append(json.dumps(kept) + "\n")
        paths = []
        for name, lines in files.items():
            paths.append(folder / f"{name}.log")
            paths[-1].write_text("".join(lines), encoding="utf-8")
        return sorted(paths), len(steps)


WAYS = (
    Way("every step in full, followed", search=False),
    Way("every step in full, searched"),
    Way("no transaction where a message arrives", without_transaction=ARRIVALS),
    Way("nor where a manager is finished", without_transaction=(*ARRIVALS, "finished")),
    Way("no lines of arrivals", without_lines=ARRIVALS),
    Way("no lines of arrivals, a log a node", without_lines=ARRIVALS, by_node=True),
)


def judge(way: Way, folder: Path, transactions: int) -> OwnTraceCheck:
    """Return what checks the logs of a way to log."""
    folder.mkdir(parents=True, exist_ok=True)
    cfg, mapping = folder / "TwoPhase.cfg", folder / "mapping.toml"
    text = SPEC.with_suffix(".cfg").read_text(encoding="utf-8")
    cfg.write_text(text.replace("Last = 9", f"Last = {transactions}"), encoding="utf-8")
    mapping.write_text(way.mapping(), encoding="utf-8")
    return own_check(SpecFiles(SPEC, cfg, mapping=mapping))


def checked(judged: OwnTraceCheck, paths: Sequence[Path]) -> TraceVerdict:
    """Check the logs of one run."""
    return judged.check_logs(paths) if judged.is_together else judged(paths[0])


@dataclass(frozen=True)
class Measured:
    """The cost of a way to log: steps, lines and seconds of all runs, states carried, and how many rash runs fail."""

    steps: int
    lines: int
    seconds: float
    states: int
    bits: float
    refuted: int


def timed(judged: OwnTraceCheck, runs: Sequence[Sequence[Path]]) -> tuple[list[TraceVerdict], float]:
    """Check some runs; return the verdicts and the seconds."""
    begin = time.process_time()
    return [checked(judged, paths) for paths in runs], time.process_time() - begin


def refuse_all_but_holds(title: str, runs: Sequence[Sequence[Path]], found: list[TraceVerdict]) -> None:
    """Stop where a run that is right does not hold."""
    for paths, verdict in zip(runs, found, strict=True):
        if verdict.verdict is not Verdict.HOLDS:
            raise SystemExit(f"{title}: {paths[0]}: {verdict.verdict}: {verdict.reason}")


def measured(way: Way, folder: Path, args: argparse.Namespace) -> Measured:
    """Check every run logged in one way; the runs are the same for all."""
    judged = judge(way, folder, args.transactions)
    logs = [way.logs(Run(seed, args.transactions, EVERY), folder / f"run-{seed}") for seed in range(1, args.runs + 1)]
    runs = [paths for paths, _ in logs]
    found, seconds = min((timed(judged, runs) for _ in range(TIMES)), key=lambda each: each[1])
    refuse_all_but_holds(way.title, runs, found)
    rash = [
        way.logs(Run(seed, args.transactions, EVERY, rash=True), folder / f"rash-{seed}")[0]
        for seed in range(1, args.rash + 1)
    ]
    ambiguities = [each.ambiguity for each in found if each.ambiguity is not None]
    return Measured(
        sum(steps for _, steps in logs),
        sum(each.events for each in found),
        seconds,
        max((each.states for each in ambiguities), default=1),
        sum(sum(each.entropy.values()) for each in ambiguities) / len(found),
        sum(checked(judged, paths).verdict is Verdict.VIOLATED for paths in rash),
    )


def rows(folder: Path, args: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each way to log."""
    full: Measured | None = None
    for number, way in enumerate(WAYS):
        found = measured(way, folder / f"way-{number}", args)
        full = full or found
        rate, ratio = found.steps / found.seconds, found.seconds / full.seconds
        yield (
            way.title, f"{found.lines / found.steps:.0%}", found.states, f"{found.bits:.2f}", f"{rate:,.0f}",
            f"{ratio:.1f}x", f"{found.refuted} of {args.rash}",
        )  # fmt: skip
        print(f"{way.title}: {found.seconds:.2f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=8)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--rash", type=int, default=20, help="how many runs of a rash transaction manager")
    parser.add_argument("--keep", type=Path, help="a folder for logs and mappings, to look at them")
    args = parser.parse_args()
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}")
    print(f"{args.runs} runs of {args.transactions} transactions\n")
    with tempfile.TemporaryDirectory() as name:
        found = list(rows(args.keep or Path(name), args))
    heads = ("what the logs have", "lines", "states carried", "bits", "events/s", "time", "rash runs refuted")
    print(table(heads, found))


if __name__ == "__main__":
    main()
