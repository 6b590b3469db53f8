"""The result of exploring a spec, whichever engine explored it, and the files that it was explored from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import Cause


class Engine(StrEnum):
    """An engine that explores a spec: TLC, or the Python compiled from it, whose counts are TLC's.

    The compiled spec is evaluated in each state (literal), or once for each value of what an action reads (tables);
    COMPILED begins with the one, and goes on with the other.
    """

    TLC = "tlc"
    COMPILED = "compiled"
    TABLES = "tables"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class SpecFiles:
    """The files of a spec.

    `module` is the root module, `named_cfg` its cfg where that is not the file beside it, `library` are further folders
    with modules, `jar` is the tla2tools that parse it. `mapping` says which steps of the spec the lines of a log are.
    """

    module: Path
    named_cfg: Path | None = None
    library: tuple[Path, ...] = ()
    jar: Path | None = None
    mapping: Path | None = None

    @property
    def cfg(self) -> Path:
        """The cfg: the one named, or the one beside the module."""
        return self.named_cfg or self.module.with_suffix(".cfg")

    def load(self) -> Spec:
        """Compile the spec; see :func:`lockstep.tla.loading.load_spec.load_spec`."""
        return load_spec(self.module, self.cfg, search_path=self.library, jar=self.jar)

    def load_if_possible(self) -> Spec | None:
        """Compile the spec to add to TLC's result; return None where that fails, since the result stands without it."""
        try:
            return self.load()
        except (BadInputError, GaveUpError, EnvironmentFailedError, TlaError, RecursionError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of exploring a spec: counts as TLC counts them, and the property that is violated.

    `counterexample` is a shortest path to the violation; None where there is none. `notes` are lines on what was not
    checked, or what the spec does besides. `cause` says why a run of a tool is inconclusive; `tool_version` is TLC's.
    """

    spec: str
    engine: Engine
    verdict: Verdict
    reason: str
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    property: str | None = None
    notes: tuple[str, ...] = ()
    counterexample: Behaviour | None = None
    cause: Cause | None = None
    tool_version: str | None = None

    def record(self) -> dict[str, Any]:
        """Return the result as the command prints it, without the counterexample."""
        names = (
            "spec",
            "engine",
            "verdict",
            "reason",
            "distinct",
            "generated",
            "depth",
            "seconds",
            "property",
            "notes",
        )
        return {name: getattr(self, name) for name in names}


def refused_result(files: SpecFiles, engine: Engine, error: BadInputError | GaveUpError) -> SearchResult:
    """Return the result of a search that did not begin, or gave up without a count."""
    verdict = Verdict.MALFORMED if isinstance(error, BadInputError) else Verdict.INCONCLUSIVE
    return SearchResult(spec=str(files.module), engine=engine, verdict=verdict, reason=str(error))
