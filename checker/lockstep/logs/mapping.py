"""A mapping: a TOML file that describes the lines of anyone's logs in the words of a spec.

kind = "what"                 # the field whose value is the kind of a line; `a.b` is b within a
null = "NoClient"             # the constant that JSON's null stands for; it may be left out
observe = "Shown"             # the definition that lines show; `Observe` where it is left out

[codes]                       # the codes that findings have where these properties fail; LS100 where there is none
TypeOK = "LK101"

[lines.locked]                # what a line of kind "locked" is
action = "Lock"
args = { c = "client" }       # parameters of the action: a field of the line each
shows = { owner = "held_by" } # each observed name: a field; or one field that holds them all

[lines.started]
ignore = true

docs/own_logs/README.md has all keys: several files and their clocks, hidden actions, text, parts of a parameter.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from lockstep.base.characters import visible_line
from lockstep.base.errors import BadInputError
from lockstep.base.text_files import NotUtf8Error, text_of
from lockstep.logs.schema_mismatch import first_misfit

#: The code of a property; those of lockstep itself begin with LS.
Code = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(?!LS)[A-Z]{2,8}[0-9]{1,6}$",
        description="two to eight capital letters, not beginning with LS, and then one to six digits, as LK101",
    ),
]

#: A time such as "5 ms".
Duration = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9]+(\.[0-9]+)? ?(ns|us|ms|s|min)$",
        description='a number and ns, us, ms, s or min, as "5 ms"',
    ),
]

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}

#: The values that a JSON field may be compared with.
Scalar: TypeAlias = bool | int | str | None


#: The longest duration, in nanoseconds, and the longest text of one.
MAX_DURATION, MAX_DURATION_TEXT = 2**63, 40


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, rename={"cast": "as"}):
    pass


class FieldSource(_Table, frozen=True):
    """The source of a value.

    One of: `field`, a path in the line; `value`, always this one; `file`, what a group of this expression is in the
    file's name; `node`, the line's node; `parts`, a record with these fields of the line, and no others; `has`, a
    set, bag or sequence with some element that has these parts; `size`, one of this size. `as` casts; `values` replaces
    some values; `plus` and `minus` add and subtract numbers, or what is in other fields; what is `optional` may be
    missing from a line.
    """

    field: str | None = None
    value: bool | int | str | list[Any] | dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    file: str | None = None
    node: bool = False
    parts: dict[str, str | FieldSource] | None = None
    has: dict[str, str | FieldSource] | None = None
    size: str | FieldSource | None = None
    cast: Literal["integer", "string", "boolean", "set"] | None = None
    values: dict[str, Any] | None = None
    plus: int | str | list[int | str] | None = None
    minus: int | str | list[int | str] | None = None
    optional: bool = False


#: A path in the line, or a table with more.
Source: TypeAlias = str | FieldSource


class Stamp(_Table, frozen=True):
    """A line's time: the field, the unit of a number, or the form of a text as Python's strptime has it (else ISO)."""

    field: str
    unit: Literal["ns", "us", "ms", "s"] | None = None
    format: str | None = None


class SameField(_Table, frozen=True):
    """The value of another field of the line."""

    field: str


class StepPattern(_Table, frozen=True):
    """A step that a line describes: the action, the sources of its parameters, and what is observed afterwards.

    Without an action nothing happens, and something is observed. The action is taken at most `repeat` times, one
    directly after the other and with the same arguments, as where a spec handles one message in several steps.
    """

    action: str | None = None
    args: dict[str, Source] = {}
    shows: dict[str, Source] | str = {}
    repeat: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


class Interpretation(StepPattern, frozen=True):
    """One way to understand a line: a step, or several one after the other."""

    steps: list[StepPattern] = []

    def step_patterns(self) -> list[StepPattern]:
        """Return the steps."""
        return self.steps or [StepPattern(action=self.action, args=self.args, shows=self.shows, repeat=self.repeat)]


class LineRule(Interpretation, frozen=True):
    """The meaning of lines of a kind; the first rule of a kind that fits a line is the line's.

    `when` are fields with the values that they must have, which may be those of other fields, `match` fields with
    expressions that must be found in them, whose named groups are fields then. `either` are several readings in place
    of one. A line is written up to `delay` after its steps. `sends` and `receives` name a message.
    """

    when: dict[str, Scalar | list[Scalar] | SameField] = {}
    match: dict[str, str] = {}
    either: list[Interpretation] = []
    ignore: bool = False
    delay: Duration | None = None
    sends: Source | None = None
    receives: Source | None = None

    def readings(self) -> list[Interpretation]:
        """Return the ways to understand a line."""
        return self.either or [self]


class Text(_Table, frozen=True):
    """The format of lines that are no JSON objects: `logfmt`, `hclog`, a pattern of logback or log4j, an expression."""

    format: Literal["logfmt", "hclog", "logback", "log4j", "regex"]
    pattern: str | None = None


class Mapping(_Table, frozen=True):
    """The meaning of the lines of some logs.

    `files`: whether several files are the logs of one system, or of one system each; `order`: whether the lines of a
    file happened in its order, or only those of each node; `ends`: whether all logs reach to the last line of all, or
    each may end before that. `records`: what the lines have, a record each, or those of a request of OpenTelemetry.
    """

    lines: dict[str, LineRule | list[LineRule]]
    kind: str | list[str] | None = None
    null: str | None = None
    observe: str | None = None
    codes: dict[str, Code] = {}
    files: Literal["apart", "together"] = "apart"
    order: Literal["file", "node"] = "file"
    ends: Literal["together", "anywhere"] = "together"
    node: Source | None = None
    time: str | Stamp | list[str | Stamp] | None = None
    skew: Duration = "0 s"
    resolution: Duration = "0 s"
    otherwise: Literal["error", "ignore"] = "error"
    hidden: dict[str, Annotated[int, msgspec.Meta(ge=1, le=100)]] = {}
    start: str | None = None
    text: Text | list[Text] | None = None
    records: Literal["lines", "otlp"] = "lines"

    def kinds(self) -> list[str]:
        """Return the fields that may have the kind of a line: the first that it has counts."""
        return _listed(self.kind)

    def stamps(self) -> list[Stamp]:
        """Return the fields that may be the stamp of a line: the first that it has is."""
        return [Stamp(field=each) if isinstance(each, str) else each for each in _listed(self.time)]

    def texts(self) -> list[Text]:
        """Return the forms that lines of text may have: the first that fits counts."""
        return _listed(self.text)

    def form(self) -> str:
        """Name what the lines are: requests of OTLP, JSON objects, or text of these formats."""
        if self.records == "otlp":
            return "a request of OTLP in each line"
        named = [text.format if text.pattern is None else f"{text.format} {text.pattern!r}" for text in self.texts()]
        return " or ".join(named) or "a JSON object in each line"

    def rules(self) -> Iterator[tuple[str, str, LineRule]]:
        """Yield each rule: its kind, how messages name it, and itself."""
        for kind, rules in self.lines.items():
            for index, rule in enumerate(_listed(rules)):
                yield kind, f"lines.{kind}" + (f"[{index}]" if isinstance(rules, list) else ""), rule


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


class MappingError(BadInputError):
    """A mapping file that cannot be used; the message names the file, the line and the field."""


def duration(text: str) -> int:
    """Return a duration in nanoseconds."""
    number, unit = re.fullmatch(r"([0-9.]+) ?([a-z]+)", text).groups()  # type: ignore[union-attr]  # Duration's pattern
    return round(Fraction(number) * UNITS[unit])


def read_mapping(path: Path) -> Mapping:
    """Read a mapping file; raises MappingError where it is malformed and OSError where it cannot be read."""
    try:
        text = text_of(path)
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path, text, str(error)) from error
    except NotUtf8Error as error:
        raise MappingError(str(error)) from error
    except RecursionError as error:
        raise MappingError(f"{path}: nested too deep") from error
    if (wrong := first_misfit(tree, Mapping)) is not None:
        raise mapping_error(path, text, *wrong)
    try:
        mapping = msgspec.convert(tree, Mapping)
    except msgspec.ValidationError as error:  # should first_misfit() allow more
        raise MappingError(f"{path}: {error}") from error
    for field, problem in _problems(mapping):
        raise mapping_error(path, text, field, problem)
    return mapping


def mapping_error(path: Path, text: str, field: str, problem: str) -> MappingError:
    """Make the error of a field, with the line of the file where it stands."""
    line = line_of(text, field)
    text_of_problem = visible_line(f"field `{field}`: {problem}")  # a key may have any characters
    return MappingError(f"{path}{f':{line}' if line else ''}: {text_of_problem}")


def _no_toml(path: Path, text: str, problem: str) -> MappingError:
    """Make the error of what is no TOML, with the line that tomllib names within its message."""
    cause, _, place = problem.removesuffix(")").rpartition(" (at ")
    number = re.match(r"line (\d+), column (\d+)$", place)
    line = int(number[1]) if number else max(1, len(text.splitlines()))
    return MappingError(f"{path}:{line}: it is no TOML: {cause or problem}")


def _problems(mapping: Mapping) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a mapping, whatever the spec: a field and the problem."""
    if not mapping.lines:
        yield "lines", "it has no kind of lines"
    for kind, place, rule in mapping.rules():
        if rule.args and rule.action is None:
            yield place, "the `args` are of no `action`"
        ways = [bool(rule.action or rule.shows), bool(rule.steps), bool(rule.either), rule.ignore]
        if sum(ways) != 1:
            yield place, "give one of `action` (or `shows` alone), `steps`, `either` and `ignore = true`"
        if rule.ignore and (rule.sends or rule.receives or rule.delay):
            yield place, "what is ignored neither sends nor receives; give `shows` or an `action`"
        for index, reading in enumerate(rule.either):
            if bool(reading.action or reading.shows) == bool(reading.steps) or (reading.args and not reading.action):
                yield f"{place}.either[{index}]", "give either `action` (or `shows` alone) or `steps`"
        if mapping.kind is None and not (rule.when or rule.match):
            yield place, f"without `kind` for all lines, give `when` or `match`: which lines are of kind {kind!r}?"
        for name, expression in rule.match.items():
            yield from _expression_problems(f"{place}.match.{name}", expression)
        for field, source in _sources(place, rule):
            yield from _source_problems(field, source)
            if mapping.node is None and _uses_node(source):
                yield field, "the lines have no `node`"
        if rule.delay:
            yield from _duration_problems(f"{place}.delay", rule.delay, mapping)
        yield from _repeat_problems(place, rule)
    yield from _general_problems(mapping)


