"""The form of an exercise: the questions of its answer.toml, and that file with what a form has written into it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping

from lockstep.jobs.course.student_answers import toml_problem

__all__ = ["asked", "filled"]

#: The line of a question that is not answered.
_OPEN_LINE = re.compile(r'^(\w+) = "\?"$')

#: A word that stands for itself in a form, and must be in quotes in TOML, unless it is one of TOML's own.
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_OWN_WORDS = frozenset({"true", "false", "inf", "nan"})

#: The opening brackets of one field at most: what reads a value nests as deep as they may.
MAX_BRACKETS = 100


def asked(template: str) -> dict[str, str]:
    """Return the questions of an answer.toml by their names: the comment above each."""
    found: dict[str, str] = {}
    comment: list[str] = []
    for line in template.splitlines():
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
            continue
        if question := _OPEN_LINE.match(line):
            found[question[1]] = " ".join(comment)
        comment = []
    return found


def filled(template: str, fields: Mapping[str, str], *, as_text: bool) -> tuple[str, list[str]]:
    """Return an answer.toml with the fields of a form in place of each "?", and what is wrong with those left out.

    An empty field stays open, too. Arguments: `as_text`, whether each field is a text; otherwise it is a value of TOML,
    and a word needs no quotes.
    """
    lines, problems = [], []
    for line in template.splitlines():
        question = _OPEN_LINE.match(line)
        text = "" if question is None else fields.get(question[1], "").strip()
        if question is None or not text:
            lines.append(line)
            continue
        try:
            lines.append(f"{question[1]} = {_value(text, as_text)}")
        except ValueError as error:
            lines.append(line)
            problems.append(f"field `{question[1]}`: {error}")
    return "\n".join(lines) + "\n", problems


def _value(text: str, as_text: bool) -> str:
    """Return a field as TOML writes its value; raises ValueError where it is none."""
    if as_text or text == "?" or (_WORD.fullmatch(text) and text not in _OWN_WORDS):
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # which TOML alone wants escaped
    if len(text.splitlines()) > 1:
        raise ValueError("more than one line")
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise ValueError(f"more than {MAX_BRACKETS} brackets")
    try:
        tomllib.loads(f"answer = {text}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no value: {toml_problem(error)}; a text in a list or a record stands in quotes") from error
    return text
