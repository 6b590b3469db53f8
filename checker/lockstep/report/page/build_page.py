"""The page as one HTML file, whose policy lets the browser run and load only what is written here.

Nothing of a trace is ever markup. It stands in one block of JSON, in which no character can end the block, and the
script puts it into the page as text. As a second line of defence the Content-Security-Policy names the page's scripts
and style sheets by their hashes, and allows nothing else; a page that is played may also ask the server that it comes
from, or, without a server, load the scripts of its folder, run WebAssembly, and ask nobody.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from lockstep.base.extras import extra
from lockstep.report.page.page_content import Tree, json_for_html

if TYPE_CHECKING:
    from jinja2 import Template


def build_page(tree: Tree) -> str:
    """Return the page that shows a behaviour.

    Raises MissingExtraError where the package that fills its template is missing.
    """
    return _filled(tree, _policy(("page.js",), ("page.css",)), ("page.js",), ("page.css",), "")


def build_live_page(tree: Tree) -> str:
    """Return the page on which a behaviour is played: it asks the server that it comes from; raises as build_page."""
    return _filled(tree, live_policy(), _LIVE_SCRIPTS, _LIVE_STYLES, _static("play.html"))


def live_policy() -> str:
    """Return the policy of that page: it may ask the server that it comes from, and may stand in no frame."""
    return f"{_policy(_LIVE_SCRIPTS, _LIVE_STYLES)}; connect-src 'self'; frame-ancestors 'none'"


#: The files of the page on which a behaviour is played.
_LIVE_SCRIPTS, _LIVE_STYLES = ("page.js", "picture_menu.js", "play.js"), ("page.css", "play.css")


def build_folder_page(tree: Tree, engine: Tree, level: Tree | None = None, exercise: Tree | None = None) -> str:
    """Return the page of a folder on which Python answers without a server; raises as build_page.

    Arguments: `tree`, which is played if it has a part for that; `engine`, what `engine.js` reads: the names of the
    scripts of the folder that run Python, what Python opens, and the first answers; `level`, what `level.js` reads, of
    a page with a goal; `exercise`, what `exercise.js` reads, of a page of the course.
    """
    # Only a script with this word is loaded, which no content can contain that the word is made of.
    parts = "".join(json_for_html(each) for each in (tree, engine, level or {}, exercise or {}))
    nonce = _hash(parts).removeprefix("sha256-")
    is_played = "play" in tree
    scripts, styles = ["engine.js", *(_LIVE_SCRIPTS if is_played else ("page.js",))], ["page.css", "engine.css"]
    controls = ""
    if exercise is not None:
        controls += _static("exercise.html") + _data_block("exercise-data", exercise)
        scripts, styles = [*scripts, "exercise.js"], [*styles, "exercise.css"]
    if level is not None:
        controls += _static("level.html") + _data_block("level-data", level)
        scripts, styles = [*scripts, "level.js"], [*styles, "level.css"]
    if is_played:
        controls += _static("play.html")
        styles = [*styles, "play.css"]
    controls += _static("engine.html") + _data_block("engine", {**engine, "nonce": nonce})
    policy = _policy(scripts, styles, f" 'nonce-{nonce}' blob: 'wasm-unsafe-eval'")
    return _filled(tree, f"{policy}; worker-src blob:", scripts, styles, controls)


def build_index(pages: Sequence[Tree], levels: Sequence[Tree], exercises: Sequence[Tree]) -> str:
    """Return the page that lists those of a folder; raises as build_page.

    Arguments: `pages`, each with its `file` and `title`; `levels`, each with its `file`, `name`, `flaw`, `violated`,
    `system` and `par`; `exercises`, each with its `file`, `name`, `title`, `chapter`, `chapter_file`, and `par`, which
    is 0 where the page grades answers.
    """
    scripts, styles = ("index.js",), ("page.css", "index.css")
    return _template("index.html").render(
        policy=_policy(scripts, styles),
        scripts=list(map(_static, scripts)),
        styles=list(map(_static, styles)),
        pages=pages,
        levels=levels,
        exercises=exercises,
    )


def build_chapter(title: str, html: str) -> str:
    """Return the page of a chapter, given what :func:`.markdown_html.markdown_html` returns; raises as build_page."""
    styles = ("page.css", "chapter.css")
    return _template("chapter.html").render(
        title=title, policy=_policy((), styles), styles=list(map(_static, styles)), html=html
    )


def _data_block(name: str, tree: Tree) -> str:
    return f'<script type="application/json" id="{name}">{json_for_html(tree)}</script>\n'


def _policy(scripts: Sequence[str], styles: Sequence[str], other_scripts: str = "") -> str:
    allowed = [" ".join(f"'{_hash(_static(name))}'" for name in names) for names in (scripts, styles)]
    sources = f"script-src {allowed[0]}{other_scripts}; style-src {allowed[1]}"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _filled(tree: Tree, policy: str, scripts: Sequence[str], styles: Sequence[str], controls: str) -> str:
    return _template().render(
        title=tree["title"],
        policy=policy.partition("; frame-ancestors")[0],  # only a header may have that part
        scripts=list(map(_static, scripts)),
        styles=list(map(_static, styles)),
        controls=controls,
        data=json_for_html(tree),
    )


def _template(name: str = "page.html") -> Template:
    with extra("draw"):
        from jinja2 import Environment, StrictUndefined
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(_static(name))


def _static(name: str) -> str:
    return files("lockstep.report.page").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