def _general_problems(mapping: Mapping) -> Iterator[tuple[str, str]]:
    if mapping.records == "otlp" and mapping.text is not None:
        yield "text", "the records of OTLP are no lines of text"
    if mapping.records == "otlp" and [each.field for each in mapping.stamps()] != ["time"]:
        yield "time", 'the records of OTLP come in the order of their own: { field = "time", unit = "ns" }'
    if mapping.records == "otlp" and mapping.order == "file":
        yield "order", 'an exporter does not write records in the order of the steps; give a `node`, and order = "node"'
    if mapping.order == "node" and mapping.node is None:
        yield "order", "the lines have no `node`"
    if mapping.node is not None:
        yield from _source_problems("node", mapping.node)
    if mapping.ends == "anywhere" and mapping.files == "apart" and mapping.order == "file":
        yield (
            "ends",
            "it means nothing for one log: where several are of one system, declare it with `files` or `order`",
        )
    for name in ("skew", "resolution"):
        yield from _duration_problems(name, getattr(mapping, name), mapping)
    for index, text in enumerate(mapping.texts()):
        place = f"text[{index}].pattern" if isinstance(mapping.text, list) else "text.pattern"
        needs = text.format in ("logback", "log4j", "regex")
        if needs != (text.pattern is not None):
            yield place, f"format {text.format!r} " + ("needs one" if needs else "has none")
        if text.format == "regex" and text.pattern is not None:
            yield from _expression_problems(place, text.pattern)
    for stamp in mapping.stamps():
        yield from _time_problems(stamp)
    for name in ("kind", "time", "text"):
        if getattr(mapping, name) == []:
            yield name, "it names none"


