"""How Delta names the files of its log."""

from urllib.parse import unquote

from lakescan.io.locations import has_scheme

LOG_FOLDER = "_delta_log"
SIGN = f"a Delta log ({LOG_FOLDER})"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def stored_path(path: str) -> str:
    """A path of the log, for `Storage`: the log percent-encodes every path, and `Storage` itself decodes URIs."""
    return path if has_scheme(path) else unquote(path)
