"""The text of spec and reference at the places that a page names, so that each leads there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lockstep.report.page.source_lines import Excerpt, definition_at, function_at

#: A place of the spec, MODULE.tla:LINE:COLUMN, or of the reference, FILE.py:LINE.
_PLACE = re.compile(
    r"(?P<module>\w{1,200})\.tla:(?P<line>\d{1,7}):\d{1,7}|[\w./-]{1,200}\.py:(?P<at>\d{1,7})", re.ASCII
)

#: The greatest number of excerpts on a page.
MAX_EXCERPTS = 60


def sources_tree(shown: Iterable[str], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the excerpts that hold the places which some texts name, and for each place its excerpt and its line.

    A place whose text is unknown has none. Arguments: `texts`, the text of each module by its name.
    """
    excerpts: list[Excerpt] = []
    places: dict[str, list[int]] = {}
    for found in (match for text in shown for match in _PLACE.finditer(text)):
        place = found[0]
        if place in places:
            continue
        line = int(found["line"] or found["at"])
        module = found["module"]
        excerpt = function_at(place) if module is None else definition_at(texts, module, line)
        if excerpt is None or (excerpt not in excerpts and len(excerpts) == MAX_EXCERPTS):
            continue
        if excerpt not in excerpts:
            excerpts.append(excerpt)
        places[place] = [excerpts.index(excerpt), line]
    return {"places": places, "excerpts": [[each.file, each.begin, each.text] for each in excerpts]}


def texts_in(tree: Any) -> Iterable[str]:
    """Yield the texts in a tree of JSON."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from texts_in(each)
