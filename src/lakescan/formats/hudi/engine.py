"""The one module that calls hudi-rs: tables opened and slices merged, its failures turned into named errors.

hudi-rs resolves the timeline, the file slices and the merging of base and log files. It has one class of error;
what went wrong is only in its text, so the texts are told apart here and nowhere else.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import quote

import hudi
import pyarrow as pa

from lakescan.errors import (
    CorruptDataFile,
    CorruptLog,
    InvalidOption,
    LakescanError,
    MissingDataFile,
    StorageFailure,
    UnsupportedFeature,
    UnsupportedLocation,
)
from lakescan.formats.hudi.names import META_FOLDER, PROPERTIES
from lakescan.io.azure import AzureCredentials, AzureSettings
from lakescan.io.configuration import TIMEOUT_S, S3Settings
from lakescan.io.gcs import GcsSettings
from lakescan.io.locations import Settings, locate, store_settings
from lakescan.io.secrets import masked
from lakescan.io.storage import Storage

_CREDENTIALS = (
    ". Hudi tables are read with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a web identity or the machine's role, "
    "not with profiles of ~/.aws"
)
# hudi-rs knows the endpoint by each of these, and takes those that it is not told of from the environment.
_ENDPOINTS = ("aws_endpoint", "aws_endpoint_url", "aws_endpoint_url_s3")
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 32 << 20
_ABOUT_SCHEMA = ("reconcile: column", "partial-update column", "Projection column not found", "different data types")
_ABOUT_NAMES = ("Failed to parse Avro schema", "declared in `hoodie.table.partition.fields`")
_REFUSALS = ("unsupported", "only support", "not supported", "not yet", "position-based merge", "refusing to")
# As Hudi on Spark merges. It matters where a base file has a key twice: a log record is then about one of the two rows.
_BY_POSITION = {"hoodie.merge.use.record.positions": "true"}
# How hudi-rs begins what a store's answer, or the lack of one, comes to; a file that is missing begins otherwise.
_OF_STORE, _MISSING = "Error performing", "Object at location"
# Where hudi-rs looks for credentials at last; elsewhere than on Amazon's machines it is not there.
_INSTANCE_METADATA = "/latest/api/token"


def open_table(storage: Storage) -> Any:
    """hudi-rs' table, with its timeline as it is now."""
    with named_failures(storage, PROPERTIES):
        settings = settings_of(storage)
        # What is read to open a table is small. hudi-rs tries a request ten times, and none longer than this.
        wait = settings.request_timeout_s if isinstance(settings, S3Settings) else TIMEOUT_S
        return hudi.HudiTable(uri(storage), {**_options(settings), "timeout": _milliseconds(wait)})


def uri(storage: Storage) -> str:
    """The location as hudi-rs names it."""
    place = locate(storage.location)
    if not place.store:
        return storage.location
    if place.store.startswith("hdfs:"):
        raise UnsupportedLocation(storage.location, "hudi-rs has no HDFS client")
    return place.store + quote(place.path)


def settings_of(storage: Storage) -> Settings | None:
    """What opens the table's store now, the same as for Arrow; None where there are no options for it."""
    return store_settings(locate(storage.location).store, storage.location, storage.configuration)


def _options(settings: Settings | None) -> dict[str, str]:
    wait = settings.connect_timeout_s if isinstance(settings, S3Settings) else TIMEOUT_S
    return {**store_options(settings), "connect_timeout": _milliseconds(wait)}


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)} ms"


def store_options(settings: Settings | None) -> dict[str, str]:
    """What hudi-rs, which reads the rest of the environment itself, must be told of a store to be where Arrow is."""
    match settings:
        case S3Settings():
            return _s3(settings)
        case AzureSettings():
            return _azure(settings)
        case GcsSettings():
            return _gcs(settings)
        case None:
            return {}


def _s3(settings: S3Settings) -> dict[str, str]:
    where = {}
    if settings.endpoint:
        is_plain = settings.endpoint.lower().startswith("http:")
        where = {**dict.fromkeys(_ENDPOINTS, settings.endpoint), "aws_allow_http": str(is_plain).lower()}
    region = {"aws_region": settings.region} if settings.region else {}
    return {**where, **region, **_who_asks(settings)}


def _azure(settings: AzureSettings) -> dict[str, str]:
    credentials = settings.credentials or AzureCredentials()
    given = {
        "azure_storage_account_key": credentials.account_key,
        "azure_storage_sas_key": credentials.sas_token,
        "azure_storage_tenant_id": credentials.tenant_id,
        "azure_storage_client_id": credentials.client_id,
        "azure_storage_client_secret": credentials.client_secret,
    }
    where = {"azure_storage_account_name": settings.account, "azure_storage_endpoint": settings.endpoint}
    plain = {"azure_allow_http": str(settings.is_plain).lower()}
    return {**where, **plain, **{name: value for name, value in given.items() if value}}


def _gcs(settings: GcsSettings) -> dict[str, str]:
    where = {}
    if settings.endpoint:
        is_plain = settings.endpoint.lower().startswith("http:")
        where = {"google_base_url": settings.endpoint.rstrip("/"), "google_allow_http": str(is_plain).lower()}
    credentials = settings.credentials
    if credentials is None:
        return where
    if not credentials.access_token:
        return {**where, "google_skip_signature": "true"}
    if not credentials.key_file:
        raise InvalidOption("fs.gs.auth.type", "hudi-rs takes no token, but a service account's key file.")
    return {**where, "google_service_account": credentials.key_file}


