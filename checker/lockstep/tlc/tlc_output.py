"""Read the messages of TLC into a result, and decide the verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from lockstep.tlc.tlc_messages import MessageCode, MessageReader, Severity, TlcMessage
from lockstep.tlc.tlc_result import (
    ActionCoverage,
    Progress,
    SimulationStats,
    TlcCounterexample,
    TlcLocation,
    TlcStep,
)

_VARIABLE = re.compile(r"^(?:/\\ )?(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:![A-Za-z0-9_!]+)*) = ?(?P<value>.*)$")
_STEP = re.compile(r"^(?P<index>\d+): <(?P<what>.*)>$")
_BACK = re.compile(r"^(?P<index>\d+): Back to state(?:: <(?P<what>.*)>)?$", re.MULTILINE)
_COUNT = r"(-?[\d,]+)"
_PROGRESS = re.compile(
    rf"^Progress\({_COUNT}\) at .*?: {_COUNT} states? generated(?: \([^)]*\))?,"
    rf" {_COUNT} distinct states? found(?: \([^)]*\))?, {_COUNT} states? left on queue"
)
_STATS = re.compile(rf"^{_COUNT} states? generated, {_COUNT} distinct states? found, {_COUNT} states? left on queue")
_DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
_VERSION = re.compile(r"Version (?P<version>\S+)(?: of .*?)?(?: \(rev: (?P<revision>\S+)\))?\s*$")
_COVERAGE = re.compile(r"^<(?P<action>\S+) (?P<location>line .*?)>: (?P<distinct>\d+):(?P<generated>\d+)")
_COLLISION = re.compile(r"val = (?P<value>[-+.\dEe]+)")
_SIMULATION_SEED = re.compile(r"seed (?P<seed>-?\d+) and aril (?P<aril>-?\d+)")


def parse_state(text: str) -> dict[str, str]:
    r"""Read a state as TLC prints it: `/\ name = value` lines, or `name = value` for a single variable.

    Arguments: `text`, the state alone. A value may run over several indented lines; they are joined by one
    space, which is harmless because TLC escapes the newlines inside strings.
    Returns the printed value of each variable, in TLC's order.
    Raises ValueError on a line that belongs to no variable.
    """
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        if not line.strip():
            continue
        match = None if line[0] == " " else _VARIABLE.match(line)
        if match is not None:
            current = values.setdefault(match["name"], [])
            current.append(match["value"].strip())
        elif current is not None:
            current.append(line.strip())
        else:
            raise ValueError(f"not a line of a state: {line!r}")
    return {name: " ".join(part for part in parts if part) for name, parts in values.items()}


def parse_step(text: str) -> TlcStep:
    """Read one printed state of a counterexample, with its header `2: <Action line ... of module M>`.

    Raises ValueError when the header or the state is not in TLC's form.
    """
    header, _, body = text.partition("\n")
    match = _STEP.match(header)
    if match is None:
        raise ValueError(f"not the header of a state: {header!r}")
    action, location = _action_and_location(match["what"])
    return TlcStep(int(match["index"]), action, location, parse_state(body), text)


def _action_and_location(what: str) -> tuple[str | None, TlcLocation | None]:
    """The name and position out of `Action line 1, col 2 to ...`; no name for the initial predicate."""
    location = TlcLocation.parse(what)
    if location is None:
        return (None if what == "Initial predicate" else what), None
    name = what.partition(" line ")[0]
    return (None if name == "Action" or name.startswith("line ") else name), location


def _number(text: str) -> int:
    """A count of TLC, which may have commas between the thousands."""
    return int(text.replace(",", ""))


class OutputReader:
    """Gather everything a result needs out of the lines of one run.

    Arguments: `on_progress`, called with each progress report.
    """

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        self.messages = MessageReader()
        self.on_progress = on_progress
        self.version: str | None = None
        self.codes: set[int] = set()
        self.errors: list[TlcMessage] = []
        self.warnings: list[str] = []
        self.positions: tuple[str, ...] = ()
        self.steps: list[TlcStep] = []
        self.unread_states: list[str] = []
        self.back_to: int | None = None
        self.back_action: str | None = None
        self.stuttering = False
        self.progress: Progress | None = None
        self.depth: int | None = None
        self.collision_probability: float | None = None
        self.coverage: list[ActionCoverage] = []
        self.simulation: SimulationStats | None = None
        self._handlers: dict[int, Callable[[str], None]] = {
            MessageCode.VERSION: self._on_version,
            MessageCode.PROGRESS: self._on_progress,
            MessageCode.STATS: self._on_stats,
            MessageCode.SEARCH_DEPTH: self._on_depth,
            MessageCode.SUCCESS: self._on_success,
            MessageCode.STATE: self._on_state,
            MessageCode.STUTTERING: self._on_stuttering,
            MessageCode.BACK_TO_STATE: self._on_back,
            MessageCode.NESTED_EXPRESSION: self._on_positions,
            MessageCode.FINGERPRINT: self._on_positions,
            MessageCode.COVERAGE_START: self._on_coverage_start,
            MessageCode.COVERAGE_NEXT: self._on_coverage_next,
            MessageCode.COVERAGE_INIT: self._on_coverage_init,
            MessageCode.SIMULATION_PROGRESS: self._on_simulation,
            MessageCode.SIMULATION_STATS: self._on_simulation,
        }

    def feed(self, line: str) -> None:
        """Take one line of TLC's output, without its newline."""
        message = self.messages.feed(line)
        if message is None:
            return
        self.codes.add(message.code)
        handler = self._handlers.get(message.code)
        if handler is not None:
            handler(message.text)
        if message.severity == Severity.WARNING:
            self.warnings.append(message.text)
        elif message.severity in (Severity.ERROR, Severity.TLC_BUG):
            self.errors.append(message)

    def counterexample(self) -> TlcCounterexample | None:
        """The behaviour TLC printed, or None when it printed none."""
        if not self.steps:
            return None
        return TlcCounterexample(tuple(self.steps), self.back_to, self.back_action, self.stuttering)

    def _on_version(self, text: str) -> None:
        match = _VERSION.search(text)
        if match is not None:
            revision = f" (rev {match['revision']})" if match["revision"] else ""
            self.version = match["version"] + revision

    def _on_progress(self, text: str) -> None:
        match = _PROGRESS.match(text)
        if match is not None:
            depth, generated, distinct, queue = (_number(group) for group in match.groups())
            self.progress = Progress(depth, generated, distinct, queue)
            if self.on_progress is not None:
                self.on_progress(self.progress)

    def _on_stats(self, text: str) -> None:
        match = _STATS.match(text)
        if match is not None:
            generated, distinct, queue = (_number(group) for group in match.groups())
            depth = self.progress.depth if self.progress is not None else 0
            self.progress = Progress(depth, generated, distinct, queue)

    def _on_depth(self, text: str) -> None:
        match = _DEPTH.search(text)
        if match is not None:
            self.depth = int(match[1])

    def _on_success(self, text: str) -> None:
        values = [float(match["value"]) for match in _COLLISION.finditer(text)]
        self.collision_probability = max(values, default=None)

    def _on_state(self, text: str) -> None:
        try:
            self.steps.append(parse_step(text))
        except ValueError:
            self.unread_states.append(text)

    def _on_stuttering(self, text: str) -> None:
        self.stuttering = True

    def _on_back(self, text: str) -> None:
        match = _BACK.search(text)
        if match is None:
            self.unread_states.append(text)
            return
        self.back_to = int(match["index"])
        self.back_action = _action_and_location(match["what"])[0] if match["what"] else None

    def _on_positions(self, text: str) -> None:
        found = re.findall(r"^\d+[.)] ([Ll]ine .*)$", text, re.MULTILINE)
        self.positions = tuple(found)

    def _on_coverage_start(self, text: str) -> None:
        self.coverage.clear()

    def _on_coverage_next(self, text: str) -> None:
        self._add_coverage(text, is_initial=False)

    def _on_coverage_init(self, text: str) -> None:
        self._add_coverage(text, is_initial=True)

    def _add_coverage(self, text: str, *, is_initial: bool) -> None:
        match = _COVERAGE.match(text)
        location = None if match is None else TlcLocation.parse(match["location"])
        if match is not None and location is not None:
            counts = (int(match["distinct"]), int(match["generated"]))
            self.coverage.append(ActionCoverage(match["action"], location, *counts, is_initial))

    def _on_simulation(self, text: str) -> None:
        counted = re.search(rf": {_COUNT} states generated|states generated: {_COUNT}", text)
        seed = _SIMULATION_SEED.search(text)
        before = self.simulation
        generated = _number(counted[1] or counted[2]) if counted is not None else 0
        self.simulation = SimulationStats(
            generated=generated or (before.generated if before is not None else 0),
            seed=int(seed["seed"]) if seed is not None else (before.seed if before is not None else None),
            aril=int(seed["aril"]) if seed is not None else (before.aril if before is not None else None),
        )


_CFG_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_CFG_KEYWORDS = frozenset(
    {"CONSTANT", "CONSTANTS", "INIT", "NEXT", "SPECIFICATION", "INVARIANT", "INVARIANTS", "PROPERTY"}
    | {"PROPERTIES", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS", "VIEW"}
    | {"SYMMETRY", "TYPE", "TYPE_CONSTRAINT", "ALIAS", "POSTCONDITION", "CHECK_DEADLOCK"}
)


def cfg_section(cfg_text: str, *keywords: str) -> tuple[str, ...]:
    """The words of a cfg that stand under one of `keywords` (PROPERTY, SYMMETRY, ...), comments left out."""
    chosen: list[str] = []
    inside = False
    for word in _CFG_COMMENT.sub(" ", cfg_text).split():
        if word in _CFG_KEYWORDS:
            inside = word in keywords
        elif inside:
            chosen.append(word)
    return tuple(chosen)


def cfg_properties(cfg_path: Path) -> tuple[str, ...]:
    """The names listed under PROPERTY and PROPERTIES of a cfg; empty when it cannot be read."""
    try:
        return cfg_section(cfg_path.read_text(encoding="utf-8", errors="replace"), "PROPERTY", "PROPERTIES")
    except OSError:
        return ()
