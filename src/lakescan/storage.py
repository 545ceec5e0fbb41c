"""The one seam to files: local, S3, GCS, Azure and HDFS, through `pyarrow.fs`.

A `Storage` is a table's root folder. It is only text, so it pickles, and an executor opens the same files
as the driver did. Every failure other than a missing file leaves here as a named error; a missing file
stays `FileNotFoundError`, because only the caller knows what it means.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from lakescan.errors import StorageFailure, UnsupportedLocation

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
# What Java's URI escapes in a path: all but these, and letters of every alphabet.
_ESCAPED = re.compile(r"[^A-Za-z0-9/:@&=+$,;_\-!.~'()*\u00a1-\U0010ffff]")
# Hadoop's names for what Arrow knows by another one.
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}


@dataclass(frozen=True)
class Entry:
    """A file in a folder."""

    name: str
    size: int
    modified_ms: int


@dataclass(frozen=True)
class Storage:
    """A folder, and the files that a table's log names in it or anywhere else."""

    location: str

    @staticmethod
    def at(location: str | os.PathLike[str]) -> "Storage":
        text = os.fspath(location)
        if not has_scheme(text):
            return Storage(os.path.abspath(os.path.expanduser(text)))
        return Storage(text.rstrip("/") if text.rstrip("/").count("/") > 1 else text)

    def list_from(self, folder: str, name: str = "") -> list[Entry]:
        """The files directly in `folder` whose names are not before `name`, in order of name."""
        filesystem, path = self._resolve(folder)
        with _named_failures(path):
            found = filesystem.get_file_info(pafs.FileSelector(path))
        return sorted(
            (
                Entry(info.base_name, info.size, (info.mtime_ns or 0) // 1_000_000)
                for info in found
                if info.type == pafs.FileType.File and info.base_name >= name
            ),
            key=lambda entry: entry.name,
        )

    def list_below(self) -> list[Entry]:
        """Every file in the folder and in the folders below it, named by its path from here, in order of name."""
        return self.tree()[0]

    def tree(self) -> tuple[list[Entry], list[str]]:
        """The same, and the path of every folder."""
        filesystem, root = self._resolve("")
        with _named_failures(root):
            found = filesystem.get_file_info(pafs.FileSelector(root, recursive=True))
        files = [info for info in found if info.type == pafs.FileType.File]
        start = len(root.rstrip("/")) + 1
        entries = (Entry(info.path[start:], info.size, (info.mtime_ns or 0) // 1_000_000) for info in files)
        folders = [info.path[start:] for info in found if info.type == pafs.FileType.Directory]
        return sorted(entries, key=lambda entry: entry.name), folders

    def has_folder(self, folder: str) -> bool:
        filesystem, path = self._resolve(folder)
        with _named_failures(path):
            return bool(filesystem.get_file_info(path).type == pafs.FileType.Directory)

    def has_file(self, path: str) -> bool:
        filesystem, resolved = self._resolve(path)
        with _named_failures(resolved):
            return bool(filesystem.get_file_info(resolved).type == pafs.FileType.File)

    def read(self, path: str) -> bytes:
        with self.open(path) as file, _named_failures(self.full_path(path)):
            return bytes(file.read())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset` on; fewer where the file ends before."""
        with self.open(path) as file, _named_failures(self.full_path(path)):
            file.seek(min(offset, file.size()))
            return bytes(file.read(length))

    def open(self, path: str) -> pa.NativeFile:
        """The file, for Arrow to read at any position."""
        filesystem, resolved = self._resolve(path)
        with _named_failures(resolved):
            return filesystem.open_input_file(resolved)

    def full_path(self, path: str) -> str:
        """The path as a user would name it, for messages and for the files a scan lists."""
        return path if has_scheme(path) or path.startswith("/") else f"{self.location}/{path}"

    def local_paths(self, paths: pa.ChunkedArray) -> pa.ChunkedArray:
        """The paths in full, for whoever opens them without Arrow; null for those that are not on this machine."""
        root = _local_path(self.location)
        if root is None:
            return pa.chunked_array([pa.nulls(len(paths), pa.string())])
        below = pc.binary_join_element_wise(root.rstrip("/"), paths, "/")
        full = pc.if_else(pc.starts_with(paths, "/"), paths, below)
        return pc.if_else(pc.match_substring_regex(paths, _SCHEME.pattern), None, full)

    def uri(self, path: str) -> str:
        """The path as Spark names a file: an escaped URI, `file:/…` where it is local."""
        if _SCHEME.match(path):
            found = path
        elif _SCHEME.match(self.location):
            found = f"{self.location}/{_escaped(path)}"
        else:
            found = f"file:{_escaped(self.full_path(path))}"
        return re.sub("^file:/+", "file:/", found)

    def _resolve(self, path: str) -> tuple[pafs.FileSystem, str]:
        if has_scheme(path):
            return _filesystem(path)
        filesystem, root = _filesystem(self.location)
        return filesystem, path if path.startswith("/") else f"{root.rstrip('/')}/{path}"


def _escaped(path: str) -> str:
    return _ESCAPED.sub(lambda found: quote(found[0], safe=""), path)


def has_scheme(path: str) -> bool:
    """Whether a path names its store itself, as in s3://bucket/key."""
    return _SCHEME.match(path) is not None


def _local_path(location: str) -> str | None:
    """A location of this machine as its files are opened, None for one in a store."""
    if not has_scheme(location):
        return location
    # Hadoop writes file:/a, the standard file:///a; Arrow's parser takes only the second.
    is_local = location[: len("file:")].lower() == "file:"
    return "/" + unquote(location[len("file:") :]).lstrip("/") if is_local else None


@lru_cache(maxsize=1024)
def _filesystem(location: str) -> tuple[pafs.FileSystem, str]:
    local = _local_path(location)
    if local is not None:
        return pafs.LocalFileSystem(), local
    scheme = location[: location.index(":")].lower()
    uri = _SAME_STORE.get(scheme, scheme) + location[len(scheme) :]
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UnsupportedLocation(location, str(error)) from error
    return filesystem, path


@contextmanager
def _named_failures(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid) as error:
        raise StorageFailure(path, str(error)) from error
