"""A standalone Spark cluster of this machine: a Master and Workers, each with folders of its own.

Every process of it is in a session of processes that a test began, whatever group it has moved to. By the session a
test finds the processes to end, and those that were left.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from tests.support.programs.processes import kill, wait_until

HOME = Path(pyspark.__file__).parent


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it; `state` is R where it runs."""

    pid: int
    parent: int
    session: int
    state: str
    words: str


def processes(sessions: set[int]) -> list[Process]:
    """The living processes of some sessions."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
            if fields and int(fields[3]) in sessions and fields[0] not in "ZX":
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(entry.name), int(fields[1]), int(fields[3]), fields[0], words))
        except OSError:
            continue
    return found


@dataclass
class Standalone:
    """A running cluster; `folder` has the logs, and the folders of each Worker."""

    folder: Path
    url: str = ""
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def sessions(self) -> set[int]:
        return {each.pid for each in self.daemons.values()}

    def begin(self, name: str, kind: str, *words: str, **variables: str) -> str:
        """Start a Master or a Worker; returns the first match in its log, which shows that it runs."""
        log = self.folder / f"{name}.log"
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
        command += ["--port", "0", "--webui-port", "0", *words]
        variables |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(HOME), "SPARK_DAEMON_MEMORY": "256m"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        with log.open("wb") as out:
            self.daemons[name] = subprocess.Popen(
                command, stdout=out, stderr=out, env=inherited | variables, start_new_session=True
            )
        pattern = (
            r"Starting Spark master at (spark://\S+)" if kind.startswith("master") else r"(Successfully registered)"
        )
        assert wait_until(lambda: re.search(pattern, log.read_text()) or self.daemons[name].poll() is not None, 180)
        match = re.search(pattern, log.read_text())
        assert match is not None, log.read_text()
        return match[1]

    def worker(self, name: str, *, local: Path | None = None) -> None:
        """Start a Worker of one core; `local` is its folder for Spark's scratch files."""
        local = local or self.folder / name / "local"
        work = self.folder / name / "work"
        for each in (local, work):
            each.mkdir(parents=True, exist_ok=True)
        self.begin(
            name,
            "worker.Worker",
            *("--cores", "1", "--memory", "1g", self.url),
            SPARK_WORKER_DIR=str(work),
            SPARK_LOCAL_DIRS=str(local),
            TMPDIR=str(local),
        )

    def below(self, name: str) -> list[Process]:
        """The processes under a Worker: executors, Python's daemons, their workers."""
        return [each for each in processes({self.daemons[name].pid}) if each.pid != self.daemons[name].pid]

    def busy(self) -> tuple[str, Process, Process] | None:
        """A Python worker that runs at this moment: the name of its Worker, its executor, itself; or None."""
        for name in self.daemons:
            there = {each.pid: each for each in processes({self.daemons[name].pid})}
            for each in there.values():
                daemon = there.get(each.parent)
                if (
                    each.state == "R"
                    and daemon is not None
                    and "pyspark.daemon" in each.words
                    and "java" not in daemon.words
                ):
                    executor = there.get(daemon.parent)
                    if executor is not None:
                        return name, executor, each
        return None

    def end(self, name: str) -> None:
        """End a Master or a Worker, and what runs under it."""
        kill([each.pid for each in processes({self.daemons[name].pid})])
        self.daemons.pop(name).wait()


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """Run a Master and Workers as long as the block lasts, and leave nothing behind however it ends."""
    folder.mkdir(exist_ok=True)
    cluster = Standalone(folder)
    begun: set[int] = set()
    try:
        cluster.url = cluster.begin("master", "master.Master")
        for number in range(1, workers + 1):
            cluster.worker(f"worker-{number}")
        yield cluster
    finally:
        begun = cluster.sessions
        for name in list(cluster.daemons):
            cluster.end(name)
        kill([each.pid for each in processes(begun)])
    assert wait_until(lambda: not processes(begun), 20)
