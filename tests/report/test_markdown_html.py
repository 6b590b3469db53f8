"""Markdown as HTML: what the chapters use is there, links lead where the page can, and no text is markup."""

from __future__ import annotations

from lockstep.report.page.build_page import build_chapter
from lockstep.report.page.markdown_html import markdown_html


def html(text: str) -> str:
    return markdown_html(text, {"other.md": "other.html"}.get)


def test_a_link_leads_where_the_page_can_and_is_plain_text_elsewhere() -> None:
    assert html("See [the *next*](other.md), [away](../glossary.md#term).") == (
        '<p>See <a href="other.html">the <em>next</em></a>, away.</p>\n'
    )


def test_code_can_take_the_focus_whether_it_is_fenced_or_indented() -> None:
    fenced, indented = html("```tla\n  x == *1*\n```\n"), html("text\n\n    {\n      x\n")
    assert '<pre><code tabindex="0" class="language-tla">  x == *1*\n</code></pre>' in fenced
    assert '<pre><code tabindex="0">{\n  x\n</code></pre>' in indented


def test_a_table_has_a_head_and_rows() -> None:
    shown = html("| a | b |\n| --- | --- |\n| `1` | |\n")
    assert "<th>a</th>" in shown
    assert "<td><code>1</code></td>" in shown


def test_nothing_of_a_text_is_markup() -> None:
    hostile = (
        "# <b>\n\n<script>1</script> `<i>` *<u>* [<s>](other.md) [x](javascript:alert) ![y](z.png)\n\n"
        "- <li>\n\n| <td> |\n| --- |\n\n```\n</pre>\n```\n"
    )
    page = build_chapter("<title>", html(hostile))
    assert "&lt;title&gt;" in page
    for markup in ("<b>", "<script", "<i>", "<u>", "<s>", "<li><li>", "<td><td>", "</pre>\n</pre>", "<img", 'href="j'):
        assert markup not in page
