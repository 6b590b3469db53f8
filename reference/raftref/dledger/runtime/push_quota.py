"""The bytes that a leader may push in a second to a peer that is far behind."""

from __future__ import annotations

from raftref.runtime.driver import Seconds


class PushQuota:
    """Counts the bytes pushed in each second of the clock.

    Source: Quota.
    """

    def __init__(self, max_bytes: int, second: Seconds) -> None:
        """Begin with nothing pushed.

        Args:
            max_bytes: The bytes after which the quota of a second is exhausted.
            second: The length of a second, in seconds: another than 1 for a node whose times are scaled.
        """
        self._max_bytes = max_bytes
        self._length = second
        self._second = -1
        self._bytes = 0

    def sample(self, now: Seconds, size: int) -> None:
        """Count the bytes of an entry that is about to be pushed."""
        second = int(now // self._length)
        if second != self._second:
            self._second, self._bytes = second, 0
        self._bytes += size

    def is_exhausted(self, now: Seconds) -> bool:
        """Return whether the bytes of this second have reached the quota. Source: validateNow."""
        return int(now // self._length) == self._second and self._bytes >= self._max_bytes

    def next_second(self, now: Seconds) -> Seconds:
        """Return when the next second begins. Source: leftNow."""
        return (now // self._length + 1) * self._length
