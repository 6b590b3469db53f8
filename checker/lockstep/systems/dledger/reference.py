"""Where the Python reference implements an action of the spec."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path

from raftref.action import actions_of
from raftref.dledger.server import Server


@functools.cache
def reference_location(action: str) -> str:
    """Return FILE:LINE of the reference's method for an action, or "" where it has none.

    The environment's own actions (loss, copies) have none.
    """
    found = actions_of(Server).get(action)
    if found is None:
        return ""
    method = inspect.unwrap(found.perform)
    path = Path(inspect.getsourcefile(method) or "")
    root = path.parents[path.parts[::-1].index("raftref") + 1] if "raftref" in path.parts else path.parent
    return f"{path.relative_to(root)}:{inspect.getsourcelines(method)[1]}"
