"""The stories of flaws, which stand beside their counterexamples."""

from __future__ import annotations

import re
from functools import cache

from lockstep.base.package_data import spec_dir, traces_dir
from lockstep.report.page.shown_behaviour import FlawStory

#: A link of Markdown, whose words stay where nothing can be linked.
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
#: A row of the table of flaws in the README of a spec: the name, what is published, and the repair.
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


@cache
def flaw_stories(system: str) -> dict[str, FlawStory]:
    """Return the stories of the flaws of a system by the names of their switches; none where there are no stories.

    Arguments: `system`, the name of the folder of its counterexamples.
    """
    try:
        folder = traces_dir()
    except FileNotFoundError:
        return {}
    found, in_words = {}, _in_words(system)
    for file in sorted(folder.glob(f"counterexamples/{system}/*/README.md")):
        name = f"traces/{file.relative_to(folder).as_posix()}"
        for section in file.read_text(encoding="utf-8").split("\n## ")[1:]:
            title, _, text = section.partition("\n")
            flaw = title.strip()
            found[flaw] = FlawStory(name, _plain(text), in_words.get(flaw, ""))
    return found


def _in_words(system: str) -> dict[str, str]:
    """Return in a line what each flaw of a system is, and its repair; none where its spec has no table of flaws."""
    readme = spec_dir() / system / "README.md"
    if not readme.is_file():
        return {}
    _, _, table = readme.read_text(encoding="utf-8").partition("\n| flaw | as published | repaired | origin |\n")
    rows = _ROW.findall(table.partition("\n\n")[0])
    return {
        name: _LINK.sub(r"\1", f"{published}; repaired: {repair}").replace("`", "") for name, published, repair in rows
    }


def _plain(text: str) -> str:
    """Return the paragraphs of a story, without the last, which links to the trace."""
    paragraphs = [" ".join(each.split()) for each in text.strip().split("\n\n")]
    return "\n\n".join(_LINK.sub(r"\1", each) for each in paragraphs if not each.startswith("["))
