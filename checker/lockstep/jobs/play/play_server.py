"""Serves the page of a session to one browser on this machine.

Any page that is open in a browser can send requests to a port of this machine, so few are answered. The server is
bound to the loopback interface. Every path begins with a random token, which is compared in constant time. The Host
must be that address, so that no other name can be made to point here (DNS rebinding), and a request from another
origin is refused. The page sends its requests by POST, as JSON of bounded size. No file is read or written.
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

from lockstep.jobs.play.page_requests import BadRequestError, RefusedError, RequestHandler, error_tree
from lockstep.report.page.build_page import build_live_page, live_policy
from lockstep.report.page.page_content import Tree

__all__ = ["MAX_BODY_BYTES", "PlayServer"]

#: Limits for the body of a request, and for the time without a byte after which a connection is closed.
MAX_BODY_BYTES, SILENCE_SECONDS = 64 * 1024, 20

_LOOPBACK = "127.0.0.1"

#: The content types.
_HTML, _JSON = "text/html; charset=utf-8", "application/json"


class PlayServer(ThreadingHTTPServer):
    """Serves one session until it is shut down."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # the port of a game that has ended; elsewhere it would take a live one

    def __init__(self, requests: RequestHandler, port: int = 0) -> None:
        """Listen on the loopback interface.

        Arguments: `requests` handles those of the page; `port`, 0 for any that is free.
        Raises OSError where the port is taken.
        """
        self.requests = requests
        self.token = secrets.token_urlsafe(32)
        super().__init__((_LOOPBACK, port), _Handler)
        self.hosts = (f"{_LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}")

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error within a request, unless the browser has gone away; the server goes on."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"lockstep: internal error: {type(error).__name__}: {error}", file=sys.stderr)


class _RefusedRequestError(Exception):
    """A request is not answered; it has a status, and the message is the reason in a line."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """Handles one request of a browser."""

    server: PlayServer
    server_version = "lockstep"
    sys_version = ""
    default_request_version = "HTTP/1.0"  # so that a malformed request gets a status, too
    timeout = SILENCE_SECONDS

    def do_GET(self) -> None:
        """Serve the page."""
        self._respond(self._page)

    def do_POST(self) -> None:
        """Answer a request of the page."""
        self._respond(self._answer)

    def _respond(self, answer: Any) -> None:
        try:
            self._refuse_strangers()
            kind, text = answer()
            self._send(HTTPStatus.OK, kind, text)
        except _RefusedRequestError as error:
            self._send(error.status, _JSON, _text(error_tree(str(error))))
        except RefusedError as error:
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _JSON, _text(error_tree(str(error), error.lines)))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _JSON, _text(error_tree("internal error")))
            raise error

    def _refuse_strangers(self) -> None:
        """Refuse requests of other pages: by Host, Origin, Sec-Fetch-Site and the path's token."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "the request names another host")
        origins = self.headers.get_all("Origin") or []
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "requests of other origins are refused")
        sites = self.headers.get_all("Sec-Fetch-Site") or []
        allowed = ("same-origin", "none") if self.command == "GET" else ("same-origin",)
        if any(site not in allowed for site in sites):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "requests of other sites are refused")
        _, _, rest = self.path.partition("/")
        token, slash, self.resource = rest.partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here: use the address that was printed")

    def _page(self) -> tuple[str, bytes]:
        if self.resource:
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is no such page")
        return _HTML, build_live_page(self.server.requests.page()).encode()

    def _answer(self) -> tuple[str, bytes]:
        if self.resource != "ask":
            raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is no such page")
        if self.headers.get_content_type() != _JSON:
            raise _RefusedRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}")
        body = self.rfile.read(self._length())
        try:
            return _JSON, _text(self.server.requests.handle(body))
        except BadRequestError as error:
            raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from error

    def _length(self) -> int:
        lengths = self.headers.get_all("Content-Length") or []
        if "Transfer-Encoding" in self.headers or len(lengths) != 1:
            raise _RefusedRequestError(HTTPStatus.LENGTH_REQUIRED, "the body needs one Content-Length")
        if not lengths[0].isascii() or not lengths[0].isdigit():
            raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is no number")
        if len(lengths[0]) > 18 or int(lengths[0]) > MAX_BODY_BYTES:
            raise _RefusedRequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MAX_BODY_BYTES:,} bytes"
            )
        return int(lengths[0])

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
        """Refuse malformed HTTP, and methods that are not served, in a line of JSON."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # such as an HTTP of another version
            status = HTTPStatus.BAD_REQUEST
        self.close_connection = True
        self._send(status, _JSON, _text(error_tree(message or status.phrase)))

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""

    def address_string(self) -> str:
        """Return the address without asking a name server."""
        return str(self.client_address[0])


def _text(tree: Tree) -> bytes:
    return json.dumps(tree, ensure_ascii=True, separators=(",", ":")).encode()
