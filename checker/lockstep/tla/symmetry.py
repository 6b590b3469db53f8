"""Equivalence of states in a search, by SYMMETRY and VIEW of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from lockstep.base.errors import WRONG_CFG
from lockstep.tla.compile.spec_fault import SpecFault, fault_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn, format_value
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.lazy_sets import LazySet
from lockstep.tla.values.value_bytes import encoded

#: A permutation of model values; those that stay are left out.
Permutation = Mapping[ModelValue, ModelValue]

#: Images of functions that are remembered for a permutation.
MAX_IMAGES = 65_536


class StateEquivalence:
    """The states that count as one: those with the same view, or those that are the same up to a permutation.

    A search remembers a state under each of its ``keys`` and looks another one up under its ``key`` alone.
    """

    def __init__(self, view: Callable[[State], Value] | None, permutations: Iterable[Permutation]) -> None:
        """Take the view, if there is one, and all permutations but the identity."""
        self.view = view
        self.images = tuple(map(Images, permutations))

    @property
    def is_equality(self) -> bool:
        """Whether only equal states are the same."""
        return self.view is None and not self.images

    def key(self, state: State) -> Hashable:
        """Return the key to look a state up by.

        Raises:
            TlaError: if the view has no value there, or one that cannot be listed.
        """
        return state if self.view is None else encoded(self.view(state))

    def keys(self, state: State) -> list[Hashable]:
        """Return the keys to remember a state by: its own, and those of its images."""
        images = [type(state)(map(each.image, state)) for each in self.images]
        return [self.key(state), *map(self.key, images)]


def state_equivalence(spec: Spec) -> StateEquivalence:
    """Read SYMMETRY and VIEW of a specification's configuration.

    Raises:
        SpecFault: if SYMMETRY is no set of permutations of model values, or has no value.
    """
    view = spec.view
    seen = None if view is None else lambda state: spec.evaluate(view, state)
    return StateEquivalence(seen, _group([] if spec.symmetry is None else _permutations(spec, spec.symmetry)))


def _permutations(spec: Spec, name: str) -> list[Permutation]:
    place = str(spec.definitions.get(name, ""))
    try:
        listed = frozen(spec.evaluate(name))
    except TlaError as error:
        raise fault_of(error, spec.source, name, {}, place) from error
    tables = [function.d if isinstance(function, Fcn) else {} for function in _elements(listed)]
    if not isinstance(listed, frozenset) or not all(map(_is_permutation, tables)):
        problem = f"the SYMMETRY {name} should be a set of permutations of model values, and is {format_value(listed)}"
        raise SpecFault(WRONG_CFG, place, problem)
    return [{key: image for key, image in table.items() if key is not image} for table in tables]


def _elements(value: Value) -> Iterable[Value]:
    return value if isinstance(value, frozenset) else ()


def _is_permutation(table: Mapping[Value, Value]) -> bool:
    return bool(table) and {*table} == {*table.values()} and all(isinstance(key, ModelValue) for key in table)


def _group(generators: list[Permutation]) -> list[Permutation]:
    """Close a set of permutations under composition, as TLC does; the identity is left out."""
    found = {frozenset(each.items()): each for each in generators if each}
    waiting = list(found.values())
    while waiting:
        first = waiting.pop()
        for second in generators:
            product = {key: second.get(first.get(key, key), first.get(key, key)) for key in {*first, *second}}
            product = {key: image for key, image in product.items() if key is not image}
            name = frozenset(product.items())
            if product and name not in found:
                found[name] = product
                waiting.append(product)
    return list(found.values())


class Images:
    """The images of values under one permutation.

    Those of functions are remembered by the object, since a step leaves most of a state as it was. By the object
    and not by the value: to Python, TRUE and 1 are equal.
    """

    def __init__(self, permutation: Permutation) -> None:
        self.permutation = permutation
        self._known: dict[int, tuple[Fcn, Value]] = {}

    def image(self, value: Value) -> Value:
        """Return a value with its model values replaced."""
        kind = type(value)
        if kind is int or kind is str or kind is bool:
            return value
        if kind is ModelValue:
            return self.permutation.get(value, value)
        if kind is Fcn:
            known = self._known.get(id(value))
            return self._of_function(value) if known is None else known[1]
        if kind is tuple:
            return tuple([self.image(part) for part in value])
        if kind is frozenset:
            return frozenset([self.image(part) for part in value])
        if isinstance(value, LazySet):
            return self.image(value.force()) if value.finite else value
        if isinstance(value, LazyFcn):
            return self.image(value.force())
        return value

    def _of_function(self, value: Fcn) -> Value:
        image = as_fcn({self.image(key): self.image(part) for key, part in value.d.items()})
        if len(self._known) == MAX_IMAGES:
            self._known.clear()
        self._known[id(value)] = value, image  # the value is kept too, so that its id stays its own
        return image
