"""What a table's log says of itself besides files and schema, in words that fit every format."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LogState:
    """What `Snapshot.log_state` gives; a format leaves empty what it does not have."""

    protocol: str = ""
    """What the table asks of its readers and writers, as the format numbers it."""
    features: tuple[str, ...] = ()
    """The features that the table uses, by the format's names for them."""
    checkpoint_version: int | str | None = None
    """The version of the newest shortcut through the log, None where there is none."""
    checkpoint_ms: int | None = None
    """When that was written, in milliseconds since the epoch."""
    commits_since_checkpoint: int | None = None
    """How many commits are read one by one to rebuild the version; None where a format has no such shortcuts."""
