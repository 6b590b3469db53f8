"""Telling a service of what was found: an HTTP POST for each finding, tried until the service has taken it.

Each is delivered at least once, with an id that stays the same however often it is sent. Which ids the service has
taken stands in a file of the store, so what was not delivered before a restart is after it.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lockstep import __version__
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent

#: After a first failure it waits so long, then each time twice as long, up to the most.
FIRST_WAIT_SECONDS, MOST_WAIT_SECONDS = 0.5, 60.0

#: So long an answer is waited for.
_ANSWER_SECONDS = 10.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An answer that sends elsewhere is a failure: nobody named that place."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


def checked_url(url: str) -> str:
    """Return the URL of a webhook; raises BadInputError where it is no http or https URL with a host."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_good = False
    if not is_good or any(sign <= " " for sign in url):
        raise BadInputError(f"{url!r} is no URL of a webhook: it must be http://HOST/... or https://HOST/...")
    return url


class Webhook:
    """Posts records, one after the other, in a thread of its own.

    A record is a JSON object with `id`. It is posted with the header `Idempotency-Key`, its id; any answer of 200 to
    299 says that it is taken.
    """

    def __init__(
        self, url: str, store: Path, say: Say = silent, first_wait_seconds: float = FIRST_WAIT_SECONDS
    ) -> None:
        """Post to `url`; `store` keeps what was taken; `say` is told of a record's first failure.

        Raises BadInputError where the URL is none, OSError where the store cannot be written.
        """
        self.url, self.say, self._first = checked_url(url), say, first_wait_seconds
        folder = store / "webhooks"
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.taken"
        self._taken = set(self._path.read_text(encoding="ascii").split()) if self._path.exists() else set()
        self._queued: set[str] = set()
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._open = urllib.request.OpenerDirector()
        for handler in (urllib.request.HTTPHandler, urllib.request.HTTPSHandler, urllib.request.HTTPErrorProcessor,
                        urllib.request.HTTPDefaultErrorHandler, _NoRedirect):  # fmt: skip
            self._open.add_handler(handler())
        self._thread = threading.Thread(target=self._work, daemon=True, name="webhook")
        self._thread.start()

    def put(self, records: Iterable[dict[str, Any]]) -> None:
        """Post records, but for those that were taken already."""
        for record in records:
            if record["id"] not in self._taken and record["id"] not in self._queued:
                self._queued.add(record["id"])
                self._queue.put(record)

    def close(self, seconds: float) -> int:
        """Wait so long for what is not taken yet; return how many records are not."""
        self._queue.put(None)
        self._thread.join(seconds)
        self._stop.set()
        return len(self._queued - self._taken)

    def _work(self) -> None:
        while (record := self._queue.get()) is not None and not self._stop.is_set():
            wait, told = self._first, False
            while (problem := self._problem(record)) is not None:
                if not told:
                    self.say(f"webhook: {self.url}: {problem}; it is tried again")
                    told = True
                if self._stop.wait(wait):
                    return
                wait = min(2 * wait, MOST_WAIT_SECONDS)
            self._note(record["id"])

    def _problem(self, record: dict[str, Any]) -> str | None:
        """Post a record once; say what went wrong, or None."""
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": record["id"],
            "User-Agent": f"lockstep/{__version__}",
        }
        body = json.dumps({**record, "sent": time.time()}).encode()
        request = urllib.request.Request(self.url, body, headers, method="POST")
        try:
            with self._open.open(request, timeout=_ANSWER_SECONDS) as answer:
                answer.read(1 << 16)
        except urllib.error.HTTPError as error:
            with error:
                return f"it answered {error.code}"
        except Exception as error:  # Whatever a network or a server may come up with.
            return str(getattr(error, "reason", error)) or type(error).__name__
        return None

    def _note(self, record_id: str) -> None:
        with self._path.open("a", encoding="ascii") as file:
            file.write(f"{record_id}\n")
            file.flush()
            os.fsync(file.fileno())
        self._taken.add(record_id)
