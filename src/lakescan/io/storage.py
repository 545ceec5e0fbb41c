"""The one seam to files: local, S3, GCS, Azure and HDFS, through `pyarrow.fs`.

A `Storage` is a table's root folder, and what was given explicitly to open its store. It is a value, so it pickles, and
an executor opens the same files as the driver did. Every failure other than a missing file leaves here as a named
error; a missing file stays `FileNotFoundError`, because only the caller knows what it means.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from lakescan.errors import ExpiredCredentials, NotAFile, StorageFailure
from lakescan.io.configuration import FROM_ENVIRONMENT, StorageConfiguration
from lakescan.io.locations import SCHEME, Location, file_system, has_scheme, locate, store_of
from lakescan.io.secrets import masked

# How Arrow says that a store has failed.
_OF_STORE = ("AWS Error", "Azure Error", "google::cloud::Status(")
# How stores say that keys, a token or a signature are no longer valid.
_EXPIRED = (
    "ExpiredToken",
    "TokenRefreshRequired",
    "Signature not valid in the specified time frame",
    "ExpiredAuthenticationToken",
)
# S3 answers the request for a file's size without a word of why it was refused.
_UNSAID, _REFUSED = "HeadObject operation: No response body", ("ACCESS_DENIED", "(HTTP status 400)")
# How it says that the bucket of a listing in S3 is not there (other requests say of a file in such a bucket that it is
# missing), and the folder of one in Google's store.
_MISSING = ("AWS Error NO_SUCH_BUCKET", "No such file or directory '")
# A store takes longer to answer than to send so many bytes more; Arrow asks for as many where a Parquet file ends.
_NEAR = 1 << 16
# What Java's URI escapes in a path: all but these, and letters of every alphabet.
_ESCAPED = re.compile(r"[^A-Za-z0-9/:@&=+$,;_\-!.~'()*\u00a1-\U0010ffff]")

# Paths that are shorter once they are normal.
_NOT_NORMAL = r"//|/\.\.?(/|$)|/$"


class Entry(NamedTuple):
    """A file in a folder."""

    name: str
    size: int
    modified_ms: int


def entries_of(files: pa.Table) -> list[Entry]:
    return list(map(Entry, *(column.to_pylist() for column in files.columns)))


@dataclass(frozen=True)
class Storage:
    """A folder, and the files that a table's log names in it or anywhere else."""

    location: str
    configuration: StorageConfiguration = FROM_ENVIRONMENT

    @staticmethod
    def at(location: str | os.PathLike[str], configuration: StorageConfiguration = FROM_ENVIRONMENT) -> "Storage":
        text = os.fspath(location)
        if not has_scheme(text):
            return Storage(os.path.abspath(os.path.expanduser(text)), configuration)
        return Storage(text.rstrip("/") if text.rstrip("/").count("/") > 1 else text, configuration)

    @property
    def identity(self) -> str:
        """What tells this folder from others in this process: the same name may be in two stores."""
        if self.configuration == FROM_ENVIRONMENT:
            return self.location
        return f"{self.location} by {hash(self.configuration):x}"

    @property
    def is_local(self) -> bool:
        """Whether the location is a folder of this machine, where a look costs no request."""
        return not locate(self.location).store

    @property
    def place(self) -> tuple[Location, StorageConfiguration]:
        """Where the folder is, however its location is spelled."""
        at = locate(self.location)
        return (at if at.store else Location("", os.path.realpath(at.path))), self.configuration

    def listed(self, folder: str) -> pa.Table:
        """The files directly in `folder` in order of name, with the columns of an `Entry`."""
        filesystem, path = self._resolve(folder)
        with self.named_failures(folder):
            infos = filesystem.get_file_info(pafs.FileSelector(path))
        file = pafs.FileType.File
        files = [info for info in infos if info.type == file]
        columns = [
            pa.array([info.base_name for info in files], pa.string()),
            pa.array([info.size for info in files], pa.int64()),
            pa.array([(info.mtime_ns or 0) // 1_000_000 for info in files], pa.int64()),
        ]
        return pa.table(columns, names=list(Entry._fields)).sort_by("name")

    def list_from(self, folder: str, name: str = "") -> list[Entry]:
        """The files directly in `folder` whose names are not before `name`, in order of name."""
        files = self.listed(folder)
        return entries_of(files.filter(pc.greater_equal(files["name"], name)))

    def list_below(self) -> list[Entry]:
        """Every file in the folder and in the folders below it, named by its path from here, in order of name."""
        return self.tree()[0]

    def tree(self) -> tuple[list[Entry], list[str]]:
        """The same, and the path of every folder."""
        filesystem, root = self._resolve("")
        with self.named_failures(""):
            infos = filesystem.get_file_info(pafs.FileSelector(root, recursive=True))
        files = [info for info in infos if info.type == pafs.FileType.File]
        start = len(root.rstrip("/")) + 1
        entries = [Entry(info.path[start:], info.size, (info.mtime_ns or 0) // 1_000_000) for info in files]
        folders = {info.path[start:] for info in infos if info.type == pafs.FileType.Directory}
        # Google's store has no folders: what is in one says that it is there.
        for entry in entries:
            folders |= _folders_above(entry.name)
        return sorted(entries, key=lambda entry: entry.name), sorted(folders)

    def folder_names(self) -> list[str]:
        """The names of the folders directly in this one, in order; none where it is not there."""
        filesystem, root = self._resolve("")
        with self.named_failures(""):
            infos = filesystem.get_file_info(pafs.FileSelector(root, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.type == pafs.FileType.Directory)

    def has_folder(self, folder: str) -> bool:
        filesystem, path = self._resolve(folder)
        with self.named_failures(folder):
            return bool(filesystem.get_file_info(path).type == pafs.FileType.Directory)

    def has_file(self, path: str) -> bool:
        filesystem, resolved = self._resolve(path)
        with self.named_failures(path):
            return bool(filesystem.get_file_info(resolved).type == pafs.FileType.File)

    def read(self, path: str) -> bytes:
        with self.open(path) as file, self.named_failures(path):
            return bytes(file.read())

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Of each (offset, length) the bytes there are, fewer where the file ends before; in one request if near."""
        with self.open(path) as file, self.named_failures(path):
            size = file.size()
            start, end = min(at for at, _ in ranges), min(size, max(at + length for at, length in ranges))
            if end - start > _NEAR:
                return [bytes(file.read_at(length, min(at, size))) for at, length in ranges]
            read = bytes(file.read_at(end - start, start)) if end > start else b""
            return [read[at - start : at - start + length] for at, length in ranges]

    def open(self, path: str) -> pa.NativeFile:
        """The file, for Arrow to read at any position; a small one of a store is asked for once, as a whole."""
        filesystem, resolved = self._resolve(path)
        with self.named_failures(path):
            if filesystem.type_name == "local" and os.path.exists(resolved) and not os.path.isfile(resolved):
                # Whoever opens a pipe waits until somebody writes to it.
                raise NotAFile(self.full_path(path))
            file = filesystem.open_input_file(resolved)
            if filesystem.type_name == "local" or file.size() > _NEAR:
                return file
            with file:
                return pa.BufferReader(file.read_buffer())

    def full_path(self, path: str) -> str:
        """The path as a user would name it, for messages and for the files a scan lists."""
        if path.startswith("/"):
            return store_of(self.location) + path
        if not path or has_scheme(path):
            return masked(path or self.location)
        return f"{self.location}/{path}"

    def plain_paths(self, paths: pa.ChunkedArray) -> pa.ChunkedArray:
        """The paths in full and without escapes, for whoever opens them without Arrow: those on this machine begin with
        a slash, those in a store with the store. Null for those in another store than the folder's."""
        below = pc.binary_join_element_wise(locate(self.location).path.rstrip("/"), paths, "/")
        full = pc.if_else(pc.starts_with(paths, "/"), paths, below)
        own = pc.invert(pc.match_substring_regex(paths, SCHEME))
        scheme, separator, authority = store_of(self.location).partition("://")
        if separator:
            # Of these Hadoop would make another name.
            own = pc.and_(own, pc.invert(pc.match_substring_regex(full, _NOT_NORMAL)))
            full = pc.binary_join_element_wise(f"{scheme.lower()}://{authority}", full, "")
        return pc.if_else(own, full, None)

    def uri(self, path: str) -> str:
        """The path as Spark names a file: an escaped URI, `file:/…` where it is local."""
        if has_scheme(path):
            return masked(re.sub("^file:/+", "file:/", path))
        escaped = _ESCAPED.sub(lambda match: quote(match[0], safe=""), locate(self.location).below(path).path)
        return (store_of(self.location) or "file:") + escaped

    def _resolve(self, path: str) -> tuple[pafs.FileSystem, str]:
        place = locate(path) if has_scheme(path) else locate(self.location).below(path)
        filesystem, root = file_system(place.store, self.full_path(path), self.configuration)
        return filesystem, root + place.path

    @contextmanager
    def named_failures(self, path: str) -> Iterator[None]:
        """What goes wrong while this file is read, as an error that names it."""
        try:
            yield
        except (FileNotFoundError, StorageFailure):
            raise
        except (OSError, pa.ArrowInvalid) as error:
            if any(part in str(error) for part in _MISSING):
                raise FileNotFoundError(self.full_path(path)) from error
            # Its cause would be shown whole.
            cause = error if masked(str(error)) == str(error) else None
            raise _failure(self.full_path(path), self._told(path, str(error))) from cause

    def _told(self, path: str, text: str) -> str:
        """What the store says of a request that it refused without a reason: a listing is refused with one."""
        if _UNSAID not in text or not any(part in text for part in _REFUSED):
            return text
        filesystem, resolved = self._resolve(path)
        try:
            filesystem.get_file_info(pafs.FileSelector(resolved, allow_not_found=True))
        except OSError as error:
            return str(error)
        return text


def _folders_above(name: str) -> set[str]:
    parts = name.split("/")[:-1]
    return {"/".join(parts[: end + 1]) for end in range(len(parts))}


def failure_of_store(name: str, error: Exception) -> StorageFailure | None:
    """The failure where it is the store's and not the file's: Arrow has one class of error for both."""
    is_of_store = isinstance(error, OSError) and any(part in str(error) for part in _OF_STORE)
    return _failure(name, str(error)) if is_of_store else None


def _failure(name: str, text: str) -> StorageFailure:
    # Azure's says the same in several lines.
    sentence = " ".join(text.split())
    return (ExpiredCredentials if any(part in text for part in _EXPIRED) else StorageFailure)(name, sentence)
