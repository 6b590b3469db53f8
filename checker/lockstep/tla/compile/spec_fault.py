"""Faults of a spec, with the place of the failed evaluation, by the traceback and the generated source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

from lockstep.base.errors import INCOMPLETE_STEP, NO_VALUE
from lockstep.tla.compile.expression_context import NEXT
from lockstep.tla.values.kinds import TlaError, Value, format_call
from lockstep.tla.values.next_state import NextState, UnassignedError

#: The file name with which generated source is compiled.
_FILE = "<compiled TLA+>"
_PLACE = re.compile(r"# (\w+\.tla:\d+:\d+)")
_OWN_PLACE = re.compile(r" at (\w+\.tla:\d+:\d+)")


class SpecFault(TlaError):  # noqa: N818 - it is found in a spec
    """A formula of the spec that has no value, or a step that leaves out a variable: a mistake of the spec's author.

    The message has the place, the code, what was evaluated with its arguments, and what is wrong.

    Attributes:
        place: where it is, as MODULE.tla:LINE:COLUMN; empty where that is not known.
        what: what was evaluated, and what is wrong.
        trace: the steps (of lockstep.tla.explore) to the state in which it was evaluated; empty outside a search.
    """

    def __init__(self, code: str, place: str, what: str, trace: tuple[Any, ...] = ()) -> None:
        super().__init__(f"{place}: {code} {what}" if place else f"{code} {what}")
        self.code, self.place, self.what, self.trace = code, place, what, trace


def fault_of(
    error: TlaError, source: str, what: str, args: Mapping[str, Value], place: str = "", trace: tuple[Any, ...] = ()
) -> SpecFault:
    """Return the fault of the spec behind an error, with its place.

    Args:
        what: what was evaluated, such as the name of an action.
        place: where it is defined; the place of the formula that failed, where that is known, is nearer.
        trace: the steps to the state in which it was evaluated.
    """
    if isinstance(error, SpecFault):
        return SpecFault(error.code, error.place, error.what, error.trace or trace)
    called = format_call(what, args)
    frame, line = _innermost(error.__traceback__)
    lines = source.splitlines()
    if frame is not None and isinstance(error, UnassignedError) and "State((" in lines[line - 1]:
        lacking = list(_unassigned(frame))
        of_init, of_next = ("is", "becomes") if len(lacking) == 1 else ("are", "become")
        verb = of_init if what == "Init" else f"{of_next} (a missing UNCHANGED?)"
        said = f"{called} does not say what {' and '.join(lacking)} {verb}"
        return SpecFault(INCOMPLETE_STEP, place, said, trace)
    near = next(_places(lines, line), place) if frame is not None else place
    said = str(error)
    if (own := _OWN_PLACE.search(said)) is not None:  # of a CASE or a CHOOSE, which is nearer than its conjunct
        near, said = own[1], said.replace(own[0], "", 1)
    if isinstance(error, UnassignedError):
        read = error.name if what == "Init" else f"{error.name}'"
        said = f"{read} is read before it is said what {read} is: put `{read} = ...` before it"
    return SpecFault(NO_VALUE, near, f"{called}: {said}" if called else said, trace)


def place_of(error: BaseException, source: str) -> str:
    """Return the place in the spec that an error comes from; empty where it does not come from generated code."""
    frame, line = _innermost(error.__traceback__)
    return "" if frame is None else place_of_line(source, line)


def place_of_line(source: str, line: int) -> str:
    """Return the place in the spec of a line of generated source; empty where it has none."""
    return next(_places(source.splitlines(), line), "")


def with_place(error: Exception, source: str) -> Exception:
    """Return an error of the generated source with its place; any other as it is."""
    if not isinstance(error, TlaError) or _innermost(error.__traceback__)[0] is None:
        return error
    return fault_of(error, source, "", {})


def _innermost(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    """Return the last frame of generated code that the error came through, and its line."""
    found: tuple[FrameType | None, int] = (None, 0)
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _FILE:
            found = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _places(lines: list[str], line: int) -> Iterator[str]:
    """Yield the places that stand in a line and above it, nearest first."""
    for text in reversed(lines[:line]):
        if (found := _PLACE.search(text)) is not None:
            yield found[1]


def _unassigned(frame: FrameType) -> Iterator[str]:
    """Yield the variables that the next state under construction in a frame has no value for.

    Those that only an ENABLED within an INSTANCE knows come after the spec's own, and are none of a state.
    """
    built = frame.f_locals.get(NEXT)
    if isinstance(built, NextState):
        for name, slot in zip(frame.f_globals["META"]["variables"], type(built).__slots__, strict=False):
            try:
                object.__getattribute__(built, slot)
            except AttributeError:
                yield name
