"""Errors of a specification outside the supported language, and of names in a configuration that fit no module."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.base.errors import WRONG_CFG, BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.tree import Location


class CompileError(BadInputError):
    """A construct outside the supported language, or a name that is missing; the message names module and line.

    Attributes:
        loc: where it stands, if it is in a module.
        code: the code of an author's mistake; empty where nothing is wrong with the spec.
    """

    def __init__(self, message: str, loc: Location | None = None, code: str = "") -> None:
        """Make the error; a location puts module and line before the message."""
        place = "" if loc is None else f"{loc}: " if code else f"{loc.module}.tla:{loc.line}: "
        super().__init__(place + message)
        self.loc, self.code = loc, code


def refused_name(cfg: Cfg, name: str, problem: str, known: Iterable[str] = ()) -> CompileError:
    """Make the error of a name in the configuration that does not fit the modules, with similar names."""
    place = ":".join([cfg.file, *([cfg.places[name]] if name in cfg.places else [])])
    return CompileError(f"{place}: {WRONG_CFG} {problem}{did_you_mean(name, known)}", code=WRONG_CFG)


def counted(number: int, what: str) -> str:
    """Write a number of things: ``1 argument``, ``2 arguments``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
