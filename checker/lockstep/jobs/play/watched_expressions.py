"""TLA+ expressions over the variables of a spec that a player writes, evaluated in the states that are shown.

An expression is compiled as the spec is, as the one definition of a module that extends it, and evaluated by a process
that is ended where that takes too long. None of this needs the session, which is played on meanwhile.
"""

from __future__ import annotations

import re
import signal
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.base.errors import BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.jobs.play.play_game import SpecSource
from lockstep.jobs.play.play_session import Visit
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value, format_beginning

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["MAX_WATCHED", "SlowExpressionError", "WatchedExpressions"]

#: Limits for the expressions that are watched at a time, the seconds of an evaluation, and the length of a value.
MAX_WATCHED, MAX_SECONDS, MAX_VALUE = 8, 5, 1_000

#: Seconds that the process may take to start, and to compile what it is given.
MAX_START_SECONDS = 60

_MODULE, _NAME = "WatchedExpression", "WatchedValue"

#: A message of the parser, after the place in the module that the expression stands in.
_PLACE = re.compile(rf"{_MODULE}\.tla:(?P<line>\d+):(?P<column>\d+): (?:[A-Z]+\d+ )?")

#: A string of TLA+.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

#: The line of the module with the expression.
_LINE = 4


class SlowExpressionError(BadInputError):
    """The evaluation of an expression takes too long, or took too long in another state."""


class WatchedExpressions:
    """The expressions of a session, each compiled once."""

    def __init__(self, source: SpecSource | None) -> None:
        """Watch the states of a spec; without its files, none."""
        self._source = source
        self._turn = threading.Lock()
        self._specs: dict[str, Spec] = {}
        self._slow: dict[str, int] = {}
        self._evaluator = _Evaluator()

    def value(self, text: str, visit: Visit, again: bool = False) -> str:
        """Return the value of an expression in a state, as TLA+ writes it; one at a time, whoever asks.

        Arguments: `again`, whether one that took too long in some state is evaluated nevertheless.
        Raises BadInputError where it is no expression of the spec, or has no value; SlowExpressionError.
        """
        with self._turn:
            if text in self._slow and not again:
                where = f"in state {self._slow[text]}"
                raise SlowExpressionError(f"not evaluated: it took longer than {MAX_SECONDS} seconds {where}")
            spec = self._compiled(text)
            try:
                value = self._evaluator.value(text, spec, dict(visit.state.as_dict()))
            except SlowExpressionError:
                self._slow[text] = visit.number
                raise
            self._slow.pop(text, None)
            return value

    def _compiled(self, text: str) -> Spec:
        if text not in self._specs:
            if self._source is None:
                elsewhere = "`lockstep play` without --static watches them"
                raise BadInputError(f"expressions cannot be watched here: Java must parse them; {elsewhere}")
            while len(self._specs) >= MAX_WATCHED:
                oldest = next(iter(self._specs))
                del self._specs[oldest]
                self._slow.pop(oldest, None)
            self._specs[text] = _compiled(text, self._source)
        return self._specs[text]


def _compiled(text: str, source: SpecSource) -> Spec:
    """Compile an expression; raises BadInputError where it is none."""
    if not text.strip() or not text.isprintable() or not _stays_in_brackets(text):
        raise BadInputError("write one expression, in one line")
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, f"{_MODULE}.tla")
        # In brackets: nothing but one expression can stand there.
        lines = [f"---- MODULE {_MODULE} ----", f"EXTENDS {source.module.stem}", f"{_NAME} == (", text, ")", "====", ""]
        module.write_text("\n".join(lines), encoding="utf-8")
        try:
            spec = load_spec(
                module,
                source.cfg,
                constants=source.constants,
                search_path=[source.module.parent, source.module.parent.parent, *source.library],
                cache_dir=folder,
                jar=source.jar,
            )
            spec.fields(_NAME)
        except (BadInputError, CompileError, EnvironmentFailedError, GaveUpError, OSError, RecursionError) as error:
            raise BadInputError(_PLACE.sub(_placed, str(error))) from error
    return spec


def _stays_in_brackets(text: str) -> bool:
    """Return whether no bracket is closed that the text has not opened."""
    open_ = 0
    for letter in _STRING.sub("", text):
        open_ += (letter == "(") - (letter == ")")
        if open_ < 0:
            return False
    return True


def _placed(found: re.Match[str]) -> str:
    return f"column {found['column']}: " if int(found["line"]) == _LINE else ""


class _Evaluator:
    """Evaluator of expressions, in a process of its own that is ended where one takes too long."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._known: dict[str, Spec] = {}

    def value(self, text: str, spec: Spec, values: Mapping[str, Value]) -> str:
        connection = self._started()
        try:
            connection.send((text, None if self._known.get(text) is spec else spec, values))
            self._known[text] = spec
            if not self._replies(connection, MAX_START_SECONDS):
                raise BadInputError(f"the process that evaluates it has not started within {MAX_START_SECONDS} seconds")
            connection.recv()
            if not self._replies(connection, MAX_SECONDS):
                raise SlowExpressionError(f"its evaluation takes longer than {MAX_SECONDS} seconds")
            found, said = connection.recv()
        except (EOFError, OSError) as error:
            self._end()
            raise BadInputError("the process that evaluates it has ended") from error
        if not found:
            raise BadInputError(said)
        value: str = said
        return value

    def _replies(self, connection: Connection, seconds: int) -> bool:
        """Return whether the process replies in time; it is ended if not."""
        if connection.poll(seconds):
            return True
        self._end()
        return False

    def _started(self) -> Connection:
        from multiprocessing import get_context  # a browser's Python has no processes, and watches nothing

        if self._connection is None or self._process is None or not self._process.is_alive():
            here, there = get_context("spawn").Pipe()
            self._process = get_context("spawn").Process(target=_evaluate, args=(there,), daemon=True)
            self._process.start()
            there.close()
            self._connection = here
            self._known.clear()
        return self._connection

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._connection = None


def _evaluate(connection: Connection) -> None:
    """Evaluate what is asked for, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the server's, which ends this process
    specs: dict[str, Spec] = {}
    with suppress(EOFError, OSError):
        while True:
            text, spec, values = connection.recv()
            if spec is not None:
                specs[text] = spec
            connection.send(None)  # it begins: what took longer before is no part of the evaluation
            connection.send(_valued(specs[text], values))


def _valued(spec: Spec, values: Mapping[str, Value]) -> tuple[bool, str]:
    try:
        return True, format_beginning(spec.evaluate(_NAME, spec.state(values)), MAX_VALUE)
    except (BadInputError, CompileError, TypeError, RecursionError, MemoryError) as error:
        return False, f"it has no value here: {error or type(error).__name__}"
