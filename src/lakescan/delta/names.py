"""How Delta names the files of its log."""

from urllib.parse import unquote

from lakescan.storage import is_uri

LOG_FOLDER = "_delta_log"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def stored_path(path: str) -> str:
    """A path of the log, for `Storage`: the log percent-encodes every path, and `Storage` itself decodes URIs."""
    return path if is_uri(path) else unquote(path)
