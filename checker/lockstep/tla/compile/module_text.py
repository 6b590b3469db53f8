"""From a syntax tree and a configuration to the text of one Python module.

The text has three parts. The first is all that checking needs; the second, below a marker line, holds the same actions
once more, reporting every conjunct to a tracer, and is compiled only when something is to be explained; the third holds
them in stages, and is compiled only for a search by tables.
"""

from __future__ import annotations

import pprint
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_probes import FORMULA, NUMBER, OPERAND, ProbeTable
from lockstep.tla.compile.expression_writer import GeneratedFunction
from lockstep.tla.compile.generated_module import GeneratedModule, place_of, source_text
from lockstep.tla.compile.named_formulas import init_and_next
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.property_functions import footprints_of, write_predicates
from lockstep.tla.compile.spec_meta import Place
from lockstep.tla.compile.step_functions import write_actions, write_enabled, write_init
from lockstep.tla.compile.successor_stages import write_stages
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values import (
    bag_operators,
    constructed_sets,
    equality,
    file_operators,
    frozen_values,
    function_operators,
    integer_intervals,
    json_operators,
    keyed_elements,
    kinds,
    lazy_sets,
    logic_operators,
    next_state,
    number_operators,
    probed_values,
    quantifier_bounds,
    sequence_operators,
    set_operators,
    tlc_operators,
)
from lockstep.tla.values.constructed_sets import INT, NAT, STRING
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, format_value

MARKER = "# ==== Explanations: the same actions, reporting each conjunct to a tracer ====\n"
STAGES = "# ==== Stages: the successors piece by piece ====\n"


def write_definitions(module: GeneratedModule) -> None:
    """Compile every definition of the root module for evaluation by name; note those that cannot be."""
    for name, uid in module.program.top.items():
        definition = module.program.definition(uid)
        if definition is None or definition.loc.module not in module.sources or module.program.standard(definition):
            continue
        facts = module.program.facts[definition.uid]
        try:
            with module.expressions.attempt():
                function = module.expressions.value_function(definition)
        except CompileError as error:
            module.meta["uncompiled"][name] = str(error)
            continue
        how, fields = module.expressions.protocol(definition), module.program.fields(definition.body)
        module.meta["definitions"][name] = {
            "function": function,
            "arguments": list(how),
            "reads_now": facts.reads_now,
            "reads_next": facts.reads_next,
            "fields": None if fields is None else sorted(fields),
            "loc": place_of(definition.loc),
            "body": place_of(definition.body.loc),
        }


def assemble(module: GeneratedModule) -> str:
    """Return the text of the module, once all is written."""
    meta, expressions, program = module.meta, module.expressions, module.program
    meta["constants"] = {d.name: expressions.constant(d.uid) for d in program.constants() if d.uid in program.values}
    meta["model_values"] = program.model_values()
    slow = [f for key, f in expressions.functions.items() if _is_why(key)]
    fast = [f for key, f in expressions.functions.items() if not _is_why(key)]
    parts = [
        f'"""Compiled from {meta["name"]}.tla; do not edit."""',
        *_imports(),
        "from lockstep.tla.state import state_class as _state_class",
        "from lockstep.tla.values.name_order import NameOrder as _NameOrder",
        f"\nMETA = {pprint.pformat(meta, width=110, sort_dicts=False)}",
        f"\nState = _state_class({tuple(meta['variables'])!r})",
        f"\n\nclass Next(_NextState):\n    __slots__ = {tuple(expressions.slots.values())!r}\n\n",
        f"_names = _NameOrder({module.names!r})\n_choose, _elements = _names.choose, _names.elements\n",
        "_json, _files = _JsonTexts(_elements), _FileValues()\n",
        "_to_json, _to_json_array, _to_json_object = _json.to_json, _json.to_json_array, _json.to_json_object\n",
        "_read_json, _read_json_lines, _read_text = _files.json, _files.json_lines, _files.text\n",
        "_registers = _Registers()\n_tlc_get, _tlc_set = _registers.get, _registers.set\n",
        "_tlc_get_or_default, _tlc_get_and_set = _registers.get_or_default, _registers.get_and_set\n",
        *_probes(module),
        *_constants(module),
        *_texts(module, fast),
        *[f"\n\n{text}" for mode in ("init", "next", "step", "bound") for text in module.entries[mode]],
        f"\n\n{MARKER}",
        f"CONJUNCTS = {pprint.pformat(_conjuncts(module), width=110, sort_dicts=False)}",
        *_texts(module, slow),
        *[f"\n\n{text}" for text in module.entries["why"]],
        f"\n\n{STAGES}",
        *[f"\n\n{text}" for text in module.entries["stage"]],
        "",
    ]
    return "\n".join(parts)


def _probes(module: GeneratedModule) -> Iterator[str]:
    """Write the probes of a module that is to have some, with the places and texts of their expressions."""
    probes = module.expressions.probes
    if probes is not None:
        yield f"PROBES = {pprint.pformat([*_probed(module, probes)], width=110, sort_dicts=False)}"
        yield "_probes = _Probes()"
        yield "_probe, _probe_operand, _probe_update = _probes.value, _probes.operand, _probes.update"
        yield "_probe_use = _probes.use\n"


