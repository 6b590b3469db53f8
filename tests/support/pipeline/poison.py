"""Traces whose check kills its process, or never ends: what an error in C, or too little memory, comes to."""

from __future__ import annotations

import os
from pathlib import Path

#: Code that each Python process runs as it starts. The check of a trace whose name begins with one of the DEATHS then
#: dies of it. With a prefix in the name something else kills: `first_` its initial state, `spec_` compiling its spec,
#: `read_` reading its events, `import_` importing it.
_AT_START = """
import os, signal, time
from lockstep.conformance.trace_check import TraceCheck
from lockstep.trace.trace_reader import Trace
import lockstep.systems.trace_files
import lockstep.systems.trace_specs

DEATHS = {
    "exits": lambda: os._exit(7),
    "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "is_killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hangs": lambda: time.sleep(3600),
}

def dying_of(taken, before, source_of=lambda check, *_: check.trace.source):
    def take(*arguments, **named):
        name = os.path.basename(source_of(*arguments))
        for begin, die in DEATHS.items():
            if name.startswith(before + begin):
                die()
        return taken(*arguments, **named)

    return take

TraceCheck.follow = dying_of(TraceCheck.follow, "")
TraceCheck.initial = dying_of(TraceCheck.initial, "first_")
Trace.__iter__ = dying_of(Trace.__iter__, "read_", lambda trace: trace.source)
compiled = lockstep.systems.trace_specs.trace_spec
lockstep.systems.trace_specs.trace_spec = dying_of(compiled, "spec_", lambda header, source, *_: source)
imported = lockstep.systems.trace_files.imported_trace
lockstep.systems.trace_files.imported_trace = dying_of(imported, "import_", lambda path, *_: path.name)
"""


def poison(folder: Path) -> Path:
    """A folder for PYTHONPATH, by which checks die of traces named `exits`, `crashes`, `is_killed` or `hangs`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_AT_START, encoding="utf-8")
    return folder


#: The first process that looks for the files of a watch takes longer to start than Spark waits for it.
_SLOW_AT_FIRST = """
import os, sys, time

if "pyspark.sql.streaming.python_streaming_source_runner" in sys.orig_argv:
    begun = os.path.join(os.path.dirname(__file__), "begun")
    with open(begun, "a") as file:
        file.write("x")
    if os.path.getsize(begun) == 1:
        time.sleep(30)
"""


def slow_at_first(folder: Path) -> dict[str, str]:
    """The environment of a watch whose source is too slow to start, but only once; `folder`/begun counts its starts."""
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(_SLOW_AT_FIRST, encoding="utf-8")
    return _with_path(folder)


def _with_path(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def poisoned(folder: Path) -> dict[str, str]:
    """The environment of a command with poison."""
    return _with_path(poison(folder))
