"""How many files the next batch takes, under a limit of files, of bytes, or both.

A batch takes files in order until the next one would pass a limit, and always at least one (or one whole commit,
where commits are not split), so a stream with any limit comes to its end.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakescan.stream.stream import Limits


@dataclass
class Admission:
    """What one batch has taken so far."""

    limits: Limits
    files: int = 0
    bytes: int = 0

    def admit(self, sizes: pa.ChunkedArray, whole: bool = False) -> int:
        """How many of these files, from the first on, the batch takes too; all or none where they are a whole."""
        most = len(sizes)
        reached = self.bytes + np.cumsum(sizes.fill_null(0).to_numpy())
        if self.limits.bytes is not None:
            most = min(most, int(np.searchsorted(reached, self.limits.bytes, side="right")))
        if self.limits.files is not None:
            most = min(most, max(0, self.limits.files - self.files))
        if self.files == 0 and len(sizes):
            most = max(1, most)
        if whole and most < len(sizes):
            most = 0 if self.files else len(sizes)
        if most:
            self.files, self.bytes = self.files + most, int(reached[most - 1])
        return most

    @property
    def full(self) -> bool:
        """Whether no further file can be taken, however small."""
        if not self.files:
            return False
        by_files = self.limits.files is not None and self.files >= self.limits.files
        return by_files or (self.limits.bytes is not None and self.bytes >= self.limits.bytes)
