"""The tables of a search as they lie in the memory of a graphics card: copied anew after each evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.tla.tables import cuda_kernels as kernels
from lockstep.tla.tables.cuda_device import Device
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.expander import Expander
from lockstep.tla.tables.fingerprint_set import DeviceFullError
from lockstep.tla.tables.predicate_trees import StepPredicates
from lockstep.tla.tables.written_steps import lists_of

_NOTHING: Ints = np.zeros(0, np.int32)


class CudaTables:
    """The tables of an expander, copied to a card.

    Attributes:
        ints: all tables, one after the other; `at` are their places, by the names of the kernels.
        sums: what the values of columns add to fingerprints, and from `added` on what steps add.
        views: the fingerprints of the values of the VIEW.
        groups: the number of the groups of Next, without those below a choice.
        longest: the largest number of a value that a column has.
    """

    def __init__(self, expander: Expander, device: Device) -> None:
        self._expander, self._device = expander, device
        self.groups = expander.groups.count
        self.ints: Any = None
        self.at: Any = None
        self.sums: Any = None
        self.views: Any = None
        self.added = self.longest = self.nbytes = 0
        self.refresh()

    def refresh(self) -> None:
        """Copy the tables as they are now."""
        expander = self._expander
        tables: dict[int, Ints] = {
            kernels.NODES: expander.trees.nodes(),
            kernels.BRANCHES: expander.trees.branches(),
            **self._trees_of_states(),
            **self._groups_of_next(),
            **self._steps(),
            **self._predicates(),
        }
        expander.hashing.add_values()
        starts, sums = expander.hashing.sums
        tables[kernels.HASH_START] = starts
        ends = np.cumsum([0, *(tables[number].size for number in range(kernels.TABLE_COUNT))])
        if int(ends[-1]) >= 1 << 31:
            raise DeviceFullError("the tables are larger than a card's kernels can address")
        flat = [np.ascontiguousarray(tables[number], np.int32).reshape(-1) for number in range(kernels.TABLE_COUNT)]
        self.ints = self._device.put(np.concatenate(flat))
        self.at = self._device.put(ends[:-1].astype(np.int64))
        added = expander.step_fingerprints.of_steps()
        self.sums = self._device.put(np.concatenate([sums.reshape(-1), added.reshape(-1)]))
        self.added = sums.size
        self.views = self._device.put(expander.views.all)
        self.longest = max(map(len, expander.layout.values))
        self.nbytes = 4 * int(ends[-1]) + 8 * (sums.size + added.size)

    def _trees_of_states(self) -> dict[int, Ints]:
        """The trees that are looked up for every state, those of definitions, and what a step affects of them."""
        expander = self._expander
        masks, derived = expander.evaluator.steps.masks, expander.trees.derived
        roots = np.full(expander.evaluator.span, -1, np.int32)
        for column, tree in derived.items():
            roots[column] = tree.root
        stale_first, stale = lists_of(expander.trees.touched(masks, list(derived.values())))
        affected_first, affected = lists_of(expander.groups.touched(masks))
        return {
            kernels.DERIVED: roots,
            kernels.TREE_ROOTS: expander.groups.roots,
            kernels.AFFECTED_FIRST: affected_first,
            kernels.AFFECTED: affected,
            kernels.STALE_FIRST: stale_first,
            kernels.STALE: np.array(list(derived), np.int32)[stale] if derived else _NOTHING,
        }

    def _groups_of_next(self) -> dict[int, Ints]:
        groups = self._expander.groups
        return {
            kernels.GROUP_TREES: groups.tree_of,
            kernels.GROUP_ROOTS: groups.all_roots,
            kernels.BELOW_FIRST: groups.below_first,
            kernels.BELOW: groups.below,
            kernels.LIST_FIRST: groups.step_lists.starts,
            kernels.LIST_STEPS: groups.step_lists.items.array,
            kernels.ELEMENT_FIRST: groups.element_lists.starts,
            kernels.ELEMENTS: groups.element_lists.items.array,
        }

    def _steps(self) -> dict[int, Ints]:
        steps = self._expander.evaluator.steps
        return {
            kernels.STEP_PATTERN: steps.pattern.array,
            kernels.STEP_VALUES: steps.values.first.array[steps.values_of.array],
            kernels.SLOT_FIRST: steps.slots.starts,
            kernels.SLOTS: steps.slots.items.array,
            kernels.VALUES: steps.values.items.array,
        }

    def _predicates(self) -> dict[int, Ints]:
        expander = self._expander
        masks, invariants = expander.evaluator.steps.masks, expander.invariants
        check_first, checked = lists_of(expander.trees.touched(masks, invariants.trees))
        properties, limits = (self._open(each) for each in (expander.step_properties, expander.action_constraints))
        return {
            kernels.CHECK_FIRST: check_first,
            kernels.CHECK_ROOTS: invariants.roots[checked],
            kernels.INVARIANT_ROOTS: invariants.roots,
            kernels.CONSTRAINT_ROOTS: expander.constraints.roots,
            **dict(
                zip((kernels.PROPERTY_FIRST, kernels.PROPERTY_ROOTS, kernels.PROPERTY_KINDS), properties, strict=True)
            ),
            **dict(zip((kernels.LIMIT_FIRST, kernels.LIMIT_ROOTS, kernels.LIMIT_KINDS), limits, strict=True)),
        }

    def _open(self, predicates: StepPredicates) -> tuple[Ints, Ints, Ints]:
        """List for each pattern the roots of predicates that the kinds of its steps leave open, with these kinds."""
        first, which, kinds = predicates.open_by_pattern()
        return first, predicates.roots[which], kinds
