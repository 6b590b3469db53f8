"""Text that XML can hold."""

from __future__ import annotations

import re

#: What XML 1.0 cannot hold, escaped or not.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Return text in which what XML cannot hold, escaped or not, is a replacement character."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
