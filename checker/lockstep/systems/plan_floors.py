"""The form of floors: parts of the protocol that clusters of a plan must reach, all but those that an argument excuses.

Unreachable parts are ruled out by the constants of the plan's spec, or by its rates. The compiled spec knows most of
them itself; the rest is argued, and a cluster that reaches one all the same refutes the argument. Rare are the parts
that less than a third of the clusters of a fleet of the stated size reach: another plan must reach them, or a model
shows that they can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lockstep.conformance.step_coverage import Reached, fault_actions, kind_of_action
from lockstep.systems.system import Floor
from lockstep.tla.spec import Spec

#: A condition on the constants of a header, and the rates of a plan, by their names.
Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]

#: The clusters that `lockstep verify` runs of each of its plans, and their events. Their floor has the essential parts
#: alone.
FEW_CLUSTERS, FEW_EVENTS = 5, 400


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Parts that are unreachable where a condition holds, and why."""

    what: tuple[Reached, ...]
    why: str
    where: Condition = lambda _: True


@dataclass(frozen=True, slots=True)
class RarePart:
    """Parts that clusters of some plans may miss at the stated size, and why."""

    what: tuple[Reached, ...]
    plans: Collection[str]
    why: str


def parts(kind: str, *names: str) -> tuple[Reached, ...]:
    """Return the parts of a kind with these names."""
    return tuple((kind, name) for name in names)


def actions(*names: str) -> tuple[Reached, ...]:
    """Return the parts that are these actions, which are no faults."""
    return parts("action", *names)


def unreachable_parts(spec: Spec, arguments: Iterable[Unreachable], has: Mapping[str, Any]) -> dict[Reached, str]:
    """Return the unreachable parts of a spec, each with its reason.

    Arguments: `spec`, compiled with the definitions of coverage; `has`, the constants and the rates.
    """
    faults = fault_actions(spec)
    never = ((kind_of_action(name, faults), name) for name in sorted(spec.never))
    found = dict.fromkeys(never, "the constants of the spec make it false")
    for each in arguments:
        if each.where(has):
            found |= {what: each.why for what in each.what if what not in found}
    return found


def rare_parts(plan: str, arguments: Iterable[RarePart]) -> dict[Reached, str]:
    """Return the parts of a plan that a fleet of the stated size may miss, each with its reason."""
    return {what: each.why for each in arguments if plan in each.plans for what in each.what}


def few_and_whole(
    everything: frozenset[Reached],
    essential: frozenset[Reached],
    ruled_out: Mapping[Reached, str],
    seldom: Mapping[Reached, str],
    clusters: int,
    events: int,
) -> tuple[Floor, Floor]:
    """Return the floor of the few clusters that `lockstep verify` runs, and that of a whole fleet."""
    rare = {part: why for part, why in seldom.items() if part not in ruled_out}
    must = everything - ruled_out.keys() - rare.keys()
    few = Floor(FEW_CLUSTERS, FEW_EVENTS, must & essential, ruled_out, {})
    return few, Floor(clusters, events, must, ruled_out, rare)
