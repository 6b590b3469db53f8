"""The stories of flaws, which stand beside their counterexamples."""

from __future__ import annotations

import re
from functools import cache

from lockstep.base.package_data import traces_dir
from lockstep.report.page.shown_behaviour import FlawStory

#: A link of Markdown, whose words stay where nothing can be linked.
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@cache
def flaw_stories(system: str) -> dict[str, FlawStory]:
    """Return the stories of the flaws of a system by the names of their switches; none where there are no stories.

    Arguments: `system`, the name of the folder of its counterexamples.
    """
    try:
        folder = traces_dir()
    except FileNotFoundError:
        return {}
    found = {}
    for file in sorted(folder.glob(f"counterexamples/{system}/*/README.md")):
        name = f"traces/{file.relative_to(folder).as_posix()}"
        for section in file.read_text(encoding="utf-8").split("\n## ")[1:]:
            title, _, text = section.partition("\n")
            found[title.strip()] = FlawStory(name, _plain(text))
    return found


def _plain(text: str) -> str:
    """Return the paragraphs of a story, without the last, which links to the trace."""
    paragraphs = [" ".join(each.split()) for each in text.strip().split("\n\n")]
    return "\n\n".join(_LINK.sub(r"\1", each) for each in paragraphs if not each.startswith("["))
