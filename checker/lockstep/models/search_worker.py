"""A search in a worker process, which has a budget of processor time and can be cancelled.

    python -m lockstep.models.search_worker TASK RESULT

The task and the result are pickled: both processes are this program, and the files lie in a folder of this user alone.
"""

from __future__ import annotations

import pickle
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles, refused_result
from lockstep.models.spec_search import explore_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tlc import Budget, Cause
from lockstep.tlc.supervised_process import ProcessEnd, run_supervised


def explore_in_worker(
    files: SpecFiles, engine: Engine, options: SearchOptions, budget: Budget, cancel: threading.Event | None = None
) -> SearchResult:
    """Explore a spec in a worker process.

    Arguments: as of explore_spec; `budget`, the time that the worker may run; `cancel`, an event that ends it.
    Returns the result; an inconclusive one where the budget was spent, or the worker was cancelled or died.
    """
    begin = time.perf_counter()
    with scratch("search") as folder:
        task, answer = folder / "task", folder / "result"
        task.write_bytes(pickle.dumps((files, engine, options)))
        ended = run_supervised(
            _command(task, answer),
            cwd=folder,
            stderr=folder / "stderr",
            on_output=lambda _: None,
            budget=budget,
            should_stop=lambda: cancel is not None and cancel.is_set(),
        )
        seconds = time.perf_counter() - begin

        def inconclusive(cause: Cause, reason: str) -> SearchResult:
            verdict = Verdict.INCONCLUSIVE
            return SearchResult(
                spec=str(files.module), engine=engine, verdict=verdict, reason=reason, cause=cause, seconds=seconds
            )

        if ended.end is ProcessEnd.TIMED_OUT:
            return inconclusive(Cause.TIMED_OUT, f"{ended.end} {ended.spent}")
        if ended.end is ProcessEnd.CANCELLED:
            return inconclusive(Cause.CANCELLED, str(ended.end))
        found = _result(answer) if ended.status == 0 else None
        if found is None:
            last_words = " ".join(ended.stderr_tail[-1:]) or f"exit status {ended.status}"
            return inconclusive(Cause.TOOL_FAILED, f"the search by {engine} died: {last_words}")
    return replace(found, seconds=seconds)


def _command(task: Path, answer: Path) -> list[str]:
    return [sys.executable, "-m", "lockstep.models.search_worker", str(task), str(answer)]


def _result(answer: Path) -> SearchResult | None:
    """Read the result that a worker wrote; None where that is none."""
    try:
        found = pickle.loads(answer.read_bytes())
    except Exception:  # whatever a file that is cut off raises
        return None
    return found if isinstance(found, SearchResult) else None


def main() -> None:
    """Explore what a file says, and write the result into another."""
    task, answer = map(Path, sys.argv[1:])
    files, engine, options = pickle.loads(task.read_bytes())
    try:
        found = explore_spec(files, engine, options)
    except (BadInputError, GaveUpError) as error:
        found = refused_result(files, engine, error)
    answer.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
