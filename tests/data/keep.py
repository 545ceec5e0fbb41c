"""How a table that an engine wrote is kept: `<name>.tar.xz`, and `<name>.json` with what the engine read back."""

import json
import lzma
import os
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.expected import plain


def before_spark() -> None:
    """PySpark hands out timestamps in this process's zone; no JVM of ours earns back what optimizing code costs."""
    os.environ["TZ"] = "UTC"
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    time.tzset()


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """What the engine reads, in an order of our own."""
    rows = [plain(row.asDict(recursive=True)) for row in frame.collect()]
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def keep(path: Path, target: Path, features: Iterable[str], **known: Any) -> None:
    """Beside the features what is known of it: its `rows`, or those of all its `versions`; one line of JSON a row."""
    pack(path, target.with_name(f"{target.name}.tar.xz"))
    told = {"features": sorted(features), **known}
    parts = [f"{json.dumps(key)}: {_text(value)}" for key, value in told.items()]
    target.with_name(f"{target.name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
    print(target.name, target.with_name(f"{target.name}.tar.xz").stat().st_size, "bytes", flush=True)


def _text(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return "[\n" + ",\n".join(_text(item) for item in value) + "\n]"
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def pack(path: Path, archive: Path) -> None:
    """All in one stream: logs and footers repeat their schemas, so that is a fifth of a ZIP file.

    Times of files are kept, since they are the times of Delta's commits, and empty folders, since Hudi has some;
    Hadoop's hidden checksums are not.
    """
    hardest: Any = 9 | lzma.PRESET_EXTREME  # tarfile's types know the plain presets only
    with tarfile.open(archive, "w:xz", preset=hardest) as file:
        for entry in sorted(path.rglob("*")):
            is_kept = not (entry.name.startswith(".") and entry.name.endswith(".crc"))
            if is_kept if entry.is_file() else not any(entry.iterdir()):
                file.add(entry, str(entry.relative_to(path.parent)), recursive=False, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member
