"""Folders and files by URI, for the driver and for tasks: a path of this machine, file://, hdfs://, s3a://."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.fs as pafs

from lockstep.base.errors import BadInputError
from lockstep.base.whole_files import writing_whole

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]+://")
_LOCAL = re.compile(r"^file:(//|(?=/))")
_PATH = re.compile(r"^([^:]+://[^/?]*)([^?]*)")


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A folder or a file: `uri` as Spark names it; `files` and `path` as pyarrow reads it, also in tasks."""

    uri: str
    files: Any
    path: str

    def __truediv__(self, name: str) -> FileLocation:
        """Return the location of a name, or a path, within this folder."""
        return FileLocation(f"{self.uri.rstrip('/')}/{name}", self.files, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_file(self) -> bool:
        """Whether there is a file here."""
        return bool(self.files.get_file_info(self.path).type == pafs.FileType.File)

    def below(self) -> Iterator[tuple[str, int, str]]:
        """Yield every file below this folder, in no order: its path within it, its size, and when it was changed.

        On this machine a link to no file counts as one, of no size, and one to a folder that it is in is not followed.
        """
        if isinstance(self.files, pafs.LocalFileSystem):
            yield from _local_below(self.path)
            return
        selector = pafs.FileSelector(self.path, allow_not_found=True, recursive=True)
        begin = len(self.path.rstrip("/")) + 1
        for info in self.files.get_file_info(selector):
            if info.type == pafs.FileType.File:
                yield info.path[begin:], info.size, str(info.mtime_ns)

    def read(self) -> bytes:
        """Return what the file holds; raises OSError."""
        with self.files.open_input_stream(self.path, compression=None) as stream:
            return bytes(stream.read())

    def write(self, data: bytes) -> None:
        """Write the file, whole or not at all, and the folders that lead to it; raises OSError."""
        self.files.create_dir(self.path.rpartition("/")[0], recursive=True)
        if isinstance(self.files, pafs.LocalFileSystem):
            with writing_whole(Path(self.path)) as file:
                file.write(data)
            return
        if self.files.type_name == "s3":  # It is there once it is closed, and to move it is to copy it.
            self._write(self.path, data)
        elif not (self.is_file and self.read() == data):
            part = f"{self.path}.part-{uuid.uuid4().hex}"
            try:
                self._write(part, data)
                if self.is_file:  # HDFS moves nothing onto a file.
                    self.files.delete_file(self.path)
                self.files.move(part, self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    self.files.delete_file(part)
                raise

    def _write(self, path: str, data: bytes) -> None:
        with self.files.open_output_stream(path, compression=None) as stream:
            stream.write(data)

    def remove(self) -> None:
        """Remove the folder with all that is in it, if it is there."""
        if self.files.get_file_info(self.path).type == pafs.FileType.Directory:
            self.files.delete_dir(self.path)


def _local_below(top: str) -> Iterator[tuple[str, int, str]]:
    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for folder, folders, names in os.walk(top, onerror=refuse, followlinks=True):
        folders[:] = [each for each in folders if not _leads_back(Path(folder), Path(folder, each))]
        for name in names:
            path = Path(folder, name)
            within = str(path.relative_to(top))
            try:
                info = path.stat()
            except OSError:
                yield within, 0, ""
            else:
                yield within, info.st_size, str(info.st_mtime_ns)


def _leads_back(folder: Path, link: Path) -> bool:
    """Return whether a link in a folder leads to that, or to one by which it was reached."""
    if not link.is_symlink():
        return False
    target = link.resolve()
    return folder.resolve().is_relative_to(target) or any(each.resolve() == target for each in folder.parents)


def refuse_not_utf8(path: str) -> None:
    """Raise BadInputError where the name of a file is not UTF-8: no table could have it."""
    shown = path.encode(errors="replace").decode()
    if shown != path:
        raise BadInputError(f"{shown}: this name is not UTF-8: rename the file")


def location(uri: str) -> FileLocation:
    """Return the location of a URI, or of a path of this machine.

    No character of it is quoted, as in URIs of Hadoop.
    Raises BadInputError where no file system is known, or reached, by which it could be read.
    """
    if _LOCAL.match(uri) or not _SCHEME.match(uri):
        path = str(Path(_LOCAL.sub("", uri)).absolute())
        refuse_not_utf8(path)
        return FileLocation(f"file://{path}", pafs.LocalFileSystem(), path)
    quoted = _PATH.sub(lambda match: match[1] + quote(match[2]), re.sub(r"^s3[an]://", "s3://", uri))
    try:
        files, path = pafs.FileSystem.from_uri(quoted)
    except (OSError, ValueError) as error:  # pyarrow's errors are of these
        raise BadInputError(f"{uri}: {str(error).strip().splitlines()[0]}") from error
    return FileLocation(uri.rstrip("/"), files, path)


def literal(uri: str) -> str:
    """Return a URI whose characters Spark does not take for a pattern."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", uri)
