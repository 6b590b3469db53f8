"""Choosing the rule of a mapping that fits a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lockstep.base.spelling import did_you_mean
from lockstep.logs.log_records import MISSING, Record
from lockstep.logs.mapping import LineRule, Mapping, SameField


class Rules:
    """The rules of a mapping, prepared to find the one that fits a line."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self._rules: dict[str, list[tuple[LineRule, list[tuple[str, re.Pattern[str]]]]]] = {}
        for kind, _, rule in mapping.rules():
            matching = [(name, re.compile(expression)) for name, expression in rule.match.items()]
            self._rules.setdefault(kind if mapping.kind is not None else "", []).append((rule, matching))

    def rule_of(self, record: Record) -> tuple[LineRule, Record] | None:
        """Return the rule of a line, and the line with what the rule's expressions found; None where it is ignored.

        Raises TraceError where no rule fits, and the mapping does not ignore that.
        """
        found = self._first(record)
        if found is not None:
            return None if found[0].ignore else found
        if self.mapping.otherwise == "ignore":
            return None
        raise record.error(self._unknown(record))

    def texts(self) -> list[re.Pattern[str]]:
        """Return the expressions in the texts of lines, from those rules that do not ignore them.

        In logs of text, a kind of several words is such an expression, too.
        """
        used = [
            (kind, [each for _, each in found])
            for kind, listed in self._rules.items()
            for rule, found in listed
            if not rule.ignore
        ]
        kinds = [re.compile(re.escape(kind)) for kind, _ in used if self.mapping.texts() and " " in kind.strip()]
        return [*kinds, *(each for _, found in used for each in found)]

    def is_appended(self, whole: Record | None, rest: Record, stamp: str) -> bool:
        """Return whether what begins with a stamp within a line is another line: one that has a rule.

        It is none where the stamp begins a word, and all that the line's own rule looks for stands behind it: so it may
        in a text that contains a time.
        """
        rule_of_rest = self._first(rest)
        if rule_of_rest is None or (self.mapping.kind is None and _fits_any(rule_of_rest[0])):
            return False
        rule_of_whole = None if whole is None else self._first(whole)
        if (
            whole is None
            or rule_of_whole is None
            or rule_of_whole[0] is not rule_of_rest[0]
            or not rule_of_rest[0].match
        ):
            return True
        is_cut_word = whole.text.removesuffix(rest.text)[-1:].isalnum()
        return is_cut_word or not _is_found_behind(stamp, rest.text, rule_of_whole[0], whole)

    def _first(self, record: Record) -> tuple[LineRule, Record] | None:
        """Return the first rule that fits a line, and the line with what the rule's expressions found."""
        matches = ((rule, _fitting(rule, matching, record)) for rule, matching in self._candidates(record))
        return next(((rule, fitting) for rule, fitting in matches if fitting is not None), None)

    def _candidates(self, record: Record) -> Sequence[tuple[LineRule, list[tuple[str, re.Pattern[str]]]]]:
        paths = self.mapping.kinds()
        if not paths:
            return self._rules.get("", ())
        path = record.first_of(paths)
        return () if path is None else self._rules.get(_name_of(record.at(path)), ())

    def _unknown(self, record: Record) -> str:
        paths = self.mapping.kinds()
        path = record.first_of(paths)
        if path is None and paths:
            return record.lacks(paths)
        if path is None:
            return f"no rule of the mapping fits the line: {record.text[:80]!r}"
        kind = record.at(path)
        if _name_of(kind) in self._rules:
            return f"field `{path}`: no rule for {kind!r} fits the line: see its `when` and `match`"
        near = did_you_mean(kind, self._rules) if isinstance(kind, str) else ""
        return f"field `{path}`: the mapping has no lines of kind {kind!r}{near}"


def _name_of(kind: Any) -> str:
    """Return the name of a line's kind: a string, or an integer in digits; "" for what is neither."""
    return kind if isinstance(kind, str) else str(kind) if type(kind) is int else ""


def _fitting(rule: LineRule, matching: list[tuple[str, re.Pattern[str]]], record: Record) -> Record | None:
    for path, wanted in rule.when.items():
        found = record.at(path)
        others = [record.at(each.field) if isinstance(each, SameField) else each for each in _listed(wanted)]
        if found is MISSING or not any(type(found) is type(each) and found == each for each in others):
            return None
    groups: dict[str, Any] = {}
    for path, expression in matching:
        text = record.at(path)
        matched = expression.search(text) if isinstance(text, str) else None
        if matched is None:
            return None
        groups |= {name: part for name, part in matched.groupdict().items() if part is not None}
    return replace(record, fields=record.fields | groups) if groups else record


def _fits_any(rule: LineRule) -> bool:
    """Return whether a rule of no kind looks for nothing."""
    return not rule.when and all(re.search(expression, "") for expression in rule.match.values())


def _is_found_behind(stamp: str, rest: str, rule: LineRule, whole: Record) -> bool:
    """Return whether a rule finds all that it looks for in a line behind a stamp, with which the rest of it begins."""
    for path, expression in rule.match.items():
        text = whole.at(path)
        places = (found.start() for found in re.finditer(re.escape(stamp), text))
        at = next((place for place in places if rest.startswith(text[place:])), None)
        matched = re.search(expression, text)
        if at is None or matched is None or matched.start() < at + len(stamp):
            return False
    return True


def _listed(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]
