"""The description of a compiled spec in its own source: the literal META, written by the compiler and read by Spec.

A function is given by its name in the same source. A place is (module, line, column, end line, end column). A path
leads into a state: a variable, then fields and arguments; a number in it is that of a parameter or element, None
stands for any.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict, get_origin, get_type_hints

Place: TypeAlias = tuple[str, int, int, int, int]
Path: TypeAlias = list[str | int | None]
#: A temporal formula: what it is, then what it is made of; see lockstep.tla.liveness.temporal_formulas.formula_of.
Temporal: TypeAlias = list[Any]


class ActionMeta(TypedDict):
    """An action: its parameters, TLC's labels of its edges, its functions; `never`: constants make it false."""

    params: list[str]
    labels: list[str]
    loc: Place
    step: str
    why: str
    bound: str
    reads: list[str]
    never: bool


class DefinitionMeta(TypedDict):
    """A definition of the root module: its function, how that takes its arguments, which states it reads.

    `fields` are those of the record that it is, None where they are not known.
    """

    function: str
    arguments: list[str]
    reads_now: bool
    reads_next: bool
    fields: list[str] | None
    loc: Place
    body: Place


class ThresholdMeta(TypedDict):
    """A limit that a part compares a number of an element with: field or None, offset, its function, its paths."""

    key: str | None
    offset: int
    limit: str
    footprint: list[Path]


class EachMeta(TypedDict):
    """A formula about every element of a set or range of the state; see property_parts.EachPart."""

    holds: str
    domain: str | None
    range: tuple[str, str] | None
    guard: str | None
    of_domain: list[Path]
    whole: list[Path]
    at: list[tuple[Path, str | None, int]]
    selections: list[tuple[Path, str, str | None, int]]
    thresholds: list[ThresholdMeta]


class PartMeta(TypedDict):
    """A part of a property; see lockstep.tla.compile.property_parts.PropertyPart."""

    holds: str
    elements: str
    footprint: list[Path]
    eaches: list[EachMeta]
    of_step: bool


class SuccessorStage(TypedDict):
    """A stage of generating successors: of its function's elements each goes to every stage below; the last yields."""

    function: str
    action: str
    below: list[SuccessorStage]


class Meta(TypedDict):
    """The whole description; properties are those of the configuration, by name."""

    name: str
    spec_hash: str
    compiler: str
    variables: list[str]
    modules: list[str]
    footprints: dict[str, list[Path]]
    init: str | None
    init_place: Place | None
    successors: str | None
    stages: list[SuccessorStage]
    actions: dict[str, ActionMeta]
    definitions: dict[str, DefinitionMeta]
    uncompiled: dict[str, str]
    property_places: dict[str, Place]
    invariants: dict[str, str]
    action_properties: dict[str, list[str]]
    initial_properties: dict[str, list[str]]
    parts: dict[str, list[PartMeta]]
    reasons: dict[str, list[tuple[str, bool]]]
    unchecked: dict[str, list[str]]
    temporal: dict[str, list[Temporal]]
    temporal_places: dict[str, list[str]]
    assumed: list[Temporal]
    constraints: list[str]
    action_constraints: list[str]
    assumptions: list[tuple[str, Place]]
    constant_entries: list[tuple[str, str, str]]
    symmetry: str | None
    view: str | None
    cfg_places: dict[str, str]
    postcondition: tuple[str, str] | None
    postcondition_name: str | None
    undeclared_names: dict[str, str]
    why_unchecked: dict[str, str]
    check_deadlock: bool
    has_registers: bool
    constants: dict[str, str]
    model_values: list[str]


def empty_meta(**known: Any) -> Meta:
    """Return what is known of a spec before anything of it is compiled; `known` are fields by name."""
    kinds = {name: get_origin(kind) or kind for name, kind in get_type_hints(Meta).items()}
    nothing = {name: kind() if kind in (str, bool, list, dict) else None for name, kind in kinds.items()}
    return nothing | known  # type: ignore[return-value]  # these are the fields and their types
