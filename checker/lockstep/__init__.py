"""lockstep keeps implementations of replicated logs in step with their TLA+ spec.

`load_spec`, `explore`, `graph`, `check` and `draw` are what the commands use, too; docs/api.md has an example of each.
A name is imported when it is first asked for, so `import lockstep` is fast.
"""

from typing import TYPE_CHECKING

__all__ = ["SearchOptions", "__version__", "check", "draw", "explore", "graph", "load_spec"]

if TYPE_CHECKING:
    from lockstep.models.counterexample_picture import draw
    from lockstep.models.spec_graph import graph
    from lockstep.systems.file_check import check
    from lockstep.tla.explore import explore
    from lockstep.tla.loading.load_spec import load_spec
    from lockstep.tla.search_options import SearchOptions

    __version__: str
else:  # so that a type checker still sees a name that is misspelt
    _HOMES = {
        "SearchOptions": "lockstep.tla.search_options",
        "check": "lockstep.systems.file_check",
        "draw": "lockstep.models.counterexample_picture",
        "explore": "lockstep.tla.explore",
        "graph": "lockstep.models.spec_graph",
        "load_spec": "lockstep.tla.loading.load_spec",
    }

    def __getattr__(name):
        """Import a name when it is first asked for."""
        if name == "__version__":
            from importlib.metadata import version

            found = version("lockstep-raft")
        elif name in _HOMES:
            from importlib import import_module

            found = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__():
        """Name what is there already, and what is imported when it is asked for."""
        return sorted({*globals(), *__all__})
