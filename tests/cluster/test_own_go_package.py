"""A Go test of an application's own package, recorded and checked with the commands of the recorder's README.

The package and its test are traces/recorders/hashicorp/example; here they are a module of their own, as with a user.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.systems.go_programs import SOURCES, skip_unless_fetched

pytestmark = pytest.mark.nightly

#: The commands are in a block of their own of the README.
COMMANDS = re.compile(r"```\n(go mod edit.*?)```", re.DOTALL)


def recorded(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands of the README in a module with nothing but the example; return what the last one did."""
    if shutil.which("go") is None:
        pytest.skip("Go is missing")
    for source in (SOURCES / "example").glob("*.go"):
        shutil.copy(source, folder)
    (folder / "go.mod").write_text("module kv\n\ngo 1.25.0\n\nrequire github.com/hashicorp/raft v1.8.0\n")
    block = COMMANDS.search((SOURCES / "README.md").read_text())
    assert block is not None
    assert "$HOME/lockstep/traces/recorders/hashicorp" in block[1]
    *before, check = block[1].replace("$HOME/lockstep/traces/recorders/hashicorp", str(SOURCES)).splitlines()
    for command in before:
        done = run(command, folder)
        skip_unless_fetched(done)
        assert done.returncode == 0, done.stdout + done.stderr
    return run(check, folder)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": paths},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_test_of_forty_lines_records_a_group_of_a_users_own_package_that_holds(tmp_path: Path) -> None:
    assert len((SOURCES / "example" / "kv_test.go").read_text().splitlines()) <= 40
    done = recorded(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "group.ndjson: holds: a behaviour of the spec; every property holds" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "group.ndjson").read_text().splitlines()]
    applied = {(line["node"], line["v"]) for line in lines if line["kind"] == "fsm_apply"}
    assert any(value == "color=blue" for _, value in applied)
    assert {line["node"] for line in lines if line["kind"] == "stopped"} == {"n1", "n2", "n3"}


def test_a_lie_in_the_file_of_a_server_is_refused(tmp_path: Path) -> None:
    """A server applies another command, stores another one, or has another one in its store in the end."""
    assert recorded(tmp_path).returncode == 0
    texts = {path: path.read_text() for path in sorted(tmp_path.glob("n?.ndjson"))}
    for kind in ("fsm_apply", "store_logs", "stopped"):
        path, line = next(
            (path, line)
            for path, text in texts.items()
            for line in text.splitlines()
            if json.loads(line)["kind"] == kind and "color=blue" in line
        )
        path.write_text(texts[path].replace(line, line.replace("color=blue", "color=red")))
        merged = run("lockstep merge n1.ndjson n2.ndjson n3.ndjson -o group.ndjson", tmp_path)
        assert merged.returncode == 0, merged.stderr
        done = run("lockstep check group.ndjson", tmp_path)
        assert (done.returncode, "violated" in done.stdout) == (1, True), f"{kind}: {done.stdout}"
        path.write_text(texts[path])
