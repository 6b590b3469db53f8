"""The exceptions of the TLC runner."""

from __future__ import annotations

from pathlib import Path

from lockstep.base.errors import BadInputError, GaveUpError


class TlcError(Exception):
    """Something about running TLC is wrong that no verdict can express."""


class ToolMissing(TlcError, GaveUpError):  # noqa: N818 - it names what happened
    """A tool that TLC needs is absent or unusable; the text says what was found and what to install."""


class ToolDied(TlcError, GaveUpError):  # noqa: N818 - it names what happened
    """A tool was there, but did not finish in its time."""


class GraphError(TlcError):
    """TLC's dump of the state graph cannot be had or cannot be read whole."""


class ManifestError(TlcError, BadInputError):
    """The manifest of models is malformed.

    Arguments: `path`, the manifest; `problem`, what is wrong; `model` and `field`, where, when that is known.
    """

    def __init__(self, path: Path, problem: str, *, model: str | None = None, field: str | None = None) -> None:
        """Compose the one-line message out of its parts."""
        self.path = path
        self.problem = problem
        self.model = model
        self.field = field
        where = str(path)
        if model is not None:
            where += f": model {model}"
        if field is not None:
            where += f": field {field}"
        super().__init__(f"{where}: {problem}")
