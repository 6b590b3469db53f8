"""The page: one HTML file, whose policy lets the browser run and load only what is written here.

Nothing of a trace is ever markup. It stands in one block of JSON, in which no character can end the block, and the
script puts it into the page as text. Were a mistake in that, the Content-Security-Policy is there still: it names the
page's one script and one style sheet by their hashes, and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING

from lockstep.base.extras import extra
from lockstep.report.page.content import Tree

if TYPE_CHECKING:
    from jinja2 import Template


def page(tree: Tree) -> str:
    """Return the page that shows a behaviour; raises MissingExtraError where the package that fills it is missing."""
    script, style = _static("page.js"), _static("page.css")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    return _template().render(
        title=tree["title"],
        policy=f"{policy}; form-action 'none'",
        script=script,
        style=style,
        data=_json(tree),
    )


def _template() -> Template:
    with extra("draw"):
        from jinja2 import Environment, StrictUndefined
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(_static("page.html"))


def _static(name: str) -> str:
    return files("lockstep.report.page").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(tree: Tree) -> str:
    """Write JSON that can stand within an element: what could end it or begin another is escaped."""
    text = json.dumps(tree, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
