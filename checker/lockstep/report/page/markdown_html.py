"""A text in Markdown as HTML, in which nothing of the text is markup of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lockstep.base.extras import extra

with extra("draw"):
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["markdown_html"]


def markdown_html(text: str, address: Callable[[str], str | None]) -> str:
    """Return a text in Markdown, with tables, as HTML.

    Arguments: `address`, the address of the target of a link; None where the page cannot lead there, and the words of
    the link are plain text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.children is not None:
            token.children = list(_with_addresses(token.children, address))
        elif token.type in ("fence", "code_block"):
            token.type = "fence"
            token.attrSet("tabindex", "0")  # it scrolls, which the keyboard can do only where it has the focus
    return str(parser.renderer.render(tokens, parser.options, {}))


def _with_addresses(parts: Sequence[Token], address: Callable[[str], str | None]) -> Iterator[Token]:
    """Yield the parts of a line, of whose links those stay that have an address."""
    leads = False
    for part in parts:
        if part.type == "link_open":
            target = address(str(part.attrGet("href")))
            leads = target is not None
            if target is not None:
                part.attrSet("href", target)
        if leads or part.type not in ("link_open", "link_close"):
            yield part
