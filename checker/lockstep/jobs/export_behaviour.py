"""Exports a behaviour: as states in Apalache's Informal Trace Format (ITF), or as a space-time diagram."""

from __future__ import annotations

import json

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.report.counterexample_steps import itf
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import ShownBehaviour
from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.trace.itf_reader import HEADER


class NotExportedError(BadInputError):
    """ITF cannot express the behaviour; the message says why."""


def export_itf(shown: ShownBehaviour, context: PageContext) -> bytes:
    """Return a behaviour as a file of ITF that `lockstep check` gives the same verdict.

    The `#meta` of a trace of a system that lockstep knows has the trace's header.
    Raises NotExportedError where a part of it is left out, and where it leaves the spec: no state is known from there
    on, and ITF holds nothing but states.
    """
    if len(shown.steps) <= shown.count:
        raise NotExportedError(f"{shown.title}: of {shown.count + 1:,} states only {len(shown.steps):,} are kept")
    if shown.deviates or any(step.is_refused for step in shown.steps):
        raise NotExportedError(
            f"{shown.title}: {shown.reason}: after that no state is known, and as ITF, which holds states alone, it "
            "would hold"
        )
    steps = (BehaviourStep(step.action, step.args, "", step.state) for step in shown.steps)
    behaviour = Behaviour(tuple(steps), shown.back_to)
    _refuse_confused(behaviour, shown.title, context)
    failed = dict.fromkeys(name for step in shown.steps for name in sorted(step.failed))
    header = {} if context.header is None else {HEADER: msgspec.to_builtins(context.header)}
    tree = itf(behaviour, context.system.module.name, ", ".join(failed) or None, header)
    return (json.dumps(tree, indent=1) + "\n").encode()


def _refuse_confused(behaviour: Behaviour, title: str, context: PageContext) -> None:
    """Raise NotExportedError where a string of the trace reads like a model value: ITF writes both alike."""
    names = frozenset(context.spec.model_values)  # of a model its nodes are some, too
    for number, step in enumerate(behaviour.steps):
        for name, value in step.state.items():
            if from_itf(to_itf(value), names) != value:
                raise NotExportedError(
                    f"{title}: {name} of state {number} has a string that is called like a model value, "
                    f"one of {', '.join(sorted(names))}; ITF cannot distinguish them"
                )
