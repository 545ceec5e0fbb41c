"""A sample of whole files: each is taken or left by its path and a seed, and by nothing else.

The same seed takes the same files of a version, whatever filter, limit or aggregate comes with it and whoever lists
them. Over all seeds a file is taken with the fraction's probability, so the rows are that share in expectation.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakescan.errors import InvalidSample

_SEED_BYTES = 8


@dataclass(frozen=True)
class Sample:
    """Which files are taken: about this fraction of them, all of their rows."""

    fraction: float
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise InvalidSample(self.fraction)

    def __str__(self) -> str:
        return f"{self.fraction * 100:.6g} % by seed {self.seed}"

    def keeps(self, paths: pa.ChunkedArray) -> pa.Array:
        """Which files are taken, by their paths as the table has them: a table that moves keeps its samples."""
        salt = (self.seed % (1 << 8 * _SEED_BYTES)).to_bytes(_SEED_BYTES, "little")
        digests = [
            hashlib.blake2b(path, digest_size=8, salt=salt).digest() for path in paths.cast(pa.binary()).to_pylist()
        ]
        drawn = np.frombuffer(b"".join(digests), "<u8")
        # So many bits as a double has: no number rounds to 1, so that a fraction of 1 takes every file.
        return pa.array((drawn >> np.uint64(11)) * 2.0**-53 < self.fraction)
