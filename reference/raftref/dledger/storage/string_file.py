"""Small files of text that are replaced as a whole, and the properties in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raftref.disks.disk import Disk, FileName


def string_to_file(disk: Disk, name: FileName, text: str) -> None:
    """Replace a file in these steps: write .tmp, copy the old content to .bak, delete, rename.

    Nothing is forced. Between the last two steps there is no such file (D8), and nothing ever reads the others.

    Args:
        disk: Where it lies.
        name: The file.
        text: Its new content.

    Source: IOUtils.string2File.
    """
    remove_for_string(disk, name, text)
    disk.rename(f"{name}.tmp", name)


def remove_for_string(disk: Disk, name: FileName, text: str) -> None:
    """Do all but the last step of string_to_file: there is no such file any more, and not yet."""
    _write(disk, f"{name}.tmp", text)
    before = file_to_string(disk, name)
    if before is not None:
        _write(disk, f"{name}.bak", before)
    disk.delete(name)


def _write(disk: Disk, name: FileName, text: str) -> None:
    """Write a whole file: opening it empties it, a step of its own. Source: IOUtils.string2FileNotSafe."""
    disk.truncate(name, 0)
    disk.write(name, 0, text.encode("utf-8"))


def file_to_string(disk: Disk, name: FileName) -> str | None:
    """Return the content of a file, None if there is none.

    Source: IOUtils.file2String.
    """
    size = disk.size(name)
    return None if size is None else disk.read(name, 0, size).decode("utf-8", "replace")


def properties_to_string(properties: Mapping[str, object]) -> str:
    """Return properties as text, one `key=value` a line, in the mapping's order.

    Source: IOUtils.properties2String, which escapes nothing either.
    """
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def string_to_properties(text: str) -> dict[str, str]:
    """Read such lines; what is no `key=value` is passed over.

    Source: IOUtils.string2Properties, without the escapes and other separators of java.util.Properties.
    """
    pairs = (line.partition("=") for line in text.split("\n"))
    return {key.strip(): value.lstrip() for key, separator, value in pairs if separator}


def to_long(text: str) -> int | None:
    """Return the number that a text is, None if it is none. Source: Long.valueOf."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
