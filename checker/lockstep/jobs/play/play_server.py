"""The page of a session, served to one browser on this machine.

What it answers to is narrow, for whatever page is open in a browser can send requests to a port of this machine. It is
bound to the loopback interface. Every path begins with a random token, which is compared in constant time. The Host
must be that address, so that no other name can be made to point here (DNS rebinding), and a request that says that it
comes from another origin is refused. What a page asks comes by POST, as JSON of bounded size. No file is read or
written.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lockstep.jobs.play.page_requests import Answers, BadRequestError, RefusedError
from lockstep.report.page.build_page import live_page, live_policy
from lockstep.report.page.page_content import Tree

__all__ = ["MOST_BYTES", "Server"]

#: The most bytes of a request's body, and after so many seconds without a byte a connection is closed.
MOST_BYTES, SILENT_SECONDS = 64 * 1024, 20

_LOOPBACK = "127.0.0.1"

#: The types of what is served.
_HTML, _JSON = "text/html; charset=utf-8", "application/json"


class Server(ThreadingHTTPServer):
    """Serves one session until it is shut down."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # the port of a game that has ended; elsewhere it would take a live one

    def __init__(self, answers: Answers, port: int = 0) -> None:
        """Listen on the loopback interface.

        Arguments: `answers`, of the session; `port`, 0 for any that is free.
        Raises OSError where the port is taken.
        """
        self.answers = answers
        self.token = secrets.token_urlsafe(32)
        super().__init__((_LOOPBACK, port), _Handler)
        self.hosts = (f"{_LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}")

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what broke within a request, but for a browser that has gone away; the others are served all the same."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"lockstep: internal error: {type(error).__name__}: {error}", file=sys.stderr)


class _RefusedRequestError(Exception):
    """A request that is not answered: the status, and why in a line."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request of a browser."""

    server: Server
    server_version = "lockstep"
    sys_version = ""
    default_request_version = "HTTP/1.0"  # so that a malformed request is answered with a status, too
    timeout = SILENT_SECONDS

    def do_GET(self) -> None:
        """Serve the page."""
        self._answered(self._page)

    def do_POST(self) -> None:
        """Answer what the page asks."""
        self._answered(self._asked)

    def _answered(self, answer: Any) -> None:
        try:
            self._refuse_strangers()
            kind, text = answer()
            self._send(HTTPStatus.OK, kind, text)
        except _RefusedRequestError as error:
            self._send(error.status, _JSON, _text({"error": str(error), "lines": []}))
        except RefusedError as error:
            told = {"error": str(error), "lines": list(error.lines)}
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _JSON, _text(told))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _JSON, _text({"error": "internal error", "lines": []}))
            raise error

    def _refuse_strangers(self) -> None:
        """Refuse what is not of the page that was served: by Host, Origin, Sec-Fetch-Site and the path's token."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "this is not the host that was asked for")
        origins = self.headers.get_all("Origin") or []
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "requests of other origins are refused")
        sites = self.headers.get_all("Sec-Fetch-Site") or []
        allowed = ("same-origin", "none") if self.command == "GET" else ("same-origin",)
        if any(site not in allowed for site in sites):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "requests of other sites are refused")
        _, _, rest = self.path.partition("/")
        token, slash, self.asked_for = rest.partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here: use the address that was printed")

    def _page(self) -> tuple[str, bytes]:
        if self.asked_for:
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is no such page")
        return _HTML, live_page(self.server.answers.page()).encode()

    def _asked(self) -> tuple[str, bytes]:
        if self.asked_for != "ask":
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is no such page")
        if self.headers.get_content_type() != _JSON:
            raise _RefusedRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}")
        body = self.rfile.read(self._length())
        try:
            return _JSON, _text(self.server.answers.answer(body))
        except BadRequestError as error:
            raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from error

    def _length(self) -> int:
        told = self.headers.get_all("Content-Length") or []
        if "Transfer-Encoding" in self.headers or len(told) != 1:
            raise _RefusedRequestError(HTTPStatus.LENGTH_REQUIRED, "the body needs one Content-Length")
        if not told[0].isascii() or not told[0].isdigit():
            raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is no number")
        if len(told[0]) > 18 or int(told[0]) > MOST_BYTES:
            raise _RefusedRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MOST_BYTES:,} bytes")
        return int(told[0])

    def _send(self, status: HTTPStatus, kind: str, text: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(text)),
            "Content-Security-Policy": live_policy() if kind == _HTML else "default-src 'none'",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Connection": "close",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request of HTTP, or of no method that is served, in a line of JSON."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # such as an HTTP of another version
            status = HTTPStatus.BAD_REQUEST
        self.close_connection = True
        self._send(status, _JSON, _text({"error": message or status.phrase, "lines": []}))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""

    def address_string(self) -> str:
        """Ask no name server."""
        return str(self.client_address[0])


def _text(tree: Tree) -> bytes:
    return json.dumps(tree, ensure_ascii=True, separators=(",", ":")).encode()
