"""What a log costs that tells a part: python bench/log_cost.py [--transactions 8] [--runs 4] [--tlc-timeout 600]

Runs of a two-phase commit (bench/two_phase) are told in several ways, from every step in full to a log of each node in
which nobody writes that a message arrives, and checked: by following the lines where they tell everything, by searching
for what they leave open, and each time by TLC alone on the same lines. All of it is measured in one run, side by side,
in processor time: only the ratios carry over. An event is a step of the run, whether a line tells of it or not. A rash
transaction manager commits when half of them are prepared; of its runs it is counted how many are refuted.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from two_phase.runs import AHEAD, Run

from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.report.text_table import table
from lockstep.systems.judge import ByTlc, judge_own
from lockstep.systems.own.logs import OwnLogs
from lockstep.tlc import find_java

SPEC = Path(__file__).parent / "two_phase" / "TwoPhase.tla"

#: Of each kind of line: its action, and its parameters with the fields that tell them.
LINES = {
    "prepared": ("Prepare", {"r": "rm", "t": "tx"}),
    "heard": ("Hear", {"r": "rm", "t": "tx"}),
    "decided": ("Decide", {"t": "tx", "outcome": "outcome"}),
    "received": ("Receive", {"r": "rm", "t": "tx"}),
    "finished": ("Finish", {"r": "rm", "t": "tx"}),
}
#: The lines that tell of the arrival of a message.
ARRIVALS = ("heard", "received")
SHOWING = ("prepared", "decided", "finished")
#: Milliseconds from the begin of one transaction to that of the next.
EVERY = 25.0
#: How often each way is measured; the fastest time counts.
TIMES = 3


@dataclass(frozen=True)
class Way:
    """A way to tell of a run: what is left out, whether each node has a log of its own, and whether it is searched."""

    title: str
    without_lines: tuple[str, ...] = ()
    without_transaction: tuple[str, ...] = ()
    by_node: bool = False
    search: bool = True

    def mapping(self) -> str:
        """Return the mapping of such logs."""
        said = ['kind = "event"']
        if self.by_node:
            said += ['files = "together"', 'time = { field = "ts", unit = "ms" }', f'skew = "{2 * AHEAD:g} ms"']
        elif self.search:
            said.append('files = "together"')
        if self.without_lines:
            said += ["[hidden]", *(f"{LINES[kind][0]} = 4" for kind in self.without_lines)]
        for kind, (action, params) in LINES.items():
            fields = {name: field for name, field in params.items() if field in self.told(kind, params.values())}
            told = ", ".join(f'{name} = "{field}"' for name, field in fields.items())
            shows = ['shows = "shows"'] if kind in SHOWING else []
            said += [f"[lines.{kind}]", f'action = "{action}"', f"args = {{ {told} }}", *shows]
        return "\n".join(said) + "\n"

    def told(self, kind: str, fields: Iterable[str]) -> list[str]:
        """Return the fields that a line of a kind keeps."""
        return [name for name in fields if name != "tx" or kind not in self.without_transaction]

    def logs(self, run: Run, folder: Path) -> tuple[list[Path], int]:
        """Write the logs of a run; return them, and how many steps the run has."""
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, list[str]] = {}
        steps = list(run)
        for node, line in steps:
            if line["event"] not in self.without_lines:
                told = {name: line[name] for name in self.told(line["event"], line)}
                files.setdefault(node if self.by_node else "all", []).append(json.dumps(told) + "\n")
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


def judge(way: Way, folder: Path, transactions: int, tlc: ByTlc | None = None) -> OwnLogs:
    """Return what checks the logs of a way to tell; `tlc`, where TLC does."""
    folder.mkdir(parents=True, exist_ok=True)
    cfg, mapping = folder / "TwoPhase.cfg", folder / "mapping.toml"
    text = SPEC.with_suffix(".cfg").read_text(encoding="utf-8")
    cfg.write_text(text.replace("Last = 9", f"Last = {transactions}"), encoding="utf-8")
    mapping.write_text(way.mapping(), encoding="utf-8")
    return judge_own(SPEC, cfg, mapping, tlc)


def checked(judged: OwnLogs, paths: Sequence[Path]) -> TraceVerdict:
    """Check the logs of one run."""
    return judged.all(paths) if judged.together else judged(paths[0])


@dataclass(frozen=True)
class Measured:
    """What a way to tell costs: steps, lines and seconds of all runs, states carried, and how many rash runs fail.

    `tlc_seconds` is what TLC takes for the same lines, and `spent` of how many runs it found nothing in its time.
    """

    steps: int
    lines: int
    seconds: float
    tlc_seconds: float
    spent: int
    states: int
    bits: float
    refuted: int


def processor_time() -> float:
    """Return the seconds that processors have worked for this process, and for those of TLC that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def timed(judged: OwnLogs, runs: Sequence[Sequence[Path]]) -> tuple[list[TraceVerdict], float]:
    """Check some runs; return the verdicts and the seconds."""
    begin = processor_time()
    return [checked(judged, paths) for paths in runs], processor_time() - begin