def _probed(module: GeneratedModule, probes: ProbeTable) -> Iterator[tuple[Place, str, str, tuple[int, ...]]]:
    """Yield the place, the kind, the text and the sides of each expression with a probe, by its number."""
    noted = (FORMULA, NUMBER, OPERAND)
    at: dict[Location, int] = {loc: number for (loc, kind), number in probes.numbers.items() if kind in noted}
    for loc, kind in probes.numbers:
        sides = (
            tuple(at[side] for side in probes.operands.get(loc, ()) if side in at) if kind in (FORMULA, NUMBER) else ()
        )
        yield place_of(loc), kind, source_text(module, loc), sides


def _constants(module: GeneratedModule) -> list[str]:
    """Write the values that the configuration gives."""
    keys = [(key, name) for key, name in module.expressions.names_of.items() if isinstance(key, tuple)]
    return [f"{name} = {_literal(module.program.values[key[1]])}" for key, name in keys if key[0] == "constant"]


def _texts(module: GeneratedModule, functions: list[GeneratedFunction]) -> list[str]:
    ordered = sorted(functions, key=lambda f: (f.loc.module, f.loc.line, f.name))
    return [f"\n\n{_comment(module, f.loc)}{f.text}" for f in ordered]


def _comment(module: GeneratedModule, loc: Location) -> str:
    first = source_text(module, loc).splitlines()
    return f"# {first[0].strip()}\n" if first else ""


def _conjuncts(module: GeneratedModule) -> list[list[Any]]:
    """List the places and texts of the conjuncts that explanations name."""
    return [[*place_of(loc), before + source_text(module, loc)] for loc, before in module.expressions.conjuncts]


_OPERATORS = (
    *(constructed_sets, logic_operators, next_state, quantifier_bounds, number_operators, set_operators),
    *(
        function_operators,
        sequence_operators,
        bag_operators,
        keyed_elements,
        tlc_operators,
        json_operators,
        file_operators,
    ),
)
#: The modules of what generated code calls, each with the names that it imports. Each function there raises TlaError
#: (or its subclass for wrong kinds) where TLC reports an error.
_CALLED: dict[ModuleType, Iterable[str]] = {
    kinds: ("Fcn", "ModelValue", "as_fcn"),
    integer_intervals: ("domain_of",),
    equality: ("build_set", "eq"),
    frozen_values: ("frozen",),
    lazy_sets: ("member",),
    probed_values: ("Probes",),
    **{module: module.__all__ for module in _OPERATORS},
}


def _imports() -> Iterator[str]:
    """Write the imports of generated code, each name with an underscore before it, which no other name has."""
    for module, names in _CALLED.items():
        yield f"from {module.__name__} import ("
        yield from (f"    {name} as _{name.rstrip('_')}," for name in names)
        yield ")"


def _is_why(key: object) -> bool:
    return isinstance(key, tuple) and key[0] == "why"


def _literal(value: Value) -> str:
    """Write a value as Python."""
    if isinstance(value, ModelValue):
        return f"_ModelValue({value.name!r})"
    if isinstance(value, frozenset):
        return f"frozenset(({''.join(_literal(v) + ', ' for v in sorted(value, key=format_value))}))"
    if isinstance(value, tuple):
        return f"({''.join(_literal(v) + ', ' for v in value)})"
    if isinstance(value, Fcn):
        return f"_Fcn({{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.d.items())}}})"
    if isinstance(value, (bool, int, str)):
        return repr(value)
    if value is NAT or value is INT or value is STRING:
        return f"_{value.__reduce__()}"
    raise CompileError(f"a constant cannot be {format_value(value)}")


def generate(
    program: Program,
    sources: dict[str, str],
    *,
    spec_hash: str = "",
    footprints: Iterable[str] = (),
    names: Mapping[str, int] | None = None,
    has_probes: bool = False,
) -> str:
    """Compile a program to the text of a Python module.

    Args:
        sources: the text of each module of the project, by name.
        footprints: definitions whose footprints are asked for; one that is not there has none.
        names: the numbers by which strings and model values are ordered, see :mod:`lockstep.tla.syntax.interning`.
        has_probes: whether expressions are to have probes, see :mod:`lockstep.tla.values.probed_values`.

    Returns:
        The Python source.

    Raises:
        CompileError: if something needed is outside the supported language.
    """
    module = GeneratedModule(program, sources, spec_hash, footprints, names, has_probes=has_probes)
    module.expressions.write_enabled = partial(write_enabled, module)
    init, nxt = init_and_next(program)
    module.meta["footprints"] = dict(footprints_of(module))
    write_init(module, init)
    write_actions(module, nxt)
    if module.split is not None:
        write_stages(module, *module.split)
    write_predicates(module)
    write_definitions(module)
    return assemble(module)
