"""The webhook: a real server gets each record at least once, with one id, however often it fails."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hook_service import Service
from lockstep.base.errors import BadInputError
from lockstep.pipeline.watch.webhook import Webhook, checked_url


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    made.start()
    yield made
    made.stop()


def records(*ids: str) -> list[dict[str, Any]]:
    return [{"id": each, "kind": "finding", "trace": "a.trace.ndjson"} for each in ids]


def test_a_record_is_sent_until_the_service_takes_it_and_with_the_same_id(tmp_path: Path, service: Service) -> None:
    service.answers = [503, 500, 302, 404]
    said: list[str] = []
    hook = Webhook(service.url, tmp_path, said.append, first_wait_seconds=0.02)
    hook.put(records("one", "two"))
    assert hook.close(20) == 0
    assert service.ids == ["one"] * 5 + ["two"]
    assert {path for path, _, _ in service.posts} == {"/hook?x=1"}
    assert said == [f"webhook: {service.url}: it answered 503; it is tried again"]
    times = [at for _, _, at in service.posts[:5]]
    waits = [after - before for before, after in itertools.pairwise(times)]
    assert all(wait >= 0.02 * 2**number for number, wait in enumerate(waits))


def test_what_was_taken_is_not_sent_again_after_a_restart_and_the_rest_is(tmp_path: Path, service: Service) -> None:
    first = Webhook(service.url, tmp_path, first_wait_seconds=0.02)
    first.put(records("one"))
    assert first.close(20) == 0
    service.stop()
    second = Webhook(service.url, tmp_path, first_wait_seconds=0.02)
    second.put(records("one", "two", "two", "three"))
    assert second.close(0.3) == 2
    service.start()
    third = Webhook(service.url, tmp_path, first_wait_seconds=0.02)
    third.put(records("one", "two", "three"))
    assert third.close(20) == 0
    assert service.ids == ["one", "two", "three"]
    other = Webhook(service.url + "&y=2", tmp_path, first_wait_seconds=0.02)
    other.put(records("one"))
    assert other.close(20) == 0
    assert service.ids[-1] == "one"


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host/x", "file:///etc/passwd", "http://", "https:///x", "host/x", "http://h:99999/", "http://a b/"],
)
def test_only_an_http_url_with_a_host_is_a_webhook(url: str) -> None:
    with pytest.raises(BadInputError, match="is no URL of a webhook"):
        checked_url(url)
    assert checked_url("https://alerts.example:8443/raft?team=a") == "https://alerts.example:8443/raft?team=a"
