"""Recordings of a system: a header, the lines of its nodes, an end line, and nothing else.

An unknown kind or field, a missing field, a gap, a file without an end line: each is a TraceError that names the file,
the line and the field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar, Union

from msgspec import Meta, Struct

from lockstep.base.progress import silent
from lockstep.logs.stray_lines import StrayLines
from lockstep.trace.imported_trace import ACTION, NOISE, OBSERVATION
from lockstep.trace.json_lines import MAX_INTEGER, TraceError, convert_line, file_lines, json_object

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
#: The nodes of a recording.
Nodes = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]


class RecordingLine(Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """A line: its number from 0 on without gaps, and when it was written.

    Lines of one kind differ by the field that `variant_field` names, such as the type of a request, if there is one.
    `variant_fields` are the fields that a line needs by that, which others of its kind may lack.
    """

    variant_field: ClassVar[str] = ""
    variant_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    seq: Count
    t_ms: float

    @property
    def number(self) -> int:
        """The line's number in the file; 1 is the first."""
        return self.seq + 1

    @property
    def kind(self) -> str:
        """The kind of the line."""
        return str(self.__struct_config__.tag)

    @property
    def variant(self) -> str:
        """The variant of its kind, "" where it has none."""
        return str(getattr(self, self.variant_field, None) or "")

    def required_fields(self) -> tuple[str, ...]:
        """Return the fields that this line needs, and others of its kind may lack."""
        return self.variant_fields.get(self.variant, ())

    @property
    def label(self) -> str:
        """The kind, with the variant where there is one: `store.truncate`."""
        return ".".join(filter(None, (self.kind, self.variant)))


class NodeLine(RecordingLine, kw_only=True):
    """A line of one node in one of its lives, which each start begins. `any_life`: it may be of another life."""

    any_life: ClassVar[bool] = False

    node: Name
    inc: Count


def line_kinds(*modules: ModuleType) -> Any:
    """Return the union of the kinds of lines that modules define: the classes that have a tag of their own."""
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    lines = dict.fromkeys(each for each in classes if issubclass(each, RecordingLine))
    return Union[tuple(each for each in lines if each.__struct_config__.tag != each.__name__)]  # noqa: UP007 - made here


class AnyHeader(Protocol):
    """The header of a recording."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of the recording."""

    @property
    def t_ms(self) -> float:
        """When the recording begins."""


H = TypeVar("H", bound=AnyHeader)
E = TypeVar("E", bound=RecordingLine)


@dataclass(frozen=True, slots=True)
class RecordingFormat(Generic[H, E]):
    """A format of recordings.

    `header`, `start` and `end` are the classes of the first line, of the start of a node, and of the last line; `kinds`
    is the union of all classes. `required` are the values that fields of the header may have. Where a format
    `has_bootstrap`, a node has lines before its first start, in life 0. `node_fields` name nodes of the header.
    `check_line` and `check_end` raise TraceError where a line, or the counts of the end line, are wrong; the first may
    complete the line.
    """

    header: type[H]
    start: type[NodeLine]
    end: type[E]
    kinds: Any
    required: Mapping[str, tuple[str, ...]]
    has_bootstrap: bool
    node_fields: tuple[str, ...]
    check_line: Callable[[Any, str], None]
    check_end: Callable[[E, Counter[str], str], None]

    def read(self, path: Path, note: Callable[[str], None] = silent) -> tuple[H, Iterator[RecordingLine]]:
        """Open a recording; return its header and an iterator of the lines between it and the end line.

        Arguments: `note` gets a message about lines of other programs, once all are read.
        Raises TraceError, at once or while it is iterated, where the file is not a whole recording, and UnreadableError
        where it cannot be read.
        """
        return self.parse(file_lines(path), str(path), note)

    def parse(
        self, raw: Iterable[bytes], source: str, note: Callable[[str], None] = silent
    ) -> tuple[H, Iterator[RecordingLine]]:
        """Do the same for lines that were read already; `source` names them in messages."""
        parser, rest = RecordingParser(self, source, note), iter(raw)
        for text in rest:
            parser.take(text)
            if parser.header is not None:
                return parser.header, _lines(parser, rest)
        raise TraceError(source, 1, "the file is empty: a recording starts with a header line")

    def line(self, tree: dict[str, Any], source: str, number: int) -> RecordingLine:
        """Return the line of an object; raises TraceError, naming the field, where it is none."""
        line: RecordingLine = convert_line(tree, self.kinds, source, number)
        for field in line.required_fields():
            if getattr(line, field) is None:
                raise TraceError(source, number, f"field `{field}`: missing")
        self.check_line(line, source)
        return line

    def check_node_line(self, fields: Mapping[str, Any], source: str, number: int) -> None:
        """Check the fields of a line that a node's recorder wrote, but for those that only a recording has.

        Raises TraceError, naming the field, where one is missing, unknown, or has no value of its own.
        """
        self.line({"seq": number - 1, "t_ms": 0.0, "inc": 0, **fields}, source, number)


