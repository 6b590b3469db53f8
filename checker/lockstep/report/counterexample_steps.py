"""Counterexamples step by step: as text, as records for programs, and in Apalache's Informal Trace Format (ITF)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.liveness.lasso_replay import FairnessEvidence
from lockstep.tla.values.itf_values import to_itf
from lockstep.tla.values.kinds import format_value

_ITF = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def steps_text(behaviour: Behaviour, *, full: bool = False) -> str:
    """Return each step as text: its action, arguments, definition, and the old and new value of what it changed.

    The initial state, and with `full` every state, is shown in full.
    """
    return "\n".join(_lines(behaviour, full))


def _lines(behaviour: Behaviour, full: bool) -> Iterator[str]:
    for index, step in enumerate(behaviour.steps):
        yield f"  {index + 1:3d}  {_title(step)}"
        changed = behaviour.changed(index)
        for change in changed:
            yield f"         {change.path}: {format_value(change.old)} -> {format_value(change.new)}"
        if index and not changed:
            yield "         no variable changes"
        if full or index == 0:
            yield from (f"         {name} = {format_value(value)}" for name, value in step.state.items())
    if behaviour.back_to is not None:
        stays = behaviour.back_to == len(behaviour.steps) - 1
        by = "" if behaviour.back_by is None else f" by {_call_text(behaviour.back_by)}"
        back = f"       and back to step {behaviour.back_to + 1}{by}, for ever"
        yield "       and stays in this state for ever" if stays else back
    if behaviour.fairness:
        yield "       which is fair:"
        yield from (f"         {_condition(each)}" for each in behaviour.fairness)


def _condition(each: FairnessEvidence) -> str:
    return f"{each.condition}: {each.how}{'' if each.index is None else f' after step {each.index + 1}'}"


def _title(step: BehaviourStep) -> str:
    return f"{_call_text(step)}  {step.place}" if step.place else _call_text(step)


def _call_text(step: BehaviourStep) -> str:
    name = step.action or "a step that TLC does not name"
    args = ", ".join(f"{arg} = {format_value(value)}" for arg, value in (step.args or {}).items())
    return f"{name}({args})" if args else name


def steps_records(behaviour: Behaviour, *, full: bool = False) -> list[dict[str, Any]]:
    """Return a JSON record of each step, with values in ITF's encoding.

    `args` is null where they are unknown; only the initial state, and with `full` every state, has `state`.
    """
    return [
        {
            "step": index + 1,
            "action": step.action,
            "args": _args(step),
            "place": step.place,
            "changed": [
                {"path": change.path, "old": to_itf(change.old), "new": to_itf(change.new)}
                for change in behaviour.changed(index)
            ],
            **({"state": _variables(step)} if full or index == 0 else {}),
        }
        for index, step in enumerate(behaviour.steps)
    ]


def counterexample_record(behaviour: Behaviour | None, *, full: bool = False) -> dict[str, Any]:
    """Return the JSON record of a counterexample: its steps, and the one to which it goes back for ever.

    Both are null where there is none; a behaviour that stutters goes back to its last step. `back_by` is the action
    that goes back, with its arguments; null where it stutters, or the action is unknown. `fairness` lists how the cycle
    meets each fairness condition: the step after which the action is taken, or is not enabled.
    """
    if behaviour is None:
        return {"counterexample": None, "back_to": None, "back_by": None, "fairness": []}
    back_to = None if behaviour.back_to is None else behaviour.back_to + 1
    fairness = [
        {"condition": each.condition, "met": each.how, "step": None if each.index is None else each.index + 1}
        for each in behaviour.fairness
    ]
    by = behaviour.back_by
    return {
        "counterexample": steps_records(behaviour, full=full),
        "back_to": back_to,
        "back_by": None if by is None else {"action": by.action, "args": _args(by)},
        "fairness": fairness,
    }


def _args(step: BehaviourStep) -> dict[str, Any] | None:
    return None if step.args is None else {name: to_itf(value) for name, value in step.args.items()}


def _variables(step: BehaviourStep) -> dict[str, Any]:
    return {name: to_itf(value) for name, value in step.state.items()}


def write_itf(behaviour: Behaviour, path: Path, source: str, violated: str) -> None:
    """Write a behaviour in ITF, with action and arguments of a step in the `#meta` of the state that it leads to.

    Arguments: `source`, the spec's file; `violated`, the property that the behaviour violates.
    """
    path.write_text(json.dumps(itf(behaviour, source, violated), indent=1) + "\n", encoding="utf-8")


def itf(
    behaviour: Behaviour, source: str, violated: str | None, further: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return a behaviour as the tree of an ITF file.

    Arguments: `source`, the spec's file; `violated`, the properties that the behaviour violates, if any; `further`,
    additional entries of the `#meta` of the file.
    """
    meta: dict[str, Any] = {
        "format": "ITF",
        "format-description": _ITF,
        "source": source,
        **({"status": "violation", "violates": violated} if violated is not None else {"status": "ok"}),
        **further,
    }
    loop = {} if behaviour.back_to is None else {"loop": behaviour.back_to}
    if behaviour.fairness:
        meta["fairness"] = [_condition(each) for each in behaviour.fairness]
    states = [
        {"#meta": {"index": index, "action": record["action"], "args": record["args"]}, **_variables(step)}
        for index, (step, record) in enumerate(zip(behaviour.steps, steps_records(behaviour), strict=True))
    ]
    return {"#meta": meta, "vars": list(behaviour.steps[0].state), "states": states, **loop}