def refuse_but(expected: set[Verdict], title: str, runs: Sequence[Sequence[Path]], found: list[TraceVerdict]) -> None:
    """Stop where a run that is right has another verdict than is expected."""
    for paths, verdict in zip(runs, found, strict=True):
        if verdict.verdict not in expected:
            raise SystemExit(f"{title}: {paths[0]}: {verdict.verdict}: {verdict.reason}")


def measured(way: Way, folder: Path, args: argparse.Namespace) -> Measured:
    """Check every run told in one way; the runs are the same for all."""
    judged = judge(way, folder, args.transactions)
    logs = [way.logs(Run(seed, args.transactions, EVERY), folder / f"run-{seed}") for seed in range(1, args.runs + 1)]
    runs = [paths for paths, _ in logs]
    found, seconds = min((timed(judged, runs) for _ in range(TIMES)), key=lambda each: each[1])
    refuse_but({Verdict.HOLDS}, way.title, runs, found)
    tlc = judge(way, folder, args.transactions, ByTlc(args.tlc_timeout, None))
    by_tlc, tlc_seconds = timed(tlc, runs)
    refuse_but({Verdict.HOLDS, Verdict.INCONCLUSIVE}, f"{way.title}, TLC", runs, by_tlc)
    rash = [
        way.logs(Run(seed, args.transactions, EVERY, rash=True), folder / f"rash-{seed}")[0]
        for seed in range(1, args.rash + 1)
    ]
    told = [each.ambiguity for each in found if each.ambiguity is not None]
    return Measured(
        sum(steps for _, steps in logs),
        sum(each.events for each in found),
        seconds,
        tlc_seconds,
        sum(each.verdict is Verdict.INCONCLUSIVE for each in by_tlc),
        max((each.states for each in told), default=1),
        sum(sum(each.entropy.values()) for each in told) / len(found),
        sum(checked(judged, paths).verdict is Verdict.VIOLATED for paths in rash),
    )


def rows(folder: Path, args: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each way to tell."""
    full: Measured | None = None
    for number, way in enumerate(WAYS):
        found = measured(way, folder / f"way-{number}", args)
        full = full or found
        rate, tlc_rate = found.steps / found.seconds, found.steps / found.tlc_seconds
        ratio, tlc_ratio = found.seconds / full.seconds, found.tlc_seconds / full.seconds
        told = f"{found.lines / found.steps:.0%}"
        least, most = (">", "<") if found.spent else ("", "")
        yield (
            way.title, told, found.states, f"{found.bits:.2f}", f"{rate:,.0f}", f"{ratio:.1f}x",
            f"{most}{tlc_rate:,.1f}", f"{least}{tlc_ratio:,.0f}x", f"{found.refuted} of {args.rash}",
        )  # fmt: skip
        spent = f", nothing found of {found.spent}" if found.spent else ""
        said = f"{way.title}: {found.seconds:.2f} s, TLC {found.tlc_seconds:.2f} s{spent}"
        print(said, file=sys.stderr, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=8)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--rash", type=int, default=20, help="how many runs of a rash transaction manager")
    parser.add_argument("--tlc-timeout", type=float, default=600, help="seconds that TLC may take for a run")
    parser.add_argument("--keep", type=Path, help="a folder for logs and mappings, to look at them")
    args = parser.parse_args()
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}, Java {find_java().version}")
    print(f"{args.runs} runs of {args.transactions} transactions\n")
    with tempfile.TemporaryDirectory() as name:
        found = list(rows(args.keep or Path(name), args))
    heads = ("what the logs tell", "lines", "states carried", "bits", "events/s", "time", "TLC events/s", "TLC time",
             "rash runs refuted")  # fmt: skip
    print(table(heads, found))


if __name__ == "__main__":
    main()
