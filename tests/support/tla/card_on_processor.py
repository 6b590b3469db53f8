"""The kernels of a graphics card on the processor, where one thread after the other has its turn.

They are interpreted, or compiled, so that what runs is what a card runs, with its numbers of 32
and 64 bits. Numba's simulator interprets them, too; there threads interfere with one another.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

_PACKAGE = "lockstep.tla.tables"
#: The modules that need Numba, in the order of their imports.
_MODULES = ("cuda_kernels", "cuda_tables", "cuda_pieces", "cuda_fingerprint_set", "cuda_frontier")


@contextmanager
def card_on_processor(*, compiled: bool = False, threads: int = 3) -> Iterator[SimpleNamespace]:
    """Let searches on a card run on the processor.

    Args:
        compiled: whether Numba compiles the kernels; then there is one thread.
        threads: the threads that take their turns, in another order each time.

    Yields:
        The modules of the search on a card, by their names.
    """
    cuda, turn = _threads() if not compiled else (_compiled(), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("numba"), "cuda", cuda, raising=False)
        package = importlib.import_module(_PACKAGE)
        for name in _MODULES:
            patch.delitem(sys.modules, f"{_PACKAGE}.{name}", raising=False)
            patch.delattr(package, name, raising=False)
        modules = {name: importlib.import_module(f"{_PACKAGE}.{name}") for name in _MODULES}
        search = importlib.import_module(f"{_PACKAGE}.table_search")
        patch.setattr(search, "require_cuda", lambda: None)
        patch.setattr(search, "Device", lambda budget: ProcessorDevice(budget, turn, 1 if compiled else threads))
        try:
            yield SimpleNamespace(**modules)
        finally:
            for name in _MODULES:
                sys.modules.pop(f"{_PACKAGE}.{name}", None)
                if hasattr(package, name):
                    delattr(package, name)


class _Turn:
    """The thread whose turn it is, and how many there are."""

    thread, threads = 0, 1


def _threads() -> tuple[Any, _Turn]:
    """Return what kernels use of numba.cuda, interpreted."""
    turn = _Turn()
    functions = {name: staticmethod(each) for name, each in _ATOMIC.items()}
    cuda = SimpleNamespace(
        jit=lambda function, device=False: function,
        grid=lambda _dimension: turn.thread,
        gridsize=lambda _dimension: turn.threads,
        atomic=type("Atomic", (), functions),
        local=SimpleNamespace(array=lambda count, _kind: np.zeros(count, np.int32)),
    )
    return cuda, turn


def _compiled() -> Any:
    """Return what kernels use of numba.cuda, for one thread, compiled."""
    from numba import njit

    cuda, atomic, local = ModuleType("cuda"), ModuleType("atomic"), ModuleType("local")
    everything: dict[ModuleType, dict[str, Any]] = {
        atomic: _ATOMIC,
        local: {"array": lambda count, _kind: np.empty(count, np.int32)},
        cuda: {"grid": lambda _dimension: 0, "gridsize": lambda _dimension: 1},
    }
    for module, functions in everything.items():
        for name, function in functions.items():
            setattr(module, name, njit(function))
    found: Any = cuda
    found.atomic, found.local = atomic, local
    found.jit = lambda function, device=False: njit(function)
    return found


def _add(array: Any, place: int, value: Any) -> Any:
    before = array[place]
    array[place] += value
    return before


def _least(array: Any, place: int, value: Any) -> Any:
    before = array[place]
    array[place] = min(before, value)
    return before


def _greatest(array: Any, place: int, value: Any) -> Any:
    before = array[place]
    array[place] = max(before, value)
    return before


def _cas(array: Any, place: int, old: Any, value: Any) -> Any:
    before = array[place]
    if before == old:
        array[place] = value
    return before


_ATOMIC = {"add": _add, "min": _least, "max": _greatest, "cas": _cas}


class ProcessorDevice:
    """A device whose memory is that of the processor."""

    simulated, lanes = False, 2

    def __init__(self, budget: int | None, turn: _Turn | None, threads: int) -> None:
        self.budget = 1 << 40 if budget is None else budget
        self._turn, self._threads, self._random = turn, threads, random.Random(1)

    def launch(self, kernel: Any, count: int, *arguments: Any) -> None:
        """Run a kernel, one thread after the other."""
        if not count:
            return
        arrays = [each.array if isinstance(each, ProcessorArray) else each for each in arguments]
        if self._turn is None:
            kernel(*arrays)
            return
        self._turn.threads = self._threads
        with np.errstate(over="ignore"):
            for thread in self._random.sample(range(self._threads), self._threads):
                self._turn.thread = thread
                kernel(*arrays)

    def empty(self, count: int, dtype: npt.DTypeLike) -> ProcessorArray:
        """Make an array that may hold anything."""
        return ProcessorArray(np.full(max(1, count), 0x55, dtype))

    def put(self, array: npt.NDArray[Any]) -> ProcessorArray:
        """Copy an array."""
        flat = np.array(array).reshape(-1)
        return ProcessorArray(flat if len(flat) else np.zeros(1, flat.dtype))


class ProcessorArray:
    """An array as a card has it, in the memory of the processor."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array, self.size, self.dtype, self.nbytes = array, array.size, array.dtype, array.nbytes

    def __getitem__(self, places: slice) -> ProcessorArray:
        return ProcessorArray(self.array[places])

    def copy_to_host(self) -> npt.NDArray[Any]:
        """Return a copy."""
        return self.array.copy()

    def copy_to_device(self, array: npt.NDArray[Any]) -> None:
        """Take over the numbers of an array."""
        self.array[:] = array
