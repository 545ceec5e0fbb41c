"""A process that reads damaged tables, one case after another, with a limit to its memory.

It gets a case a line and answers with a line of JSON. Whatever kills it kills nothing else: the one who started it sees
which case it had been given.
"""

import json
import os
import random
import resource
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import IO

from .questions import Answer, all_answers, some_answers
from .samples import Case, Sample, unpacked
from .verdicts import judge

# Far more than any sample table needs; a file that claims to be larger must be found out before it is believed.
MEMORY = 3 << 30


def serve(root: Path, lines: IO[str], replies: IO[str]) -> None:
    samples: dict[str, tuple[Sample, dict[str, Answer]]] = {}
    with tempfile.TemporaryDirectory(prefix="copy-", dir=root) as work:
        for line in lines:
            case = Case.of(line.strip())
            if case.table not in samples:
                whole = unpacked(case.table, root)
                place = Path(work, case.table)
                place.mkdir()
                samples[case.table] = Sample(whole, place), all_answers(whole)
            sample, before = samples[case.table]
            copy, file, what = sample.damage(case)
            print(json.dumps({"file": file, "what": what}), file=replies, flush=True)
            after = some_answers(copy, before, random.Random(f"{case}?"))
            verdict = judge(file, before, after, copy, sample.whole / file)
            print(json.dumps(asdict(verdict)), file=replies, flush=True)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Replies have a descriptor of their own: what a library prints must not come between.
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        serve(Path(sys.argv[1]), sys.stdin, replies)


if __name__ == "__main__":
    main()