def _lines(parser: RecordingParser[H, E], raw: Iterable[bytes]) -> Iterator[RecordingLine]:
    for text in raw:
        line = parser.take(text)
        if line is not None:
            yield line
    parser.finish()


class RecordingParser(Generic[H, E]):
    """Reads a recording line by line, as far as it is written; `header` is None until that is read.

    What a program printed between the lines is noise.
    """

    def __init__(self, form: RecordingFormat[H, E], source: str, note: Callable[[str], None] = silent) -> None:
        """Take the format, the name of the file for messages, and what gets a message about noise at the end."""
        self._form, self._source, self._note = form, source, note
        self.header: H | None = None
        self._strays = StrayLines(source, "a JSON object of a recording on a line of its own")
        self._number = self._count = 0
        self._counts: Counter[str] = Counter()
        self._lives: dict[str, int] = {}
        self._before = 0.0
        self._has_ended = False

    def take(self, text: bytes) -> RecordingLine | None:
        """Return a line with its effects, None where it is the header, the end line, or noise.

        Raises TraceError where it is damaged, or contradicts the lines above.
        """
        self._number += 1
        if self._count and _is_noise(text):
            self._strays.add(self._source, self._number, text.decode("utf-8", "replace").rstrip(), strict=True)
            return None
        if not self._count and b'"lockstep-trace/' in text[:200]:
            raise self._error("no recording, but a trace: `lockstep check` takes it as it is")
        tree = json_object(text, self._source, self._number, "recording")
        is_next = type(tree.get("seq")) is int and tree["seq"] == self._count
        if is_next:
            tree["seq"] = self._number - 1  # by its place in the file, where there is noise, too
        line = self._form.line(tree, self._source, self._number)
        if not is_next:
            raise self._error(f"field `seq`: {line.seq} is not {self._count}")
        self._count += 1
        return self._placed(line)

    def finish(self) -> None:
        """Raise TraceError unless the end line was read; report the noise."""
        if not self._has_ended:
            raise self._error("the file is truncated: it has no end line")
        if noise := self._strays.note():
            self._note(noise)

    def _error(self, problem: str) -> TraceError:
        return TraceError(self._source, self._number, problem)

    def _placed(self, line: RecordingLine) -> RecordingLine | None:
        if self.header is None:
            self._begin(line)
            return None
        if self._has_ended:
            raise self._error("there is more after the end line")
        if isinstance(line, self._form.header):
            raise self._error("field `kind`: a second header")
        if not line.t_ms >= self._before:
            raise self._error(f"field `t_ms`: {line.t_ms} is less than {self._before}, in the line above")
        self._before = line.t_ms
        if isinstance(line, self._form.end):
            self._form.check_end(line, self._counts, self._source)
            self._has_ended = True
            return None
        if isinstance(line, NodeLine):
            self._check_node(line)
        self._counts[line.kind] += 1
        return line

    def _begin(self, header: RecordingLine) -> None:
        if not isinstance(header, self._form.header):
            raise self._error("field `kind`: the first line must be a header")
        for name, known in self._form.required.items():
            if getattr(header, name) not in known:
                raise self._error(f"field `{name}`: {getattr(header, name)!r} is not {' or '.join(map(repr, known))}")
        if len(set(header.nodes)) != len(header.nodes):
            raise self._error("field `nodes`: a node is named twice")
        self.header, self._before = header, header.t_ms
        self._counts["header"] = 1
        self._lives = dict.fromkeys(header.nodes, 0)
        self._strays.know("{")

    def _check_node(self, line: NodeLine) -> None:
        """Raise TraceError where a line names a node that the header does not, or another life of its node."""
        lives = self._lives
        for name in self._form.node_fields:
            named = getattr(line, name, None)
            if named not in (None, "") and named not in lives:
                raise self._error(f"field `{'from' if name == 'source' else name}`: {named!r} is not in the header")
        if isinstance(line, self._form.start):
            lives[line.node] += 1
        if line.inc != lives[line.node] and not line.any_life:
            raise self._error(f"field `inc`: {line.inc}, but {line.node} is in life {lives[line.node]}")
        if lives[line.node] == 0 and not self._form.has_bootstrap:
            raise self._error(f"field `inc`: {line.node} has not started")


def _is_noise(text: bytes) -> bool:
    """Return whether a line of a recording is none: no object, and not empty."""
    return not text.startswith(b"{") and bool(text.strip())


def line_uses(
    labels: Mapping[int, str], acted: Set[int | None], observed: Set[int | None]
) -> dict[str, dict[str, int]]:
    """Count the lines by label and use.

    Arguments: `labels` of the lines by number; `acted`, the numbers of those with a step; `observed`, of those that
    show something of a node.
    """
    uses: dict[str, Counter[str]] = {}
    for number, label in labels.items():
        use = ACTION if number in acted else OBSERVATION if number in observed else NOISE
        uses.setdefault(label, Counter())[use] += 1
    return {label: dict(uses[label]) for label in sorted(uses)}
