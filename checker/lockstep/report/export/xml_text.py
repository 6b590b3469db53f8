"""Text that XML can hold."""

from __future__ import annotations

import re

from lockstep.base.characters import visible

#: What XML 1.0 cannot hold, escaped or not, though no reader would obey it.
_NO_XML = re.compile("[\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Return visible text in which what XML cannot hold even so is a replacement character."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", visible(text))
