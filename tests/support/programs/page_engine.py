"""Python as a page runs it: with what the page carries, and without Java and a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Opens what a page carries, and answers the requests that it is given.
AS_A_PAGE = """
import json, sys
from lockstep.jobs.play_folder.browser_engine import open_engine
engine = open_engine(sys.argv[1])
print(json.dumps([json.loads(engine.ask(json.dumps(request))) for request in json.load(sys.stdin)]))
"""


def answered_without_java(folder: Path, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers of a process that has the folder of a game or an exercise, no cache, and no Java."""
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "TLA2TOOLS_JAR")}
    done = subprocess.run(
        [sys.executable, "-c", AS_A_PAGE, str(folder)],
        env={**kept, "PATH": str(folder)},
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
