"""What every line of a recording has, and the state of a node that many show.

Every line has `seq` (0, 1, 2, ... without gaps), `t_ms` and `kind`.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from lockstep.trace.json_lines import MAX_INTEGER

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Index = Annotated[int, Meta(ge=-1, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Role = Literal["LEADER", "FOLLOWER", "CANDIDATE"]
LogEntry = tuple[Index, Index, str]


class NodeState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st`: a node when the line was written."""

    role: Role
    term: Index
    leader: str | None
    begin: Index
    end: Index
    endTerm: Index  # noqa: N815 - the recording's name
    committed: Index


class Line(Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """What every line has. `op_fields` names the fields that a line needs by its op or type."""

    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {}

    seq: Count
    t_ms: float

    @property
    def number(self) -> int:
        """The line's number in the file; 1 is the first."""
        return self.seq + 1

    @property
    def variant(self) -> str:
        """What tells lines of one kind apart: the op or the type."""
        return str(getattr(self, "op", None) or getattr(self, "type", None) or "")

    def required_fields(self) -> tuple[str, ...]:
        """Return the fields that this line needs, of those that others of its kind may lack."""
        return self.op_fields.get(self.variant, ())

    @property
    def label(self) -> str:
        """The kind, with the variant where there is one: `store.truncate`."""
        return ".".join(filter(None, (str(self.__struct_config__.tag), self.variant)))


class NodeLine(Line, kw_only=True):
    """A line of one node in one incarnation."""

    node: Name
    inc: Annotated[int, Meta(ge=1)]
