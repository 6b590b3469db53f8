"""What an event shows and sent, as operators of TLA+ that compare it with what the spec says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.observe import Words, is_tagged, to_value
from lockstep.tla.values import Value
from lockstep.tlc_check.literals import Literals
from lockstep.tlc_check.text import Text


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a generated module: those of its own begin with `prefix`, and none of the spec does."""

    prefix: str

    @property
    def operators(self) -> str:
        """The INSTANCE of LockstepOperators."""
        return f"{self.prefix}ops"

    @property
    def next_event(self) -> str:
        """The variable that holds the number of the event to come, from 1 on."""
        return f"{self.prefix}l"

    @property
    def observed(self) -> str:
        """The operator that gives what is observed of a node."""
        return f"{self.prefix}observed"

    @property
    def added(self) -> str:
        """The operator that gives the messages a step adds to the outbox of a node."""
        return f"{self.prefix}added"

    def event(self, number: int) -> str:
        """Name the action that is an event."""
        return f"{self.prefix}event{number}"


class Comparisons:
    """Writes what is compared with the spec's values, as operators; the same comparison is written once."""

    def __init__(self, names: Names, literals: Literals, words: Words) -> None:
        """Write operators named by `names`, with values written by `literals`."""
        self._names, self._literals, self._words = names, literals, words
        self._known: dict[tuple[str, ...], str] = {}
        self.text = Text()

    def shows(self, shown: Mapping[str, Any]) -> str:
        """Return the operator of one parameter that holds where the spec's value agrees with what was shown."""
        return self._object(shown, "shows")

    def sent(self, messages: Sequence[Value]) -> str:
        """Return the operator that holds where what a step adds to the outbox are just these messages."""
        parameter, has = f"{self._names.prefix}a", f"{self._names.operators}!Has"
        lines: list[tuple[str, str | None]] = []
        places = {message: f"sent[{index}]" for index, message in reversed(list(enumerate(messages)))}
        claimed = {message: self._literals.of(message) for message in places}
        for message, count in Counter(messages).items():
            lines.append((f"    /\\ {has}({parameter}, {claimed[message]})", places[message]))
            lines.append((f"    /\\ {parameter}[{claimed[message]}] = {count}", places[message]))
        told = f"{{{', '.join(claimed.values())}}}"
        lines.append((f"    /\\ {self._names.operators}!NoneBut({parameter}, {told})", "sent"))
        return self._defined("sent", parameter, lines)

    def never(self, what: str) -> str:
        """Return the operator that holds nowhere: what the event says is malformed, so no value agrees with it."""
        return self._defined(f"no_{what}", f"{self._names.prefix}a", [("    FALSE", None)])

    def _object(self, shown: Mapping[str, Any], path: str) -> str:
        parameter = f"{self._names.prefix}o"
        lines: list[tuple[str, str | None]] = [("    /\\ TRUE", None)]
        for key, part in shown.items():
            here = f"{path}.{key}"
            name = self._literals.of(self._words.strings.get(key, key))
            item = f"{parameter}[{name}]"
            lines.append((f"    /\\ {self._names.operators}!Has({parameter}, {name})", here))
            whole = self._equals(item, part)
            if isinstance(part, Mapping) and not is_tagged(part):
                by_key = f"{self._names.operators}!HasKeys({item}, {self._names.prefix}model_values)"
                lines.append((f"    /\\ IF {by_key}", here))
                lines.append((f"       THEN {self._object(part, here)}({item})", here))
                lines.append((f"       ELSE {whole}", here))
            else:
                lines.append((f"    /\\ {whole}", here))
        return self._defined("shows", parameter, lines)

    def _equals(self, item: str, part: Any) -> str:
        try:
            return f"{item} = {self._literals.of(to_value(part, self._words))}"
        except ValueError:
            return "FALSE"  # It is no value, so nothing equals it; that it is malformed is told by lockstep.reading.

    def _defined(self, what: str, parameter: str, lines: list[tuple[str, str | None]]) -> str:
        key = tuple(f"{field}{line}" for line, field in lines)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"{self._names.prefix}{what}{len(self._known) + 1}"
            self.text.add(f"{name}({parameter}) ==")
            for line, field in lines:
                self.text.add(line, field=field)
        return name


def count_compared(shown: Mapping[str, Any]) -> int:
    """Count the values that are shown."""
    return sum(
        count_compared(part) if isinstance(part, Mapping) and not is_tagged(part) else 1 for part in shown.values()
    )
