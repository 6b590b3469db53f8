"""A real HTTP server that takes what a webhook posts, or fails at it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Service:
    """A server on loopback: `answers` are its next status codes, 200 after them; `posts` what it got."""

    answers: list[int] = field(default_factory=list)
    posts: list[tuple[str, dict[str, Any], float]] = field(default_factory=list)
    server: ThreadingHTTPServer | None = None
    port: int = 0

    def start(self) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["Content-Type"] == "application/json"
                assert self.headers["Idempotency-Key"] == body["id"]
                service.posts.append((self.path, body, time.monotonic()))
                code = service.answers.pop(0) if service.answers else 200
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"

    @property
    def ids(self) -> list[str]:
        return [body["id"] for _, body, _ in self.posts]
