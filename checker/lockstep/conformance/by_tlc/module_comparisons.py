"""Operators of TLA+ that compare what an event shows and sent with the spec's values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.conformance.by_tlc.module_text import Literals, ModuleNames
from lockstep.conformance.json_values import Words, integer_of, is_tagged, to_value
from lockstep.tla.values.kinds import Value


class ComparisonDefinitions:
    """Writes what is compared with the spec's values, as operators; the same comparison is written once.

    Attributes:
        lines: the definitions, each before its use.
    """

    def __init__(self, names: ModuleNames, literals: Literals, words: Words) -> None:
        self._names, self._literals, self._words = names, literals, words
        self._known: dict[tuple[str, ...], str] = {}
        self.lines: list[str] = []

    def shows(self, shown: Mapping[str, Any]) -> str:
        """Return the operator of one parameter that holds where the spec's value agrees with what was shown."""
        return self._object(shown, "shows")

    def sent(self, messages: Sequence[Value]) -> str:
        """Return the operator that holds where what a step adds to the outbox are just these messages."""
        names, parameter = self._names, f"{self._names.prefix}a"
        claimed = {message: self._literals.text(message) for message in messages}
        tests = names.evaluated(parameter)
        for message, count in Counter(messages).items():
            tests += names.probe(f"sent[{messages.index(message)}]")
            tests += [f"{names.operators}!Has({parameter}, {claimed[message]})"]
            tests += [f"{parameter}[{claimed[message]}] = {count}"]
        listed = f"{{{', '.join(claimed.values())}}}"
        tests += [f"{names.operators}!NoneBut({parameter}, {listed})", *names.probe("")]
        return self._defined("sent", parameter, tests)

    def never(self, what: str) -> str:
        """Return the operator that holds nowhere: the event is malformed, so no value agrees with it."""
        return self._defined(f"no_{what}", f"{self._names.prefix}a", ["FALSE"])

    def _object(self, shown: Mapping[str, Any], path: str) -> str:
        names, parameter = self._names, f"{self._names.prefix}o"
        tests = names.evaluated(parameter)
        for key, part in shown.items():
            here = f"{path}.{key}"
            name = self._literals.text(self._words.strings.get(key, key))
            if (number := integer_of(key)) is not None:
                name = f'{names.operators}!Key({parameter}, {name}, {number}, "{number}")'
            item = f"{parameter}[{name}]"
            tests += [*names.probe(here), f"{names.operators}!Has({parameter}, {name})"]
            whole = self._equals(item, part)
            if isinstance(part, Mapping) and not is_tagged(part):
                numbered = bool(part) and all(integer_of(each) is not None for each in part)
                test = "IsFunction" if numbered else "HasKeys"
                by_key = f"{names.operators}!{test}({item}, {names.prefix}model_values)"
                tests += [f"IF {by_key} THEN {self._object(part, here)}({item}) ELSE {whole}"]
            else:
                tests += [whole]
        return self._defined("shows", parameter, ["TRUE", *tests, *names.probe("")])

    def _equals(self, item: str, part: Any) -> str:
        try:
            return f"{item} = {self._literals.text(to_value(part, self._words))}"
        except ValueError:
            return "FALSE"  # It is no value, so nothing equals it; the event reader reports that it is malformed.

    def _defined(self, what: str, parameter: str, tests: list[str]) -> str:
        key = tuple(tests)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"{self._names.prefix}{what}{len(self._known) + 1}"
            self.lines += [f"{name}({parameter}) ==", *(f"    /\\ {test}" for test in tests)]
        return name


def count_compared(shown: Mapping[str, Any]) -> int:
    """Count the values that are shown."""
    return sum(
        count_compared(part) if isinstance(part, Mapping) and not is_tagged(part) else 1 for part in shown.values()
    )
