"""Functions of generated code that are the same but for their names and places."""

from __future__ import annotations

from collections.abc import Hashable
from types import CodeType

__all__ = ["code_key"]


def code_key(code: CodeType) -> Hashable:
    """Answer what is equal for the code of functions that do the same, given the same globals, closures and defaults.

    A function of generated code that is written at the top of its module has neither a closure nor defaults.
    """
    constants = [code_key(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_argcount, code.co_flags, names, tuple(constants), code.co_exceptiontable
