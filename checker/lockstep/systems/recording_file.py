"""Recordings of a system: a header, the lines of its nodes, an end line, and nothing else.

An unknown kind or field, a missing field, a gap, a file without an end line: each is a TraceError that names the file,
the line and the field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar, Union

from msgspec import Meta, Struct

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

    def read(self, path: Path) -> tuple[H, Iterator[RecordingLine]]:
        """Open a recording; return its header and an iterator of the lines between it and the end line.

        Raises TraceError, at once or while it is iterated, where the file is not a whole recording, and UnreadableError
        where it cannot be read.
        """
        return self.parse(file_lines(path), str(path))

    def parse(self, raw: Iterable[bytes], source: str) -> tuple[H, Iterator[RecordingLine]]:
        """Do the same for lines that were read already; `source` names them in messages."""
        raw = iter(raw)
        first = next(raw, b"")
        if b'"lockstep-trace/' in first[:200]:
            raise TraceError(source, 1, "no recording, but a trace: `lockstep check` takes it as it is")
        lines = self._decoded(chain([first] if first else [], raw), source)
        header = next(lines, None)
        if header is None:
            raise TraceError(source, 1, "the file is empty: a recording starts with a header line")
        if not isinstance(header, self.header):
            raise TraceError(source, 1, "field `kind`: the first line must be a header")
        for name, known in self.required.items():
            if getattr(header, name) not in known:
                raise TraceError(
                    source, 1, f"field `{name}`: {getattr(header, name)!r} is not {' or '.join(map(repr, known))}"
                )
        if len(set(header.nodes)) != len(header.nodes):
            raise TraceError(source, 1, "field `nodes`: a node is named twice")
        return header, self._body(header, lines, source)

    def _decoded(self, raw: Iterable[bytes], source: str) -> Iterator[RecordingLine]:
        for number, text in enumerate(raw, start=1):
            tree = json_object(text, source, number, "recording")
            line: RecordingLine = convert_line(tree, self.kinds, source, number)
            if line.seq != number - 1:
                raise TraceError(source, number, f"field `seq`: {line.seq} is not {number - 1}")
            for field in line.required_fields():
                if getattr(line, field) is None:
                    raise TraceError(source, number, f"field `{field}`: missing")
            self.check_line(line, source)
            yield line

    def _body(self, header: H, lines: Iterator[RecordingLine], source: str) -> Iterator[RecordingLine]:
        counts = Counter({"header": 1})
        number, before = 1, header.t_ms
        lives = dict.fromkeys(header.nodes, 0)
        for line in lines:
            number = line.number
            if isinstance(line, self.header):
                raise TraceError(source, number, "field `kind`: a second header")
            if not line.t_ms >= before:
                raise TraceError(source, number, f"field `t_ms`: {line.t_ms} is less than {before}, in the line above")
            before = line.t_ms
            if isinstance(line, self.end):
                self.check_end(line, counts, source)
                extra = next(lines, None)
                if extra is not None:
                    raise TraceError(source, extra.number, "there is more after the end line")
                return
            if isinstance(line, NodeLine):
                self._check_node(line, lives, source)
            counts[line.kind] += 1
            yield line
        raise TraceError(source, number, "the file is truncated: it has no end line")

    def _check_node(self, line: NodeLine, lives: dict[str, int], source: str) -> None:
        """Raise TraceError where a line names a node that the header does not, or another life of its node."""
        for name in self.node_fields:
            named = getattr(line, name, None)
            if named not in (None, "") and named not in lives:
                field = "from" if name == "source" else name
                raise TraceError(source, line.number, f"field `{field}`: {named!r} is not in the header")
        if isinstance(line, self.start):
            lives[line.node] += 1
        if line.inc != lives[line.node] and not line.any_life:
            problem = f"field `inc`: {line.inc}, but {line.node} is in life {lives[line.node]}"
            raise TraceError(source, line.number, problem)
        if lives[line.node] == 0 and not self.has_bootstrap:
            raise TraceError(source, line.number, f"field `inc`: {line.node} has not started")


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
