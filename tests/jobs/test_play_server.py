"""The server and the command of `lockstep play`: who is answered, what is refused, and how it stops."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import lockstep
from lockstep.base.errors import BadInputError
from lockstep.cli.play_command import command
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_server import MAX_BODY_BYTES, PlayServer
from lockstep.jobs.play.play_session import Offer, Visit
from lockstep.systems.registry import manifests, model_names
from tests.support.programs import lockstep_command
from tests.support.programs.plays import FLAWED, LOCK_SERVICE, SCENARIO, lock_service, scenario_file, ways

START = '{"kind":"scenario","format":"lockstep-scenario/1","spec":"LockService"}\n'
LOCK = '{"kind":"step","action":"Lock","args":{"c":"a"}}\n'


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def tree(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def send(server: PlayServer, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    """Ask a server over a socket; a header `Sec_Fetch_Site` is Sec-Fetch-Site."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    connection.close()
    return answer


def posted(server: PlayServer, request: object, **headers: str) -> Answer:
    sent = {"Content_Type": "application/json", **headers}
    return send(server, "POST", f"/{server.token}/ask", json.dumps(request).encode(), **sent)


def raw(server: PlayServer, text: bytes) -> bytes:
    """Send bytes, whatever they are, and return what comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as made:
        made.sendall(text)
        made.shutdown(socket.SHUT_WR)
        found = b""
        while part := made.recv(65536):
            found += part
        return found


@pytest.fixture
def server() -> Iterator[PlayServer]:
    with serving(RequestHandler(lock_service())) as started:
        yield started


class serving:  # noqa: N801 - it is used as a function
    """A server within a block."""

    def __init__(self, answers: RequestHandler) -> None:
        self.server = PlayServer(answers)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> PlayServer:
        self.thread.start()
        return self.server

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


# ---- Who is answered ----


def test_the_page_is_served_at_the_address_that_is_printed_with_a_policy_and_kept_by_nobody(server: PlayServer) -> None:
    url = urllib.parse.urlsplit(server.url)
    answer = send(server, "GET", url.path)
    assert (url.hostname, url.port, answer.status) == ("127.0.0.1", server.server_port, 200)
    assert answer.body.startswith(b"<!DOCTYPE html>")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_the_server_listens_on_the_loopback_interface_alone(server: PlayServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_each_server_has_another_token_of_256_bits(server: PlayServer) -> None:
    with serving(RequestHandler(lock_service())) as other:
        assert other.token != server.token
        assert re.fullmatch(r"[\w-]{43}", other.token)


@pytest.mark.parametrize(
    "path", ["/", "", "/ask", "/favicon.ico", "/x/", "/%2e%2e/", "/TOKEN", "/TOKEN/../", "/TOKEN/x"]
)
def test_without_the_token_and_at_other_paths_nothing_is_served(path: str, server: PlayServer) -> None:
    for method in ("GET", "POST"):
        answer = send(server, method, path.replace("TOKEN", server.token), b"{}")
        assert answer.status == 404
        assert b"token" not in answer.body
        assert server.token.encode() not in answer.body


def test_a_token_with_a_letter_changed_or_missing_is_none(server: PlayServer) -> None:
    other = server.token[:-1] + ("A" if server.token[-1] != "A" else "B")
    for token in (other, server.token[:-1], server.token + "A", server.token.lower()):
        assert send(server, "GET", f"/{token}/").status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "[::1]:PORT", ""])
def test_another_host_is_refused_so_that_no_name_can_be_made_to_point_here(host: str, server: PlayServer) -> None:
    host = host.replace("PORT", str(server.server_port))
    assert send(server, "GET", f"/{server.token}/", Host=host).status == 403
    assert posted(server, {"type": "list", "at": 0}, Host=host).status == 403


def test_localhost_is_this_host_too(server: PlayServer) -> None:
    host = f"localhost:{server.server_port}"
    assert send(server, "GET", f"/{server.token}/", Host=host).status == 200
    assert posted(server, {"type": "list", "at": 0}, Host=host, Origin=f"http://{host}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:PORT"])
def test_another_origin_is_refused_though_it_has_the_token(origin: str, server: PlayServer) -> None:
    origin = origin.replace("PORT", str(server.server_port))
    assert posted(server, {"type": "list", "at": 0}, Origin=origin).status == 403
    assert posted(server, {"type": "list", "at": 0}, Origin=f"http://127.0.0.1:{server.server_port}").status == 200


@pytest.mark.parametrize(
    ("site", "get", "post"), [("cross-site", 403, 403), ("same-site", 403, 403), ("none", 200, 403)]
)
def test_a_page_of_another_site_is_refused(site: str, get: int, post: int, server: PlayServer) -> None:
    assert send(server, "GET", f"/{server.token}/", Sec_Fetch_Site=site).status == get
    assert posted(server, {"type": "list", "at": 0}, Sec_Fetch_Site=site).status == post
    assert posted(server, {"type": "list", "at": 0}, Sec_Fetch_Site="same-origin").status == 200


# ---- What is no request ----


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_content_that_a_form_of_another_page_could_send_is_refused(kind: str, server: PlayServer) -> None:
    assert posted(server, {"type": "list", "at": 0}, Content_Type=kind).status == 415


def test_a_long_body_is_refused_before_it_is_read(server: PlayServer) -> None:
    start = f"POST /{server.token}/ask HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n".encode()
    start += b"Content-Type: application/json\r\n"
    assert raw(server, start + b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)).startswith(b"HTTP/1.0 413 ")
    assert raw(server, start + b"Content-Length: %s\r\n\r\n" % (b"9" * 5_000)).startswith(b"HTTP/1.0 413 ")
    for length in (b"-1", b"+5", b"0x5", b"5, 5", b""):
        assert raw(server, start + b"Content-Length: " + length + b"\r\n\r\n{}").startswith(b"HTTP/1.0 400 "), length
    for header in (b"", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 2\r\nContent-Length: 2\r\n"):
        assert raw(server, start + header + b"\r\n2\r\n{}\r\n0\r\n\r\n").startswith(b"HTTP/1.0 411 "), header
    whole = json.dumps({"type": "list", "at": 0}).ljust(MAX_BODY_BYTES).encode()
    assert send(server, "POST", f"/{server.token}/ask", whole, Content_Type="application/json").status == 200


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/x\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\n\xff\xfe: \xff\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"PUT / HTTP/1.1\r\n\r\n",
        b"GET /",
        b"",
    ],
)
def test_malformed_http_is_refused_and_ends_nothing(
    text: bytes, server: PlayServer, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = raw(server, text)
    assert answer == b"" or re.match(rb"HTTP/1\.0 4\d\d ", answer)
    assert send(server, "GET", f"/{server.token}/").status == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "this is no JSON"),
        ("{", "this is no JSON"),
        ("[" * 60_000, "expected `object`, got `array`"),
        ("[]", "expected `object`, got `array`"),
        ("{}", "field `type`: missing"),
        ('{"type":"run"}', "field `type`: invalid value 'run'"),
        ('{"type":"show"}', "field `at`: missing"),
        ('{"type":"show","at":-1}', "field `at`: expected `int` >= 0"),
        ('{"type":"show","at":1e99}', "field `at`: expected `int`"),
        ('{"type":"show","at":0,"file":"/etc/passwd"}', "field `file`: unknown field"),
        ('{"type":"save","at":0,"form":"svg"}', "field `form`: "),
        ('{"type":"why","at":0,"action":"Lock","args":{"c":1}}', "field `args"),
    ],
)
def test_a_malformed_request_is_refused_by_its_field(body: str, problem: str, server: PlayServer) -> None:
    answer = send(server, "POST", f"/{server.token}/ask", body.encode(), Content_Type="application/json")
    assert answer.status == 400
    assert problem in answer.tree["error"]


# ---- What is answered ----


def test_a_step_is_taken_by_its_number_and_the_page_opens_where_one_was(server: PlayServer) -> None:
    offer = posted(server, {"type": "list", "at": 0}).tree["groups"][0]["actions"][0]["steps"][1]
    assert offer == {"offer": 1, "label": "c = b", "node": "", "messages": []}
    taken = posted(server, {"type": "take", "at": 0, "offer": 1}).tree
    assert taken["play"]["path"] == [0, 1]
    assert taken["steps"][1]["changed"] == [["queue", "", "+[1]", "", "b"], ["token", "", "", "0", "1"]]
    (data,) = re.findall(r'id="content">(.*)</script>', send(server, "GET", f"/{server.token}/").body.decode())
    assert json.loads(data)["play"]["path"] == [0, 1]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"type": "show", "at": 7}, "there is no state 7; there are 1, from 0 on"),
        ({"type": "take", "at": 0, "offer": 3}, "no step 3 is offered in state 0; there are 3"),
        ({"type": "begin", "initial": 1}, "there is no initial state 1; there are 1, from 0 on"),
        ({"type": "step", "at": 0, "action": "Luck", "args": {}}, "the spec has no action 'Luck'; did you mean Lock?"),
        ({"type": "step", "at": 0, "action": "Lock", "args": {}}, "Lock takes (c), not ()"),
        ({"type": "step", "at": 0, "action": "Lock", "args": {"c": "d"}}, "c = d: d is not a model value"),
        ({"type": "step", "at": 0, "action": "Lock", "args": {"c": "1..99999999"}}, "c: write the elements out"),
        ({"type": "step", "at": 0, "action": "Lock", "args": {"c": "{" * 9_999}}, "c = {{{{"),
        (
            {"type": "step", "at": 0, "action": "Unlock", "args": {"c": "a"}},
            "Unlock is not enabled with these arguments",
        ),
        ({"type": "save", "at": 0, "form": "trace"}, "a trace has at least one step; take one first"),
    ],
)
def test_an_impossible_request_is_refused_with_the_reason_of_the_session(
    request_: dict[str, Any], problem: str, server: PlayServer
) -> None:
    answer = posted(server, request_)
    assert answer.status == 422
    assert answer.tree["error"].startswith(problem)


def test_a_written_argument_is_taken_or_refused_with_the_reason() -> None:
    with serving(RequestHandler(ways())) as server:
        taken = posted(server, {"type": "step", "at": 0, "action": "Refuel", "args": {"n": "5"}}).tree
        assert taken["steps"][-1]["changed"] == [["fuel", "", "", "3", "5"]]
        answer = posted(server, {"type": "why", "at": 0, "action": "Refuel", "args": {"n": "2"}}).tree
        assert answer["explanations"][0]["branches"] == [["Ways.tla:11:14: n > fuel", "  left:  2", "  right: 3"]]


def test_a_saved_path_comes_with_its_name_and_the_verdict_of_its_check(server: PlayServer) -> None:
    posted(server, {"type": "take", "at": 0, "offer": 0})
    trace = posted(server, {"type": "save", "at": 1, "form": "trace"}).tree
    assert trace["name"] == "LockService.trace.ndjson"
    assert trace["notes"][0].startswith("LockService.trace.ndjson: lockstep check says: holds: a behaviour of the spec")
    scenario = posted(server, {"type": "save", "at": 1, "form": "scenario"}).tree
    assert (scenario["name"], scenario["text"]) == ("LockService.scenario.ndjson", START + LOCK)


def test_requests_that_come_at_once_are_answered_one_by_one() -> None:
    game = lock_service()
    take, within, most = game.session.take, 0, 0
    statuses: list[int] = []

    def slowly(at: int, offer: Offer) -> Visit:
        nonlocal within, most
        within += 1
        most = max(most, within)
        time.sleep(0.01)
        taken = take(at, offer)
        within -= 1
        return taken

    def ask(client: int) -> None:
        statuses.append(posted(server, {"type": "take", "at": 0, "offer": client % 3}).status)

    game.session.take = slowly  # type: ignore[method-assign, assignment]  # the session's own, which counts concurrent calls
    with serving(RequestHandler(game)) as server:
        threads = [threading.Thread(target=ask, args=(client,)) for client in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(posted(server, {"type": "list", "at": 0}).tree["branches"]) == 3
    assert (statuses, most) == ([200] * 8, 1)


# ---- The command ----


def hear() -> None:
    """Take Ctrl-C as one started from a terminal does: a shell lets its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_stops_it_with_exit_code_0_and_leaves_nothing(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened\n', encoding="utf-8")
    browser.chmod(0o700)
    child = subprocess.Popen(
        [sys.executable, "-m", "lockstep", "play", "--spec", str(LOCK_SERVICE), "--open"],
        cwd=scratch,
        env={**os.environ, "TMPDIR": str(scratch), "BROWSER": f"{browser} %s"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear,
    )
    try:
        assert child.stdout is not None
        url = urllib.parse.urlsplit(child.stdout.readline().strip())
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=20)
        connection.request("GET", url.path)
        assert connection.getresponse().status == 200
        # A connection that says nothing, as browsers keep one ready, does not keep it from stopping.
        silent = socket.create_connection((str(url.hostname), url.port or 0))
        while not (scratch / "opened").is_file() or not (scratch / "opened").read_text(encoding="utf-8").endswith("\n"):
            assert child.poll() is None
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
        silent.close()
    finally:
        child.kill()
    assert (child.returncode, out, err) == (0, "", "Ctrl-C stops it.\n")
    assert (scratch / "opened").read_text(encoding="utf-8").strip() == urllib.parse.urlunsplit(url)
    assert [each.name for each in scratch.iterdir()] == ["opened"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(url.hostname), url.port or 0))


