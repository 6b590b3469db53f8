"""The programs of users of Spark: a notebook, and the job that ships, by spark-submit and where Spark runs already."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from lockstep.cli.pipeline import spark_job
from tests.support.pipeline.pipeline_runs import RUN, begun, end_begun, rows, started
from tests.support.pipeline.standalone import HOME
from tests.support.places import ROOT

pytestmark = pytest.mark.nightly

NOTEBOOK = ROOT / "docs" / "traces" / "spark.ipynb"
WORDS = ("--run", RUN, "--seeds", "2", "--plan", "ordered", "--events", "60", "--format", "json")
#: Spark listens on this machine alone, and its workers run this Python.
ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME)}
SECONDS = 600

#: A job on a hosted Spark begins where Spark runs already, and must leave it running.
HOSTED = """
import runpy, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
job = sys.argv.pop(1)
try:
    runpy.run_path(job, run_name="__main__")
except SystemExit as end:
    print("exit code", end.code, "and", spark.range(5).count(), "rows")
"""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The verdicts of the command."""
    store = tmp_path_factory.mktemp("command") / "store"
    process = begun(store, "--master", "local[2]", words=WORDS)
    output, _ = process.communicate(timeout=SECONDS)
    end_begun()
    assert process.returncode in (0, 3), output  # of so few clusters a floor may say nothing
    return rows(store, "verdicts")


def outputs(book: Any) -> list[list[Any]]:
    """The outputs of each cell but for what Java writes to its standard error."""
    return [
        [each for each in cell.get("outputs", []) if (each["output_type"], each.get("name")) != ("stream", "stderr")]
        for cell in book.cells
    ]


def test_the_notebook_checks_traces_in_the_session_that_it_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept, ran = nbformat.read(NOTEBOOK, as_version=4), nbformat.read(NOTEBOOK, as_version=4)
    sources = [cell.source for cell in ran.cells if cell.cell_type == "code"]
    assert [index for index, source in enumerate(sources) if "getOrCreate()" in source] == [0]
    assert "lockstep" not in sources[0]
    for cell in ran.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(ran, timeout=SECONDS, kernel_name="python3", resources=place).execute()
    assert outputs(ran) == outputs(kept)
    assert "violates IndexOrder" in str(outputs(ran))
    assert "before = dict(spark.conf.getAll)" in sources[0]
    assert "dict(spark.conf.getAll) == before" in sources[-1]
    assert [each["data"] for each in outputs(ran)[-1]] == [{"text/plain": "True"}]


def test_spark_submit_runs_the_job_that_ships_and_shows_its_ui(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    submit = [str(HOME / "bin" / "spark-submit"), "--master", "local[2,4]", "--name", "traces"]
    submit += ["--conf", f"spark.ui.port={port}"]
    store = tmp_path / "store"
    process = started([*submit, spark_job.__file__, "run", str(store), *WORDS], **ENVIRONMENT)
    names: set[str] = set()
    while process.poll() is None and not names:
        time.sleep(0.1)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/applications", timeout=5) as answer:
                names = {each["name"] for each in json.load(answer)}
        except (OSError, ValueError):  # it is not there yet, or is starting up
            continue
    output, errors = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, 3), errors
    assert json.loads(output)["run"] == RUN
    assert rows(store, "verdicts") == expected != []
    assert names == {"traces"}


def test_the_job_uses_a_spark_that_runs_already_and_leaves_it_running(
    expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    line = [sys.executable, "-c", HOSTED, spark_job.__file__, "run", str(store), *WORDS]
    found = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=os.environ | ENVIRONMENT)
    assert found.stdout.splitlines()[-1] in ("exit code 0 and 5 rows", "exit code 3 and 5 rows"), found.stderr
    assert rows(store, "verdicts") == expected != []


def test_the_command_prints_the_path_of_the_job() -> None:
    line = [sys.executable, "-m", "lockstep", "pipeline", "job"]
    found = subprocess.run(line, capture_output=True, text=True, check=True)
    assert found.stdout == f"{spark_job.__file__}\n"
