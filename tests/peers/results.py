"""Results that outlive a run, so that the next one goes on where the last one stopped.

They hold for exactly the code they were made with: a change to Lakescan or to the walk makes all of them void.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import lakescan
from tests.peers.walk import Outcome

RESULTS = Path(__file__).parent / ".results"


class Results:
    """The outcomes of the walks that passed, for exactly this code: a change to it makes all of them void."""

    def __init__(self, config: pytest.Config) -> None:
        self.folder = RESULTS / _fingerprint()
        self.again = bool(config.getoption("--seeds"))
        self.wanted = config.getoption("--tables")

    def passed(self, seed: int) -> bool:
        return not self.again and self._file(seed).exists()

    def keep(self, outcome: Outcome, seconds: float) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**asdict(outcome), "seconds": round(seconds, 1)}, ensure_ascii=False, indent=1)
        unfinished = self._file(outcome.seed).with_suffix(".part")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(self._file(outcome.seed))

    def all(self) -> list[dict[str, Any]]:
        files = sorted(self.folder.glob("*.json"), key=lambda file: int(file.stem))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def _file(self, seed: int) -> Path:
        return self.folder / f"{seed}.json"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    package, harness = Path(lakescan.__file__).parent, Path(__file__).parent
    for folder in (package, harness):
        for file in sorted(folder.rglob("*.py")):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
