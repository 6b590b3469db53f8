"""Where something is, for tools that look for it from the top of a repository."""

from __future__ import annotations

from pathlib import Path


def relative(file: str) -> str:
    """Return a file as it is called from the current folder, with slashes; one that lies elsewhere keeps its name."""
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
