"""The options that say which spec traces are checked against, the same for every command that opens a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.systems.specs import Switches, variants


@dataclass(frozen=True, slots=True)
class SpecOptions:
    """The spec that traces are checked against: the one that each trace's header names, or one of the user's own.

    `switches` replace constants of a header. `module` is the user's own spec; its `cfg` is the file beside it unless
    another is named, `library` are further folders with modules, and `mapping` says which action each line of a log
    is. `jar` is the tla2tools that specs are parsed with.
    """

    switches: Switches = field(default_factory=dict)
    module: Path | None = None
    cfg: Path | None = None
    library: tuple[Path, ...] = ()
    mapping: Path | None = None
    jar: Path | None = None

    @property
    def own_cfg(self) -> Path:
        """The cfg of the user's own spec."""
        assert self.module is not None
        return self.cfg or self.module.with_suffix(".cfg")

    def switch_words(self) -> Iterator[str]:
        """Yield the switches as a command line has them: the name of a variant, or NAME=VALUE."""
        known = variants()
        yield from (name if name in known else f"{name}={value}" for name, value in self.switches.items())

    def command_line(self) -> tuple[str, ...]:
        """Return the options of `lockstep check` that choose this spec, without the jar."""
        own = [("--spec", self.module), ("--cfg", self.cfg), *(("-I", each) for each in self.library)]
        words = [("--switch", word) for word in self.switch_words()]
        paths = [(option, str(path)) for option, path in [*own, ("--mapping", self.mapping)] if path is not None]
        return tuple(part for pair in [*words, *paths] for part in pair)