def _duration_problems(place: str, text: str, mapping: Mapping) -> Iterator[tuple[str, str]]:
    if len(text) > MAX_DURATION_TEXT or duration(text) > MAX_DURATION:
        yield place, "it is longer than 290 years"
    elif duration(text) and mapping.time is None:
        yield place, "it means nothing without `time`"


def _repeat_problems(place: str, rule: LineRule) -> Iterator[tuple[str, str]]:
    """Yield the places with a `repeat` and no action."""
    patterns: list[tuple[str, StepPattern]] = [(place, rule)]
    for index, reading in enumerate(rule.readings()):
        way = f"{place}.either[{index}]" if rule.either else place
        patterns += [(way, reading), *((f"{way}.steps[{number}]", each) for number, each in enumerate(reading.steps))]
    for where, each in patterns:
        if each.repeat > 1 and each.action is None:
            yield f"{where}.repeat", "there is no `action` beside it that could be repeated"


def _time_problems(stamp: Stamp) -> Iterator[tuple[str, str]]:
    if stamp.format is None:
        return
    if stamp.unit is not None:
        yield "time", "give `unit` of a number or `format` of a text, not both"
    try:
        datetime.strptime("", stamp.format)
    except ValueError as error:
        if "does not match" not in str(error):  # that it does not, of an empty text, is no fault
            yield "time.format", f"no form of a time: {error}"


