"""The rule that a spec states at a deviation which no change explains."""

from __future__ import annotations

import re

from lockstep.conformance.cause_places import shown_field
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, cause_at
from lockstep.conformance.diagnosis import DeviationCause


def stated_rule(deviation: Deviation, steps: ChangedSteps) -> DeviationCause | None:
    """Return what the spec says at the deviation, where no change explains it; None where that is not known.

    It is the first condition that is false, or the update that gives the field which the trace shows otherwise: the
    last one that names the most parts of its path, as in `a.n1.b`, or else the action; or the action, where it leaves
    that field alone.
    """
    line, event = deviation.events[-1]
    if deviation.condition is not None:
        place, text = deviation.condition
        return cause_at(deviation, steps.check, "rule", text, deviation.last, 0, at=place, came_to="FALSE")
    if steps.check.reading.is_observation(event):
        return None
    before = deviation.states[-1]
    after = steps.take(before, line, event)
    if after is None:
        return None
    shown = shown_field(deviation, steps.check, after)
    if deviation.differing and shown is not None and shown == shown_field(deviation, steps.check, before):
        at, last = str(steps.check.spec.actions[event.action].loc), deviation.last
        return cause_at(deviation, steps.check, "rule", event.action, last, 0, at=at, came_to="unchanged")
    parts, best, named = set(re.split(r"[.\[]", deviation.differing)), None, 0
    for number in steps.seen:
        probed = steps.probed.probed[number]
        target = set(re.findall(r"\w+", probed.text.partition(" = ")[0])) if probed.kind == "update" else set()
        if target & parts and len(target & parts) >= named:
            best, named = probed, len(target & parts)
    if best is None and deviation.differing:
        action = steps.check.spec.actions[event.action]
        return cause_at(deviation, steps.check, "rule", event.action, deviation.last, 0, at=str(action.loc))
    if best is None:
        return None
    text = " ".join(best.text.split())
    return cause_at(deviation, steps.check, "rule", text, deviation.last, 0, at=str(best.loc))
