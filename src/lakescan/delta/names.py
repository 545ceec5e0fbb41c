"""How Delta names the files of its log."""

LOG_FOLDER = "_delta_log"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"


def commit_name(version: int) -> str:
    return f"{version:020d}.json"
