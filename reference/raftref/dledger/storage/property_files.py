"""Files of properties, small and replaced as a whole: the term file and the checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raftref.disks.disk import Disk, FileName
from raftref.dledger.choices import PUBLISHED, Config, Flaw
from raftref.dledger.messages import NONE, Index, NodeId, Term


def string_to_file(disk: Disk, name: FileName, text: str) -> None:
    """Replace a file in these steps: write .tmp, copy the old content to .bak, delete, rename.

    Nothing is forced. Between the last two steps there is no such file (VoteFile), and nothing ever reads the others.

    Args:
        disk: Where it lies.
        name: The file.
        text: Its new content.

    Source: IOUtils.string2File.
    """
    remove_for_string(disk, name, text)
    disk.rename(f"{name}.tmp", name)


def replace_file(disk: Disk, name: FileName, text: str) -> None:
    """Replace a file so that a crash or a loss of power leaves its old content or its new one (VoteFile repaired).

    Args:
        disk: Where it lies.
        name: The file.
        text: Its new content, which is on the disk when this returns.
    """
    _write(disk, f"{name}.tmp", text)
    disk.force(f"{name}.tmp")
    disk.rename(f"{name}.tmp", name)
    disk.force(name)  # and with it the new name


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


#: The names in the code. Source: MemberState.TERM_PERSIST_FILE, TERM_PERSIST_KEY_TERM, TERM_PERSIST_KEY_VOTE_FOR.
TERM_FILE = "currterm"
TERM_KEY, VOTE_KEY = "currTerm", "voteLeader"


class TermFile:
    """Term and vote, which outlast the process, as published unless it dies while the file is replaced (VoteFile)."""

    def __init__(self, disk: Disk, config: Config = PUBLISHED) -> None:
        """Take the disk that the file is on, or will be, and the flaws."""
        self._disk = disk
        self._replace = string_to_file if config.has(Flaw.VOTE_FILE) else replace_file

    def persist(self, curr_term: Term, curr_vote_for: NodeId | None) -> None:
        """Replace the file, as published step by step and without forcing it.

        Args:
            curr_term: The term.
            curr_vote_for: The vote in it, None for none.

        Source: MemberState.persistTerm.
        """
        properties = {VOTE_KEY: curr_vote_for or "", TERM_KEY: curr_term}
        self._replace(self._disk, TERM_FILE, properties_to_string(properties))

    def load(self) -> tuple[Term, NodeId | None]:
        """Return term and vote; without a file that can be read these are term 0 and no vote.

        A file without a term still has the vote.

        Source: MemberState.loadTerm.
        """
        properties = string_to_properties(file_to_string(self._disk, TERM_FILE) or "")
        term = to_long(properties.get(TERM_KEY, "0"))
        if term is None:
            return Term(0), None
        return Term(term), properties.get(VOTE_KEY) or None


#: The names in the code. Source: DLedgerMmapFileStore.CHECK_POINT_FILE, END_INDEX_KEY, COMMITTED_INDEX_KEY.
CHECK_POINT_FILE = "checkpoint"
END_INDEX_KEY, COMMITTED_INDEX_KEY = "endIndex", "committedIndex"


class CheckPointFile:
    """The committed index, which outlasts the process, as published unless it dies meanwhile (VoteFile)."""

    def __init__(self, disk: Disk, config: Config = PUBLISHED) -> None:
        """Take the disk that the file is on, or will be, and the flaws."""
        self._disk = disk
        self._replace = string_to_file if config.has(Flaw.VOTE_FILE) else replace_file

    def persist(self, end_index: Index, committed_index: Index) -> None:
        """Replace the file, as published step by step and without forcing it.

        Args:
            end_index: The end of the log, which nothing ever reads.
            committed_index: The index up to which it is committed.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        self._replace(self._disk, CHECK_POINT_FILE, _check_point_text(end_index, committed_index))

    def persist_in_part(self, end_index: Index, committed_index: Index) -> None:
        """Replace the file up to the step after which there is none. The arguments are those of `persist`."""
        remove_for_string(self._disk, CHECK_POINT_FILE, _check_point_text(end_index, committed_index))

    def load(self) -> Index:
        """Return the committed index, -1 without a file or where it holds no number.

        Source: DLedgerMmapFileStore.loadCheckPoint and the end of recover, which fails where it is no number.
        """
        properties = string_to_properties(file_to_string(self._disk, CHECK_POINT_FILE) or "")
        committed_index = to_long(properties.get(COMMITTED_INDEX_KEY, "").strip())
        return NONE if committed_index is None else Index(committed_index)


def _check_point_text(end_index: Index, committed_index: Index) -> str:
    return properties_to_string({COMMITTED_INDEX_KEY: committed_index, END_INDEX_KEY: end_index})
