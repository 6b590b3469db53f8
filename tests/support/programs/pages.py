"""Pages of traces: how tests make them and read their content."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import page_content
from lockstep.systems.trace_files import import_trace, write_cluster
from tests.support.places import ROOT

#: What a browser would run if it were taken for markup, and what would end the block of data.
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

#: A spec without nodes.
COUNTER = """---- MODULE Counter ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\\ y = 0
Up == x < 3 /\\ x' = x + 1 /\\ UNCHANGED y
Back == x = 3 /\\ x' = 1 /\\ y' = 1 - y
Next == Up \\/ Back
Spec == Init /\\ [][Next]_<<x, y>> /\\ WF_<<x, y>>(Next)
Settles == <>[](y = 0)
Small == x < 3
Counts == Init /\\ [][Up]_<<x, y>>
====
"""

#: A cfg of it with an invariant that fails.
COUNTS_TOO_FAR = "INIT Init\nNEXT Next\nINVARIANT Small\n"


class Elements(HTMLParser):
    """The elements of a page, in order, each with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._within = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._within = tag in ("script", "style")
        if self._within:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = False

    def handle_data(self, data: str) -> None:
        if self._within:
            self.texts[-1] += data


def tree_of(trace: Path, **switches: bool | str | int) -> dict[str, Any]:
    """Return the content of the page of a trace."""
    return page_content(*view_trace(trace, switches))


def page_of(trace: Path, **switches: bool | str | int) -> str:
    return build_page(tree_of(trace, **switches))


def diagnosed_page(trace: Path, **switches: bool | str | int) -> str:
    """Return the page of a trace that says why it leaves the spec, if it does."""
    return build_page(page_content(*view_trace(trace, switches, diagnoses=True)))


def tree_in(text: str) -> dict[str, Any]:
    """Return the content of a page from its text."""
    found: dict[str, Any] = json.loads(Elements(text).texts[1])
    return found


def hostile_trace(folder: Path, events: int = 150) -> Path:
    """Write a trace that conforms, in which every value and the name of a node are hostile."""
    trace = write_cluster(folder, "published", 3, events)
    text = trace.read_text(encoding="utf-8")
    renamed = text.replace('"n1"', json.dumps(HOSTILE)).replace('"v1"', json.dumps(HOSTILE + "v"))
    assert renamed.count("window.hacked") > events
    hostile = folder / "hostile.trace.ndjson"
    hostile.write_text(renamed, encoding="utf-8")
    return hostile


def counter(folder: Path, cfg: str) -> tuple[Path, Path]:
    """Write the spec with a cfg."""
    spec = folder / "Counter.tla"
    spec.write_text(COUNTER, encoding="utf-8")
    spec.with_suffix(".cfg").write_text(cfg, encoding="utf-8")
    return spec, spec.with_suffix(".cfg")


def figure8_page(folder: Path) -> Path:
    """Write the page of the recorded figure 8, whose commit is decided in one step and seen in the next; return it."""
    trace, file = folder / "figure8.trace.ndjson", folder / "figure8.html"
    import_trace(ROOT / "traces" / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson", trace)
    file.write_text(diagnosed_page(trace, repaired=True), encoding="utf-8")
    return file
