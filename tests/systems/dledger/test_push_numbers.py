"""Numbers of pushes in lines of nodes of the reference, which have no names for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.systems.dledger.push_numbers import PushNumbers, PushRef, content_of_answer, content_of_line
from lockstep.systems.merged_order import TimedLine
from lockstep.systems.node_files import FileRecord

PUSH = {"type": "COMPARE", "leaderId": "n1", "remoteId": "n2", "term": 2, "commitIndex": -1}
ENTRY = {"index": 0, "entryTerm": 2, "val": "a"}
ANSWER = {"type": "COMPARE", "term": 2, "index": 0, "code": "INCONSISTENT_STATE", "beginIndex": -1, "endIndex": -1}
RETRY = {"kind": "dispatcher", "peer": "n2", "from": "COMPARE", "to": "COMPARE"}


def lines() -> Callable[[str, dict[str, Any]], Any]:
    """Return what takes a line of a node for the next one, and returns the number that it gets."""
    numbers = PushNumbers()

    def take(node: str, fields: dict[str, Any]) -> Any:
        line = TimedLine(FileRecord("n", 1, {}), 0, node, dict(fields))
        assert numbers.lacks(line) is None
        numbers.note(line)
        return line.fields.get("mid")

    return take


def sent() -> dict[str, Any]:
    fields = {"kind": "send_push", **PUSH, **ENTRY}
    return {**fields, "mid": PushRef("sent", content_of_line(fields))}


def received() -> dict[str, Any]:
    return {**sent(), "kind": "recv_push", "mid": PushRef("received", sent()["mid"].content)}


def handled(how: str = "queued") -> dict[str, Any]:
    return {"kind": "resp_push", "to": "n1", **ANSWER, "mid": PushRef(how, sent()["mid"].content)}  # type: ignore[arg-type]


def answered() -> dict[str, Any]:
    return {
        "kind": "recv_resp_push",
        "from": "n2",
        **ANSWER,
        "mid": PushRef("answer", content_of_answer(ANSWER, "n2", "n1")),
    }


def test_an_answer_is_to_the_call_that_was_not_given_up_though_an_earlier_one_says_the_same() -> None:
    """The follower handles a COMPARE after its leader has asked once more, and answers both."""
    take = lines()
    assert take("n1", sent()) == 1
    assert take("n2", received()) == 1
    take("n1", RETRY)
    assert take("n1", sent()) == 2
    assert take("n2", received()) == 2
    assert take("n2", handled()) == 1
    assert take("n2", handled()) == 2
    assert take("n1", answered()) == 2


def test_a_push_that_arrives_is_the_one_that_was_not_given_up() -> None:
    take = lines()
    assert take("n1", sent()) == 1
    take("n1", RETRY)
    assert take("n1", sent()) == 2
    assert take("n2", received()) == 2
    assert take("n2", received()) == 1


def test_what_a_follower_has_is_gone_with_its_process() -> None:
    take = lines()
    assert [take("n1", sent()), take("n2", received())] == [1, 1]
    take("n2", {"kind": "start"})
    assert [take("n1", sent()), take("n2", received()), take("n2", handled()), take("n1", answered())] == [2, 2, 2, 2]


def test_a_push_under_way_is_named_as_lacking_until_it_is_sent() -> None:
    numbers = PushNumbers()
    line = TimedLine(FileRecord("n", 1, {}), 0, "n2", received())
    assert numbers.lacks(line) == "n2 receives this COMPARE, and n1 has not sent it"
    numbers.note(TimedLine(FileRecord("n", 1, {}), 0, "n1", sent()))
    assert numbers.lacks(line) is None


def named(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a line as a node of Java writes it."""
    return {**fields, "mid": name}


def test_a_follower_handles_a_named_push_whose_sender_has_died_and_gives_the_name_again() -> None:
    """The frames of a process of Java are numbered from the beginning."""
    take = lines()
    assert [take("n1", named(sent(), "n1/7")), take("n2", named(received(), "n1/7"))] == [1, 1]
    take("n1", {"kind": "start"})
    to_another = {**named(sent(), "n1/7"), "remoteId": "n3"}
    assert take("n1", to_another) == 2
    assert take("n2", named(handled(), "n1/7")) == 1
    assert take("n3", {**to_another, "kind": "recv_push"}) == 2
    assert take("n3", named(handled(), "n1/7")) == 2


def test_a_push_that_arrives_after_its_sender_has_died_takes_no_name_from_the_next_process() -> None:
    take = lines()
    assert take("n1", named(sent(), "n1/7")) == 1
    take("n1", {"kind": "start"})
    to_another = {**named(sent(), "n1/7"), "remoteId": "n3"}
    assert [take("n1", to_another), take("n3", {**to_another, "kind": "recv_push"})] == [2, 2]
    assert take("n2", named(received(), "n1/7")) == 1
    assert take("n3", named(handled(), "n1/7")) == 2
    assert take("n1", {**named(answered(), "n1/7"), "from": "n3"}) == 2