def _who_asks(settings: S3Settings) -> dict[str, str]:
    credentials = settings.credentials
    if credentials is None:
        return {}
    if credentials.is_anonymous:
        return {"aws_skip_signature": "true"}
    options = {"aws_access_key_id": credentials.access_key, "aws_secret_access_key": credentials.secret_key}
    # A token of the environment belongs to other keys, and there is no way to say that there is none but this.
    if credentials.session_token or "AWS_SESSION_TOKEN" in dict(settings.environment):
        options["aws_session_token"] = credentials.session_token
    return {**options, "aws_skip_signature": "false"}


def file_slices(storage: Storage, table: Any, instant: str) -> list[Any] | None:
    """The slices that a table of hudi-rs' finds at an instant; None where a name in its schema keeps it from that."""
    options = hudi.HudiReadOptions().with_as_of_timestamp(instant)
    with named_failures(storage, META_FOLDER):
        try:
            return list(table.get_file_slices(options))
        except Exception as error:
            if any(text in str(error) for text in _ABOUT_NAMES):
                return None
            raise


class SchemasDiffer(Exception):
    """hudi-rs cannot merge the files of a slice, because their schemas are not those that it merges in."""


def merged(storage: Storage, instant: str, base: str, logs: list[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a slice at an instant, base and log files merged in the table's newest schema; only these columns.

    Before any row `SchemasDiffer` is raised where that is not possible.
    """
    with named_failures(storage, base or logs[0]):
        wanted = _wanted(columns)
        try:
            reader = _merger(storage, instant, settings_of(storage))
            batches = reader.read_file_slice_from_paths_stream(base, logs, wanted)
            first = next(batches, None)
        except Exception as error:
            if not _is_about_schema(str(error)):
                raise
            raise SchemasDiffer from error
        if first is not None:
            yield from _larger(chain([first], batches))


def merged_as_they_are(
    storage: Storage, instant: str, base: str, logs: list[str], columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """The same in the base file's own schema, which all files of the slice must have."""
    with named_failures(storage, base):
        wanted = _wanted(columns)
        options = {"hoodie.read.end.timestamp": instant, **_BY_POSITION, **_options(settings_of(storage))}
        reader = hudi.HudiFileGroupReader(uri(storage), options)
        yield from _larger(reader.read_file_slice_from_paths_stream(base, logs, wanted))


def _larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: hudi-rs merges a thousand rows at a time, and every batch has its cost."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield pa.concat_batches(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield pa.concat_batches(gathered)


def _wanted(columns: list[str]) -> Any:
    return hudi.HudiReadOptions(projection=columns).with_batch_size(_BATCH_ROWS).with_hudi_options(_BY_POSITION)


@lru_cache(maxsize=8)
def _merger(storage: Storage, instant: str, settings: Settings | None) -> Any:
    """hudi-rs' reader of slices, made with these settings; it knows the table's newest schema."""
    options = hudi.HudiReadOptions().with_as_of_timestamp(instant).with_hudi_options(_BY_POSITION)
    return hudi.HudiTable(uri(storage), _options(settings)).create_file_group_reader_with_options(options)


def _is_about_schema(text: str) -> bool:
    return any(part in text for part in _ABOUT_SCHEMA)


@contextmanager
def named_failures(storage: Storage, file: str) -> Iterator[None]:
    """Whatever hudi-rs raises, as the error that a user can act on; `file` is what was being read."""
    try:
        yield
    except LakescanError:
        raise
    except BaseException as error:
        # What hudi-rs has not implemented it panics at, which is no `Exception` in Python.
        named = type(error).__module__.startswith(("_internal", "hudi", "pyo3_runtime"))
        if isinstance(error, SchemasDiffer) or not named:
            raise
        # Not as its cause, which would be shown whole: an answer of a store repeats the token that it was sent.
        raise _named(storage, file, masked(str(error))) from None


def _named(storage: Storage, file: str, text: str) -> LakescanError:
    name = storage.full_path(file)
    folded = text.lower()
    if "only support table version" in folded:
        version = text.rsplit(" ", 1)[-1]
        return UnsupportedFeature(storage.location, f"the Hudi table version {version}", "Lakescan reads 6, 8 and 9.")
    if "no completed commit" in folded:
        return UnsupportedFeature(
            storage.location,
            "a table that has neither a commit nor a schema yet",
            "Write its first rows, then read it.",
        )
    if _is_about_schema(text):
        return UnsupportedFeature(
            storage.location,
            f"log files merged with a base file of another schema, {name} ({text})",
            "Compact the table, or read it at an instant at which it had been compacted.",
        )
    if _OF_STORE in text and _MISSING not in text:
        return StorageFailure(name, f"{text}{_CREDENTIALS if _INSTANCE_METADATA in text else ''}")
    if "failed to parse avro schema" in folded:
        return UnsupportedFeature(storage.location, f"names in its schema that hudi-rs refuses ({text})")
    if "its own merger" in folded or "merger of its own" in folded:
        return UnsupportedFeature(
            storage.location,
            f"log files merged by a payload class or a merger of the table's own, {name}",
            "Compact the table, or read its base files alone.",
        )
    if any(part in folded for part in _REFUSALS):
        return UnsupportedFeature(storage.location, f"what hudi-rs refuses ({text})")
    if "not found" in folded or "notfound" in folded:
        return CorruptLog(name, text) if file == PROPERTIES else MissingDataFile(_path_in(text) or name)
    return CorruptLog(name, text) if file == PROPERTIES else CorruptDataFile(name, text)


def _path_in(text: str) -> str | None:
    """The path that an error of storage names."""
    for before, after in (('path: "', '"'), ("Object at location ", " not found")):
        if before in text:
            return text.split(before, 1)[1].split(after, 1)[0]
    return None