def _sources(place: str, rule: LineRule) -> Iterator[tuple[str, Source]]:
    for name in ("sends", "receives"):
        if (source := getattr(rule, name)) is not None:
            yield f"{place}.{name}", source
    for reading in rule.readings():
        for step in reading.step_patterns():
            yield from ((f"{place}.args.{name}", source) for name, source in step.args.items())
            if isinstance(step.shows, dict):
                yield from ((f"{place}.shows.{name}", source) for name, source in step.shows.items())


def _source_problems(place: str, source: Source) -> Iterator[tuple[str, str]]:
    if isinstance(source, str):
        return
    given = [source.field, source.file, source.parts, source.node or None, source.has, source.size]
    if sum(each is not None for each in given) + (source.value is not msgspec.UNSET) != 1:
        yield place, "give one of `field`, `value`, `file`, `node = true`, `parts`, `has` and `size`"
    values = {"value": source.value, **{f"values.{word}": each for word, each in (source.values or {}).items()}}
    for name, value in values.items():
        for each in _no_values(value):
            yield f"{place}.{name}", f"{each} is no value of TLA+; a text stands in quotes"
    if source.file is not None:
        yield from _expression_problems(f"{place}.file", source.file, groups=1)
    for within in ("parts", "has"):
        for name, part in (getattr(source, within) or {}).items():
            yield from _source_problems(f"{place}.{within}.{name}", part)
    if source.size is not None:
        yield from _source_problems(f"{place}.size", source.size)


def _no_values(tree: Any) -> Iterator[Any]:
    """Yield what TOML has and TLA+ has not: dates, times, and numbers with a fraction."""
    if isinstance(tree, date | time | float):
        yield tree
    elif isinstance(tree, list | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _no_values(part)


def _uses_node(source: Source) -> bool:
    """Return whether the line's node, or a part that is it, is wanted."""
    if isinstance(source, str):
        return False
    parts = [*(source.parts or {}).values(), *(source.has or {}).values(), *([source.size] if source.size else [])]
    return source.node or any(map(_uses_node, parts))


def _expression_problems(place: str, expression: str, groups: int = 0) -> Iterator[tuple[str, str]]:
    try:
        compiled = re.compile(expression)
    except re.error as error:
        yield place, f"no regular expression: {error}"
        return
    if compiled.groups < groups:
        yield place, "the expression has no group"


_HEADER = re.compile(r"\s*\[(\[)?\s*(.+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def line_of(text: str, field: str) -> int | None:
    """Return the line of a TOML text where a field stands, or what holds it; None where nothing of it is there."""
    best, found, table, counts = 0, None, "", dict[str, int]()
    for number, line in enumerate(text.splitlines(), start=1):
        if (header := _HEADER.match(line)) is not None:
            table = _plain(header[2])
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            here = table
        elif (key := _KEY.match(line)) is not None:
            here = ".".join(filter(None, (table, _plain(key[1]))))
        else:
            continue
        if len(here) > best and (field == here or field.startswith((f"{here}.", f"{here}["))):
            best, found = len(here), number
    return found


def _plain(key: str) -> str:
    return re.sub(r"""\s*\.\s*""", ".", key).replace('"', "").replace("'", "")
