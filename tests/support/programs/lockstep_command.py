"""The command as a user runs it, without the second that Python takes to import it and what it imports as it runs.

Each run is a process of its own, forked from one that has imported all this and done nothing else. Tests of signals,
and of how a process starts and ends, start a new one instead.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypedDict

SECONDS = 120

#: Packages whose modules commands import as they run, which takes longer than most commands of tests do.
PACKAGES = (
    *("cli", "conformance", "logs", "models", "report", "systems", "tla", "trace"),
    *("jobs.minimise_trace", "jobs.play", "jobs.view"),
)

#: The kernels of a graphics card, which need what is not always there.
LEFT_OUT = "lockstep.tla.tables.cuda"

#: What is lazy, and no package of ours.
OTHERS = ("jinja2", "networkx", "numpy", "platformdirs")


class Run(TypedDict):
    """One run, as it is sent to the process that forks."""

    args: list[str]
    cwd: str
    environ: dict[str, str]
    out: str
    err: str


def lockstep(*args: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `lockstep` with these arguments in a folder, with these variables beside its environment."""
    words = list(map(str, args))
    with tempfile.TemporaryDirectory(prefix="command-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        run = Run(args=words, cwd=str(cwd), environ={**os.environ, **environ}, out=str(out), err=str(err))
        status = _Forks.of_this_process().ran(run)
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(words, SECONDS)
        return subprocess.CompletedProcess(
            words, status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
        )


class _Forks:
    """The process that has imported the command, and forks one for each run."""

    _this: _Forks | None = None

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._process.kill)

    @classmethod
    def of_this_process(cls) -> _Forks:
        if cls._this is None:
            cls._this = cls()
        return cls._this

    def ran(self, run: Run) -> int:
        """Return the exit status of a run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(run) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def _serve() -> None:
    """Fork for each line of standard input, and print the exit status."""
    import gc
    from contextlib import suppress

    from lockstep.tlc import ToolMissing, find_java

    _import_what_commands_import()
    with suppress(ToolMissing):
        find_java()  # Java is asked for its version once.
    gc.freeze()  # A process that is forked need not look through all this for garbage.
    for line in sys.stdin:
        run: Run = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(run)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _import_what_commands_import() -> None:
    """Import the modules that commands import, so that no process that is forked has to."""
    from importlib import import_module
    from pkgutil import walk_packages

    import raftref

    names = [each.name for each in walk_packages(raftref.__path__, "raftref.")]
    for name in PACKAGES:
        module = import_module(f"lockstep.{name}")
        names += [each.name for each in walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")]
    for name in (*OTHERS, *(each for each in names if not each.startswith(LEFT_OUT))):
        import_module(name)


def _become(run: Run) -> None:
    """Become the command: take its folder, variables and files, and exit with its status."""
    import traceback

    from lockstep.__main__ import main

    signal.alarm(SECONDS)
    os.chdir(run["cwd"])
    os.environ.clear()
    os.environ.update(run["environ"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, run["out"]), (2, run["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["lockstep", *run["args"]]
    status = 1
    try:
        main()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
