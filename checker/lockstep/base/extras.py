"""Packages that only some commands need, and what to install where one of them is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from lockstep.base.errors import GaveUpError

#: The extras of the distribution, each with the modules that it brings.
EXTRAS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "spark": frozenset({"pyspark", "py4j", "pyarrow", "pandas"}),
        "prove": frozenset({"z3"}),
        "draw": frozenset({"jinja2", "markdown_it"}),
        "hunt": frozenset({"hypothesis"}),
        "tables": frozenset({"numpy", "numba"}),
        "capture": frozenset({"dpkt"}),
    }
)


class MissingExtraError(GaveUpError):
    """A package is not installed that this command needs; the message says how to install it."""

    def __init__(self, module: str, extra: str) -> None:
        install = f"pip install 'lockstep-raft[{extra}]' (in a checkout: make install)"
        super().__init__(f"this needs the Python package {module}, which is missing; {install}")


class UnusableExtraError(MissingExtraError):
    """A package is installed and cannot be imported, as where it takes no NumPy as new as the one that is there."""

    def __init__(self, why: str, extra: str) -> None:
        GaveUpError.__init__(self, f"a package of the extra `{extra}` cannot be used: {' '.join(why.split())}")


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import the packages of the extra `name` in a block; raises MissingExtraError where one is missing or unfit."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS[name]:
            raise
        raise MissingExtraError(module, name) from error
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("", *EXTRAS[name]):
            raise
        raise UnusableExtraError(str(error), name) from error
