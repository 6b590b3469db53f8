"""Markdown as blocks: what the chapters use is read, and anything else stays text."""

from __future__ import annotations

from lockstep.report.page.build_page import build_chapter
from lockstep.report.page.markdown_blocks import Block, markdown_blocks

TEXT = """# A *b* `c`

The first line,
and [the
next](other.md), [away](../glossary.md#term), `x_*y*`.

- one
  more
- two

1. first
2. second

| a | b |
| --- | --- |
| `1` | |

```tla
  x == 1  \\* *no* emphasis

# no heading
```
The end
## Heading
"""


def blocks(text: str) -> list[Block]:
    return list(markdown_blocks(text, {"other.md": "other.html"}.get))


def test_each_block_of_a_chapter_is_read() -> None:
    plain = [("", "one more", "")], [("", "two", "")]
    assert blocks(TEXT) == [
        {"kind": "h1", "parts": [("", "A ", ""), ("em", "b", ""), ("", " ", ""), ("code", "c", "")]},
        {
            "kind": "p",
            "parts": [
                *(("", "The first line, and ", ""), ("a", "the next", "other.html"), ("", ", ", "")),
                *(("", "away", ""), ("", ", ", ""), ("code", "x_*y*", ""), ("", ".", "")),
            ],
        },
        {"kind": "ul", "items": list(plain)},
        {"kind": "ol", "items": [[("", "first", "")], [("", "second", "")]]},
        {"kind": "table", "rows": [[[("", "a", "")], [("", "b", "")]], [[("code", "1", "")], []]]},
        {"kind": "pre", "text": "  x == 1  \\* *no* emphasis\n\n# no heading"},
        {"kind": "p", "parts": [("", "The end", "")]},
        {"kind": "h2", "parts": [("", "Heading", "")]},
    ]


def test_code_without_an_end_and_marks_without_a_partner_are_text() -> None:
    assert blocks("```\nx") == [{"kind": "pre", "text": "x"}]
    assert blocks("a * b and `c") == [{"kind": "p", "parts": [("", "a * b and `c", "")]}]


def test_nothing_of_a_text_is_markup() -> None:
    hostile = (
        "# <b>\n\n<script>1</script> `<i>` *<u>* [<s>](other.md)\n\n- <li>\n\n| <td> |\n| --- |\n\n```\n</pre>\n```\n"
    )
    page = build_chapter("<title>", blocks(hostile))
    assert "&lt;title&gt;" in page
    for tag in ("<b>", "<script", "<i>", "<u>", "<s>", "<li><li>", "<td><td>", "</pre>\n</pre>"):
        assert tag not in page