#: Serves a game, and presses Ctrl-C when a connection has its thread, which has not come to its socket yet.
INTERRUPTED = """
import os, signal, time
from lockstep.jobs.play.play_server import PlayServer

def process_request(server, request, address):
    accept(server, request, address)
    os.kill(os.getpid(), signal.SIGINT)

def finish_request(server, request, address):
    time.sleep(0.2)
    handle(server, request, address)

def server_close(server):
    time.sleep(0.5)
    close(server)

accept, PlayServer.process_request = PlayServer.process_request, process_request
handle, PlayServer.finish_request = PlayServer.finish_request, finish_request
close, PlayServer.server_close = PlayServer.server_close, server_close
from lockstep.cli.command_line import main
main()
"""


def test_ctrl_c_as_a_connection_is_accepted_is_no_error() -> None:
    """Its thread gets a socket that is open, whatever happens to the server meanwhile."""
    command = [sys.executable, "-c", INTERRUPTED, "play", "--spec", str(LOCK_SERVICE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear) as child:
        try:
            assert child.stdout is not None
            url = urllib.parse.urlsplit(child.stdout.readline().strip())
            with socket.create_connection((str(url.hostname), url.port or 0)):
                out, err = child.communicate(timeout=20)
        finally:
            child.kill()
    assert (child.returncode, out, err) == (0, "", "Ctrl-C stops it.\n")


#: The planted mistake: an error ends the thread that serves.
FAILING = """
from lockstep.jobs.play.play_server import PlayServer

def service_actions(server):
    raise OSError("planted")

PlayServer.service_actions = service_actions
from lockstep.cli.command_line import main
main()
"""


def test_a_server_that_ends_by_itself_is_an_error() -> None:
    command = [sys.executable, "-c", FAILING, "play", "--spec", str(LOCK_SERVICE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, 1, 2)
    assert "OSError: planted" in done.stderr
    assert "the server has ended by itself" in done.stderr


def test_a_port_that_is_taken_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInputError, match=f"cannot listen on port {port}: Address already in use"):
            command.main(["--spec", str(LOCK_SERVICE), "--port", str(port)], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--open",), "give a TRACE, a MODEL, --spec or --scenario"),
        ((FLAWED, "--spec", str(LOCK_SERVICE)), "give either TRACE, MODEL or --spec"),
        ((FLAWED, "-I", "."), "--cfg and -I go with --spec"),
    ],
)
def test_wrong_usage_is_reported(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(message)):
        command.main(list(words), standalone_mode=False)


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The lines that the command prints without anything to play."""
    assert command.main([*words], standalone_mode=False) == 0
    return capsys.readouterr().out.splitlines()


def test_without_anything_to_play_the_models_of_flaws_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys)
    models = [entry for manifest in manifests() for entry in manifest.models]
    rows = [line.split() for line in lines if line.startswith("  ") and not line.startswith("  model ")]
    assert [row[0] for row in rows] == [entry.name for entry in models if entry.is_of_flaw]
    assert ["late_truncate_bug", "LateTruncate", "CommittedEntriesStayProp", "15"] in rows
    by_name = {entry.name: entry for entry in models}
    for name, *_, fails, steps in rows:
        assert (fails, int(steps) + 1) == (by_name[name].violates, by_name[name].depth)


def test_the_lab_is_listed_by_its_name_and_a_model_of_it_by_the_rule_that_it_leaves_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in ([], ["--all"]):
        lines = listed(capsys, *words)
        lab = lines[lines.index("Raft as in the labs of MIT 6.5840") :]
        (row,) = [line for line in lab if line.startswith("  lab_vote_twice_bug ")]
        assert re.match(r"  lab_vote_twice_bug +without VoteIsFree  ElectionSafety ", row)


def test_the_list_of_flaws_fits_into_80_columns_but_for_the_names_of_one_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = listed(capsys)
    wide = {number for number, line in enumerate(lines) if len(line) > 80}
    titles = [number for number, line in enumerate(lines) if line and not line.startswith(" ")]
    above = {lines[max(title for title in titles if title <= number)] for number in wide}
    assert len(above) <= 1


def test_all_models_are_listed_if_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    printed = "\n".join(listed(capsys, "--all"))
    assert [name for name in model_names() if f"\n  {name} " not in printed] == []
    assert re.search(r"\n  late_truncate_bug +LateTruncate +CommittedEntriesStayProp fails after 15 steps", printed)
    assert "A witness claims" in printed


@pytest.mark.parametrize("words", [["late_truncate_bug"], ["--spec", str(LOCK_SERVICE)], ["--static", "out"]])
def test_a_list_of_all_models_is_refused_beside_a_game(words: list[str]) -> None:
    with pytest.raises(click.UsageError, match="--all lists models"):
        command.main(["--all", *words], standalone_mode=False)


def test_a_misspelt_model_is_reported_with_a_near_one() -> None:
    expected = (
        r"no file 'late_trunkate_bug', and no model .*; did you mean late_truncate_bug.*`lockstep play --all` lists"
    )
    with pytest.raises(BadInputError, match=expected):
        command.main(["late_trunkate_bug"], standalone_mode=False)


@pytest.mark.parametrize("name", ["late.trace.ndjson", "traces/late", "./late_truncate_bug"])
def test_a_missing_file_is_not_taken_for_a_model(name: str) -> None:
    with pytest.raises(BadInputError, match=rf"^no file '{re.escape(name)}'$"):
        command.main([name], standalone_mode=False)


def test_the_command_makes_a_trace_of_a_scenario_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, trace = scenario_file(tmp_path, START + LOCK), tmp_path / "mine.trace.ndjson"
    words = ["--spec", str(LOCK_SERVICE), "--scenario", str(file), "-o", str(trace)]
    assert command.main(words, standalone_mode=False) == 0
    assert capsys.readouterr().out.startswith(f"{trace}: 1 step, holds: a behaviour of the spec")
    assert lockstep.check(trace, spec=LOCK_SERVICE).verdict == "holds"
    text = trace.read_bytes()
    with pytest.raises(BadInputError, match=r"mine\.trace\.ndjson: it is there already, and is not overwritten"):
        command.main(words, standalone_mode=False)
    assert trace.read_bytes() == text


def test_a_scenario_of_an_unknown_action_exits_2_with_file_and_line(tmp_path: Path) -> None:
    scenario_file(tmp_path, START + LOCK.replace("Lock", "Luck"))
    words = ("play", "--spec", LOCK_SERVICE, "--scenario", "mine.scenario.ndjson", "-o", "t")
    done = lockstep_command.lockstep(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lockstep: mine.scenario.ndjson:2: field `action`: the spec has no action 'Luck'")
    assert [each.name for each in tmp_path.iterdir()] == ["mine.scenario.ndjson"]


def test_the_docs_show_what_these_commands_print(tmp_path: Path) -> None:
    (tmp_path / SCENARIO.name).write_bytes(SCENARIO.read_bytes())
    text = SCENARIO.with_name("play.md").read_text(encoding="utf-8")
    shown = "".join(re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    codes = []
    for command_, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE):
        first, *words = command_.split()
        if first == "sed":
            made = SCENARIO.read_text(encoding="utf-8").replace("QuorumAckChecker", "Crash")
            (tmp_path / words[-1]).write_text(made, encoding="utf-8")
            continue
        done = lockstep_command.lockstep(*words, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (printed, "")
        codes.append(done.returncode)
    assert codes == [0, 1, 1]
